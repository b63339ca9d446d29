"""Previews of operations.

Merges, deletions and documents are computed from the present rows. The other operations are run in
full and rolled back, so the preview shows exactly what happens. Each preview raises what its
operation raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ingestion.curation import effects, entities, merging, relationships, splitting, undoing
from ingestion.curation.effects import Effect
from ingestion.curation.operation import dry_run
from ingestion.curation.reassign import Selection
from ingestion.curation.subjects import EntityGiven, RelationshipGiven
from ingestion.history.recording import ChangeContext
from ingestion.models import Document, HistoryEvent
from workspaces import access
from workspaces.models import Workspace

__all__ = ["Effect", "Selection"]


def merge(*, workspace: Workspace, kept: EntityGiven, others: Iterable[EntityGiven]) -> Effect:
    with access.in_workspace(workspace.pk):
        return merging.merge_effect(workspace, kept, list(others))


def delete(*, workspace: Workspace, entity: EntityGiven) -> Effect:
    with access.in_workspace(workspace.pk):
        return entities.delete_effect(workspace, entity)


def relationship_delete(*, workspace: Workspace, relationship: RelationshipGiven) -> Effect:
    with access.in_workspace(workspace.pk):
        return relationships.delete_effect(workspace, relationship)


def documents_trash(*, workspace: Workspace, documents: Iterable[Document]) -> Effect:
    with access.in_workspace(workspace.pk):
        return effects.of_documents(workspace, [one.pk for one in documents])


def split(
    *,
    workspace: Workspace,
    entity: EntityGiven,
    selection: Selection,
    name: str,
    type: str | None = None,
) -> Effect:
    return _rehearsed(
        workspace, splitting.entity_split, entity=entity, selection=selection, name=name, type=type
    )


def move(
    *, workspace: Workspace, entity: EntityGiven, selection: Selection, target: EntityGiven
) -> Effect:
    return _rehearsed(
        workspace, splitting.mentions_move, entity=entity, selection=selection, target=target
    )


def create(*, workspace: Workspace, **wanted: Any) -> Effect:
    return _rehearsed(workspace, entities.entity_create, **wanted)


def edit(*, workspace: Workspace, entity: EntityGiven, **wanted: Any) -> Effect:
    return _rehearsed(workspace, entities.entity_edit, entity=entity, **wanted)


def relationship_create(*, workspace: Workspace, **wanted: Any) -> Effect:
    return _rehearsed(workspace, relationships.relationship_create, **wanted)


def relationship_edit(
    *, workspace: Workspace, relationship: RelationshipGiven, **wanted: Any
) -> Effect:
    return _rehearsed(
        workspace, relationships.relationship_edit, relationship=relationship, **wanted
    )


def undo(*, workspace: Workspace, event: HistoryEvent) -> Effect:
    return _rehearsed(workspace, undoing.event_undo, event=event)


def _rehearsed(workspace: Workspace, service: Callable[..., HistoryEvent], **wanted: Any) -> Effect:
    change = ChangeContext(workspace, None)
    with access.in_workspace(workspace.pk):
        return effects.of_event(dry_run(lambda: service(change=change, **wanted)))
