from __future__ import annotations

from uuid import UUID

import pytest

from retrieval.evaluation import runs
from tests import api, rows
from tests.retrieval.evaluation import cast

pytestmark = pytest.mark.django_db
WANTED = {"modes": ["lexical", "dense"], "ks": [1, 5]}


@pytest.fixture
def people(fake_embedder):
    return cast.make_read_workspace()


@pytest.fixture
def made(people):
    return cast.make_set(people.workspace)


@pytest.fixture
def alice(people):
    return api.client(people.alice)


def of_set(people, made, path):
    return api.address(people.workspace, f"evaluation/sets/{made.pk}/{path}")


def of_run(people, run, path=""):
    return api.address(people.workspace, f"evaluation/runs/{run['id']}/{path}")


def start(people, alice, made, **more):
    return alice.post(of_set(people, made, "runs/"), WANTED | more, format="json")


def finished(people, alice, made, **more):
    run = start(people, alice, made, **more).json()
    runs.run_evaluation(people.workspace.pk, UUID(run["id"]))
    return alice.get(of_run(people, run)).json()


def test_a_run_is_started_and_read_when_it_is_done(people, alice, made):
    response = start(people, alice, made)
    assert response.status_code == 202
    assert (response.json()["state"], response.json()["total"]) == ("queued", 6)

    runs.run_evaluation(people.workspace.pk, UUID(response.json()["id"]))

    bob = api.client(people.bob)
    run = bob.get(of_run(people, response.json())).json()
    assert (run["state"], run["done"], run["problem"]) == ("done", 6, None)
    assert run["summary"]["lexical"]["recall@5"] == 1.0
    page = bob.get(of_set(people, made, "runs/")).json()
    assert [row["id"] for row in page["results"]] == [run["id"]]


def test_results_come_question_by_question(people, alice, made):
    run = finished(people, alice, made, answers=True)

    page = api.client(people.bob).get(of_run(people, run, "results/"), {"page_size": 4}).json()

    assert (page["total"], len(page["results"])) == (6, 4)
    first = page["results"][0]
    assert first["question"] == "Who keeps the Skarrow light?"
    assert first["metrics"]["faithfulness"] == 1.0
    assert first["claims"]["expected"] == ["Ada Lind keeps the Skarrow light."]


def test_a_run_is_compared_with_the_one_before(people, alice, made):
    first = finished(people, alice, made)
    alone = alice.get(of_run(people, first, "comparison/")).json()
    assert (alone["before"], alone["counts"]["new"], alone["changed"]) == (None, 6, [])
    rows.make_document(people.workspace, "Boats", "The boat brings the oil and the mail.")

    second = finished(people, alice, made)
    beside = api.client(people.bob).get(of_run(people, second, "comparison/")).json()

    assert beside["before"] == first["id"]
    assert beside["changed"][0].startswith("The documents changed")
    assert sum(beside["counts"].values()) == len(beside["lines"]) == 6
    delta = beside["summary"]["lexical"]["perfect@5"]
    assert delta["now"] == delta["before"] == 1.0
    assert delta["change"] == "same"


def test_a_run_is_stopped_continued_and_deleted(people, alice, made):
    run = start(people, alice, made).json()

    assert alice.post(of_run(people, run, "stop/")).json()["state"] == "stopped"
    api.assert_problem(alice.post(of_run(people, run, "stop/")), 409, "run_ended")
    continued = alice.post(of_run(people, run, "continue/"))
    assert (continued.status_code, continued.json()["state"]) == (202, "queued")
    api.assert_problem(alice.delete(of_run(people, run)), 409, "run_unfinished")
    runs.run_evaluation(people.workspace.pk, UUID(run["id"]))
    assert alice.delete(of_run(people, run)).status_code == 204
    assert alice.get(of_run(people, run)).status_code == 404


def test_what_a_run_costs_is_told_before(people, alice, made):
    told = alice.post(of_set(people, made, "estimate/"), WANTED, format="json").json()

    assert (told["questions"], told["is_free"], told["cost"]) == (3, True, {"low": 0, "high": 0})
    assert told["sentences"] == ["Costs nothing: no model is called."]


def test_questions_are_made_by_a_run(people, alice, made):
    response = alice.post(of_set(people, made, "make/"), {"number": 3}, format="json")

    assert (response.status_code, response.json()["kind"]) == (202, "make")
    runs.run_evaluation(people.workspace.pk, UUID(response.json()["id"]))
    proposed = alice.get(of_set(people, made, "questions/"), {"state": "proposed"}).json()
    # The only sentence with a name asks what the set has already.
    assert proposed["total"] == 0


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"modes": []}, "invalid_input"),
        ({"modes": ["telepathy"]}, "unknown_mode"),
        ({"modes": ["lexical"], "ks": [0]}, "invalid_input"),
        ({"modes": ["lexical"], "ks": list(range(1, 9))}, "invalid_input"),
        ({}, "invalid_input"),
    ],
)
def test_a_run_that_cannot_be_is_refused(people, alice, made, wanted, code):
    response = alice.post(of_set(people, made, "runs/"), wanted, format="json")

    api.assert_problem(response, 400, code)


def test_a_second_run_at_once_is_a_conflict(people, alice, made):
    start(people, alice, made)

    api.assert_problem(start(people, alice, made), 409, "run_unfinished")


def test_a_reader_changes_nothing_and_a_stranger_finds_nothing(people, alice, made):
    run = start(people, alice, made).json()
    bob, charlie = api.client(people.bob), api.client(people.charlie)

    for path in ("stop/", "continue/"):
        api.assert_problem(bob.post(of_run(people, run, path)), 403, "forbidden")
        api.assert_nothing_there(charlie.post(of_run(people, run, path)))
    api.assert_problem(bob.delete(of_run(people, run)), 403, "forbidden")
    for path in ("", "results/", "comparison/"):
        assert bob.get(of_run(people, run, path)).status_code == 200
        api.assert_nothing_there(charlie.get(of_run(people, run, path)))
