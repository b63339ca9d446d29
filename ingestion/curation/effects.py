"""The effect of an operation, in figures and in a sentence, both in the preview and afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Final, LiteralString

from django.db.models import Q

from ingestion.documents.archive import losses_of
from ingestion.models import Chunk, EventKind, HistoryEvent, Mention, Relationship
from kb_project.sql import run_sql
from kb_project.text.words import counted
from workspaces.models import Workspace

# What a merge would move: mentions and relationships, how many of those would become self-loops,
# and how many of the rest would be new to the kept entity.
MERGE_MOVES: Final[LiteralString] = """
WITH touched AS (
    SELECT source_id, target_id,
           CASE WHEN source_id = ANY(%(others)s::uuid[]) THEN %(kept)s::uuid
                ELSE source_id END AS source,
           CASE WHEN target_id = ANY(%(others)s::uuid[]) THEN %(kept)s::uuid
                ELSE target_id END AS target
      FROM ingestion_relationship
     WHERE workspace_id = %(workspace)s
       AND (source_id = ANY(%(others)s::uuid[]) OR target_id = ANY(%(others)s::uuid[]))
)
SELECT (SELECT count(*) FROM ingestion_mention
         WHERE workspace_id = %(workspace)s AND entity_id = ANY(%(others)s::uuid[])),
       (SELECT count(*) FROM touched),
       (SELECT count(*) FROM touched WHERE source = target),
       (SELECT count(*) FROM (
            SELECT DISTINCT source, target FROM touched AS t
             WHERE source <> target AND NOT EXISTS (
                   SELECT FROM ingestion_relationship AS r
                    WHERE r.workspace_id = %(workspace)s
                      AND r.source_id = t.source AND r.target_id = t.target)
               AND NOT EXISTS (
                   SELECT FROM unnest(%(sources)s::uuid[], %(targets)s::uuid[])
                            AS hidden(source, target)
                    WHERE hidden.source = t.source AND hidden.target = t.target)) AS new)
"""

# Reports on topics that contain one of the entities.
REPORTS_ABOUT: Final[LiteralString] = """
SELECT count(DISTINCT r.id)
  FROM ingestion_communitymember AS m
  JOIN ingestion_communityreport AS r
    ON r.workspace_id = %(workspace)s AND r.community_id = m.community_id
 WHERE m.workspace_id = %(workspace)s AND m.entity_id = ANY(%(entities)s::uuid[])
