from __future__ import annotations

import pytest

from ingestion.models import (
    Entity,
    IngestionJob,
    JobKind,
    MergeSuggestion,
    ResolutionDecision,
    Verdict,
)
from ingestion.stage import NO_PROGRESS
from ingestion.stages import suggest
from kb_project.llm.fake import FakeEmbedder
from kb_project.ports import build_ports
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

MINUTES = "Acme Instruments Inc. built the lamp.\n\nAda Lind keeps it."
LETTER = "Acme Instruments sent oil.\n\nThe Sea Observation Unit (SOU) rows out."
NAMES = {
    "Acme Instruments Inc.": "organization",
    "Ada Lind": "person",
}
MORE = {
    "Acme Instruments": "organization",
    "Sea Observation Unit": "organization",
    "SOU": "organization",
}


@pytest.fixture
def workspace() -> Workspace:
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Minutes", MINUTES, names=NAMES)
    rows.make_document(workspace, "Letter", LETTER, names=MORE)
    return workspace


def run(workspace: Workspace) -> int:
    job = IngestionJob(workspace=workspace, kind=JobKind.WORKSPACE)
    return suggest.run(job, build_ports(), NO_PROGRESS).written


def suggested(workspace: Workspace) -> dict[frozenset[str], MergeSuggestion]:
    with access.in_workspace(workspace.pk):
        found = MergeSuggestion.objects.in_workspace(workspace).select_related("left", "right")
        return {frozenset((row.left.name, row.right.name)): row for row in found}


ACME = frozenset(("Acme Instruments Inc.", "Acme Instruments"))
UNIT = frozenset(("Sea Observation Unit", "SOU"))


def decide(workspace: Workspace, verdict: Verdict) -> ResolutionDecision:
    with access.in_workspace(workspace.pk):
        return ResolutionDecision.objects.create(
            workspace=workspace,
            left_key="acme instruments",
            right_key="acme instruments inc",
            verdict=verdict,
            by=ResolutionDecision.By.PERSON,
        )


def test_entities_that_may_be_one_are_suggested_with_reasons_in_words(workspace: Workspace):
    assert run(workspace) == 2

    found = suggested(workspace)
    assert set(found) == {ACME, UNIT}
    assert found[ACME].reason.startswith("Same name after removing Inc")
    assert found[UNIT].reasons[0]["kind"] == "acronym"
    assert "in brackets" in found[UNIT].reason
    assert all(0.4 <= row.score < 1 and row.effect > 0 for row in found.values())
    assert all(row.left_id < row.right_id and row.state == "open" for row in found.values())


def test_running_it_twice_changes_nothing(workspace: Workspace):
    run(workspace)
    before = {row.pk: (row.score, row.reasons) for row in suggested(workspace).values()}

    run(workspace)

    assert {row.pk: (row.score, row.reasons) for row in suggested(workspace).values()} == before


def test_what_is_no_longer_so_is_gone(workspace: Workspace):
    run(workspace)
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).filter(key="acme instruments").update(
            key="vellacott lens works", name="Vellacott Lens Works"
        )

    run(workspace)

    assert set(suggested(workspace)) == {UNIT}


def test_a_suggestion_goes_with_its_entity(workspace: Workspace):
    run(workspace)
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).filter(key="sou").delete()

    assert set(suggested(workspace)) == {ACME}


def test_what_is_said_to_differ_is_found_again_but_not_asked_again(workspace: Workspace):
    decide(workspace, Verdict.DIFFERENT)

    run(workspace)

    assert suggested(workspace)[ACME].state == "rejected"


def test_what_was_taken_back_is_open_again(workspace: Workspace):
    decision = decide(workspace, Verdict.DIFFERENT)
    run(workspace)
    with access.in_workspace(workspace.pk):
        ResolutionDecision.objects.in_workspace(workspace).filter(pk=decision.pk).update(
            undone_at=decision.created_at
        )

    run(workspace)

    assert suggested(workspace)[ACME].state == "open"


def test_a_model_that_is_not_sure_leaves_the_question_open(workspace: Workspace):
    decide(workspace, Verdict.UNSURE)

    run(workspace)

    assert suggested(workspace)[ACME].state == "open"


def test_symbols_of_source_code_are_left_alone(workspace: Workspace):
    code = "read_first_line() and read_first_lines()"
    kinds = {"read_first_line": "symbol", "read_first_lines": "symbol"}
    rows.make_document(workspace, "Code", code, names=kinds)

    run(workspace)

    assert set(suggested(workspace)) == {ACME, UNIT}


def test_passages_about_the_same_make_it_more_certain(workspace: Workspace):
    other = rows.make_workspace("Island")
    embedder = FakeEmbedder(64)
    told = ("Marian Heddle polishes the great lens of the tower.", "Tar and oil for the boats.")
    for number, name in enumerate(("Marian Heddle", "Marian Ann Heddle")):
        text = told[0].replace("Marian Heddle", name) + "\n\n" + told[1] * (number + 1)
        rows.make_document(other, name, text, names={name: "person"}, embedder=embedder)
    job = IngestionJob(workspace=other, kind=JobKind.WORKSPACE)
    ports = build_ports()

    suggest.run(job, ports, NO_PROGRESS)
    [without] = suggested(other).values()
    with access.in_workspace(other.pk):
        cosines = suggest._cosines(
            other.pk,
            [suggest.Suggestion((without.left_id, without.right_id), 0.5, ())],
            embedder.fingerprint,
        )

    assert all(cosine > 0.2 for cosine in cosines.values())
    assert set(cosines) == {(without.left_id, without.right_id)}


def test_an_empty_workspace_has_nothing_to_suggest():
    assert run(rows.make_workspace("Empty")) == 0


def test_terms_are_not_put_in_order(workspace: Workspace):
    text = "The foo package is built. A package foo is not.\n\nThe foo package again."
    terms = {"foo package": "concept", "package foo": "concept"}
    rows.make_document(workspace, "Building", text, names=terms)

    run(workspace)

    assert set(suggested(workspace)) == {ACME, UNIT}


def test_a_term_that_is_written_as_a_name_may_be_somebody(workspace: Workspace):
    rows.make_document(workspace, "Notes", "Acme Works wrote.", names={"Acme Works": "name"})
    rows.make_document(workspace, "Bills", "Acme Works Ltd.", names={"Acme Works Ltd": "company"})
    with access.in_workspace(workspace.pk):
        Entity.objects.in_workspace(workspace).filter(name="Acme Works").update(type="concept")

    run(workspace)

    assert frozenset(("Acme Works", "Acme Works Ltd")) in suggested(workspace)
