"""What curators' pages show, built from queries and previews."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.http import QueryDict

from ingestion.curation import conflict_queries, forms, queries
from ingestion.curation.effects import Effect
from ingestion.curation.merging import differences, entities_merge
from ingestion.curation.previewing import Service, preview
from ingestion.curation.splitting import entity_split, mentions_move
from ingestion.history import queries as history_queries, recording, sentences
from ingestion.knowledge import presenters as knowledge_presenters, queries as knowledge_queries
from ingestion.knowledge.spans import span_of
from ingestion.models import Claim, Entity, Relationship
from kb_project.errors import ConflictError, InputError, KBError, PreconditionError
from kb_project.http.problems import problem, status_of
from workspaces import access
from workspaces.models import Capability, Workspace

FIELDS: Final = ("name", "type", "description", "alias")
MOST_FOUND: Final = 8
MOST_TYPES: Final = 30
MOST_LINES: Final = 300
"""Mentions listed one by one on a page; the others can be chosen by document."""
MOST_BESIDE: Final = 5
"""Entities that fit side by side."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a form is refused: the error, changes made meanwhile, and who has the name."""

    status: int
    problem: dict[str, Any]
    since: tuple[str, ...] = ()
    holder: dict[str, str] | None = None


def refusal_of(workspace: Workspace, error: KBError) -> Refusal:
    ids = error.events if isinstance(error, PreconditionError) else ()
    since = history_queries.event_sentences(workspace=workspace, event_ids=ids)
    return Refusal(
        status=status_of(error),
        problem=problem(error),
        since=tuple(one["sentence"] for one in since),
        holder=error.fields.get("entity") if error.code == "name_taken" else None,
    )


@dataclass(frozen=True, slots=True)
class Editing:
    """The open field of an entity's page; ``typed`` is the refused input."""

    field: str = ""
    typed: str | None = None
    refusal: Refusal | None = None


def page_context(workspace: Workspace, section: str, **more: Any) -> dict[str, Any]:
    """Return what every page here needs: whether the user may curate, and otherwise whom to ask."""
    allowed = workspace.may_curate
    sees_too_little = workspace.may(Capability.CURATE) and not allowed
    return {
        "workspace": workspace,
        "section": section,
        "is_curator": allowed,
        "who_may": f"curators {'who can see all collections ' if sees_too_little else ''}of"
        f" {workspace.name}",
        "whom_to_ask": "" if allowed else access.who_can_grant(workspace),
        **more,
    }


def seen(workspace: Workspace, ids: Iterable[uuid.UUID]) -> list[str]:
    """Return the revisions a form carries, so that no one overwrites a change they did not see."""
    found = recording.revisions(workspace, list(ids))
    return [f"{one}:{revision}" for one, revision in found.items()]


def _types(workspace: Workspace) -> list[tuple[str, int]]:
    """Return the types for a form; evaluated lazily, because few pages show it."""
    return knowledge_queries.entity_types(workspace=workspace)[:MOST_TYPES]


# --- the page of an entity ------------------------------------------------------------------------
def entity_context(
    *, workspace: Workspace, entity_id: uuid.UUID, editing: Editing
) -> dict[str, Any]:
    """Build the context of an entity's page. Raises NotFoundError."""
    view = knowledge_queries.entity_view(
        workspace=workspace,
        entity_id=entity_id,
        most_facts=0,
        most_claims=knowledge_presenters.FIRST_CLAIMS,
    )
    entity = view.entity
    known = knowledge_presenters.entity_known(
        workspace, entity, documents=view.documents_total, topics=view.topics
    )
    confirmed = None
    if entity.is_confirmed:
        confirmed = queries.confirmed_in(workspace=workspace, entity=entity)
    return page_context(
        workspace,
        "entities",
        view=view,
        conflicts=conflict_queries.about_entity(workspace, entity),
        change=queries.change_work(workspace=workspace, entity=entity),
        **known,
        editing=editing if workspace.may_curate else Editing(),
        seen=seen(workspace, [entity.pk]),
        confirmed=confirmed,
        confirmed_by=sentences.who(confirmed) if confirmed else "",
        proposed=[(one, entity.proposed[one]) for one in FIELDS if entity.proposed.get(one)],
        types=partial(_types, workspace),
    )


def gone_context(*, workspace: Workspace, entity_id: uuid.UUID) -> dict[str, Any]:
    """Build the page at a former entity's address. Raises NotFoundError if there never was one."""
    gone = queries.entity_gone(workspace=workspace, entity_id=entity_id)
    rows = [gone.event] if gone.event else []
    events = history_queries.event_views(workspace=workspace, rows=rows)
    return page_context(workspace, "entities", gone=gone, events=events)


def form_context(
    workspace: Workspace, given: QueryDict, about: Sequence[Entity | Relationship | Claim] = ()
) -> dict[str, Any]:
    """Build the context shared by all curators' forms; ``given`` is the previous input."""
    return page_context(
        workspace,
        "entities",
        given=given,
        seen=seen(workspace, [one.pk for one in about]),
        types=partial(_types, workspace),
    )


