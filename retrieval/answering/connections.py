"""Answer how two things are connected, without a model: each step of a path is a quote.

A path begins with a sentence that says what it leads through, which cites every step. Where there
is no path, the answer says how far was looked, and what the two share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from kb_project.text.languages import HAN
from kb_project.text.words import listed
from retrieval.answering.citations.labels import Numbering
from retrieval.answering.drafts import Check, SpanOf, WrittenSentence
from retrieval.search.query import ScoredChunk
from retrieval.search.results import Connection, Hit, Step, hydrate

ADDED: Final = "(added by a person)"
ADDED_CHINESE: Final = "（由人添加）"
QUOTED: Final = Check("supported", "quote")


def compose(
    connection: Connection, found: Sequence[Hit], hits: Sequence[Hit], question: str
) -> tuple[list[WrittenSentence], Numbering]:
    """Return the answer's sentences. ``hits`` are the passages that the steps quote."""
    numbering = Numbering(found, sources={hit.chunk_id: hit for hit in hits})
    is_chinese = HAN.search(question) is not None
    if not connection.paths:
        texts = _no_path_chinese(connection) if is_chinese else _no_path(connection)
        return [WrittenSentence(text) for text in texts], numbering
    added = ADDED_CHINESE if is_chinese else ADDED
    sentences: dict[str, WrittenSentence] = {}
    for place, path in enumerate(connection.paths):
        lead = _lead_chinese(path, place) if is_chinese else _lead(path, place)
        spans = tuple(span for step in path for span in _spans(step, numbering))
        sentences[lead] = WrittenSentence(lead, spans, QUOTED if spans else None)
        for step in path:
            sentences.setdefault(str(step.id), _sentence(step, numbering, added))
    return list(sentences.values()), numbering


def quoted_hits(connection: Connection, workspace_id: UUID) -> list[Hit]:
    """Return the passages that the steps quote, in their order. Call in a transaction."""
    steps = (step for path in connection.paths for step in path)
    ids = dict.fromkeys(step.chunk_id for step in steps if step.chunk_id is not None)
    return hydrate(workspace_id, [ScoredChunk(one, 1.0) for one in ids])


def _sentence(step: Step, numbering: Numbering, added: str) -> WrittenSentence:
    spans = tuple(_spans(step, numbering))
    if not spans:
        # No passage supports what a person added: there is nothing to check.
        return WrittenSentence(f"{step.source} – {step.target}: {step.description} {added}")
    text = " ".join(step.quote.split())
    return WrittenSentence(text, spans, QUOTED, marked=tuple(_named(text, step)))


def _spans(step: Step, numbering: Numbering) -> Iterator[SpanOf]:
    if step.chunk_id is not None:
        yield SpanOf(numbering.number_of(step.chunk_id), step.start, step.end)


def _named(text: str, step: Step) -> Iterator[tuple[int, int]]:
    """Yield where the sentence names both ends, in order and without overlap."""
    end = 0
    places = ((text.find(name), len(name)) for name in (step.source, step.target))
    for start, length in sorted(places):
        if start >= end:
            end = start + length
            yield start, end


# --- words ----------------------------------------------------------------------------------------


def _lead(path: Sequence[Step], place: int) -> str:
    source, target = path[0].source, path[-1].target
    also = "also " if place else ""
    if len(path) == 1:
        how = "directly connected" if path[0].predicate else "named together"
        return f"{source} and {target} are {also}{how}."
    through = listed([step.target for step in path[:-1]])
    return f"{source} and {target} are {also}connected in {len(path)} steps, through {through}."


def _no_path(connection: Connection) -> list[str]:
    said = [
        f"No connection between {connection.source} and {connection.target} was found within"
        f" {connection.max_steps} steps."
    ]
    if connection.shared_documents:
        titles = listed([f"“{title}”" for title in connection.shared_documents])
        said.append(f"Both are named in {titles}.")
    if connection.shared_topics:
        topics = listed([f"“{title}”" for title in connection.shared_topics])
        said.append(f"Both belong to the topic {topics}.")
    return said


def _lead_chinese(path: Sequence[Step], place: int) -> str:
    source, target = path[0].source, path[-1].target
    also = "也" if place else ""
    if len(path) == 1:
        how = "直接相关" if path[0].predicate else "在同一处被提到"
        return f"{source}与{target}{also}{how}。"
    through = "、".join(step.target for step in path[:-1])
    return f"{source}与{target}{also}经{len(path)}步相连：{through}。"


def _no_path_chinese(connection: Connection) -> list[str]:
    ends = f"{connection.source}与{connection.target}"
    said = [f"在{connection.max_steps}步之内没有找到{ends}之间的联系。"]
    if connection.shared_documents:
        titles = "".join(f"《{title}》" for title in connection.shared_documents)
        said.append(f"两者都出现在{titles}中。")
    if connection.shared_topics:
        said.append(f"两者同属主题：{'、'.join(connection.shared_topics)}。")
    return said
