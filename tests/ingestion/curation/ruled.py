"""Rulings written as a person's changes, and the graph as it is read under them, by name."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Alias,
    Document,
    Entity,
    EntityRuling,
    EventKind,
    Evidence,
    HistoryEvent,
    Mention,
    MentionPlacement,
    Relationship,
    RelationshipRuling,
    ResolutionDecision,
)
from ingestion.pipeline.propagate import propagate
from kb_project.text.names import normalise_name
from workspaces import access
from workspaces.models import Workspace

TABLES = (ResolutionDecision, MentionPlacement, EntityRuling, RelationshipRuling)


class Hand:
    """A person's hand in one workspace: writes rulings, reads anew, takes back."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def change(self, *rulings: Any, keys: list[str]) -> HistoryEvent:
        with access.in_workspace(self.workspace.pk):
            recording.lock(self.workspace)
            event = recording.record(
                ChangeContext(self.workspace, None), EventKind.ENTITY_EDITED, {}, {"keys": keys}
            )
            for ruling in rulings:
                ruling.workspace, ruling.event = self.workspace, event
                if not isinstance(ruling, ResolutionDecision):
                    ruling.sequence = event.sequence
                ruling.save(force_insert=True)
            propagate(self.workspace.pk, keys)
        return event

    def undo(self, event: HistoryEvent) -> None:
        with access.in_workspace(self.workspace.pk):
            recording.lock(self.workspace)
            for table in TABLES:
                rows = table.objects.in_workspace(self.workspace).filter(event=event)
                rows.update(undone_at=timezone.now())
            propagate(self.workspace.pk, event.details["keys"])

    def merge(self, kept: str, other: str) -> HistoryEvent:
        left, right = sorted([kept, other])
        row = ResolutionDecision(
            left_key=left, right_key=right, verdict="same", by="person", keeps_right=right == kept
        )
        return self.change(row, keys=[kept, other])

    def place(self, key: str, target: tuple[str, int], **where: Any) -> HistoryEvent:
        row = MentionPlacement(key=key, target_key=target[0], target_sense=target[1], **where)
        return self.change(row, keys=[key, target[0]])

    def say(self, key: str, *said: tuple[str, str], sense: int = 0) -> HistoryEvent:
        rows = [EntityRuling(key=key, sense=sense, field=field, value=text) for field, text in said]
        return self.change(*rows, keys=[key])

    def link(self, source: str, target: str, *said: tuple[str, str]) -> HistoryEvent:
        rows = [
            RelationshipRuling(source_key=source, target_key=target, field=field, value=text)
            for field, text in said
        ]
        return self.change(*rows, keys=[source, target])

    def delete_documents(self, *names: str) -> None:
        """As if they had never been: what they alone said is marked, and settled."""
        from ingestion.stages.resolve import applying  # noqa: PLC0415 - tests only of this step

        with access.in_workspace(self.workspace.pk):
            recording.lock(self.workspace)
            rows = Document.objects.in_workspace(self.workspace).filter(name__in=names)
            applying.forget(self.workspace.pk, list(rows.values_list("pk", flat=True)))
            rows.delete()
            propagate(self.workspace.pk)


def graph_of(workspace: Workspace) -> dict[str, Any]:
    """Everything that is read, with ids, in an order of its own; marks and times left out."""
    with access.in_workspace(workspace.pk):
        return {
            "entities": _rows(
                workspace, Entity, "id", "key", "sense", "name", "type", "description",
                "written_by", "mention_count", "chunk_count", "degree", "is_made", "proposed",
            ),
            "aliases": _rows(workspace, Alias, "entity_id", "key", "name"),
            "mentions": _rows(
                workspace, Mention, "chunk_id", "start", "entity_id", "surface", "key", "own_key"
            ),
            "relationships": _rows(
                workspace, Relationship, "id", "source_id", "target_id", "description",
                "keywords", "weight", "evidence_count", "is_made", "proposed",
            ),
            "evidence": _rows(
                workspace, Evidence, "relationship_id", "chunk_id", "start", "predicate"
            ),
        }  # fmt: skip


def _rows(workspace: Workspace, model: Any, *fields: str) -> list[Any]:
    return sorted(map(str, model.objects.in_workspace(workspace).values_list(*fields)))


def entity(workspace: Workspace, key: str, sense: int = 0) -> Entity | None:
    with access.in_workspace(workspace.pk):
        rows = Entity.objects.in_workspace(workspace).filter(key=normalise_name(key), sense=sense)
        return rows.first()


def names(workspace: Workspace) -> set[str]:
    with access.in_workspace(workspace.pk):
        return set(Entity.objects.in_workspace(workspace).values_list("name", flat=True))
