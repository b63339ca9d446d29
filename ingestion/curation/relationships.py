"""Links between entities that people make, word, and delete."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ingestion import history
from ingestion.curation import effects
from ingestion.curation.carrying import carried_out
from ingestion.curation.effects import Effect, Verb
from ingestion.curation.given import UNCHANGED, description_given, keywords_given
from ingestion.curation.ruled import Rules
from ingestion.curation.settling import read_anew, settle
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
from ingestion.history import Deed, Subjects
from ingestion.identity import link_id
from ingestion.models import (
    Entity,
    EventKind,
    HistoryEvent,
    Relationship,
    RelationshipRuling,
    SubjectKind,
)
from kb_project.errors import ConflictError, InputError
from workspaces.models import Workspace

Field = RelationshipRuling.Field


def relationship_create(
    *,
    deed: Deed,
    source: EntityGiven,
    target: EntityGiven,
    description: str,
    keywords: Iterable[str] = (),
) -> HistoryEvent:
    """Link two entities, whatever documents say; the link's id is ``details["relationship"]``.

    Raises InputError, and ConflictError (relationship_exists) where they are linked that way.
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
    return carried_out(deed, lambda: _create(deed, (source, target), said, words))


def relationship_edit(
    *,
    deed: Deed,
    relationship: RelationshipGiven,
    description: str | None = None,
    keywords: Iterable[str] | None = None,
) -> HistoryEvent:
    """Say how two entities are linked. Raises InputError (nothing_to_change, …)."""
    wanted = {
        "description": None if description is None else _described(description),
        "keywords": None if keywords is None else keywords_given(keywords),
    }
    return carried_out(deed, lambda: _edit(deed, relationship, wanted))


def relationship_delete(*, deed: Deed, relationship: RelationshipGiven) -> HistoryEvent:
    """Keep nothing of a link, whatever documents say of it later."""
    return carried_out(deed, lambda: _delete(deed, relationship))


def delete_effect(workspace: Workspace, given: RelationshipGiven) -> Effect:
    """What deleting a link hides. In the workspace's scope."""
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
            next_step="Say how the two are linked.",
        )
    return description


def _create(
    deed: Deed, ends: tuple[EntityGiven, EntityGiven], description: str, keywords: Sequence[str]
) -> HistoryEvent:
    workspace = deed.workspace
    source, target = all_living(workspace, ends)
    _refuse_linked(workspace, source, target)
    made = link_id(workspace.pk, ref_of(source), ref_of(target))
    after = {"description": description, "keywords": list(keywords)}
    event = history.record(
        deed,
        EventKind.RELATIONSHIP_CREATED,
        _subjects(made, source, target),
        _details(made, source, target)
        | {
            "after": after,
            "created": [str(made)],
            "counts": _counts(workspace, source, target),
        },
    )
    rules = Rules(deed, event)
    refs = ref_of(source), ref_of(target)
    rules.link(*refs, Field.CREATED)
    rules.link(*refs, Field.DESCRIPTION, description)
    if keywords:
        rules.link(*refs, Field.KEYWORDS, "\n".join(keywords))
    # Where the link was deleted before, documents may speak of it again.
    read_anew(workspace.pk, {source.key, target.key})
    return event


def _refuse_linked(workspace: Workspace, source: Entity, target: Entity) -> None:
    rows = Relationship.objects.in_workspace(workspace).filter(source=source, target=target)
    there = rows.values_list("pk", flat=True).first()
    if there is not None:
        raise ConflictError(
            f"There is a link from '{source.name}' to '{target.name}' already.",
            code="relationship_exists",
            kept=UNCHANGED,
            next_step="Edit that one.",
            fields={"relationship": str(there)},
        )


def _edit(deed: Deed, given: RelationshipGiven, wanted: dict[str, Any]) -> HistoryEvent:
    workspace = deed.workspace
    link = living_link(workspace, given)
    after = {
        field: value
        for field, value in wanted.items()
        if value is not None and value != getattr(link, field)
    }
    if not after:
        raise InputError("There is nothing to change.", code="nothing_to_change", kept=UNCHANGED)
    before = {"description": own_words(link), "keywords": list(link.keywords)}
    event = history.record(
        deed,
        EventKind.RELATIONSHIP_EDITED,
        _subjects(link.pk, link.source, link.target),
        _details(link.pk, link.source, link.target)
        | {
            "before": {field: before[field] for field in after},
            "after": after,
            "counts": _counts(workspace, link.source, link.target),
        },
    )
    rules = Rules(deed, event)
    refs = ref_of(link.source), ref_of(link.target)
    if "description" in after:
        rules.link(*refs, Field.DESCRIPTION, after["description"])
    if "keywords" in after:
        rules.link(*refs, Field.KEYWORDS, "\n".join(after["keywords"]))
    settle(workspace.pk)
    return event


def _delete(deed: Deed, given: RelationshipGiven) -> HistoryEvent:
    workspace = deed.workspace
    link = living_link(workspace, given)
    counts = delete_effect(workspace, link).figures
    event = history.record(
        deed,
        EventKind.RELATIONSHIP_DELETED,
        _subjects(link.pk, link.source, link.target),
        _details(link.pk, link.source, link.target)
        | {"before": {"description": own_words(link)}, "counts": counts},
    )
    refs = ref_of(link.source), ref_of(link.target)
    Rules(deed, event).link(*refs, Field.DELETED)
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
