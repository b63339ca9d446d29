"""What the database refuses to hold, whoever writes it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DataError, IntegrityError, models

from ingestion.models import (
    Alias,
    Chunk,
    ChunkEmbedding,
    ChunkExtraction,
    Collection,
    Community,
    CommunityMember,
    CommunityReport,
    Conflict,
    Document,
    DocumentVersion,
    Entity,
    Evidence,
    Finding,
    IngestionJob,
    Mention,
    MergeSuggestion,
    Posting,
    Relationship,
    StageRun,
    WalkSnapshot,
)
from tests.ingestion.models.whole import Whole, make_whole
from workspaces import access

pytestmark = pytest.mark.django_db

Model = type[models.Model]


@pytest.fixture
def whole() -> Whole:
    return make_whole()


def copy_of(model: Model, whole: Whole, **changes: Any) -> None:
    """A second row like the workspace's first, but for its id and for ``changes``."""
    with access.in_workspace(whole.workspace.pk):
        row: Any = model._default_manager.filter(workspace=whole.workspace).order_by("pk").first()
        values = {
            field.attname: getattr(row, field.attname)
            for field in model._meta.concrete_fields
            if field.attname != "id"
        }
        model._default_manager.create(**(values | changes))


def change(model: Model, whole: Whole, **changes: Any) -> None:
    with access.in_workspace(whole.workspace.pk):
        assert model._default_manager.filter(workspace=whole.workspace).update(**changes)


# --- once only ------------------------------------------------------------------------------------
UNIQUE: list[tuple[Model, str]] = [
    (Collection, "collection_name_once"),
    (DocumentVersion, "version_number_once"),
    (Chunk, "chunk_ordinal_once"),
    (Entity, "entity_key_once"),
    (Alias, "alias_once"),
    (Mention, "mention_once"),
    (Relationship, "relationship_once"),
    (Evidence, "evidence_once"),
    (MergeSuggestion, "suggestion_once"),
    (Conflict, "conflict_once"),
    (WalkSnapshot, "snapshot_number_once"),
    (CommunityReport, "report_once"),
    (Finding, "finding_once"),
    (StageRun, "stage_once"),
    (Posting, "_pkey"),
    (ChunkExtraction, "_pkey"),
    (ChunkEmbedding, "_pkey"),
    (CommunityMember, "_pkey"),
]


@pytest.mark.parametrize(("model", "name"), UNIQUE, ids=[name for _, name in UNIQUE])
def test_the_same_thing_is_never_kept_twice(model: Model, name: str, whole: Whole):
    with pytest.raises(IntegrityError, match=name):
        copy_of(model, whole)


DIFFERENT: list[tuple[Model, dict[str, Any]]] = [
    (Collection, {"name": "Letters"}),
    (DocumentVersion, {"number": 2}),
    (Chunk, {"ordinal": 7}),
    (Entity, {"sense": 1}),
    (Alias, {"name": "ADA LIND"}),
    (Mention, {"start": 40, "end": 48}),
    (Evidence, {"predicate": "met"}),
    (Finding, {"part": "summary"}),
    (StageRun, {"stage": "chunk"}),
    (Posting, {"term": "whale"}),
    (WalkSnapshot, {"number": 99}),
    (Document, {}),
    (Community, {}),
    (IngestionJob, {}),
]


@pytest.mark.parametrize(
    ("model", "changes"), DIFFERENT, ids=[model.__name__ for model, _ in DIFFERENT]
)
def test_what_differs_in_its_key_is_kept_beside_it(
    model: Model, changes: dict[str, Any], whole: Whole
):
    with access.in_workspace(whole.workspace.pk):
        before = model._default_manager.filter(workspace=whole.workspace).count()

    copy_of(model, whole, **changes)

    with access.in_workspace(whole.workspace.pk):
        assert model._default_manager.filter(workspace=whole.workspace).count() == before + 1


