"""Explain from its trace how an answer was found: plan, seeds, records, passages, tokens, calls,
checks.

Every part that the trace lacks is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from uuid import UUID

from django.urls import reverse

from ingestion.documents.presenters import reader_url
from retrieval.conversations import queries
from retrieval.conversations.forms import is_id
from retrieval.conversations.presenters.ask_box import label_of
from retrieval.models import Answer
from workspaces.models import Workspace
from workspaces.usage.queries import money

MOST_ROWS: Final = 40
FIGURES: Final = (
    ("passages", "{} passages found"),
    ("sentences_read", "{} sentences read"),
    ("sentences_chosen", "{} chosen"),
    ("reports_read", "{} reports read"),
    ("total_ms", "{:.0f} ms in total"),
)
CALLS: Final = (
    ("count", "Model calls"),
    ("cached", "of them from the cache"),
    ("prompt_tokens", "Tokens sent"),
    ("completion_tokens", "Tokens written"),
)
CITATIONS: Final = (
    ("kept", "kept"),
    ("invented", "invented, removed"),
    ("repeated", "repeated, merged"),
    ("foreign", "from other answers, removed"),
    ("misplaced", "in code or addresses, removed"),
)
CHECKS: Final = (
    ("supported", "supported"),
    ("unsupported", "not supported"),
    ("general", "general knowledge"),
    ("conflict", "sources differ"),
)
SECTIONS: Final = {"points": "Partial answers"}


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class ShownSeed:
    kind: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A record or passage that was found; ``is_used`` if it went into the answer."""

    number: str
    kind: str
    title: str
    url: str
    score: str
    tokens: str
    why: tuple[str, ...]
    is_used: bool


@dataclass(frozen=True, slots=True)
class Share:
    """A section of the model's context: ``tokens`` of at most ``budget``."""

    name: str
    items: int
    tokens: int
    budget: int

    @property
    def summary(self) -> str:
        noun = "item" if self.items == 1 else "items"
        return f"{self.tokens:,} of {self.budget:,} tokens · {self.items} {noun}"


@dataclass(frozen=True, slots=True)
class Explained:
    steps: tuple[str, ...]
    asked_mode: str
    question: str
    keywords: tuple[str, ...]
    seeds: tuple[ShownSeed, ...]
    records: tuple[ShownRow, ...]
    ranked: tuple[ShownRow, ...]
    shares: tuple[Share, ...]
    figure_groups: tuple[tuple[str, tuple[Figure, ...]], ...]


def explained(*, workspace: Workspace, answer: Answer) -> Explained:
    trace = answer.trace
    plan = _part(trace, "plan")
    asked = str(plan.get("asked_mode", ""))
    return Explained(
        steps=steps_of(trace),
        asked_mode=label_of(asked) if asked and asked != plan.get("mode", "") else "",
        question=str(plan.get("question", "")) if plan.get("is_rewritten") else "",
        keywords=tuple(keywords_of(plan.get("keywords"))),
        seeds=tuple(
            ShownSeed(
                kind := str(one.get("kind", "")),
                str(one.get("name", "")),
                _record_url(workspace, kind, one.get("id")),
            )
            for one in _rows(trace, "seeds")
        ),
        records=tuple(_record(workspace, one) for one in _rows(trace, "records")),
        ranked=tuple(_ranked(workspace, _rows(trace, "ranked"))),
        shares=tuple(_share(one) for one in _rows(trace, "sections")),
        figure_groups=tuple(figure_groups(trace)),
    )


def figure_groups(trace: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Figure, ...]]]:
    """Yield the figures on model calls, citations and sentence checks."""
    calls, check = _part(trace, "calls"), _part(trace, "check")
    by = [Figure("by", str(check["by"]))] if check.get("by") else []
    groups = (
        ("Models", [*figures_of(calls, CALLS), *_cost(calls)]),
        ("Citations", list(figures_of(_part(trace, "citations"), CITATIONS))),
        ("Sentences", [*figures_of(check, CHECKS), *by]),
    )
    yield from ((label, tuple(figures)) for label, figures in groups if figures)


