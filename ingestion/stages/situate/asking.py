"""Ask a chat model to describe the place of passages in their documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ingestion.extractors import contextual
from ingestion.stage import Progress
from ingestion.stages.situate.situated import Counted, Situated
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.prompt import fenced, load

PROMPT: Final = Path(__file__).parents[2] / "prompts" / "situate.md"
# Requests built at a time: each holds a whole document.
ASKED_AT_ONCE = 128
UNSITUATED: Final = " passages the model did not say where they"


def ask(chat: ChatModel, group: Sequence[Situated], progress: Progress) -> None:
    """Append the model's sentences to the local contexts; PauseErrors propagate.

    The requests of one document follow each other, so that its text is in the provider's prefix
    cache.
    """
    counted = Counted(progress, sum(len(each.chunks) - len(each.said) for each in group))
    requests = requests_of(chat, group)
    while batch := list(islice(requests, ASKED_AT_ONCE)):
        for index_, reply in chat.ask_many([request for _, _, request in batch]):
            each, place, _ = batch[index_]
            said = "" if isinstance(reply, ReplyError) else reply.text
            take(each, place, said)
            counted.add(1)


def requests_of(
    chat: ChatModel, group: Sequence[Situated]
) -> Iterator[tuple[Situated, int, ChatRequest[Any]]]:
    template, limit = load(PROMPT), chat.input_limit(Role.SITUATE)
    for each in group:
        if len(each.said) == len(each.chunks):
            continue
        spans = [(chunk.start, chunk.end) for chunk in each.chunks]
        shown = contextual.prefixes(each.version.text, spans, limit=limit)
        for place, (chunk, prefix) in enumerate(zip(each.chunks, shown, strict=True)):
            if place in each.said:
                continue
            prompt = template.fill(
                document=fenced(contextual.without_marks(prefix), "document"),
                chunk=fenced(contextual.without_marks(contextual.passage(chunk.text)), "passage"),
            )
            about = About("situate", document_id=chunk.document_id, chunk_id=chunk.pk)
            yield each, place, ChatRequest(Role.SITUATE, prompt, about)


def take(each: Situated, place: int, answer: str) -> None:
    """Add the answer to the chunk's context, or count it as missing: the headings then suffice."""
    chunk = each.chunks[place]
    sentence = contextual.cleaned(answer, chunk=chunk.text)
    each.unanswered += not sentence
    chunk.context = "\n".join(part for part in (each.local[place], sentence) if part)


def warnings_of(each: Situated) -> tuple[str, ...]:
    if not each.unanswered:
        return ()
    return (
        f"For {each.unanswered:,} of {len(each.chunks):,}{UNSITUATED}"
        " belong in the document; their title and headings are used instead.",
    )