def test_two_workspaces_may_use_the_same_key(whole: Whole):
    other = make_whole("Other")

    with access.in_workspace(other.workspace.pk):
        assert Entity.objects.in_workspace(other.workspace).filter(key=whole.ada.key).exists()


# --- relationships --------------------------------------------------------------------------------
def test_nobody_is_related_to_themselves(whole: Whole):
    with pytest.raises(IntegrityError, match="relationship_no_loop"):
        copy_of(Relationship, whole, target_id=whole.ada.pk)


def test_a_merge_cannot_bend_a_relationship_into_a_loop(whole: Whole):
    with pytest.raises(IntegrityError, match="relationship_no_loop"):
        change(Relationship, whole, source=whole.olaf)


def test_the_opposite_direction_is_another_relationship(whole: Whole):
    copy_of(Relationship, whole, source_id=whole.olaf.pk, target_id=whole.ada.pk)

    with access.in_workspace(whole.workspace.pk):
        assert Relationship.objects.in_workspace(whole.workspace).count() == 2


# --- refreshes ------------------------------------------------------------------------------------
def add_refresh(whole: Whole, state: str = "pending") -> IngestionJob:
    with access.in_workspace(whole.workspace.pk):
        return IngestionJob.objects.create(workspace=whole.workspace, kind="workspace", state=state)


def test_only_one_refresh_waits_at_a_time(whole: Whole):
    add_refresh(whole)

    with pytest.raises(IntegrityError, match="job_one_pending_refresh"):
        add_refresh(whole)


@pytest.mark.parametrize("state", ["running", "done", "failed", "cancelled"])
def test_a_refresh_may_wait_behind_one_that_does_not(state: str, whole: Whole):
    add_refresh(whole, state)
    add_refresh(whole, state)

    assert add_refresh(whole).state == "pending"


def test_a_refresh_cannot_go_back_to_waiting_beside_another(whole: Whole):
    running = add_refresh(whole, "running")
    add_refresh(whole)

    with (
        pytest.raises(IntegrityError, match="job_one_pending_refresh"),
        access.in_workspace(whole.workspace.pk),
    ):
        IngestionJob.objects.in_workspace(whole.workspace).filter(pk=running.pk).update(
            state="pending"
        )


def test_any_number_of_documents_may_wait(whole: Whole):
    for _ in range(3):
        copy_of(IngestionJob, whole)
    add_refresh(whole)

    with access.in_workspace(whole.workspace.pk):
        waiting = IngestionJob.objects.in_workspace(whole.workspace).filter(state="pending")
        assert waiting.count() == 5


def test_each_workspace_has_a_refresh_of_its_own(whole: Whole):
    other = make_whole("Other")

    assert add_refresh(whole).workspace_id != add_refresh(other).workspace_id


# --- values ---------------------------------------------------------------------------------------
NEGATIVE: list[tuple[Model, str]] = [
    (Chunk, "start"),
    (Chunk, "end"),
    (Chunk, "tokens"),
    (Chunk, "terms"),
    (Mention, "start"),
    (Evidence, "end"),
    (Entity, "mention_count"),
    (Entity, "degree"),
    (Relationship, "evidence_count"),
    (Posting, "frequency"),
    (Community, "size"),
    (StageRun, "units_done"),
    (StageRun, "attempts"),
]


@pytest.mark.parametrize(
    ("model", "field"), NEGATIVE, ids=[f"{model.__name__}.{field}" for model, field in NEGATIVE]
)
def test_no_offset_and_no_count_is_negative(model: Model, field: str, whole: Whole):
    with pytest.raises(IntegrityError, match=f"{field}_check"):
        change(model, whole, **{field: -1})


@pytest.mark.parametrize(
    ("model", "field"), [(Entity, "name"), (Alias, "key"), (Mention, "surface")]
)
def test_a_name_has_a_bounded_length(model: Model, field: str, whole: Whole):
    with pytest.raises(DataError, match="too long"):
        change(model, whole, **{field: "x" * 301})