def steps_of(trace: Mapping[str, Any]) -> tuple[str, ...]:
    """
    >>> steps_of({"passages": 2, "total_ms": 12.4})
    ('2 passages found', '12 ms in total')
    """
    return tuple(text.format(trace[key]) for key, text in FIGURES if trace.get(key) is not None)


def keywords_of(value: Any) -> Iterator[str]:
    """
    >>> list(keywords_of({"high": ["trade"], "low": ["oil", "barrel"]})), list(keywords_of(None))
    (['trade', 'oil', 'barrel'], [])
    """
    if isinstance(value, Mapping):
        value = value.values()
    for one in value or ():
        if isinstance(one, str):
            yield one
        else:
            yield from keywords_of(one)


def _part(trace: Mapping[str, Any], name: str) -> dict[str, Any]:
    return dict(trace.get(name) or {})


def _rows(trace: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return list(trace.get(name) or [])[:MOST_ROWS]


def _record(workspace: Workspace, one: Mapping[str, Any]) -> ShownRow:
    kind = str(one.get("kind", ""))
    return ShownRow(
        number="",
        kind=kind,
        title=str(one.get("title", "")),
        url=_record_url(workspace, kind, one.get("id")),
        score=score_of(one.get("score")),
        tokens=whole(one.get("tokens")),
        why=(),
        is_used=bool(one.get("used")),
    )


def _record_url(workspace: Workspace, kind: str, pk: object) -> str:
    if kind != "entity" or not is_id(str(pk)):
        return ""
    return reverse("ingestion:entity_detail", args=[workspace.slug, pk])


def _ranked(workspace: Workspace, rows: Sequence[Mapping[str, Any]]) -> Iterator[ShownRow]:
    ids = [UUID(str(one["chunk"])) for one in rows if is_id(str(one.get("chunk")))]
    chunks = queries.chunks_by_id(workspace=workspace, ids=ids) if ids else {}
    named = {str(pk): chunk for pk, chunk in chunks.items()}
    for one in rows:
        title, url = "A deleted passage", ""
        if chunk := named.get(str(one.get("chunk"))):
            title = chunk.version.document.title
            url = reader_url(workspace, chunk.document_id, start=chunk.start, end=chunk.end)
        yield ShownRow(
            number=whole(one.get("number")),
            kind="passage",
            title=title,
            url=url,
            score=score_of(one.get("score")),
            tokens=whole(one.get("tokens")),
            why=tuple(map(str, one.get("why") or ())),
            is_used=bool(one.get("used")),
        )


def _share(one: Mapping[str, Any]) -> Share:
    name = str(one.get("name", ""))
    tokens = int(one.get("tokens") or 0)
    return Share(
        name=SECTIONS.get(name, name.replace("_", " ").capitalize()),
        items=int(one.get("items") or 0),
        tokens=tokens,
        budget=max(int(one.get("budget") or 0), tokens),
    )


def figures_of(part: Mapping[str, Any], names: Sequence[tuple[str, str]]) -> Iterator[Figure]:
    for name, label in names:
        if part.get(name) is not None:
            yield Figure(label, whole(part[name]))


def _cost(part: Mapping[str, Any]) -> Iterator[Figure]:
    """Yield the cost of the calls, if they have a price."""
    try:
        cost = Decimal(str(part.get("cost")))
    except InvalidOperation:
        return
    if cost > 0:
        yield Figure("Cost", money(float(cost)))


def whole(value: object) -> str:
    """
    >>> whole(12345), whole(None)
    ('12,345', '')
    """
    return f"{value:,}" if isinstance(value, int) else str(value or "")


def score_of(value: object) -> str:
    """Format a score with three significant figures.

    >>> score_of(0.0123456), score_of(87.0), score_of(None)
    ('0.0123', '87', '')
    """
    return f"{value:.3g}" if isinstance(value, int | float) else ""