# --- search ---------------------------------------------------------------------------------------
def choices(*, workspace: Workspace, text: str, without: Iterable[uuid.UUID] = ()) -> list[Entity]:
    """Return matching entities to choose from, most mentioned first; none for an empty search."""
    if not text:
        return []
    rows = knowledge_queries.entities(workspace=workspace, text=text).exclude(pk__in=list(without))
    return list(rows[:MOST_FOUND])


def target_context(*, workspace: Workspace, entity: Entity, given: QueryDict) -> dict[str, Any]:
    """Build the context of a form about an entity in which the user searches for another one."""
    target = forms.id_of(given, "target")
    text = forms.search_of(given)
    found = choices(workspace=workspace, text=text, without=[entity.pk])
    if target and target not in {one.pk for one in found}:
        found.insert(0, knowledge_queries.entity_get(workspace=workspace, entity_id=target))
    context = form_context(workspace, given, [entity])
    return context | {"entity": entity, "target": target, "text": text, "found": found}


# --- previews -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Preview:
    """What would happen, or why it is refused."""

    effect: Effect | None = None
    refusal: Refusal | None = None


def previewed(service: Service, *, workspace: Workspace, **wanted: Any) -> Preview:
    """Preview the service. Raises NotFoundError."""
    try:
        return Preview(effect=preview(service, workspace=workspace, **wanted))
    except (InputError, ConflictError) as error:
        return Preview(refusal=refusal_of(workspace, error))


# --- merging --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class MergeGroup:
    """Entities that may be one; the first is the one whose page the merge started from."""

    ids: tuple[uuid.UUID, ...]
    kept: uuid.UUID


def merge_context(*, workspace: Workspace, entity: Entity, given: QueryDict) -> dict[str, Any]:
    group = _group(entity, given)
    rows = Entity.objects.in_workspace(workspace).in_bulk(group.ids[:MOST_BESIDE])
    living = [rows[one] for one in group.ids if one in rows]
    text = forms.search_of(given)
    preview = _merge_preview(workspace, group) if len(group.ids) > 1 else None
    kept = rows.get(group.kept, entity)
    return form_context(workspace, given, living) | {
        "entity": entity,
        "group": group,
        "kept": kept,
        "cards": queries.entity_cards(workspace=workspace, entities=living),
        "is_full": len(group.ids) >= MOST_BESIDE,
        "differences": differences(living) if preview else [],
        "preview": preview,
        "text": text,
        "found": choices(workspace=workspace, text=text, without=group.ids),
        "next": forms.next_of(given),
    }


def _group(entity: Entity, given: QueryDict) -> MergeGroup:
    wanted = [entity.pk, *forms.ids_of(given, "with")]
    dropped = {*forms.ids_of(given, "drop")} - {entity.pk}
    ids = tuple(one for one in dict.fromkeys(wanted) if one not in dropped)
    kept = forms.id_of(given, "kept")
    return MergeGroup(ids, kept if kept in ids else entity.pk)


def _merge_preview(workspace: Workspace, group: MergeGroup) -> Preview:
    if len(group.ids) > MOST_BESIDE:
        error = InputError(
            f"{len(group.ids)} entities are too many: only {MOST_BESIDE} fit side by side.",
            kept="Nothing was changed.",
            next_step="Remove some, merge the others, then continue with the rest.",
        )
        return Preview(refusal=refusal_of(workspace, error))
    others = [one for one in group.ids if one != group.kept]
    return previewed(entities_merge, workspace=workspace, kept=group.kept, others=others)


# --- splitting ------------------------------------------------------------------------------------
def split_context(*, workspace: Workspace, entity: Entity, given: QueryDict) -> dict[str, Any]:
    return target_context(workspace=workspace, entity=entity, given=given) | {
        "documents": queries.mentions_by_document(
            workspace=workspace, entity=entity, most=MOST_LINES
        ),
        "names": queries.names_used(workspace=workspace, entity=entity),
        "selection": forms.selection_of(given),
        "is_move": given.get("into") == "other",
    }


def split_preview(*, workspace: Workspace, entity: Entity, given: QueryDict) -> Preview | None:
    """Preview moving the form's selection; None until the form names a target."""
    wanted: dict[str, Any] = {"entity": entity, "selection": forms.selection_of(given)}
    if given.get("into") == "other":
        target = forms.id_of(given, "target")
        if target is None:
            return None
        return previewed(mentions_move, workspace=workspace, target=target, **wanted)
    name = forms.typed(given, "name").strip() or entity.name
    return previewed(entity_split, workspace=workspace, name=name, **wanted)


# --- facts ----------------------------------------------------------------------------------------
def link_context(*, workspace: Workspace, link: Relationship, given: QueryDict) -> dict[str, Any]:
    """Build the form of an existing fact."""
    return form_context(workspace, given, [link]) | {
        "link": link,
        "description": given.get("description", link.description),
        "keywords": given.get("keywords", ", ".join(link.keywords)),
        "proposed": link.proposed,
    }


def claim_context(*, workspace: Workspace, claim: Claim, given: QueryDict) -> dict[str, Any]:
    """Build the form of a claim, with its passage and what its document gives."""
    names = ("description", "type", "status", "period_start", "period_end")
    return form_context(workspace, given, [claim]) | {
        "claim": claim,
        "source": span_of(claim),
        "statuses": Claim.Status.choices,
        "values": {name: given.get(name, getattr(claim, name)) for name in names},
    }
