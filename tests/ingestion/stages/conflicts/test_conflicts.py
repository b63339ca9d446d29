"""Conflicts as documents come, change and go, and what becomes of decisions about them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from ingestion.curation.conflicts import conflict_decide, conflict_reopen
from ingestion.curation.undoing import event_undo
from ingestion.documents import lifecycle, versions
from ingestion.editions import services as editions
from ingestion.history.recording import ChangeContext
from ingestion.models import Claim, Conflict, ConflictSide, Entity, HistoryEvent, IngestionJob
from ingestion.stage import NO_PROGRESS
from ingestion.stages import conflicts
from kb_project.errors import ConflictError, InputError, NotFoundError
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion import state
from tests.ingestion.editions.conftest import Team, team, team_once
from tests.ingestion.once import Kept, once_a_module
from workspaces import access
from workspaces.models import Workspace

__all__ = ["team", "team_once"]
pytestmark = pytest.mark.django_db(transaction=True)

LOG = "The Great Lens was relit on 28 September 2024. Ada Lind was there."
NEWS = "The Great Lens was relit on 21 September 2024 before the trustees."
MEMOIR = "The Great Lens was relit on 5 October 2024, as Ada Lind says."
FIRST, SECOND, THIRD = "date:2024-9-28", "date:2024-9-21", "date:2024-10-5"


def begin() -> rows.Cast:
    cast = rows.make_cast()
    state.read(cast.workspace, {"Log": LOG, "News": NEWS})
    return cast


cast_once = once_a_module(begin, Kept)


@pytest.fixture
def cast(cast_once: Kept[rows.Cast], media: Path, fake_embedder: None) -> rows.Cast:
    return cast_once.for_a_test(media)


def found(workspace: Workspace) -> list[Conflict]:
    with access.in_workspace(workspace.pk):
        return list(Conflict.objects.in_workspace(workspace).order_by("topic"))


def only(workspace: Workspace) -> Conflict:
    [conflict] = found(workspace)
    return conflict


def sides(workspace: Workspace) -> dict[str, str]:
    """The quote of each side, by its value's key."""
    with access.in_workspace(workspace.pk):
        several = ConflictSide.objects.in_workspace(workspace).select_related("chunk")
        return {
            one.key: one.chunk.text[one.start - one.chunk.start : one.end - one.chunk.start]
            for one in several
        }


def change(cast: rows.Cast, reason: str = "") -> ChangeContext:
    return ChangeContext(cast.workspace, cast.alice, reason)


def decide(cast: rows.Cast, verdict: str = "holds", holds: str = FIRST) -> HistoryEvent:
    with access.in_workspace(cast.workspace.pk):
        return conflict_decide(
            change=change(cast, "The log says why."),
            conflict=only(cast.workspace).pk,
            verdict=verdict,
            holds=holds,
        )


def document(cast: rows.Cast, title: str) -> Any:
    with access.in_workspace(cast.workspace.pk):
        return rows.Document.objects.in_workspace(cast.workspace).get(title=title)


def test_a_conflict_has_both_sides_with_their_exact_quotes(cast: rows.Cast):
    conflict = only(cast.workspace)

    assert (conflict.kind, conflict.topic, conflict.state) == (
        "values",
        "when it was relit",
        "open",
    )
    assert sides(cast.workspace) == {FIRST: LOG.partition(" Ada")[0], SECOND: NEWS}

    # Running it again looks at nothing and changes nothing.
    outcome = conflicts.run(
        IngestionJob(workspace=cast.workspace, kind="workspace"), build_ports(), NO_PROGRESS
    )
    assert (outcome.written, only(cast.workspace).pk) == (0, conflict.pk)


def test_a_conflict_goes_with_a_document_and_comes_back_decided(cast: rows.Cast):
    decide(cast)
    conflict, news = only(cast.workspace), document(cast, "News")

    lifecycle.documents_trash(change=change(cast), documents=[news])
    assert found(cast.workspace) == []

    lifecycle.documents_restore(change=change(cast), documents=[news])
    state.settled(cast.workspace)
    again = only(cast.workspace)
    assert (again.pk, again.state, again.holds) == (conflict.pk, "decided", FIRST)


