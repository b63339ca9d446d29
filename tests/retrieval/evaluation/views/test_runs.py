from __future__ import annotations

import csv
import json

import pytest

from retrieval.evaluation import control, queries, runs
from retrieval.evaluation.control import Order
from retrieval.evaluation.measuring import Plan
from retrieval.models import EvaluationResult, EvaluationRun
from tests import rows
from tests.retrieval.evaluation.views.test_sets import of_set, url
from workspaces import access
from workspaces.models import AuditEvent

pytestmark = pytest.mark.django_db
FORM = {"modes": ["lexical", "dense"], "ks": "1, 5"}


def of_run(people, run, path=""):
    return url(people, f"runs/{run.pk}/{path}")


def results(people, run) -> list[EvaluationResult]:
    with access.in_workspace(people.workspace.pk):
        return list(queries.results_of(workspace=people.workspace, run=run))


def newest(people) -> EvaluationRun:
    with access.in_workspace(people.workspace.pk):
        found = EvaluationRun.objects.in_workspace(people.workspace).order_by("-created_at")
        return found[0]


def test_a_run_is_started_and_shows_how_far_it_is(people, alice, bob, made):
    response = alice.post(of_set(people, made, "runs/"), FORM)
    run = newest(people)

    assert response.url == of_run(people, run)
    page = alice.get(response.url).content.decode()
    assert "0 of 6 measured" in page
    assert 'hx-trigger="every 2s"' in page
    assert "Stop" in page
    assert "Stop\n" not in bob.get(response.url).content.decode()


@pytest.mark.parametrize(
    ("form", "fault"),
    [
        ({}, "No mode is selected"),
        ({"modes": ["telepathy"]}, "No mode is selected"),
        ({"modes": ["lexical"], "ks": "some"}, "must be whole numbers"),
        ({"modes": ["lexical"], "ks": "0"}, "must be from 1"),
        ({"modes": ["lexical"], "ks": "1,2,3,4,5,6,7"}, "At most"),
    ],
)
def test_a_run_that_cannot_be_is_told(people, alice, made, form, fault):
    page = alice.post(of_set(people, made, "runs/"), form, follow=True).content.decode()

    assert fault in page


def test_a_run_that_is_done_shows_modes_questions_and_no_more_polling(people, alice, bob, run_it):
    run = run_it(answers=True)

    for client in (alice, bob):
        page = client.get(of_run(people, run)).content.decode()
        assert "Perfect@5" in page
        assert "Faithfulness" in page
        assert "Who keeps the Skarrow light?" in page
        assert "answers judged by words and vectors" in page
        assert "every 2s" not in page


def test_a_second_run_stands_beside_the_first(people, alice, run_it):
    run_it()
    rows.make_document(people.workspace, "Boats", "The boat brings the oil and the mail.")

    page = alice.get(of_run(people, run_it())).content.decode()

    assert "Beside the run of" in page
    assert "The documents changed: from 3 with 4 passages to 4 with 5." in page


def test_lines_are_filtered(people, alice, run_it):
    run = run_it()

    def page_of(**query):
        return alice.get(of_run(people, run), query).content.decode()

    assert "No results match" in page_of(show="failed")
    assert page_of(mode="dense").count("/results/") < page_of().count("/results/")
    assert page_of(show="nonsense", page="99")


def test_a_result_shows_claims_passages_and_evidence(people, alice, bob, run_it):
    run = run_it(answers=True)
    [result] = [
        one for one in results(people, run) if one.mode == "lexical" and "oil" in one.question.text
    ]

    for client in (alice, bob):
        page = client.get(of_run(people, run, f"results/{result.pk}/")).content.decode()
        assert "The boat brings the oil on Fridays." in page
        assert "in the passages" in page
        assert "evidence" in page
        assert "Oil | 1" in page


def test_results_are_exported(people, alice, bob, run_it):
    run = run_it()

    for client in (alice, bob):
        table = list(
            csv.reader(client.get(of_run(people, run, "results.csv")).content.decode().splitlines())
        )
        assert table[0][:2] == ["question", "mode"]
        assert len(table) == 7
        lines = client.get(of_run(people, run, "results.jsonl")).content.decode().splitlines()
        assert {json.loads(line)["mode"] for line in lines} == {"lexical", "dense"}
    with access.in_workspace(people.workspace.pk):
        exports = AuditEvent.objects.in_workspace(people.workspace).filter(
            action="results_exported"
        )
        assert sorted(exports.values_list("actor", flat=True)) == ["Alice", "Alice", "Bob", "Bob"]


def test_a_run_is_stopped_and_goes_on(people, alice, made):
    alice.post(of_set(people, made, "runs/"), FORM)
    run = newest(people)

    page = alice.post(of_run(people, run, "stop/"), follow=True).content.decode()
    assert "Stopped" in page
    assert "Go on" in page

    page = alice.post(of_run(people, run, "continue/"), follow=True).content.decode()
    assert "0 of 6 measured" in page
    runs.run_evaluation(people.workspace.pk, run.pk)
    assert "Done" in alice.get(of_run(people, run)).content.decode()
    again = alice.post(of_run(people, run, "continue/"), follow=True).content.decode()
    assert "This run is complete." in again


def test_a_problem_is_shown_with_what_to_do(people, alice, run_it):
    run = run_it()
    with access.in_workspace(people.workspace.pk):
        run.state = "failed"
        run.problem = {
            "code": "budget_spent",
            "happened": "The budget is spent.",
            "kept": "Everything is kept.",
            "next_step": "Raise it.",
        }
        run.save()

    page = alice.get(of_run(people, run)).content.decode()

    assert "The budget is spent." in page
    assert "Raise it." in page
    assert "Go on" in page


def test_a_run_is_deleted_when_it_is_over(people, alice, run_it, made):
    run = run_it()

    alice.post(of_run(people, run, "delete/"))

    assert alice.get(of_run(people, run)).status_code == 404
    control.run_start(
        workspace=people.workspace,
        order=Order(),
        question_set=made,
        plan=runs_plan(),
    )
    response = alice.post(of_run(people, newest(people), "delete/"), follow=True)
    assert "in progress" in response.content.decode()


def runs_plan():
    return Plan(("lexical",), (5,))


def test_a_making_run_leads_to_its_set(people, alice, made):
    alice.post(of_set(people, made, "make/"), {"number": "2"})

    response = alice.get(of_run(people, newest(people)))

    assert response.url == of_set(people, made)


@pytest.mark.parametrize("path", ["stop/", "continue/", "delete/"])
def test_a_reader_changes_no_run_and_a_stranger_finds_none(people, bob, charlie, run_it, path):
    run = run_it()

    assert bob.post(of_run(people, run, path)).status_code == 403
    assert charlie.post(of_run(people, run, path)).status_code == 404
    for reading in ("", "results.csv", "results.jsonl", f"results/{results(people, run)[0].pk}/"):
        assert charlie.get(of_run(people, run, reading)).status_code == 404
