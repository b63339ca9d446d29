"""Creating, editing and deleting relationships between entities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ingestion.curation import effects
from ingestion.curation.effects import Effect, Verb
from ingestion.curation.operation import operation
from ingestion.curation.records import Rules
from ingestion.curation.subjects import (
    EntityGiven,
    RelationshipGiven,
    all_living,
    id_of,
    living_link,
    names_of,
    own_words,
    ref_of,
    refs_of,
)
from ingestion.curation.validation import UNCHANGED, description_given, keywords_given
from ingestion.history import recording
from ingestion.history.recording import ChangeContext, Subjects
from ingestion.models import (
    Entity,
    EventKind,
    HistoryEvent,
    Relationship,
    RelationshipRuling,
    SubjectKind,
)
from ingestion.pipeline.propagate import read_anew, settle
from ingestion.resolution.keys import link_id
from kb_project.errors import ConflictError, InputError
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
        raise InputError(
            "An entity cannot be linked to itself.",
            code="same_entity",
            kept=UNCHANGED,
            next_step="Choose another entity.",
        )
    said = _described(description)
    words = keywords_given(keywords)
    return operation(change, lambda: _create(change, (source, target), said, words))


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


def delete_effect(workspace: Workspace, given: RelationshipGiven) -> Effect:
    """Compute what deleting a relationship hides. Call in the workspace's scope."""
    link = living_link(workspace, given)
    reports = effects.reports_about(workspace, [link.source_id, link.target_id])
    return Effect(verb=Verb.HIDE, facts=1, reports=reports)


def _described(text: str) -> str:
    description = description_given(text)
    if not description:
        raise InputError(
            "The description is empty.",
            code="empty",
            kept=UNCHANGED,
            next_step="Describe how the two are related.",
        )
    return description


def _create(
    change: ChangeContext,
    ends: tuple[EntityGiven, EntityGiven],
    description: str,
    keywords: Sequence[str],
) -> HistoryEvent:
    workspace = change.workspace
    source, target = all_living(workspace, ends)
    _refuse_linked(workspace, source, target)
    made = link_id(workspace.pk, ref_of(source), ref_of(target))
    after = {"description": description, "keywords": list(keywords)}
    event = recording.record(
        change,
        EventKind.RELATIONSHIP_CREATED,
        _subjects(made, source, target),
        _details(made, source, target)
        | {
            "after": after,
            "created": [str(made)],
            "counts": _counts(workspace, source, target),
        },
    )
    rules = Rules(change, event)
    refs = ref_of(source), ref_of(target)
    rules.link(*refs, Field.CREATED)
    rules.link(*refs, Field.DESCRIPTION, description)
    if keywords:
        rules.link(*refs, Field.KEYWORDS, "\n".join(keywords))
    # If the relationship was deleted before, documents may state it again.
    read_anew(workspace.pk, {source.key, target.key})
    return event


def _refuse_linked(workspace: Workspace, source: Entity, target: Entity) -> None:
    rows = Relationship.objects.in_workspace(workspace).filter(source=source, target=target)
    there = rows.values_list("pk", flat=True).first()
    if there is not None:
        raise ConflictError(
            f"There is already a relationship from '{source.name}' to '{target.name}'.",
            code="relationship_exists",
            kept=UNCHANGED,
            next_step="Edit the existing relationship.",
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
        raise InputError("There is nothing to change.", code="nothing_to_change", kept=UNCHANGED)
    before = {"description": own_words(link), "keywords": list(link.keywords)}
    event = recording.record(
        change,
        EventKind.RELATIONSHIP_EDITED,
        _subjects(link.pk, link.source, link.target),
        _details(link.pk, link.source, link.target)
        | {
            "before": {field: before[field] for field in after},
            "after": after,
            "counts": _counts(workspace, link.source, link.target),
        },
    )
    rules = Rules(change, event)
    refs = ref_of(link.source), ref_of(link.target)
    if "description" in after:
        rules.link(*refs, Field.DESCRIPTION, after["description"])
    if "keywords" in after:
        rules.link(*refs, Field.KEYWORDS, "\n".join(after["keywords"]))
    settle(workspace.pk)
    return event


def _delete(change: ChangeContext, given: RelationshipGiven) -> HistoryEvent:
    workspace = change.workspace
    link = living_link(workspace, given)
    counts = delete_effect(workspace, link).figures
    event = recording.record(
        change,
        EventKind.RELATIONSHIP_DELETED,
        _subjects(link.pk, link.source, link.target),
        _details(link.pk, link.source, link.target)
        | {"before": {"description": own_words(link)}, "counts": counts},
    )
    refs = ref_of(link.source), ref_of(link.target)
    Rules(change, event).link(*refs, Field.DELETED)
    read_anew(workspace.pk, {link.source.key, link.target.key})
    return event


def _counts(workspace: Workspace, source: Entity, target: Entity) -> dict[str, int]:
    return Effect(reports=effects.reports_about(workspace, [source.pk, target.pk])).figures


def _subjects(link: Any, source: Entity, target: Entity) -> Subjects:
    return {
        link: SubjectKind.RELATIONSHIP,
        source.pk: SubjectKind.ENTITY,
        target.pk: SubjectKind.ENTITY,
    }


def _details(link: Any, source: Entity, target: Entity) -> dict[str, Any]:
    return {
        "names": names_of([source, target]),
        "refs": refs_of([source, target]),
        "relationship": str(link),
        "source": str(source.pk),
        "target": str(target.pk),
    }