def test_a_decision_outlives_a_new_version_and_a_new_value_reopens_the_conflict(cast: rows.Cast):
    decide(cast)
    with access.in_workspace(cast.workspace.pk):
        versions.document_replace(
            change=change(cast),
            document=document(cast, "News"),
            file=io.BytesIO(b"Much has been said about the lamp.\n\n" + NEWS.encode()),
            name="News.txt",
        )
    state.settled(cast.workspace)
    assert only(cast.workspace).state == "decided"
    assert sides(cast.workspace)[SECOND] == NEWS

    state.read(cast.workspace, {"Letter": "The Great Lens was relit in September 2024, they say."})
    assert only(cast.workspace).state == "decided"

    state.read(cast.workspace, {"Memoir": MEMOIR})
    assert only(cast.workspace).state == "open"
    assert THIRD in sides(cast.workspace)


def test_a_decision_is_undone_and_redone_and_the_latest_counts(cast: rows.Cast):
    refuse_what_makes_no_sense(cast)
    first = decide(cast, "left", "")
    assert only(cast.workspace).state == "left"
    second = decide(cast, "both", "")
    assert (only(cast.workspace).state, only(cast.workspace).holds) == ("decided", "")

    undone = event_undo(change=change(cast), event=second)
    assert only(cast.workspace).state == "left"
    event_undo(change=change(cast), event=undone)
    assert only(cast.workspace).event_id == second.pk

    event_undo(change=change(cast), event=second)
    with access.in_workspace(cast.workspace.pk):
        conflict_reopen(change=change(cast), conflict=only(cast.workspace).pk)
    assert (only(cast.workspace).state, only(cast.workspace).event_id) == ("open", None)
    with access.in_workspace(cast.workspace.pk):
        assert HistoryEvent.objects.in_workspace(cast.workspace).get(pk=first.pk).undone_at
        with pytest.raises(ConflictError):
            conflict_reopen(change=change(cast), conflict=only(cast.workspace).pk)


def refuse_what_makes_no_sense(cast: rows.Cast) -> None:
    with pytest.raises(InputError, match="not a decision"):
        decide(cast, "perhaps")
    with pytest.raises(InputError, match="None of the sources"):
        decide(cast, "holds", THIRD)
    with access.in_workspace(cast.workspace.pk), pytest.raises(NotFoundError):
        conflict_decide(change=change(cast), conflict=cast.workspace.pk, verdict="both")
    event = decide(cast)
    with pytest.raises(InputError, match="already"):
        decide(cast)
    event_undo(change=change(cast), event=event)


def test_claims_held_true_and_false_and_noted_contradictions_are_conflicts_too(cast: rows.Cast):
    workspace = cast.workspace
    with access.in_workspace(workspace.pk):
        ada = Entity.objects.in_workspace(workspace).get(name="Ada Lind")
        chunks = list(rows.Chunk.objects.in_workspace(workspace).select_related("document"))
        for chunk, status, since in zip(chunks, ("true", "false"), ("2019", "2020"), strict=True):
            Claim.objects.create(
                workspace=workspace, subject=ada, chunk=chunk, document=chunk.document,
                type="Office", status=status, description="Ada Lind is the director.",
                period_start=since, start=chunk.start, end=chunk.start + 20,
            )  # fmt: skip
        statements = [
            {"text": f"In {one.document.title}", "chunk": str(one.pk), "start": 0, "end": 30}
            for one in chunks
        ]
        Entity.objects.in_workspace(workspace).filter(pk=ada.pk).update(
            conflicts=[{"reason": "They differ.", "statements": statements}], is_changed=True
        )

    conflicts.run(IngestionJob(workspace=workspace, kind="workspace"), build_ports(), NO_PROGRESS)

    assert {(one.kind, one.topic) for one in found(workspace)} == {
        ("claim", "Office"), ("note", "They differ."), ("values", "when it was relit"),
    }  # fmt: skip


def test_what_is_hidden_neither_makes_a_conflict_nor_shows_a_side_or_a_decision(team: Team):
    texts = {"Log": LOG, "News": NEWS, "Memoir": MEMOIR}
    team.documents |= state.read(team.workspace, {f"Lens {one}": texts[one] for one in texts})
    team.put(team.court, "Lens Memoir")
    team.restrict(team.court)
    team.sync()
    cast = rows.Cast(team.workspace, team.alice, team.bob, team.alice)
    assert sides(team.workspace).keys() == {FIRST, SECOND, THIRD}
    assert sides(team.read_by(team.bob)).keys() == {FIRST, SECOND}

    decide(cast)
    team.sync()
    assert (only(team.read_by(team.bob)).state, only(team.read_by(team.bob)).holds) == (
        "decided",
        FIRST,
    )

    decide(cast, holds=THIRD)
    team.sync()
    assert only(team.read_by(team.bob)).state == "open"

    team.put(team.court, "Lens News")
    editions.sync(team.workspace.pk)
    team.sync()
    assert found(team.read_by(team.bob)) == []
