"""Search modes by name. To add one: write a module with ``search(query)``, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kb_project.errors import InputError
from retrieval.search import (
    auto,
    dense,
    drift,
    entities,
    global_search,
    graph,
    hybrid,
    lexical,
    local,
    mix,
    paths,
    relations,
    traverse,
    tree,
    walk,
)
from retrieval.search.query import Query
from retrieval.search.results import PASSAGES_ONLY, ByRows, ModeResult, Shares

NAMES: Final = "Follow the names"
WHOLE: Final = "See the whole"
PASSAGES: Final = "Find passages"
UNSEARCHED: Final = "Without your documents"
GROUPS: Final = ("", NAMES, WHOLE, PASSAGES, UNSEARCHED)
"""In the order of the menu; modes without a group are above all."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to search, called outside transactions.

    ``group`` is where the menu lists it; ``explanation`` is one sentence for people;
    ``uses_vectors`` says whether the question's vector must be made first; ``shares`` divide a
    chat model's context; ``reranks`` says whether a reranker, if there is one, reorders the
    passages: a mode whose order rests on more than each passage alone keeps its own.
    """

    name: str
    label: str
    group: str
    explanation: str
    search: Callable[[Query], ModeResult]
    uses_vectors: bool = True
    shares: Shares = PASSAGES_ONLY
    reranks: bool = True


_WAYS: Final[dict[str, Mode]] = {
    mode.name: mode
    for mode in (
        Mode(
            "walk",
            "Walk",
            NAMES,
            "Follows names from passage to passage, connecting facts in different documents.",
            ByRows(walk.search),
            # A passage that only leads to the next looks irrelevant on its own.
            reranks=False,
        ),
        Mode(
            "hybrid",
            "Hybrid",
            PASSAGES,
            "Searches by meaning and by keywords, and combines both lists.",
            ByRows(hybrid.search),
        ),
        Mode(
            "local",
            "Local",
            NAMES,
            "Starts from the people, places and things in the question and gathers their"
            " passages, facts and topics.",
            ByRows(local.search),
            shares=local.SHARES,
        ),
        Mode(
            "entities",
            "Entities",
            NAMES,
            "Looks up the names in the question and what is known of each, the most relevant"
            " facts first.",
            entities.search,
            shares=entities.SHARES,
        ),
        Mode(
            "relations",
            "Relations",
            NAMES,
            "Finds the facts between names that say what the question wants to know.",
            relations.search,
            shares=entities.SHARES,
        ),
        Mode(
            "graph",
            "Graph",
            NAMES,
            "Combines entities and relations: what the graph knows of the question, and the"
            " passages behind it.",
            graph.search,
            shares=entities.SHARES,
        ),
        Mode(
            "paths",
            "Paths",
            NAMES,
            "Finds how two people, places or things are connected, step by step, with the sentence"
            " that supports each step.",
            ByRows(paths.search),
            shares=paths.SHARES,
            # The steps of a path have an order of their own.
            reranks=False,
        ),
        Mode(
            "mix",
            "Mix",
            NAMES,
            "Combines names, facts, meaning and keywords: a little of everything that may be"
            " relevant.",
            mix.search,
            shares=entities.SHARES,
        ),
        Mode(
            "global",
            "Global",
            WHOLE,
            "Reads the reports of your topics to answer questions about the documents as a whole.",
            global_search.search,
            shares=Shares(passages=0.35, reports=0.15, points=0.5),
            reranks=False,
        ),
        Mode(
            "drift",
            "Drift",
            WHOLE,
            "Starts with the topics a question touches, then asks follow-up questions.",
            drift.search,
            shares=Shares(passages=0.45, records=0.1, reports=0.1, points=0.35),
            reranks=False,
        ),
        Mode(
            "tree",
            "Summaries",
            WHOLE,
            "Compares the question with passages and with summaries of groups of passages.",
            ByRows(tree.search),
            shares=tree.SHARES,
        ),
        Mode(
            "traverse",
            "Descent",
            WHOLE,
            "Starts at the summary of everything and descends to the passages, choosing the"
            " nearest at each step.",
            ByRows(traverse.search),
            shares=tree.SHARES,
        ),
        Mode(
            "dense",
            "Meaning",
            PASSAGES,
            "Finds passages with a similar meaning, whatever words they use.",
            ByRows(dense.search),
        ),
        Mode(
            "lexical",
            "Words",
            PASSAGES,
            "Finds passages with the question's own words, the rarest first.",
            ByRows(lexical.search),
            uses_vectors=False,
        ),
    )
}

MODES: Final[dict[str, Mode]] = {
    "auto": Mode(
        "auto",
        "Automatic",
        "",
        "Reads the question, picks one of the other modes and says why.",
        auto.delegating({name: mode.search for name, mode in _WAYS.items()}),
    ),
    **_WAYS,
}

DEFAULT_MODE: Final = next(iter(MODES))

BYPASS: Final = Mode(
    "bypass",
    "General knowledge",
    UNSEARCHED,
    "The chat model answers from its own knowledge, without documents and citations.",
    lambda _: ModeResult([]),
    uses_vectors=False,
    reranks=False,
)
ANSWER_MODES: Final[dict[str, Mode]] = {**MODES, BYPASS.name: BYPASS}
"""What a question can be asked in: the search modes, and answering without a search."""


def mode_named(name: str, modes: Mapping[str, Mode] = MODES) -> Mode:
    """Return a mode by name. Raises InputError for an unknown one, naming those available."""
    if name not in modes:
        raise InputError(
            f"There is no search mode '{name[:40]}'.",
            code="unknown_mode",
            next_step=f"Choose one of {', '.join(modes)}.",
        )
    return modes[name]
