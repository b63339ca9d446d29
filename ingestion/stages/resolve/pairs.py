"""Look-alikes, judged by a chat model that sees what the documents say about both.

A pair is asked about only once per workspace, and never if a person decided it or undid a decision.
Before a third pair follows from two decisions, it is judged on its own.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ingestion.models import MergeSuggestion, ResolutionDecision, Verdict
from ingestion.resolution import locks
from ingestion.resolution.active import load_reading
from ingestion.resolution.keys import entity_id
from ingestion.resolution.overrides import Pair, Reading, pair_of
from ingestion.stage import Progress
from ingestion.stages.resolve import sql
from ingestion.stages.resolve.alike import differ_in_a_digit
from ingestion.stages.resolve.applying import resolve_documents
from ingestion.stages.resolve.asking import (
    MOST_QUESTIONS,
    PROMPTS,
    Asked,
    Contexts,
    Unanswered,
    ask,
    decision,
)
from ingestion.stages.resolve.names import Resolution
from kb_project.llm.ports import ChatModel
from kb_project.prompt import fenced, load
from kb_project.sql import run_sql
from workspaces import access

# Rounds of third pairs: each joins names that were judged in the round before.
MOST_ROUNDS: Final = 4
STATES: Final = {
    Verdict.SAME: MergeSuggestion.State.ACCEPTED,
    Verdict.DIFFERENT: MergeSuggestion.State.REJECTED,
    Verdict.UNSURE: MergeSuggestion.State.OPEN,
}


@dataclass(frozen=True, slots=True)
class Question:
    """Two keys, the one that sorts first on the left, and the document that raised them."""

    pair: Pair
    document_id: uuid.UUID


def settle(
    workspace_id: uuid.UUID,
    resolutions: Sequence[Resolution],
    chat: ChatModel,
    unanswered: Unanswered,
    progress: Progress,
) -> None:
    """Ask about the group's look-alikes and apply the answers."""
    with access.in_workspace(workspace_id):
        questions = _open_questions(workspace_id, resolutions)
    for _ in range(MOST_ROUNDS):
        if not questions:
            return
        made = _judge(workspace_id, questions, chat, unanswered, progress)
        with access.in_workspace(workspace_id):
            unchecked = record(workspace_id, made)
            third = [Question(pair, questions[0].document_id) for pair in unchecked]
            questions = _never_asked(workspace_id, third)[: MOST_QUESTIONS * len(resolutions)]


def _open_questions(workspace_id: uuid.UUID, resolutions: Sequence[Resolution]) -> list[Question]:
    """The most similar first, at most ``MOST_QUESTIONS`` per document."""
    entities = {name.entity for one in resolutions for name in one.names if not name.entity[1]}
    values = {
        "workspace": workspace_id,
        "entities": [entity_id(workspace_id, *entity) for entity in sorted(entities)],
        "documents": [one.document_id for one in resolutions],
    }
    counted: Counter[uuid.UUID] = Counter()
    questions = []
    for left, right, documents in run_sql(sql.OPEN_PAIRS, values):
        free = next((one for one in sorted(documents) if counted[one] < MOST_QUESTIONS), None)
        if free is not None and not differ_in_a_digit(left, right):
            counted[free] += 1
            questions.append(Question(pair_of(left, right), free))
    return questions


def _never_asked(workspace_id: uuid.UUID, questions: Sequence[Question]) -> list[Question]:
    asked = [one for one in questions if not differ_in_a_digit(*one.pair)]
    if not asked:
        return []
    values = {"lefts": [one.pair[0] for one in asked], "rights": [one.pair[1] for one in asked]}
    decided = set(run_sql(sql.PAIRS_DECIDED, {"workspace": workspace_id, **values}))
    return [one for one in asked if one.pair not in decided]


def _judge(
    workspace_id: uuid.UUID,
    questions: Sequence[Question],
    chat: ChatModel,
    unanswered: Unanswered,
    progress: Progress,
) -> list[ResolutionDecision]:
    asked = _asked(workspace_id, questions)
    answers = ask(chat, asked, unanswered, progress)
    return [
        decision(
            workspace_id,
            chat,
            answer,
            left_key=questions[index].pair[0],
            right_key=questions[index].pair[1],
        )
        for index, answer in sorted(answers.items())
    ]


def _asked(workspace_id: uuid.UUID, questions: Sequence[Question]) -> list[Asked]:
    template = load(PROMPTS / "resolve_pair.md")
    with access.in_workspace(workspace_id):
        names = load_reading(workspace_id, []).names
        ids = {
            key: entity_id(workspace_id, names.get(key, key))
            for one in questions
            for key in one.pair
        }
        contexts = Contexts(workspace_id, ids.values())
    return [
        Asked(
            template.fill(
                left=fenced(contexts.of(ids[one.pair[0]]).as_text(), "first", beside=("second",)),
                right=fenced(contexts.of(ids[one.pair[1]]).as_text(), "second", beside=("first",)),
            ),
            one.document_id,
        )
        for one in questions
    ]


def record(workspace_id: uuid.UUID, decisions: Sequence[ResolutionDecision]) -> tuple[Pair, ...]:
    """Store decisions about pairs and re-resolve all names they affect, in one transaction.

    Returns the pairs to judge before the chains that depend on them may be followed.
    """
    locks.hold(workspace_id)
    pairs = [(one.left_key, one.right_key) for one in decisions]
    before = load_reading(workspace_id, [])
    ResolutionDecision.objects.bulk_create(decisions)
    after = load_reading(workspace_id, [])
    reread(workspace_id, read_otherwise(before, after))
    show_in_suggestions(
        workspace_id, [(pair, one.verdict) for pair, one in zip(pairs, decisions, strict=True)]
    )
    return after.unchecked


def read_otherwise(before: Reading, after: Reading) -> set[str]:
    """Keys whose entity has changed, and the keys of the old and new entities."""
    refs = {*before.refs, *after.refs}
    readings = [(ref, before.read(ref), after.read(ref)) for ref in refs]
    return {ref[0] for was_is in readings if was_is[1] != was_is[2] for ref in was_is}


def reread(workspace_id: uuid.UUID, keys: Iterable[str]) -> None:
    """Resolve again every document that names an entity with one of the keys.

    This also relearns the aliases of these entities.
    """
    wanted = sorted(set(keys))
    if not wanted:
        return
    values = {"workspace": workspace_id, "keys": wanted}
    # Each with the version read.
    versions: dict[uuid.UUID, uuid.UUID] = dict(run_sql(sql.DOCUMENTS_NAMING, values))
    run_sql(sql.FORGET_ALIASES, values)
    resolve_documents(workspace_id, versions)


def show_in_suggestions(workspace_id: uuid.UUID, verdicts: Sequence[tuple[Pair, str]]) -> None:
    """Update the state of suggestions about the pairs."""
    values = {
        "lefts": [entity_id(workspace_id, left) for (left, _), _ in verdicts],
        "rights": [entity_id(workspace_id, right) for (_, right), _ in verdicts],
        "states": [STATES[Verdict(verdict)].value for _, verdict in verdicts],
    }
    run_sql(sql.SETTLE_SUGGESTIONS, {"workspace": workspace_id, **values})
