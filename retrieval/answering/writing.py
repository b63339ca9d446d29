"""Write an answer with a chat model: context, text, citations, checks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from kb_project.errors import ModelError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Embedder, Role, Vectors
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import Prompt, fenced, load
from retrieval.answering import checking, conflicts, explain, judging, streaming
from retrieval.answering.citations import citing
from retrieval.answering.citations.citing import Cited
from retrieval.answering.citations.markers import Counts
from retrieval.answering.citations.numbering import Numbering, number
from retrieval.answering.context import Context, build
from retrieval.answering.drafts import Asking, Check, Draft, Earlier, WrittenSentence
from retrieval.answering.sentences import Said, sentences_in
from retrieval.models import Outcome
from retrieval.search.reporting import EventKind, Reporter
from retrieval.search.services import SearchResult
from workspaces.ports import ports_for

logger = logging.getLogger(__name__)

STAGE: Final = "answer"
MOST_TOKENS: Final = 12_000
LEAST_TOKENS: Final = 200
MOST_EARLIER: Final = 3
EARLIER_TOKENS: Final = 200
"""Of one earlier question or answer in the conversation."""
LONGEST_NAME: Final = 120
_PROMPTS: Final = Path(__file__).parent.parent / "prompts"


@dataclass(frozen=True, slots=True)
class Written:
    """The model's output, and the context it was given."""

    context: Context
    numbering: Numbering
    said: Sequence[Said]
    is_refused: bool
    counts: Counts


@dataclass(frozen=True, slots=True)
class Checked:
    """``by`` did the check; ``problem`` says why the judge did not; ``added`` counts citations that
    the model did not write."""

    cited: Sequence[Cited]
    checks: Sequence[Check | None]
    by: str
    added: int = 0
    problem: str = ""

    @property
    def sentences(self) -> list[WrittenSentence]:
        return [
            WrittenSentence(one.said.text, one.spans, verdict)
            for one, verdict in zip(self.cited, self.checks, strict=True)
        ]


def can_write(found: SearchResult) -> bool:
    """Return whether there is a model, and material for it to write from.

    If every report was read and none had a point, the passages are merely the nearest ones: a model
    would make an answer of what its own reading has just rejected.
    """
    given = found.hits or found.found.records or found.found.points
    has_data = not dict(found.found.figures).get("no_data")
    return found.query.chat is not None and has_data and bool(given)


def write(asking: Asking, found: SearchResult, chat: ChatModel, reporter: Reporter) -> Draft:
    """Write the answer. Call outside transactions. Raises ModelError if no answer comes,
    StoppedError."""
    wishes = ports_for(found.query.workspace_id).options
    reporter.emit(EventKind.STEP, {"name": "write", "sentence": "Writing the answer."})
    general = wishes.allows_general
    written = _written(asking, found, chat, reporter, allows_general=general)
    reporter.emit(
        EventKind.STEP,
        {"name": "check", "sentence": "Checking each sentence against its passages."},
    )
    checked = check(written.said, written.numbering, found, chat if wishes.wants_judge else None)
    sentences = conflicts.mark(checked.sentences, found.query, written.numbering)
    is_supported = any(
        one.check is not None and one.check.verdict in {"supported", "conflict"}
        for one in sentences
    )
    query = found.query
    near = [] if is_supported else citing.nearest(query.question, found.hits)
    without = Outcome.UNSURE if near else Outcome.NOTHING
    counts = written.counts.as_json()
    told = explain.trace(asking, found, written.context, counts, _tally(checked, sentences))
    return Draft(
        outcome=Outcome.ANSWERED if is_supported else without,
        is_supported=is_supported,
        sentences=sentences,
        citations=citing.cited_passages(sentences, written.numbering),
        nearest=near,
        trace=found.trace | told | {"refused": written.is_refused},
        mode=found.mode.name,
        written_by=chat.model_of(Role.ANSWER)[:LONGEST_NAME],
    )


def check(
    said: Sequence[Said], numbering: Numbering, found: SearchResult, judge: ChatModel | None
) -> Checked:
    """Return every sentence with its spans and verdict. Embeds, and asks the judge."""
    hits = dict(enumerate(numbering.hits, start=1))
    completed = [_completed(one, hits) for one in said]
    cited = [citing.cite(one, numbering) for one in completed]
    texts = checking.to_compare(cited)
    likeness = _likeness(found, texts)
    if likeness:
        cited = [
            one if one.is_quote else citing.cite(one.said, numbering, likeness) for one in cited
        ]
    opinion = judging.Opinion({})
    if judge:
        opinion = judging.judge(cited, judge, found.query.question_id)
    checks = [
        opinion.checks.get(index) or checking.check(one, likeness)
        for index, one in enumerate(cited)
    ]
    added = sum(one.numbers != before.numbers for one, before in zip(completed, said, strict=True))
    return Checked(cited, checks, opinion.by or checking.BY, added, opinion.problem)


