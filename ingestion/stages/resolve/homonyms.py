"""One name for two things: ask the model if there is reason for doubt.

The question is about the document that was added later, compared with those before it, whichever
was read first. There is doubt if the later document gives the name a different type, both types
being specific (a person is not a place), or if none of its notes on the name shares a word with the
others' notes: two passages on one thing nearly always repeat a name, a place or a trade. After
TinyGraphRAG, which asks about every name that occurs twice; the doubt keeps the questions few.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from ingestion.extractors.found import CONCEPT, GENERIC_TYPES, NAME, SYMBOL
from ingestion.models import ResolutionDecision, Verdict
from ingestion.resolution import locks
from ingestion.resolution.active import next_sense
from ingestion.stage import Progress
from ingestion.stages.resolve import sql
from ingestion.stages.resolve.asking import (
    MOST_NOTES,
    MOST_QUESTIONS,
    PROMPTS,
    Answer,
    Asked,
    Contexts,
    Unanswered,
    ask,
    decision,
)
from ingestion.stages.resolve.names import Resolution
from ingestion.stages.resolve.pairs import reread
from kb_project.llm.ports import ChatModel
from kb_project.prompt import fenced, load
from kb_project.sql import bulk_plans, run_sql
from kb_project.text.terms import terms
from workspaces import access

# Types that many things are given besides their own.
VAGUE_TYPES: Final = GENERIC_TYPES | {CONCEPT, NAME, SYMBOL, "other", ""}
# With fewer words, sharing none may be chance.
LEAST_TERMS: Final = 4
MOST_SENSES: Final = 8
MOST_EARLIER: Final = 8
"""Earlier documents that a later one is compared with, for each sense of the name."""
MOST_ROUNDS: Final = 6


@dataclass(frozen=True, slots=True)
class Holder:
    """A document that uses a name for an entity."""

    key: str
    sense: int
    entity_id: uuid.UUID
    document_id: uuid.UUID
    created_at: datetime
    type: str
    is_decided: bool

    @property
    def age(self) -> tuple[datetime, uuid.UUID]:
        return self.created_at, self.document_id


@dataclass(frozen=True, slots=True)
class Doubt:
    """A document whose use of a name is in doubt, and the senses of that name before it."""

    subject: Holder
    known: tuple[tuple[Holder, ...], ...]
    is_of_another_kind: bool


def settle(
    workspace_id: uuid.UUID,
    resolutions: Sequence[Resolution],
    chat: ChatModel,
    unanswered: Unanswered,
    progress: Progress,
) -> None:
    """Ask about the group's doubtful names and apply the answers.

    Two documents that both mean something new may mean the same new thing: the first creates the
    new sense, the others are asked again with that sense in view.
    """
    keys = sorted({name.entity[0] for one in resolutions for name in one.names})
    documents = {one.document_id for one in resolutions}
    failed: set[tuple[str, uuid.UUID]] = set()
    for _ in range(MOST_ROUNDS):
        with access.in_workspace(workspace_id):
            doubts = _doubts(workspace_id, keys, documents)
            doubts = [one for one in doubts if _subject(one) not in failed]
            asked = _asked(workspace_id, doubts)
        answers = ask(chat, asked, unanswered, progress) if asked else {}
        failed |= {_subject(one) for index, one in enumerate(doubts) if index not in answers}
        made = _decisions(workspace_id, chat, {doubts[i]: a for i, a in sorted(answers.items())})
        if not made:
            return
        with access.in_workspace(workspace_id):
            _record(workspace_id, made)


def _subject(doubt: Doubt) -> tuple[str, uuid.UUID]:
    return doubt.subject.key, doubt.subject.document_id


def _doubts(workspace_id: uuid.UUID, keys: Sequence[str], documents: set[uuid.UUID]) -> list[Doubt]:
    """What to ask, the clearest first, at most ``MOST_QUESTIONS`` per document."""
    with bulk_plans():
        rows = run_sql(sql.HOLDERS, {"workspace": workspace_id, "keys": keys})
    shared = [group for group in _by_key(Holder(*row) for row in rows).values() if len(group) > 1]
    compared = [one for group in shared for one in _compared(group, documents)]
    notes = _notes(workspace_id, {(one.entity_id, one.document_id) for one in compared})
    found = [doubt for group in shared for doubt in doubts_among(group, notes, documents)]
    counted: Counter[uuid.UUID] = Counter()
    kept = []
    for doubt in sorted(found, key=lambda one: (not one.is_of_another_kind, _subject(one))):
        counted[doubt.subject.document_id] += 1
        if counted[doubt.subject.document_id] <= MOST_QUESTIONS:
            kept.append(doubt)
    return kept


def _by_key(holders: Iterable[Holder]) -> dict[str, list[Holder]]:
    groups: dict[str, list[Holder]] = defaultdict(list)
    for holder in holders:
        groups[holder.key].append(holder)
    return groups


Notes = Mapping[tuple[uuid.UUID, uuid.UUID], frozenset[str]]
"""The words of a document's notes on an entity, by entity and document."""


def _compared(holders: Sequence[Holder], documents: set[uuid.UUID]) -> list[Holder]:
    """The holders of one key whose notes are compared: the earliest, and those in doubt."""
    subjects = _subjects(holders, documents)
    return [one for one in holders if not one.sense][:MOST_EARLIER] + subjects if subjects else []


def _subjects(holders: Sequence[Holder], documents: set[uuid.UUID]) -> list[Holder]:
    first = min((one.age for one in holders if one.document_id in documents), default=None)
    return [
        one
        for one in holders
        if (one.document_id in documents or (first and one.age > first))
        and not one.is_decided
        and not one.sense
    ]


