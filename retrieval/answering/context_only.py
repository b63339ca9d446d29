"""What an answer would be written from, without writing it: for programs with a model of their own.

LightRAG's ``only_need_context`` and ``only_need_prompt``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from kb_project.errors import InputError
from kb_project.ports import Ports
from kb_project.prompt import Prompt
from retrieval.answering import bypass, explain, flow, greeting, writing
from retrieval.answering.citations.labels import MOST_SOURCES, Numbering
from retrieval.answering.context import Context, Item
from retrieval.answering.drafts import Asking
from retrieval.search.modes import BYPASS
from retrieval.search.reporting import SILENT
from retrieval.search.services import SearchResult
from workspaces.ports import no_model, ports_for

CONTEXT: Final = "context"
PROMPT: Final = "prompt"
CHOICES: Final = (CONTEXT, PROMPT)


def context_only(asking: Asking, only: str) -> dict[str, Any]:
    """Return the context with its labels and sources, and for ``PROMPT`` the messages with it.

    Call outside transactions. Nothing is stored; a mode's own calls are made and paid for. Raises
    InputError, and ConflictError if messages are wanted and there is no chat model.
    """
    if greeting.is_greeting(asking.question):
        raise InputError(
            "A greeting has no context: nothing is searched for it.",
            code="nothing_asked",
            next_step="Ask about something in the documents.",
        )
    ports = asking.ports or ports_for(asking.workspace.pk)
    if only == PROMPT and ports.writer is None:
        raise no_model()
    if asking.mode == BYPASS.name:
        return _without_documents(asking, ports, only)
    asking, _, found = flow.gathered(replace(asking, ports=ports), SILENT)
    task = writing.Task.of(asking, found, ports.options)
    prompt, context = writing.composed(task, form=asking.options.response)
    numbering = task.numbering
    items = list(_items(context, numbering))
    return {
        "plan": explain.plan(asking, found),
        "text": context.text,
        "tokens": context.tokens,
        "items": items,
        "passages": _passages(found, numbering, items),
        "messages": _messages(prompt) if only == PROMPT and writing.can_write(found) else [],
        "notes": found.trace["notes"],
    }


def _without_documents(asking: Asking, ports: Ports, only: str) -> dict[str, Any]:
    bypass.allowed_chat(ports)
    return {
        "plan": bypass.plan_of(asking),
        "text": "",
        "tokens": 0,
        "items": [],
        "passages": [],
        "messages": _messages(bypass.prompt_of(asking, ports.options)) if only == PROMPT else [],
        "notes": [{"code": bypass.NOTE.code, "sentence": bypass.NOTE.sentence}],
    }


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": prompt.system},
        {"role": "user", "content": prompt.user},
    ]


def _items(context: Context, numbering: Numbering) -> Iterator[dict[str, Any]]:
    for section in context.sections:
        for item in section.used:
            yield {
                "section": section.name,
                "label": item.name if item.id else "",
                "id": str(item.id) if item.id else None,
                "text": item.text,
                "tokens": item.tokens,
                "sources": _sources(item, numbering),
            }


def _sources(item: Item, numbering: Numbering) -> list[int]:
    """Return the numbers of the passages behind an item."""
    chunks: dict[int, None] = {}
    for label in item.labels:
        record = numbering.records.get(label)
        if record is None:
            chunks[int(label)] = None
        else:
            behind = map(numbering.number_of, record.sources[:MOST_SOURCES])
            chunks.update(dict.fromkeys(filter(None, behind)))
    return list(chunks)


def _passages(
    found: SearchResult, numbering: Numbering, items: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the passages found, and those behind the records in the context, by number."""
    named = {number for item in items for number in item["sources"]}
    shown = range(1, len(found.hits) + 1)
    numbers = sorted(named.union(shown))
    passages = flow.passages_json([numbering.passage(number) for number in numbers])
    return [one | {"number": number} for one, number in zip(passages, numbers, strict=True)]
