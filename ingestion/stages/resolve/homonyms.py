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
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby
from typing import Final

from ingestion.extractors.extraction import CONCEPT, GENERIC_TYPES, NAME, SYMBOL
from ingestion.models import ResolutionDecision, Verdict
from ingestion.resolution import decisions, locks
from ingestion.stage import Progress
from ingestion.stages.resolve import sql
from ingestion.stages.resolve.applying import documents_naming, resolve_again
from ingestion.stages.resolve.judging import (
    MOST_NOTES,
    MOST_QUESTIONS,
    PROMPTS,
    Answer,
    Contexts,
    Unanswered,
    ask,
    decision,
    question,
)
from ingestion.stages.resolve.names import Resolution
from kb_project.llm.ports import ChatModel, ChatRequest
from kb_project.prompt import fenced, load
from kb_project.sql import bulk_plans, run_sql
from kb_project.text.words import terms
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
    added_at: float  # seconds since 1970
    type: str
    is_decided: bool

    @property
    def age(self) -> tuple[float, uuid.UUID]:
        return self.added_at, self.document_id


@dataclass(frozen=True, slots=True)
class Doubt:
    """A document whose use of a name is in doubt, and the senses of that name before it."""

    subject: Holder
    known: tuple[tuple[Holder, ...], ...]
    is_of_another_kind: bool


