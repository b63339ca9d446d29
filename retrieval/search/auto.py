"""Auto: read the question, pick the way to answer it, and say why.

Calls no model and runs only the chosen search. Decides by the wording (``routing_features``), by
which names of the question the graph knows and how telling they are, and by which indexes exist.
``docs/benchmarks.md`` has the measurements, the data sets, and which questions were held out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, LiteralString
from uuid import UUID

import regex

from ingestion.knowledge import corpus
from kb_project.graph.walk import names_in
from kb_project.graph.walk_index import WalkIndex
from kb_project.sql import run_sql
from kb_project.text.names import normalise_name
from retrieval.search import paths, query_features as signs, walk
from retrieval.search.query import Query
from retrieval.search.results import ByRows, ModeResult
from workspaces import access

HAS_REPORTS: Final[LiteralString] = """
SELECT EXISTS (SELECT 1 FROM ingestion_communityreport WHERE workspace_id = %(workspace)s)
"""

# Whether a document's title, without any parentheses, is one of the names.
IS_TITLE: Final[LiteralString] = r"""
SELECT EXISTS (
    SELECT FROM ingestion_document
    WHERE workspace_id = %(workspace)s AND disabled_at IS NULL AND trashed_at IS NULL
      AND lower(regexp_replace(title, '\s*\([^()]*\)\s*$', '')) = ANY(%(names)s::text[]))
"""


COMMONPLACE: Final = 0.3
"""A name in more than this share of the passages does not show where to look."""
SHORT: Final = 2.0
"""Passages per document, on average, up to which each document has one subject. In longer ones a
name is in many passages, and meaning and words show which one answers: measured on two sets of long
documents, where hybrid finds more than the walk, and one of short ones, where it finds half as
much."""
FEW: Final = 3
"""Passages that may contain a name in any case: in a small workspace they soon are a large
share."""
CRAFT: Final = 1
"""Programming terms a question must contain to count as one about a program."""
SHOWN: Final = 2
LONGEST: Final = 60
"""Names in a reason, and characters of each."""
_ARTICLE: Final = regex.compile(r"^(?:the|an?)\s+", regex.IGNORECASE)
_PROPER: Final = regex.compile(r"[\p{Lu}\p{Lt}\p{N}]")


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen mode; ``reason`` is a sentence for people."""

    mode: str
    reason: str


@dataclass(frozen=True, slots=True)
class Known:
    """What a workspace knows of a question: telling names as it spells them, and its indexes.

    ``is_titled``: documents have one subject each, or a title is one of the names. ``is_between``:
    the question asks only how two entities are connected.
    """

    names: tuple[str, ...] = ()
    is_titled: bool = True
    has_graph: bool = True
    has_reports: bool = True
    is_between: bool = False


def delegating(
    searches: Mapping[str, Callable[[Query], ModeResult]],
) -> Callable[[Query], ModeResult]:
    """Build the search of the mode ``auto``, which delegates to one of ``searches``."""

    def search(query: Query) -> ModeResult:
        # One transaction for both if the mode only reads rows: many questions may be waiting for
        # it.
        with access.in_workspace(query.workspace_id):
            choice = choose(query.question, known_to(query))
            wanted = searches[choice.mode]
            found = wanted(query) if isinstance(wanted, ByRows) else None
        if found is None:
            found = wanted(query)
        return replace(found, mode=found.mode or choice.mode, reason=choice.reason)

    return search


def known_to(query: Query) -> Known:
    with access.in_workspace(query.workspace_id):
        index = walk.newest_index(query)
        ((has_reports,),) = run_sql(HAS_REPORTS, {"workspace": query.workspace_id})
        if index is None:
            return Known(has_graph=False, has_reports=has_reports)
        names = telling_names(index, query.question)
        documents = corpus.counts(workspace_id=query.workspace_id).documents
        is_short = len(index.chunk_ids) <= SHORT * documents
        is_titled = is_short or is_title_among(query.workspace_id, names)
    return Known(
        names,
        is_titled=is_titled,
        has_reports=has_reports,
        is_between=paths.asked_ends(index, query.question) is not None,
    )


