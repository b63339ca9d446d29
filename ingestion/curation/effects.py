"""The effect of an operation, in figures and in a sentence, both in the preview and afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Final

from django.db.models import Q

from ingestion.curation import sql
from ingestion.models import EventKind, HistoryEvent, Mention, Relationship
from kb_project.sql import run_sql
from kb_project.text.counting import counted
from workspaces.models import Workspace


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
        """Describe the effect in one sentence."""
        return in_words(self)


FIGURES: Final = tuple(one.name for one in fields(Effect) if one.name not in ("verb", "notes"))

Place = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class State:
    """The mentions and relationships of some entities."""

    mentions: frozenset[Place]
    links: frozenset[tuple[uuid.UUID, uuid.UUID]]


def state_of(workspace: Workspace, entities: Collection[uuid.UUID]) -> State:
    mentions = Mention.objects.in_workspace(workspace).filter(entity__in=entities)
    links = Relationship.objects.in_workspace(workspace).filter(
        Q(source__in=entities) | Q(target__in=entities)
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


def of_merge(
    workspace: Workspace, kept: uuid.UUID, others: Collection[uuid.UUID], **more: Any
) -> Effect:
    """Compute the effect of merging ``others`` into ``kept`` without doing it."""
    values = {"workspace": workspace.pk, "kept": kept, "others": list(others)}
    [(mentions, facts, loops, left)] = run_sql(sql.MERGE_MOVES, values)
    return Effect(
        mentions=mentions,
        facts=facts,
        self_loops=loops,
        duplicates=facts - loops - left,
        **more,
    )


def reports_about(workspace: Workspace, entities: Collection[uuid.UUID]) -> int:
    """Count the reports on topics that contain one of the entities."""
    values = {"workspace": workspace.pk, "entities": list(entities)}
    [(number,)] = run_sql(sql.REPORTS_ABOUT, values)
    return int(number)


def of_documents(workspace: Workspace, documents: Collection[uuid.UUID]) -> Effect:
    """Compute the effect of documents leaving the search."""
    values = {"workspace": workspace.pk, "documents": list(documents)}
    [figures] = run_sql(sql.DOCUMENTS_HOLD, values)
    names = ("passages", "mentions", "facts", "kept_facts", "entities", "reports")
    return Effect(verb=Verb.SHELVE, **dict(zip(names, figures, strict=True)))


def between_documents(before: Effect, after: Effect) -> Effect:
    """Compute the effect of documents leaving or returning, from what they held before and now."""
    if after.passages < before.passages:
        return before
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
        verb=Verb(event.details["verb"]) if "verb" in event.details else _verb(event),
        notes=tuple(event.details.get("notes", ())),
        **{name: int(counts.get(name, 0)) for name in FIGURES},
    )


def _verb(event: HistoryEvent) -> Verb:
    return VERBS.get(event.kind, Verb.MOVE)


VERBS: Final[Mapping[str, Verb]] = {
    EventKind.ENTITY_DELETED: Verb.HIDE,
    EventKind.RELATIONSHIP_DELETED: Verb.HIDE,
    EventKind.DOCUMENT_DISABLED: Verb.SHELVE,
    EventKind.DOCUMENT_TRASHED: Verb.SHELVE,
    EventKind.DOCUMENT_ENABLED: Verb.RESTORE,
    EventKind.DOCUMENT_RESTORED: Verb.RESTORE,
    EventKind.DOCUMENT_DELETED: Verb.DELETE,
    EventKind.UNDO: Verb.RETURN,
}


# --- in words
# ---------------------------------------------------------------------------------------
def in_words(effect: Effect) -> str:
    parts = [_first(effect), *_others(effect)]
    told = [part for part in parts if part]
    if not told:
        told = ["Nothing changes"]
    return "; ".join(told)[0].upper() + "; ".join(told)[1:] + "."


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
    parts = [f"{counted(effect.passages, 'passage')} {_go(effect)}"]
    if effect.facts:
        lose = "loses its only source and is" if effect.facts == 1 else "lose their only source and"
        parts.append(
            f"{counted(effect.facts, 'fact')} {lose}{'' if effect.facts == 1 else ' are'} hidden"
        )
    if effect.kept_facts:
        keeps = "keeps" if effect.kept_facts == 1 else "keep"
        parts.append(f"{effect.kept_facts:,} {keeps} other sources")
    if effect.entities:
        is_are = "entity appears" if effect.entities == 1 else "entities appear"
        parts.append(f"{effect.entities:,} {is_are} nowhere else")
    return "; ".join(parts)


def _go(effect: Effect) -> str:
    is_one = effect.passages == 1
    if effect.verb == Verb.DELETE:
        return f"{'is' if is_one else 'are'} deleted for good"
    return f"{'is' if is_one else 'are'} no longer searched"


def _others(effect: Effect) -> list[str]:
    said = []
    if effect.duplicates:
        becomes = "becomes a duplicate" if effect.duplicates == 1 else "become duplicates"
        said.append(f"{effect.duplicates:,} {becomes}")
    if effect.self_loops:
        loop = (
            "would link it to itself and is"
            if effect.self_loops == 1
            else ("would link it to itself and are")
        )
        said.append(f"{effect.self_loops:,} {loop} dropped")
    if effect.conflicts:
        said.append(f"{counted(effect.conflicts, 'difference')} kept with both sources")
    if effect.reports:
        said.append(f"{counted(effect.reports, 'report')} will be rewritten")
    return said