def judge_homonyms(
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
            questions = _questions(workspace_id, doubts)
        answers = ask(chat, questions, unanswered, progress) if questions else {}
        failed |= {_subject(one) for index, one in enumerate(doubts) if index not in answers}
        made = _decisions(workspace_id, chat, [(doubts[i], answers[i]) for i in answers])
        if not made:
            return
        with access.in_workspace(workspace_id):
            _record(workspace_id, made)


def _subject(doubt: Doubt) -> tuple[str, uuid.UUID]:
    return doubt.subject.key, doubt.subject.document_id


def _doubts(workspace_id: uuid.UUID, keys: Sequence[str], documents: set[uuid.UUID]) -> list[Doubt]:
    """What to ask, the clearest first, at most ``MOST_QUESTIONS`` per document."""
    with bulk_plans():
        values = {"keys": keys, "documents": list(documents), "earliest": MOST_EARLIER}
        rows = run_sql(sql.HOLDERS, {"workspace": workspace_id, **values})
    by_key = groupby((Holder(*row) for row in rows), key=lambda one: one.key)
    groups = [(holders, _subjects(holders, documents)) for _, group in by_key
              if len(holders := list(group)) > 1]  # fmt: skip
    # The earliest holders of a name and those in doubt are compared by their notes.
    compared = [
        one
        for holders, subjects in groups
        if subjects
        for one in [*[one for one in holders if not one.sense][:MOST_EARLIER], *subjects]
    ]
    notes = _notes(workspace_id, {(one.entity_id, one.document_id) for one in compared})
    found = [doubt for group in groups for doubt in _doubts_among(*group, notes)]
    counted: Counter[uuid.UUID] = Counter()
    kept = []
    for doubt in sorted(found, key=lambda one: (not one.is_of_another_kind, _subject(one))):
        counted[doubt.subject.document_id] += 1
        if counted[doubt.subject.document_id] <= MOST_QUESTIONS:
            kept.append(doubt)
    return kept


Notes = Mapping[tuple[uuid.UUID, uuid.UUID], frozenset[str]]
"""The words of a document's notes on an entity, by entity and document."""


def _subjects(holders: Sequence[Holder], documents: set[uuid.UUID]) -> list[Holder]:
    """The undecided holders of one key that documents of this group raise doubts about: themselves
    or later ones.
    """
    first = min((one.age for one in holders if one.document_id in documents), default=None)
    return [
        one
        for one in holders
        if (one.document_id in documents or (first and one.age > first))
        and not one.is_decided
        and not one.sense
    ]


def _notes(workspace_id: uuid.UUID, noted: set[tuple[uuid.UUID, uuid.UUID]]) -> Notes:
    if not noted:
        return {}
    values = {
        "workspace": workspace_id,
        "entities": sorted({entity for entity, _ in noted}),
        "documents": sorted({document for _, document in noted}),
        "most": MOST_NOTES,
    }
    texts: dict[tuple[uuid.UUID, uuid.UUID], list[str]] = defaultdict(list)
    for entity, document, text in run_sql(sql.NOTES, values):
        texts[entity, document].append(text)
    return {one: frozenset().union(*map(_words_of, texts[one])) for one in noted & texts.keys()}


@lru_cache(maxsize=4096)
def _words_of(text: str) -> frozenset[str]:
    """Cached: the groups of a burst look at the same notes again and again."""
    return frozenset(terms(text))


def _doubts_among(
    holders: Sequence[Holder], subjects: Sequence[Holder], notes: Notes
) -> Iterable[Doubt]:
    """The doubts about one name; ``holders`` are those of its key, by ascending age."""
    asked = set(map(id, subjects))
    senses: dict[int, list[Holder]] = defaultdict(list)
    for subject in holders:
        fellows = senses.get(0, [])[:MOST_EARLIER]
        if id(subject) in asked and fellows:
            kinds = {one.type for one in fellows} - VAGUE_TYPES
            is_of_another_kind = bool(kinds) and subject.type not in kinds | VAGUE_TYPES
            if is_of_another_kind or _shares_no_word(subject, fellows, notes):
                known = [senses[sense][:MOST_EARLIER] for sense in sorted(senses)[:MOST_SENSES]]
                yield Doubt(subject, tuple(map(tuple, known)), is_of_another_kind)
        senses[subject.sense].append(subject)


def _shares_no_word(subject: Holder, fellows: Sequence[Holder], notes: Notes) -> bool:
    name = set(terms(subject.key))
    own = notes.get((subject.entity_id, subject.document_id), frozenset()) - name
    others: set[str] = set()
    for one in fellows:
        others |= notes.get((one.entity_id, one.document_id), frozenset())
    others -= name
    return min(len(own), len(others)) >= LEAST_TERMS and not own & others


def _questions(workspace_id: uuid.UUID, doubts: Sequence[Doubt]) -> list[ChatRequest[Answer]]:
    if not doubts:
        return []
    template = load(PROMPTS / "resolve_homonym.md")
    shown = [one for doubt in doubts for one in (doubt.subject, *chain(*doubt.known))]
    contexts = Contexts(
        workspace_id, {one.entity_id for one in shown}, {one.document_id for one in shown}
    )
    questions = []
    for one in doubts:
        known = [
            f"Number {number}\n{_context(contexts, group)}"
            for number, group in enumerate(one.known, 1)
        ]
        prompt = template.fill(
            subject=fenced(_context(contexts, (one.subject,)), "subject"),
            known=fenced("\n\n".join(known), "known"),
        )
        questions.append(question(prompt, one.subject.document_id))
    return questions


def _context(contexts: Contexts, holders: Sequence[Holder]) -> str:
    found = contexts.of(holders[0].entity_id, [one.document_id for one in holders])
    kind = Counter(one.type for one in holders).most_common(1)[0][0]
    return replace(found, type=kind).as_text()


NEW: Final = -1
"""Placeholder for a new sense, until its number is known."""


def _decisions(
    workspace_id: uuid.UUID, chat: ChatModel, answers: Iterable[tuple[Doubt, Answer]]
) -> list[ResolutionDecision]:
    """The decisions to record; of several new senses of one name only the first."""
    made: list[ResolutionDecision] = []
    renewed: set[str] = set()
    for doubt, answer in sorted(answers, key=lambda item: item[0].subject.age):
        key, sense = doubt.subject.key, _sense(doubt, answer)
        if sense == NEW:
            if key in renewed:
                continue
            renewed.add(key)
        subject = {"left_key": key, "document_id": doubt.subject.document_id, "sense": sense}
        made.append(decision(workspace_id, chat, answer, **subject))
    return made


def _sense(doubt: Doubt, answer: Answer) -> int:
    """The sense an answer chooses; 0 if it names none that is known."""
    if answer.verdict == Verdict.DIFFERENT:
        return NEW if len(doubt.known) < MOST_SENSES else 0
    if answer.verdict == Verdict.SAME and 0 < answer.number <= len(doubt.known):
        return doubt.known[answer.number - 1][0].sense
    return 0


def _record(workspace_id: uuid.UUID, made: Sequence[ResolutionDecision]) -> None:
    """Record the decisions and resolve again the documents whose names now mean something else."""
    locks.hold(workspace_id)
    for one in made:
        if one.sense == NEW:
            one.sense = decisions.next_sense(workspace_id, one.left_key)
    decisions.record(made)
    names = {one.left_key for one in made if one.sense}
    resolve_again(workspace_id, documents_naming(workspace_id, names))
