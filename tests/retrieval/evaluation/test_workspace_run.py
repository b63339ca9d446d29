from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from kb_project.errors import BudgetError
from retrieval.evaluation import runs
from retrieval.evaluation.metrics import METRICS
from retrieval.models import EvaluationRun
from tests.retrieval.evaluation import cast
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(fake_embedder):
    found = cast.make_read_workspace().workspace
    cast.make_set(found)
    return found


def evaluate(**options) -> str:
    out = StringIO()
    call_command("evaluate", stdout=out, **options)
    return out.getvalue()


def test_a_set_is_measured_in_the_shape_of_a_folder(workspace):
    report = json.loads(
        evaluate(set="Basics", workspace=workspace.slug, modes="lexical,dense", k="1,5", json=True)
    )

    assert (report["dataset"], report["documents"], report["questions"]) == ("Basics", 3, 3)
    assert set(report["modes"]) == {"lexical", "dense"}
    for mode in report["modes"].values():
        assert set(mode["perfect"]) == set(mode["recall"]) == set(mode["ndcg"]) == {"1", "5"}
        assert set(mode["latency_ms"]) == set(mode["embed_ms"]) == {"p50", "p95"}
    assert report["modes"]["lexical"]["perfect"]["5"] == 1.0


def test_the_run_is_in_the_workspaces_history(workspace):
    report = json.loads(
        evaluate(set="Basics", workspace=workspace.slug, modes="lexical", k="5", json=True)
    )

    with access.in_workspace(workspace.pk):
        run = EvaluationRun.objects.in_workspace(workspace).get()
    assert (str(run.pk), run.state) == (report["run"], "done")


def test_answers_are_judged_when_asked_for(workspace):
    options = {"set": "Basics", "workspace": workspace.slug, "modes": "lexical", "k": "5"}

    report = json.loads(evaluate(**options, answers=True, json=True))
    told = evaluate(**options, answers=True)

    assert set(report["modes"]["lexical"]["ragchecker"]) == set(METRICS)
    assert "Answers, judged by words and vectors:" in told
    assert "claim recall" in told


def test_a_table_is_printed_for_people(workspace):
    told = evaluate(set="Basics", workspace=workspace.slug, modes="lexical", k="5")

    assert told.splitlines()[0].startswith("Basics: 3 documents, 3 questions")
    assert "perfect@5" in told


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({}, "Name either a folder"),
        ({"set": "Basics"}, "--workspace"),
        ({"set": "Basics", "workspace": "nowhere"}, "There is no workspace"),
        ({"set": "Nope", "workspace": "harbour"}, "Choose one of 'Basics'"),
        ({"set": "Basics", "workspace": "harbour", "modes": "telepathy"}, "no search mode"),
        ({"set": "Basics", "workspace": "harbour", "k": "1,2,3,4,5,6,7"}, "At most"),
    ],
)
def test_what_cannot_be_measured_is_refused(workspace, options, fault):
    with pytest.raises(CommandError, match=fault):
        evaluate(**options)


def test_a_run_that_breaks_off_is_no_result(workspace, monkeypatch):
    def fail(*_args):
        raise BudgetError("The budget is spent.", next_step="Raise it.")

    monkeypatch.setattr(runs, "measure", fail)

    with pytest.raises(CommandError, match=r"The budget is spent\..*Raise it"):
        evaluate(set="Basics", workspace=workspace.slug, modes="lexical", k="5")