def _likeness(found: SearchResult, texts: Sequence[str]) -> Likeness | None:
    """Return None if there is nothing to compare or no embedder: words decide then."""
    try:
        return Likeness(found.query.vector.embedder, texts) if texts else None
    except ModelError as error:
        logger.warning("sentences not compared code=%s", error.code)
        return None


def prompt_of(
    asking: Asking, question: str, context: Context | None, *, allows_general: bool
) -> Prompt:
    general = "answer_general" if allows_general else "answer_closed"
    return load(_PROMPTS / "answer.md").fill(
        general=load(_PROMPTS / f"{general}.md").system,
        conversation=_conversation(asking.earlier),
        context=context.text if context else "",
        question=fenced(question, "question"),
    )


def _written(
    asking: Asking,
    found: SearchResult,
    chat: ChatModel,
    reporter: Reporter,
    *,
    allows_general: bool,
) -> Written:
    query = found.query
    numbering = number(query, found.found, found.hits)
    numbering.allows_general = allows_general
    empty = prompt_of(asking, query.question, None, allows_general=allows_general)
    taken = count_tokens(empty.system) + count_tokens(empty.user) + 32
    budget = max(LEAST_TOKENS, min(MOST_TOKENS, chat.input_limit(Role.ANSWER) - taken))
    context = build(found.found, numbering, found.mode.shares, budget)
    numbering.given = context.labels
    prompt = prompt_of(asking, query.question, context, allows_general=allows_general)
    about = About(STAGE, question_id=query.question_id)
    request: ChatRequest[Any] = ChatRequest(Role.ANSWER, prompt, about)
    sieve, is_refused = streaming.stream(chat, request, numbering, reporter)
    said = [] if is_refused else sentences_in(sieve.text, sieve.placed)
    return Written(context, numbering, said, is_refused, sieve.counts)


def _completed(said: Said, hits: dict[int, Any]) -> Said:
    """Add a citation if the model left it out and a passage clearly supports the sentence."""
    if said.numbers or not said.is_statement:
        return said
    place = checking.likely_place(said.text.strip(), hits)
    return replace(said, numbers=(place,)) if place else said


def _conversation(earlier: Sequence[Earlier]) -> str:
    if not earlier:
        return ""
    lines = [_turn(one) for one in earlier[-MOST_EARLIER:]]
    return "What was said before in the conversation:\n" + fenced("\n".join(lines), "conversation")


def _turn(one: Earlier) -> str:
    answer = one.answer if one.is_same_scope else "from other documents, which do not count here."
    return (
        f"Asked: {truncate_tokens(_line(one.question), EARLIER_TOKENS)}\n"
        f"Answered: {truncate_tokens(_line(answer), EARLIER_TOKENS)}"
    )


def _line(text: str) -> str:
    return " ".join(text.split())


def _tally(checked: Checked, sentences: Sequence[WrittenSentence]) -> dict[str, Any]:
    """Summarise the checks."""
    counts = checking.counts([one.check for one in sentences])
    problem = {"problem": checked.problem} if checked.problem else {}
    return {"by": checked.by, **counts, "added": checked.added, **problem}


MOST: Final = 400
"""Texts embedded per answer."""
LONGEST: Final = 1_000
"""In characters."""
EVERYDAY: Final = (
    "Paris is the capital of France.",
    "Bread is baked from flour, water and yeast.",
    "The football match ended in a draw yesterday.",
    "The moon goes around the earth.",
)
"""Unrelated sentences, as a baseline: embedders differ in how similar they find any two texts."""


class Likeness:
    """Similarity of prepared texts; any other text scores 0. Construct it outside transactions."""

    def __init__(self, embedder: Embedder, texts: Iterable[str]) -> None:
        wanted = list(dict.fromkeys([*EVERYDAY, *(text[:LONGEST] for text in texts)]))[:MOST]
        vectors = embedder.embed_passages(wanted)
        self._vectors: dict[str, Vectors] = dict(zip(wanted, vectors, strict=True))

    def __call__(self, one: str, other: str) -> float:
        """Return how much more similar the two texts are than the first is to the unrelated
        sentences, from 0 to 1."""
        left, right = self._vectors.get(one[:LONGEST]), self._vectors.get(other[:LONGEST])
        if left is None or right is None:
            return 0.0
        everyday = np.mean([float(left @ self._vectors[text]) for text in EVERYDAY])
        usual = min(float(everyday), 0.99)
        return max(0.0, (float(left @ right) - usual) / (1 - usual))