"""


class Verb(StrEnum):
    """What happens to the mentions and facts counted."""

    MOVE = "move"
    HIDE = "hide"
    RETURN = "return"
    SHELVE = "shelve"
    RESTORE = "restore"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Effect:
    """The figures of one operation.

    ``mentions`` and ``facts`` are moved, hidden or restored. Of those facts, ``duplicates`` repeat
    another one, and ``self_loops`` would connect an entity to itself and are dropped. ``conflicts``
    are fields with different values from people or documents; all are kept. ``reports`` will be
    rewritten. ``passages``, ``entities`` and ``kept_facts`` belong to documents that leave the
    search: entities that nothing else names, and facts that other documents support too. ``notes``
    are sentences to consider beforehand.
    """

    verb: Verb = Verb.MOVE
    mentions: int = 0
    facts: int = 0
    duplicates: int = 0
    self_loops: int = 0
    conflicts: int = 0
    reports: int = 0
    passages: int = 0
    entities: int = 0
    kept_facts: int = 0
    notes: tuple[str, ...] = ()

    @property
    def figures(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if name in FIGURES}

    @property
    def sentence(self) -> str:
        """Describe the effect in one sentence, '' if nothing was counted: a name may have changed
        all the same."""
        line = "; ".join(part for part in (_first(self), *_others(self)) if part)
        return f"{line[0].upper()}{line[1:]}." if line else ""


FIGURES: Final = tuple(one.name for one in fields(Effect) if one.name not in ("verb", "notes"))


@dataclass(frozen=True, slots=True)
class State:
    """The mentions and relationships of some entities."""

    mentions: frozenset[tuple[Any, ...]]
    links: frozenset[tuple[uuid.UUID, uuid.UUID]]


def state_of(workspace: Workspace, entities: Collection[uuid.UUID]) -> State:
    mentions = Mention.objects.in_workspace(workspace).filter(entity__among=entities)
    links = Relationship.objects.in_workspace(workspace).filter(
        Q(source__among=entities) | Q(target__among=entities)
    )
    return State(
        frozenset(mentions.values_list("entity_id", "chunk_id", "start", "end")),
        frozenset(links.values_list("source_id", "target_id")),
    )


def between(
    before: State, after: State, *, joined: Collection[uuid.UUID] = (), **more: Any
) -> Effect:
    """Compute the effect that leads from one state of some entities to another.

    ``joined`` are entities that became one.
    """
    gone, come = before.links - after.links, after.links - before.links
    loops = sum(1 for source, target in gone if source in joined and target in joined)
    return Effect(
        mentions=max(len(before.mentions - after.mentions), len(after.mentions - before.mentions)),
        facts=max(len(gone), len(come)),
        duplicates=len(gone) - loops - len(come) if joined else 0,
        self_loops=loops,
        **more,
    )


class Measure:
    """Measures what an operation does to some entities, from before it until ``effect``."""

    def __init__(self, workspace: Workspace, entities: Collection[uuid.UUID]) -> None:
        self.workspace = workspace
        self.entities = entities
        self.before = state_of(workspace, entities)
        self.reports = reports_about(workspace, entities)

    def hidden(self) -> Effect:
        """Compute the effect of hiding them without doing it."""
        return Effect(
            verb=Verb.HIDE,
            mentions=len(self.before.mentions),
            facts=len(self.before.links),
            reports=self.reports,
        )

    def effect(self, **more: Any) -> Effect:
        after = state_of(self.workspace, self.entities)
        return between(self.before, after, **{"reports": self.reports} | more)


def of_merge(
    workspace: Workspace,
    kept: uuid.UUID,
    others: Collection[uuid.UUID],
    hidden: Sequence[tuple[uuid.UUID, uuid.UUID]] = (),
    **more: Any,
) -> Effect:
    """Compute the effect of merging ``others`` into ``kept`` without doing it.

    ``hidden`` are the ends of relationships of ``kept`` that people deleted: they do not come back.
    """
    values = {
        "workspace": workspace.pk,
        "kept": kept,
        "others": list(others),
        "sources": [source for source, _ in hidden],
        "targets": [target for _, target in hidden],
    }
    [(mentions, facts, loops, left)] = run_sql(MERGE_MOVES, values)
    return Effect(
        mentions=mentions,
        facts=facts,
        self_loops=loops,
        duplicates=facts - loops - left,
        **more,
    )


def reports_about(workspace: Workspace, entities: Iterable[uuid.UUID]) -> int:
    """Count the reports on topics that contain one of the entities."""
    values = {"workspace": workspace.pk, "entities": list(entities)}
    [(number,)] = run_sql(REPORTS_ABOUT, values)
    return int(number)


def of_documents(workspace: Workspace, documents: Sequence[uuid.UUID]) -> Effect:
    """Compute the effect of documents leaving the search."""
    losses = losses_of(workspace=workspace, documents=documents)
    chunks = Chunk.objects.in_workspace(workspace).filter(document__in=documents)
    mentions = Mention.objects.in_workspace(workspace).filter(document__in=documents)
    named = mentions.values_list("entity", flat=True).distinct()
    return Effect(
        verb=Verb.SHELVE,
        passages=chunks.count(),
        mentions=mentions.count(),
        facts=losses.facts,
        kept_facts=losses.facts_kept,
        entities=losses.entities,
        reports=reports_about(workspace, named),
    )


def between_documents(before: Effect, after: Effect) -> Effect:
    """Compute the effect of documents leaving or returning, from what they held before and now."""
    if after.passages < before.passages:
        return before
    if after == before:
        return Effect(verb=Verb.RESTORE)
    return Effect(
        verb=Verb.RESTORE,
        passages=after.passages - before.passages,
        mentions=after.mentions - before.mentions,
        facts=after.facts + after.kept_facts - before.facts - before.kept_facts,
        reports=after.reports,
    )


def of_event(event: HistoryEvent) -> Effect:
    """Return an event's effect as recorded with it."""
    counts: dict[str, int] = dict(event.details.get("counts", {}))
    counts.setdefault("kept_facts", counts.pop("facts_kept", 0))
    return Effect(
        verb=Verb(event.details.get("verb", VERBS.get(event.kind, Verb.MOVE))),
        notes=tuple(event.details.get("notes", ())),
        **{name: int(counts.get(name, 0)) for name in FIGURES},
    )