def _notes(workspace_id: uuid.UUID, places: set[tuple[uuid.UUID, uuid.UUID]]) -> Notes:
    if not places:
        return {}
    values = {
        "workspace": workspace_id,
        "entities": sorted({entity for entity, _ in places}),
        "documents": sorted({document for _, document in places}),
        "most": MOST_NOTES,
    }
    texts: dict[tuple[uuid.UUID, uuid.UUID], list[str]] = defaultdict(list)
    for entity, document, text in run_sql(sql.NOTES_IN, values):
        texts[entity, document].append(text)
    return {
        place: frozenset().union(*map(_words_of, texts[place])) for place in places & texts.keys()
    }


@lru_cache(maxsize=4096)
def _words_of(text: str) -> frozenset[str]:
    """Cached: the groups of a burst look at the same notes again and again."""
    return frozenset(terms(text))


def doubts_among(
    holders: Sequence[Holder], notes: Notes, documents: set[uuid.UUID]
) -> Iterable[Doubt]:
    """The doubts that documents of this group raise about one name, in themselves or in others.

    ``holders`` are those of one key, by ascending age.
    """
    first = min((one.age for one in holders if one.document_id in documents), default=None)
    for place, subject in enumerate(holders):
        is_ours = subject.document_id in documents or (first and subject.age > first)
        if not is_ours or subject.is_decided or subject.sense:
            continue
        before = holders[:place]
        fellows = [one for one in before if not one.sense][:MOST_EARLIER]
        kinds = {one.type for one in fellows} - VAGUE_TYPES
        is_of_another_kind = bool(kinds) and subject.type not in kinds | VAGUE_TYPES
        if fellows and (is_of_another_kind or _shares_no_word(subject, fellows, notes)):
            yield Doubt(subject, _by_sense(before), is_of_another_kind)


def _by_sense(holders: Sequence[Holder]) -> tuple[tuple[Holder, ...], ...]:
    senses: dict[int, list[Holder]] = defaultdict(list)
    for one in holders:
        senses[one.sense].append(one)
    return tuple(tuple(senses[sense][:MOST_EARLIER]) for sense in sorted(senses)[:MOST_SENSES])


def _shares_no_word(subject: Holder, fellows: Sequence[Holder], notes: Notes) -> bool:
    name = set(terms(subject.key))
    own = notes.get((subject.entity_id, subject.document_id), frozenset()) - name
    others: set[str] = set()
    for one in fellows:
        others |= notes.get((one.entity_id, one.document_id), frozenset())
    others -= name
    return min(len(own), len(others)) >= LEAST_TERMS and not own & others


def _asked(workspace_id: uuid.UUID, doubts: Sequence[Doubt]) -> list[Asked]:
    if not doubts:
        return []
    template = load(PROMPTS / "resolve_homonym.md")
    shown = {one.subject.entity_id for one in doubts}
    shown |= {holder.entity_id for one in doubts for group in one.known for holder in group}
    contexts = Contexts(workspace_id, shown)
    return [
        Asked(
            template.fill(
                subject=fenced(_context(contexts, (one.subject,)), "subject", beside=("known",)),
                known=fenced(
                    "\n\n".join(
                        f"Number {number}\n{_context(contexts, group)}"
                        for number, group in enumerate(one.known, 1)
                    ),
                    "known",
                    beside=("subject",),
                ),
            ),
            one.subject.document_id,
        )
        for one in doubts
    ]


def _context(contexts: Contexts, holders: Sequence[Holder]) -> str:
    said = contexts.of(holders[0].entity_id, [one.document_id for one in holders])
    kind = Counter(one.type for one in holders).most_common(1)[0][0]
    return type(said)(said.name, kind, said.notes, said.quotes).as_text()


NEW: Final = -1
"""Placeholder for a new sense, until its number is known."""


def _decisions(
    workspace_id: uuid.UUID, chat: ChatModel, answers: Mapping[Doubt, Answer]
) -> list[ResolutionDecision]:
    """The decisions to store; of several new senses of one name only the first."""
    made: list[ResolutionDecision] = []
    renewed: set[str] = set()
    for doubt, answer in sorted(answers.items(), key=lambda item: item[0].subject.age):
        sense = _sense(doubt, answer)
        if sense is None and doubt.subject.key in renewed:
            continue
        if sense is None:
            renewed.add(doubt.subject.key)
            sense = NEW
        made.append(
            decision(
                workspace_id,
                chat,
                answer,
                left_key=doubt.subject.key,
                document_id=doubt.subject.document_id,
                sense=sense,
            )
        )
    return made


def _sense(doubt: Doubt, answer: Answer) -> int | None:
    """The sense an answer chooses: None for a new one, 0 if it names none that is known."""
    if answer.verdict == Verdict.DIFFERENT:
        return None if len(doubt.known) < MOST_SENSES else 0
    if answer.verdict == Verdict.SAME and 0 < answer.number <= len(doubt.known):
        return doubt.known[answer.number - 1][0].sense
    return 0


def _record(workspace_id: uuid.UUID, made: Sequence[ResolutionDecision]) -> None:
    """Store the decisions and re-resolve the documents whose names now mean something else."""
    locks.hold(workspace_id)
    for one in made:
        if one.sense == NEW:
            one.sense = next_sense(workspace_id, one.left_key)
    ResolutionDecision.objects.bulk_create(made)
    reread(workspace_id, {one.left_key for one in made if one.sense})
