from __future__ import annotations

import json
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from retrieval.conversations import asking
from retrieval.evaluation import sets
from retrieval.evaluation.sets import Written
from tests import api
from tests.retrieval.evaluation import cast

pytestmark = pytest.mark.django_db
GOOD = {"question": "What burns?", "evidence": ["Oil"], "answer": "Oil."}


@pytest.fixture
def people(fake_embedder):
    return cast.make_read_workspace()


@pytest.fixture
def made(people):
    return cast.make_set(people.workspace)


@pytest.fixture
def alice(people):
    return api.client(people.alice)


def address(people, path=""):
    return api.address(people.workspace, f"evaluation/sets/{path}")


def of_set(people, made, path=""):
    return address(people, f"{made.pk}/{path}")


def post(client, path, data):
    return client.post(path, data, format="json")


def test_an_owner_makes_renames_and_deletes_a_set(people, alice):
    made = post(alice, address(people), {"name": "Basics"}).json()
    assert (made["name"], made["accepted"], made["runs"]) == ("Basics", 0, 0)

    renamed = alice.patch(address(people, f"{made['id']}/"), {"name": "Hard"}, format="json")
    assert renamed.json()["name"] == "Hard"
    assert [row["name"] for row in alice.get(address(people)).json()["results"]] == ["Hard"]

    assert alice.delete(address(people, f"{made['id']}/")).status_code == 204
    assert alice.get(address(people)).json()["results"] == []


def test_a_taken_name_is_a_conflict(people, alice, made):
    api.assert_problem(post(alice, address(people), {"name": "Basics"}), 409, "set_name_taken")


def test_a_reader_sees_sets_and_questions(people, made):
    bob = api.client(people.bob)

    assert bob.get(of_set(people, made)).json()["accepted"] == 3
    page = bob.get(of_set(people, made, "questions/"), {"page_size": 2}).json()
    assert (page["total"], len(page["results"])) == (3, 2)
    assert page["results"][0]["question"] == "Who keeps the Skarrow light?"
    assert page["results"][0]["evidence"][0]["chunk"] is None
    none = bob.get(of_set(people, made, "questions/"), {"state": "proposed"}).json()
    assert none["total"] == 0


def test_a_question_is_added_changed_and_deleted(people, alice, made):
    added = post(alice, of_set(people, made, "questions/"), GOOD)
    assert added.status_code == 201
    one = of_set(people, made, f"questions/{added.json()['id']}/")

    evidence = [{"doc": "Oil", "chunk": 1, "quote": "on Fridays"}]
    changed = alice.put(one, GOOD | {"evidence": evidence}, format="json").json()
    assert (changed["evidence"][0]["chunk"], changed["evidence"][0]["quote"]) == (1, "on Fridays")

    assert alice.delete(one).status_code == 204
    assert alice.delete(one).status_code == 404


@pytest.mark.parametrize(
    "change",
    [
        {"question": ""},
        {"question": "?!"},
        {"question": "x" * 5_000},
        {"evidence": []},
        {"evidence": ["Nowhere"]},
        {"evidence": [{"doc": "Oil", "chunk": "first"}]},
        {"answer": "x" * 9_000},
    ],
)
def test_a_question_that_cannot_be_used_is_refused(people, alice, made, change):
    response = post(alice, of_set(people, made, "questions/"), GOOD | change)

    assert response.status_code == 400
    assert set(response.json()) == api.PROBLEM_KEYS


def test_a_set_goes_out_as_a_file_and_comes_in_again(people, alice, made):
    exported = alice.get(of_set(people, made, "file/")).content
    other = post(alice, address(people), {"name": "Copy"}).json()["id"]
    path = address(people, f"{other}/file/")

    file = SimpleUploadedFile("q.jsonl", exported)
    as_file = alice.post(path, {"file": file}, format="multipart")
    again = post(alice, path, {"jsonl": exported.decode()})

    assert (as_file.json(), again.json()) == ({"added": 3}, {"added": 0})
    assert alice.get(path).content == exported


def test_bad_lines_are_named_and_nothing_is_added(people, alice, made):
    path = of_set(people, made, "file/")

    refused = post(alice, path, {"jsonl": json.dumps(GOOD) + "\n{"})

    problem = api.assert_problem(refused, 400, "questions_invalid")
    assert "Line 2: it is not JSON" in problem["sentence"]
    assert problem["kept"] == "No question was added."
    assert post(alice, path, {}).status_code == 400
    assert post(alice, path, {"jsonl": ""}).status_code == 400


def test_proposals_are_decided(people, alice, made):
    [proposed] = sets.questions_propose(
        workspace=people.workspace, question_set=made, found=[Written("Made up?", ())]
    )
    path = of_set(people, made, "decisions/")
    wanted = {"questions": [str(proposed.pk), str(uuid4())], "accept": True}

    assert post(alice, path, wanted).json() == {"decided": 1}
    assert post(alice, path, wanted).json() == {"decided": 0}


def test_an_answered_question_is_kept(people, alice, made):
    answer = asking.ask(
        workspace=people.workspace,
        user=people.alice,
        question="Who keeps the Skarrow light in Orran?",
        mode="lexical",
    )
    path = of_set(people, made, "keep/")

    kept = post(alice, path, {"question": str(answer.question_id)})

    assert kept.status_code == 201
    assert kept.json()["origin"] == "answer"
    assert post(alice, path, {"question": str(uuid4())}).status_code == 404


WRITES = ("questions/", "file/", "decisions/", "keep/", "make/", "estimate/", "runs/")


@pytest.mark.parametrize("path", WRITES)
def test_a_reader_may_not_write_and_a_stranger_finds_nothing(people, made, path):
    bob, charlie = api.client(people.bob), api.client(people.charlie)

    api.assert_problem(post(bob, of_set(people, made, path), {}), 403, "forbidden")
    api.assert_nothing_there(post(charlie, of_set(people, made, path), {}))


def test_a_reader_neither_makes_renames_nor_deletes(people, made):
    bob = api.client(people.bob)

    for response in (
        post(bob, address(people), {"name": "Mine"}),
        bob.patch(of_set(people, made), {"name": "Mine"}, format="json"),
        bob.delete(of_set(people, made)),
    ):
        api.assert_problem(response, 403, "forbidden")


@pytest.mark.parametrize("path", ["", "file/", "questions/", "runs/"])
def test_a_stranger_reads_nothing(people, made, path):
    charlie = api.client(people.charlie)

    api.assert_nothing_there(charlie.get(of_set(people, made, path)))
    api.assert_nothing_there(charlie.get(address(people)))


def test_a_set_of_another_workspace_is_not_there(people, made):
    other = cast.make_read_workspace("Elsewhere")

    found = api.client(people.alice).get(
        api.address(other.workspace, f"evaluation/sets/{made.pk}/")
    )

    assert found.status_code == 404
