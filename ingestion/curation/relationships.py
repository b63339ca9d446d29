"""Creating, editing and deleting relationships between entities."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from itertools import product
from typing import Any

from ingestion.curation import effects
from ingestion.curation.effects import Effect, Verb
from ingestion.curation.operation import operation
from ingestion.curation.validation import (
    UNCHANGED,
    EntityGiven,
    RelationshipGiven,
    all_living,
    description_given,
    id_of,
    identities,
    invalid,
    keywords_given,
    living_link,
    own_words,
    ref_of,
)
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Entity,
    EventKind,
    Evidence,
    HistoryEvent,
    Relationship,
    RelationshipRuling,
    SubjectKind,
)
from ingestion.pipeline.propagate import propagate
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.keys import link_id
from ingestion.resolution.overrides import NameResolution
from ingestion.resolution.recorder import Recorder
from kb_project.errors import ConflictError
from workspaces.models import Workspace

Field = RelationshipRuling.Field


def relationship_create(
    *,
    change: ChangeContext,
    source: EntityGiven,
    target: EntityGiven,
    description: str,
    keywords: Iterable[str] = (),
) -> HistoryEvent:
    """Add a relationship, whatever documents say; its id is ``details["relationship"]``.

    Raises InputError, and ConflictError (relationship_exists) if there is one in that direction.
    """
    if id_of(source) == id_of(target):
        raise invalid(
            "An entity cannot be linked to itself.", "Choose another entity.", "same_entity"
        )
    words = {"description": _described(description), "keywords": keywords_given(keywords)}
    return operation(change, lambda: _create(change, (source, target), words))


def relationship_edit(
    *,
    change: ChangeContext,
    relationship: RelationshipGiven,
    description: str | None = None,
    keywords: Iterable[str] | None = None,
) -> HistoryEvent:
    """Change a relationship's description or keywords. Raises InputError (nothing_to_change, …)."""
    wanted = {
        "description": None if description is None else _described(description),
        "keywords": None if keywords is None else keywords_given(keywords),
    }
    return operation(change, lambda: _edit(change, relationship, wanted))


def relationship_delete(*, change: ChangeContext, relationship: RelationshipGiven) -> HistoryEvent:
    """Delete a relationship, whatever documents say of it later."""
    return operation(change, lambda: _delete(change, relationship))


def delete_effect(*, workspace: Workspace, relationship: RelationshipGiven) -> Effect:
    """Compute what deleting a relationship hides. Call in the workspace's scope."""
    link = living_link(workspace, relationship)
    return Effect(verb=Verb.HIDE, facts=1, reports=_reports(workspace, link))


def _described(text: str) -> str:
    description = description_given(text)
    if not description:
        raise invalid("The description is empty.", "Describe how the two are related.", "empty")
    return description


def _create(
    change: ChangeContext, ends: tuple[EntityGiven, EntityGiven], words: dict[str, Any]
) -> HistoryEvent:
    workspace = change.workspace
    source, target = all_living(workspace, ends)
    _refuse_linked(workspace, source, target)
    resolution = load_resolution(workspace.pk)
    made = link_id(workspace.pk, ref_of(source), ref_of(target))
    link = Relationship(workspace=workspace, pk=made, source=source, target=target)
    counts = Effect(reports=_reports(workspace, link)).figures
    details = {"after": words, "created": [str(made)], "counts": counts}
    event = _record(change, EventKind.RELATIONSHIP_CREATED, link, details)
    Recorder(event).relationship(ref_of(source), ref_of(target), Field.CREATED)
    _record_wording(event, link, {field: value for field, value in words.items() if value})
    propagate(workspace.pk, _dropped_before(resolution, source, target), may_wait=True)
    return event


def _dropped_before(before: NameResolution, source: Entity, target: Entity) -> set[str]:
    """Return the names whose documents may state a relationship that was deleted before."""
    ends = product(before.members(ref_of(source)), before.members(ref_of(target)))
    return set() if before.dropped.isdisjoint(ends) else {source.key, target.key}


def _refuse_linked(workspace: Workspace, source: Entity, target: Entity) -> None:
    rows = Relationship.objects.in_workspace(workspace).filter(source=source, target=target)
    there = rows.values_list("pk", flat=True).first()
    if there is not None:
        raise ConflictError(
            f"There is already a fact that links '{source.name}' to '{target.name}'.",
            code="relationship_exists",
            kept=UNCHANGED,
            next_step="Edit the existing fact.",
            fields={"relationship": str(there)},
        )


def _edit(change: ChangeContext, given: RelationshipGiven, wanted: dict[str, Any]) -> HistoryEvent:
    workspace = change.workspace
    link = living_link(workspace, given)
    after = {
        field: value
        for field, value in wanted.items()
        if value is not None and value != getattr(link, field)
    }
    if not after:
        raise invalid("There is nothing to change.", "", "nothing_to_change")
    before = {"description": own_words(link), "keywords": list(link.keywords)}
    details = {
        "before": {field: before[field] for field in after},
        "after": after,
        "counts": Effect(reports=_reports(workspace, link)).figures,
    }
    event = _record(change, EventKind.RELATIONSHIP_EDITED, link, details)
    _record_wording(event, link, after)
    propagate(workspace.pk)
    return event


def _delete(change: ChangeContext, given: RelationshipGiven) -> HistoryEvent:
    workspace = change.workspace
    link = living_link(workspace, given)
    counts = Effect(verb=Verb.HIDE, facts=1, reports=_reports(workspace, link)).figures
    details = {"before": {"description": own_words(link)}, "counts": counts}
    event = _record(change, EventKind.RELATIONSHIP_DELETED, link, details)
    Recorder(event).relationship(ref_of(link.source), ref_of(link.target), Field.DELETED)
    stated = Evidence.objects.in_workspace(workspace).filter(relationship=link)
    documents = list(stated.values_list("document_id", flat=True).distinct())
    names = {link.source.key, link.target.key}
    propagate(workspace.pk, names, documents=documents, may_wait=True)
    return event


def _reports(workspace: Workspace, link: Relationship) -> int:
    return effects.reports_about(workspace, [link.source_id, link.target_id])


def _record(
    change: ChangeContext, kind: EventKind, link: Relationship, details: dict[str, Any]
) -> HistoryEvent:
    """Record the event, with the relationship and its ends as subjects."""
    ends: dict[uuid.UUID, SubjectKind] = {
        link.source_id: SubjectKind.ENTITY,
        link.target_id: SubjectKind.ENTITY,
    }
    about = identities([link.source, link.target]) | {
        "relationship": str(link.pk),
        "source": str(link.source_id),
        "target": str(link.target_id),
    }
    return recording.record(
        change, kind, {link.pk: SubjectKind.RELATIONSHIP, **ends}, about | details
    )


def _record_wording(event: HistoryEvent, link: Relationship, words: dict[str, Any]) -> None:
    recorder = Recorder(event)
    refs = ref_of(link.source), ref_of(link.target)
    if "description" in words:
        recorder.relationship(*refs, Field.DESCRIPTION, words["description"])
    if "keywords" in words:
        recorder.relationship(*refs, Field.KEYWORDS, "\n".join(words["keywords"]))