def is_title_among(workspace_id: UUID, names: Sequence[str]) -> bool:
    """Whether a document is about one of the names, with or without its article."""
    spelt = [one.lower() for name in names for one in (name, _ARTICLE.sub("", name))]
    if not spelt:
        return False
    ((is_title,),) = run_sql(IS_TITLE, {"workspace": workspace_id, "names": spelt})
    return bool(is_title)


def telling_names(index: WalkIndex, question: str) -> tuple[str, ...]:
    """Return the question's names that the graph knows, except those in most passages and common
    nouns that the question does not spell as names."""
    most = max(FEW, COMMONPLACE * len(index.chunk_ids))
    return tuple(
        name
        for name, entities in names_in(index, question).items()
        if any(
            _spread(index, entity) <= most
            and (_PROPER.search(_ARTICLE.sub("", name)) or not index.is_common[entity])
            for entity in entities
        )
    )


def _spread(index: WalkIndex, entity: int) -> float:
    """Estimate from its salience how many passages mention the entity; very many for a
    nationality."""
    return len(index.chunk_ids) / max(math.expm1(float(index.salience[entity])), 1e-9)


def choose(question: str, known: Known) -> Choice:
    """Choose by the first rule that applies.

    >>> choose("Who trained Ada Lind?", Known(("Ada Lind",))).mode
    'walk'
    """
    if known.is_between and known.has_graph:
        return Choice("paths", "Asks how two things are connected, so finding paths between them.")
    return (
        _by_topics(question, known)
        or _by_craft(question, known)
        or _by_names(question, known)
        or _otherwise(question, known)
    )


def _by_topics(question: str, known: Known) -> Choice | None:
    if not known.has_reports or any(signs.technical_signs(question)):
        return None
    if signs.asks_for_change(question):
        return Choice(
            "drift",
            "Asks how something changed, so starting with your topics and following up on them.",
        )
    if signs.asks_for_whole(question) and not known.names:
        return Choice(
            "global", "Asks about the documents as a whole, so reading the reports of your topics."
        )
    return None


def _by_craft(question: str, known: Known) -> Choice | None:
    identifiers, words = signs.technical_signs(question)
    between = len(known.names) > 1 and signs.compares(question)
    linked = bool(known.names) and signs.goes_on(question)
    if identifiers or words >= CRAFT + (between or linked):
        return Choice(
            "hybrid", "Asks about code or settings, so searching by meaning and exact words."
        )
    return None


def _by_names(question: str, known: Known) -> Choice | None:
    if not known.names or not known.has_graph:
        return None
    shown = " and ".join(f"“{name[:LONGEST]}”" for name in known.names[:SHOWN])
    if _is_all_about(question, known.names):
        return Choice(
            "local", f"Asks about {shown} in general, so gathering its passages, facts and topics."
        )
    is_between = len(known.names) > 1
    is_linking = is_between and (signs.compares(question) or signs.goes_on(question))
    if not known.is_titled and not is_linking:
        return Choice(
            "hybrid",
            f"Names {shown}, but your documents are long, so searching by meaning and keywords.",
        )
    if is_between:
        more = " and more" if len(known.names) > SHOWN else ""
        return Choice("walk", f"Names {shown}{more}, so following the connections between them.")
    return Choice("walk", f"Names {shown}, so following its connections.")


def _is_all_about(question: str, names: tuple[str, ...]) -> bool:
    if len(names) > 1:
        return False
    alone = normalise_name(signs.named_alone(question))
    return signs.asks_broadly(question) or alone == normalise_name(names[0])


def _otherwise(question: str, known: Known) -> Choice:
    if not known.has_graph:
        return Choice("hybrid", "The graph isn't built yet, so searching by meaning and keywords.")
    if signs.asks_broadly(question):
        return Choice(
            "mix",
            "A broad question with no known name, so combining names, facts, meaning and keywords.",
        )
    return Choice("hybrid", "No known name in the question, so searching by meaning and keywords.")
