"""What the pages of retrieval show: citations with their passages, hits, the box one asks in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ingestion import selectors
from ingestion.models import Chunk, Collection
from ingestion.reading.inline import plain
from ingestion.shown import where_of
from ingestion.templatetags.knowledge import reader_url
from kb_project.text.sentences import sentence_spans
from kb_project.text.terms import terms
from kb_project.text.words import words
from retrieval import questions
from retrieval.forms import Wanted
from retrieval.models import Citation, Question
from retrieval.questions import Asked
from retrieval.search.hits import Hit
from retrieval.search.modes import MODES, Mode
from workspaces.models import User, Workspace

BEFORE: Final = 90
AFTER: Final = 220
"""Characters of a passage shown around a cited sentence: few before it, so that it is in sight."""

SNIPPET: Final = 420
MOST_MISSING: Final = 4
QUESTIONS_SHOWN: Final = 40
# Words of a question that say what kind of answer is wanted, not what it is about.
ASKING: Final = frozenset(
    ("how", "many", "much", "long", "often", "far", "old", "big", "does", "did", "do", "can")
)
EXTRACTIVE: Final = "Sentences chosen from your documents: no chat model is set up."


@dataclass(frozen=True, slots=True)
class Passage:
    """A cited sentence with a little of what stands around it."""

    before: str
    quote: str
    after: str
    clipped_before: bool
    clipped_after: bool


@dataclass(frozen=True, slots=True)
class ShownCitation:
    number: int
    title: str
    where: str
    url: str
    passage: Passage


@dataclass(frozen=True, slots=True)
class ShownSentence:
    text: str
    citations: tuple[ShownCitation, ...]


@dataclass(frozen=True, slots=True)
class ShownHit:
    title: str
    where: str
    url: str
    text: str
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    is_supported: bool
    sentences: tuple[ShownSentence, ...]
    citations: tuple[ShownCitation, ...]
    nearest: tuple[ShownHit, ...]
    searched: str
    is_narrowed: bool
    mode: Mode | None
    notes: tuple[str, ...]
    steps: tuple[str, ...]
    kind_label: str
    kind_explanation: str


@dataclass(frozen=True, slots=True)
class AskBox:
    """What the box needs: the ways to search, the shelves, and what was chosen."""

    modes: tuple[Mode, ...]
    mode: Mode
    collections: tuple[Collection, ...]
    chosen: frozenset[str]
    documents: int
    question: str = ""

    @property
    def scope_label(self) -> str:
        names = [row.name for row in self.collections if str(row.pk) in self.chosen]
        if not names:
            return "All documents"
        return names[0] if len(names) == 1 else f"{len(names)} collections"


def ask_box(
    *, workspace: Workspace, question: str = "", mode: str = "", chosen: Sequence[str] = ()
) -> AskBox:
    modes = tuple(MODES.values())
    return AskBox(
        modes=modes,
        mode=MODES.get(mode, modes[0]),
        collections=tuple(questions.collections_of(workspace=workspace)),
        chosen=frozenset(chosen),
        documents=sum(selectors.state_counts(workspace=workspace).values()),
        question=question,
    )


def ask_again(*, workspace: Workspace, question: Question) -> AskBox:
    """The box under an answer: empty, with what was chosen before."""
    chosen = question.scope.get("collections", [])
    return ask_box(workspace=workspace, mode=question.mode, chosen=chosen)


def shown_answer(*, workspace: Workspace, asked: Asked) -> ShownAnswer:
    ids = [row.chunk_id for row in asked.citations]
    chunks = questions.chunks_by_id(workspace=workspace, ids=ids)
    citations = {
        row.number: shown_citation(workspace, row, chunks.get(row.chunk_id))
        for row in asked.citations
    }
    answer, mode = asked.answer, MODES.get(asked.question.mode)
    is_extractive = answer.written_by == "extractive"
    return ShownAnswer(
        is_supported=answer.is_supported,
        sentences=tuple(_sentence(row, citations) for row in answer.sentences),
        citations=tuple(citations.values()),
        nearest=_nearest(workspace, asked),
        searched=_searched(workspace, asked.question, mode),
        is_narrowed=bool(asked.question.scope),
        mode=mode,
        notes=tuple(str(note["sentence"]) for note in answer.trace.get("notes", [])),
        steps=_steps(answer.trace),
        kind_label="Extractive answer" if is_extractive else "Written answer",
        kind_explanation=EXTRACTIVE if is_extractive else f"Written by {answer.written_by}.",
    )


def _steps(trace: dict[str, Any]) -> tuple[str, ...]:
    """How the answer came about, as far as its trace tells."""
    told = (
        ("passages", "{} passages found"),
        ("sentences_read", "{} sentences read"),
        ("sentences_chosen", "{} chosen"),
        ("total_ms", "{:.0f} ms in all"),
    )
    return tuple(text.format(trace[key]) for key, text in told if trace.get(key) is not None)


def _sentence(row: dict[str, Any], citations: dict[int, ShownCitation]) -> ShownSentence:
    numbers = [number for number in row["citations"] if number in citations]
    return ShownSentence(plain(row["text"]), tuple(citations[number] for number in numbers))


def shown_citation(workspace: Workspace, citation: Citation, chunk: Chunk | None) -> ShownCitation:
    """A citation outlives its chunk: then the quote is shown without what stood around it."""
    start, end = citation.start, citation.end
    return ShownCitation(
        number=citation.number,
        title=citation.document.title,
        where=where_of(chunk.version, start) if chunk else "",
        url=reader_url(workspace, citation.document_id, start=start, end=end),
        passage=passage_of(chunk, start, end)
        if chunk
        else Passage("", plain(citation.quote), "", clipped_before=False, clipped_after=False),
    )


def passage_of(chunk: Chunk, start: int, end: int) -> Passage:
    """The span with some characters of its chunk on either side, cut at a word."""
    first, last = start - chunk.start, end - chunk.start
    begin, stop = max(0, first - BEFORE), min(len(chunk.text), last + AFTER)
    before, after = chunk.text[begin:first], chunk.text[last:stop]
    if begin > 0:
        before = before.partition(" ")[2] or before
    if stop < len(chunk.text):
        after = after.rpartition(" ")[0] or after
    return Passage(
        before=plain(before),
        quote=plain(chunk.text[first:last]),
        after=plain(after),
        clipped_before=begin > 0,
        clipped_after=stop < len(chunk.text),
    )


def _searched(workspace: Workspace, question: Question, mode: Mode | None) -> str:
    total = sum(selectors.state_counts(workspace=workspace).values())
    where = "the chosen part of" if question.scope else "all of"
    how = f" {mode.explanation}" if mode else ""
    noun = "document" if total == 1 else "documents"
    return f"No passage states it. Searched {where} {total} {noun} in {workspace.name}.{how}"


def _nearest(workspace: Workspace, asked: Asked) -> tuple[ShownHit, ...]:
    ids = [span.chunk_id for span in asked.nearest[:3]]
    chunks = questions.chunks_by_id(workspace=workspace, ids=ids)
    return tuple(
        ShownHit(
            title=span.document.title,
            where=where_of(chunks[span.chunk_id].version, span.start),
            url=reader_url(workspace, span.document.pk, start=span.start, end=span.end),
            text=plain(span.text),
            why=shortfall(asked.question.text, chunks[span.chunk_id].text),
        )
        for span in asked.nearest[:3]
        if span.chunk_id in chunks
    )


def shortfall(question: str, passage: str) -> tuple[str, ...]:
    """Which words of the question a passage lacks, as a sentence; nothing when it has them all.

    >>> shortfall("Who painted the lighthouse?", "The lighthouse was lit in 1869.")
    ('It does not mention “painted”.',)
    """
    there = set(terms(passage))
    asked = [
        question[word.start : word.end] for word in words(question) if word.folded not in ASKING
    ]
    missing = [word for word in asked if (wanted := set(terms(word))) and not wanted & there]
    if not missing:
        return ("It has the question's words, but does not state an answer.",)
    quoted = [f"“{word}”" for word in dict.fromkeys(missing)][:MOST_MISSING]
    return (f"It does not mention {' or '.join(quoted)}.",)


def shown_hits(*, workspace: Workspace, question: str, hits: Sequence[Hit]) -> list[ShownHit]:
    """Hits from their most telling sentence on, which is also what the reader marks."""
    chunks = questions.chunks_by_id(workspace=workspace, ids=[hit.chunk_id for hit in hits])
    return [
        _hit(workspace, hit, chunks[hit.chunk_id], telling_span(question, hit.text))
        for hit in hits
        if hit.chunk_id in chunks
    ]


def _hit(workspace: Workspace, hit: Hit, chunk: Chunk, span: tuple[int, int]) -> ShownHit:
    start, end = hit.start + span[0], hit.start + span[1]
    shown = plain(snippet_of(hit.text, span[0]))
    return ShownHit(
        title=hit.title,
        where=where_of(chunk.version, start),
        url=reader_url(workspace, hit.document_id, start=start, end=end),
        text=f"… {shown}" if span[0] else shown,
        why=hit.why,
    )


def snippet_of(text: str, start: int) -> str:
    """What is shown of a long passage, from ``start`` on, cut at a word.

    >>> snippet_of("a " * 300, 0).endswith("a …")
    True
    """
    shown = text[start : start + SNIPPET]
    return shown if start + SNIPPET >= len(text) else f"{shown.rpartition(' ')[0] or shown} …"


def telling_span(question: str, text: str) -> tuple[int, int]:
    """The sentence that has most of the question's words; the first of equals.

    >>> telling_span("Who lit the lamp?", "It was dark. Ada lit the lamp. She slept.")
    (13, 30)
    """
    wanted = set(terms(question))
    spans = sentence_spans(text) or [(0, len(text))]
    return max(spans, key=lambda span: len(wanted & set(terms(text[span[0] : span[1]]))))


@dataclass(frozen=True, slots=True)
class Home:
    """``attention`` are the rows of documents that somebody should look at."""

    counts: selectors.WorkspaceCounts
    box: AskBox
    starters: list[str]
    topics: list[selectors.TopicNode]
    recent: list[Any]
    questions: list[Question]
    attention: list[Any] = field(default_factory=list)


def home(*, workspace: Workspace, user: User) -> Home:
    recent = selectors.documents(workspace=workspace)[:6]
    stopped = selectors.documents(workspace=workspace, state="attention")[:3]
    written = [node for node in selectors.topic_tree(workspace=workspace) if node.report]
    return Home(
        counts=selectors.workspace_counts(workspace=workspace),
        box=ask_box(workspace=workspace),
        starters=questions.starters(workspace=workspace),
        topics=sorted(written, key=lambda node: -node.report.rating if node.report else 0)[:4],
        recent=list(recent),
        questions=questions.asked_by(workspace=workspace, user=user, most=5),
        attention=selectors.document_rows(workspace=workspace, documents=list(stopped)),
    )


def ask_page(*, workspace: Workspace, user: User, wanted: Wanted) -> dict[str, Any]:
    """The context of the page one asks on: the box as it was sent, and what was asked before."""
    return {
        "ask": ask_box(
            workspace=workspace,
            question=wanted.text,
            mode=wanted.mode,
            chosen=wanted.collections,
        ),
        "questions": questions.asked_by(workspace=workspace, user=user, most=QUESTIONS_SHOWN),
        "starters": questions.starters(workspace=workspace),
    }