def of_return(events: Iterable[HistoryEvent]) -> Effect:
    """Compute the effect of undoing events from what they moved or hid."""
    undone = [of_event(event) for event in events]
    return Effect(
        verb=Verb.RETURN,
        mentions=sum(one.mentions for one in undone),
        facts=sum(one.facts for one in undone),
    )


VERBS: Final[Mapping[str, Verb]] = {
    EventKind.ENTITY_DELETED: Verb.HIDE,
    EventKind.RELATIONSHIP_DELETED: Verb.HIDE,
    EventKind.CLAIM_DELETED: Verb.HIDE,
    EventKind.DOCUMENT_DISABLED: Verb.SHELVE,
    EventKind.DOCUMENT_TRASHED: Verb.SHELVE,
    EventKind.DOCUMENT_ENABLED: Verb.RESTORE,
    EventKind.DOCUMENT_RESTORED: Verb.RESTORE,
    EventKind.DOCUMENT_DELETED: Verb.DELETE,
    EventKind.UNDO: Verb.RETURN,
}


# --- in words -------------------------------------------------------------------------------------
def _first(effect: Effect) -> str:
    if effect.verb in (Verb.SHELVE, Verb.DELETE):
        return _archived(effect)
    come_back = ""
    if effect.verb == Verb.RESTORE and effect.passages:
        come_back = f"{counted(effect.passages, 'passage')} can be searched again; "
    named = [
        counted(number, one)
        for number, one in ((effect.facts, "fact"), (effect.mentions, "mention"))
        if number
    ]
    if not named:
        return come_back.removesuffix("; ")
    is_one = len(named) == 1 and named[0].startswith("1 ")
    verbs = {
        Verb.MOVE: ("moves", "move"),
        Verb.HIDE: ("is hidden", "are hidden"),
        Verb.RETURN: ("moves back", "move back"),
        Verb.RESTORE: ("comes back", "come back"),
    }
    return f"{come_back}{' and '.join(named)} {verbs[effect.verb][0 if is_one else 1]}"


def _archived(effect: Effect) -> str:
    go = "deleted for good" if effect.verb == Verb.DELETE else "no longer searched"
    is_are = "is" if effect.passages == 1 else "are"
    parts = []
    if effect.passages:
        parts.append(f"{counted(effect.passages, 'passage')} {is_are} {go}")
    if effect.facts:
        lose = ("loses its", "is") if effect.facts == 1 else ("lose their", "are")
        parts.append(f"{counted(effect.facts, 'fact')} {lose[0]} only source and {lose[1]} hidden")
    if effect.kept_facts:
        keeps = "keeps" if effect.kept_facts == 1 else "keep"
        parts.append(f"{effect.kept_facts:,} {keeps} other sources")
    if effect.entities:
        is_are = "entity appears" if effect.entities == 1 else "entities appear"
        parts.append(f"{effect.entities:,} {is_are} nowhere else")
    return "; ".join(parts)


def _others(effect: Effect) -> list[str]:
    parts = []
    if effect.duplicates:
        becomes = "becomes a duplicate" if effect.duplicates == 1 else "become duplicates"
        parts.append(f"{effect.duplicates:,} {becomes}")
    if effect.self_loops:
        is_are = "is" if effect.self_loops == 1 else "are"
        parts.append(f"{effect.self_loops:,} would link it to itself and {is_are} dropped")
    if effect.conflicts:
        parts.append(f"{counted(effect.conflicts, 'difference')} kept with both sources")
    if effect.reports:
        parts.append(f"{counted(effect.reports, 'report')} will be rewritten")
    return parts
