"""Keywords: what a question names and wants to know, and how well they name each entity.

LightRAG's two lists. A chat model writes them if there is one; otherwise they are read off the
question: names, quotations, numbers and identifiers are low-level, the phrases between function
words high-level. LightRAG joins each list into one string and embeds it as one vector, which is
between all the keywords and near none; here each keyword is looked up separately.

LightRAG compares a keyword with the vectors of entities' names and descriptions. Alone, those found
less, and making them takes minutes on a small machine (``docs/benchmarks.md``). Here an entity is
as near to a keyword as the passages that mention it, each weighted by its share in them (the
columns of the walk's matrices); names also count directly, in full or by the words they share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import Final
from uuid import UUID

import numpy as np
import regex
from django.utils.functional import cached_property
from pydantic import BaseModel, Field

from kb_project.errors import ModelError
from kb_project.graph import walk as walking
from kb_project.graph.compact import Places
from kb_project.graph.walk import Seeds, Within
from kb_project.graph.walk_index import NO_ENTITY, Floats, WalkIndex
from kb_project.llm.ports import About, ChatRequest, Role
from kb_project.prompt import fenced, load
from kb_project.text.words import is_unspaced, terms, words
from retrieval.search import dense, query_features, walk
from retrieval.search.query import Query, QuestionVector

# --- keywords -------------------------------------------------------------------------------------
MOST: Final = 8
"""Keywords in each list."""
MOST_VECTORS: Final = 4
"""Keywords of a list that are also searched by meaning: each costs a vector and a scan."""
LONGEST: Final = 80
LONGEST_PHRASE: Final = 4
"""In words."""
MOST_OUTPUT: Final = 400
"""Tokens of a model's reply."""

_PROMPT: Final = Path(__file__).resolve().parents[1] / "prompts" / "keywords.md"
_WORD: Final = regex.compile(r"[\p{L}\p{N}]")
_QUOTED: Final = regex.compile(r"[“\"「『《]([^”\"」』》]{2,80})[”\"」』》]")
_JOINT: Final = r"(?:of|the|de|del|la|van|von|der|du|bin|al)"
_NAME: Final = regex.compile(
    rf"\p{{Lu}}[\p{{L}}\p{{M}}\p{{N}}'’&+#-]*"
    rf"(?:\.?\s+(?:{_JOINT}\s+){{0,2}}(?:\p{{Lu}}|\p{{N}})[\p{{L}}\p{{M}}\p{{N}}'’&+#-]*)*"
)
_IDENTIFIER: Final = regex.compile(
    r"\b\p{L}+(?:_[\p{L}\p{N}]+)+\b|\b\p{Ll}+\p{Lu}[\p{L}\p{N}]*\b|\b[\p{L}.,-]*\p{N}[\p{L}\p{N}.-]*\b"
)
_POSSESSIVE: Final = regex.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class Keywords:
    """``low`` and ``high`` are never empty: without keywords, each has the question itself."""

    low: tuple[str, ...]
    high: tuple[str, ...]
    by: str = ""


class Reply(BaseModel):
    """A model's reply; ``usable`` bounds it."""

    low_level: list[str] = Field(default_factory=list)
    high_level: list[str] = Field(default_factory=list)


def keywords_of(query: Query, known: Iterable[str] = ()) -> Keywords:
    """Return the question's keywords; ``known`` are its names that the graph knows.

    Call outside transactions. If a model fails, its keywords are lost, with a note, but never the
    search.
    """
    if query.chat is None or query.calls < 1:
        return read(query.question, known)
    query.step("search", "Asking the model for keywords.")
    request = ChatRequest(
        Role.KEYWORD,
        load(_PROMPT).fill(question=fenced(query.question, "question")),
        About("keywords", question_id=query.question_id),
        Reply,
        max_output=MOST_OUTPUT,
    )
    try:
        reply = query.chat.ask(request)
    except ModelError:
        query.note(
            "keywords_local", "The model gave no keywords; the question's own words were used."
        )
        return read(query.question, known)
    found = reply.value or Reply()
    low, high = usable(found.low_level), usable(found.high_level)
    if not low and not high:
        return read(query.question, known)
    return _whole(low, high, query.question, query.chat.model_of(Role.KEYWORD))


def usable(texts: Iterable[str]) -> tuple[str, ...]:
    """Return what can be looked up of a model's keywords: each once, on one line, of limited
    length.

    >>> usable(["Ada  Lind", "ada lind", "?", "tide\\0s"])
    ('Ada Lind', 'tide s')
    """
    lines = (" ".join(text.replace("\0", " ").split())[:LONGEST].strip() for text in texts)
    kept: dict[str, str] = {}
    for line in lines:
        if _WORD.search(line):
            kept.setdefault(line.casefold(), line)
    return tuple(kept.values())[:MOST]


def read(question: str, known: Iterable[str] = ()) -> Keywords:
    """Extract keywords without a model.

    >>> found = read("Who is the mother of the director of Tide Song?")
    >>> found.low, found.high
    (('Tide Song',), ('mother', 'director'))
    >>> read("朱元璋的父亲是谁？", ["朱元璋"]).high
    ('父亲',)
    """
    low: dict[str, None] = {}
    rest = question
    for name in sorted(known, key=len, reverse=True):
        low[name] = None
        rest = rest.replace(name, " , ")
    for pattern in (_QUOTED, _IDENTIFIER, _NAME):
        for match in pattern.finditer(rest):
            name = _trimmed(match.group(match.lastindex or 0), is_first=match.start() == 0)
            if name:
                low[name] = None
                rest = rest.replace(name, " , ")
    phrases = list(_phrases(rest, frozenset(query_features.read(question).terms)))
    named = sorted(low, key=question.find)
    return _whole(usable(named) or usable(phrases), usable(phrases), question, "")


def _whole(low: tuple[str, ...], high: tuple[str, ...], question: str, by: str) -> Keywords:
    return Keywords(low or (question,), high or (question,), by)


def _trimmed(name: str, *, is_first: bool) -> str:
    """Strip leading function words; return '' for a single word that begins the question."""
    parts = name.split()
    while parts and not terms(parts[0]):
        parts, is_first = parts[1:], False
    if len(parts) == 1 and is_first and not _POSSESSIVE.search(parts[0]):
        return ""
    return str(_POSSESSIVE.sub("", " ".join(parts)))


def _phrases(text: str, telling: frozenset[str]) -> Iterator[str]:
    """Yield runs of the question's telling words, as it spells them."""
    for piece in regex.split(r"[^\p{L}\p{M}\p{N}'’\s-]+", text):
        found = [piece[word.start : word.end] for word in words(piece)]
        for is_telling, run in groupby(found, lambda word: not telling.isdisjoint(terms(word))):
            if is_telling:
                yield from _parts(list(run))


def _parts(run: Sequence[str]) -> Iterator[str]:
    """Split a run into short phrases; in Chinese, drop the characters that ask and join."""
    if all(is_unspaced(word) for word in run):
        for word in run:
            pieces = groupby(word, lambda character: not query_features.is_filler(character))
            kept = ("".join(piece) for is_telling, piece in pieces if is_telling)
            yield from (piece for piece in kept if len(piece) > 1)
        return
    for first in range(0, len(run), LONGEST_PHRASE):
        yield " ".join(run[first : first + LONGEST_PHRASE])


def vectors(
    query: Query, lists: Iterable[Sequence[str]], known: Iterable[str] = ()
) -> dict[str, str]:
    """Return a separate vector for each keyword, as Postgres writes it. Call outside transactions.

    The question already has a vector; a name that the graph knows needs none.
    """
    without = {*known, query.question}
    asked = ([one for one in listed if one not in without][:MOST_VECTORS] for listed in lists)
    embedder = query.vector.embedder
    return {
        one: QuestionVector(embedder, one).literal
        for one in dict.fromkeys(chain.from_iterable(asked))
    }


# --- weights of entities --------------------------------------------------------------------------
NEAREST: Final = 100
"""Passages near a keyword; the last of them counts nothing."""
NAMED: Final = 1.0
MEANING: Final = 0.25
QUESTION: Final = 0.25
"""Weight of the passages near the whole question, against one keyword."""
SHARED: Final = 0.5
"""Share of a name's and a keyword's words that must be common to both; less is coincidence."""

Closeness = Mapping[UUID, float]


@dataclass(frozen=True)
class GraphView:
    """The graph as one question sees it: where to look, and how close passages are to the
    question and to each keyword.

    Closeness is from 0 to 1; passages that are not near are left out. ``within`` marks passages of
    the scope by position; ``names`` are the question's names, with their entities' positions.
    """

    index: WalkIndex
    within: Within | None
    question: Closeness
    keywords: Mapping[str, Closeness] = field(default_factory=dict)
    names: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @cached_property
    def close(self) -> Closeness:
        """Each passage's closeness to the question, or to the nearest keyword."""
        found = defaultdict(float, self.question)
        for near in self.keywords.values():
            for chunk_id, closeness in near.items():
                found[chunk_id] = max(found[chunk_id], MEANING * closeness)
        return dict(found)

    @cached_property
    def close_by_position(self) -> Floats:
        return on_chunks(self.index, self.close)

    @cached_property
    def near_question(self) -> Floats:
        """How near each entity is to the question, by position, through its passages."""
        found = np.zeros(len(self.index.entity_ids), np.float32)
        places, weights = _by_passages(self.index, self.question)
        found[places] = weights
        return found

    def closeness(self, chunk_id: UUID) -> float:
        return self.close.get(chunk_id, 0.0)


def view_of(query: Query, index: WalkIndex, vectors: Mapping[str, str]) -> GraphView:
    """Look at the graph for a query; ``vectors`` maps keywords to theirs."""
    return GraphView(
        index=index,
        within=walk.within(query, index),
        question=scaled(walk.nearest(query)),
        keywords=_near_each(query, vectors),
        names=begun(query, index, walking.seeds(index, query.question)).names,
    )


def begun(query: Query, index: WalkIndex, start: Seeds) -> Seeds:
    """Adjust the seeds by the entities the person included and excluded."""
    without = set(known_places(index, query.exclude))
    added = known_places(index, query.include)
    weights = {**start.entities, **{place: float(index.salience[place]) for place in added}}
    names = {
        name: [place for place in places if place not in without]
        for name, places in start.names.items()
    }
    return Seeds(
        {place: weight for place, weight in weights.items() if place not in without},
        start.chunks,
        {name: places for name, places in names.items() if places},
    )


def _near_each(query: Query, vectors: Mapping[str, str]) -> dict[str, Closeness]:
    found = dense.nearest_to_each(query, list(vectors.values()), NEAREST)
    return {keyword: scaled(near) for keyword, near in zip(vectors, found, strict=True)}


def scaled(nearest: Sequence[tuple[UUID, float]]) -> Closeness:
    if not nearest:
        return {}
    top, bottom = nearest[0][1], nearest[-1][1]
    if top <= bottom:
        return {chunk_id: 1.0 for chunk_id, _ in nearest}
    return {chunk_id: (likeness - bottom) / (top - bottom) for chunk_id, likeness in nearest}


def weigh(query: Query, view: GraphView, keywords: Iterable[str]) -> Floats:
    """Weigh every entity, by position: by the mean of the keywords, and a little by the question.

    Zero outside the scope and for excluded entities; included ones come first.
    """
    index, wanted = view.index, list(keywords)
    weights = QUESTION * view.near_question
    for keyword in wanted:
        named = _by_names(index, keyword)
        weights[list(named)] += NAMED / len(wanted) * np.array([*named.values()], np.float32)
        places, near = _by_passages(index, view.keywords.get(keyword, {}))
        weights[places] += MEANING / len(wanted) * near
    return steered(query, view, weights)


def steered(query: Query, view: GraphView, weights: Floats) -> Floats:
    """Adjust weights by the included and excluded entities, and set those outside the scope to
    zero."""
    index = view.index
    for place in known_places(index, query.include):
        weights[place] += 1.0 + weights.max()
    weights[known_places(index, query.exclude)] = 0.0
    if view.within is not None:
        weights = weights * (index.to_entities @ view.within.astype(np.float32) > 0)
    return np.asarray(weights, np.float32)


def strongest(index: WalkIndex, weights: Floats, count: int) -> list[tuple[UUID, float]]:
    """Return the heaviest entities of the graph with their weights; ties go by position."""
    best = walking.highest(weights, count * 2, above=0.0)
    found = [(index.entity_ids[place], float(weights[place])) for place in best]
    return [(one, weight) for one, weight in found if one != NO_ENTITY][:count]


def known_places(index: WalkIndex, entities: Collection[UUID]) -> list[int]:
    """Return the positions of those entities that are in the index."""
    found: list[int] = [one for one in index.entity_ids.places(entities).tolist() if one >= 0]
    return found


def passages_of(view: GraphView, place: int, most: int | None = None) -> list[UUID]:
    """Return the scope's passages that mention an entity, those closest to the question first."""
    matrix = view.index.to_entities
    first, last = matrix.indptr[place : place + 2].tolist()
    mentioning, shares = matrix.indices[first:last], matrix.data[first:last]
    if view.within is not None:
        inside = view.within[mentioning]
        mentioning, shares = mentioning[inside], shares[inside]
    # Sorted in numpy: a hub is mentioned in a third of all passages.
    order = np.lexsort((mentioning, -shares, -view.close_by_position[mentioning]))[:most]
    ids = view.index.chunk_ids
    return [ids[one] for one in mentioning[order].tolist()]


def on_chunks(index: WalkIndex, near: Closeness) -> Floats:
    """Return every passage's closeness, by position."""
    found = np.zeros(len(index.chunk_ids), np.float32)
    places, weights = _known(index, near)
    found[places] = weights
    return found


def _known(index: WalkIndex, near: Closeness) -> tuple[Places, Floats]:
    """Return the positions of those passages that are in the index, and their closeness."""
    places = index.chunk_ids.places(near)
    is_here = places >= 0
    return places[is_here], np.fromiter(near.values(), np.float32, len(near))[is_here]


def _by_passages(index: WalkIndex, near: Closeness) -> tuple[Places, Floats]:
    """Return the entities that passages mention, by position, and their weights, 1 at most."""
    places, found = index.entities_of(*_known(index, near))
    most = found.max(initial=0.0)
    return places, found / most if most else found


def _by_names(index: WalkIndex, keyword: str) -> dict[int, float]:
    """Map the entity that the keyword names to 1, to less if others share the name or only words
    match."""
    weights = _alike(index, keyword)
    for places in walking.names_in(index, keyword).values():
        for place in places:
            weights[place] = max(weights.get(place, 0.0), 1.0 / len(places))
    return weights


def _alike(index: WalkIndex, keyword: str) -> dict[int, float]:
    """Map entities to the share of words common to a name and the keyword, if at least half."""
    asked = {word.folded for word in words(keyword) if terms(word.folded)}
    known = (index.keys_by_word.place(word) for word in asked)
    having = [index.keys_by_word.at(place) for place in known if place is not None]
    if not having:
        return {}
    keys, shared = np.unique(np.concatenate(having), return_counts=True)
    shares = shared / (index.words_of_keys[keys] + len(asked) - shared)
    found: dict[int, float] = {}
    for at in np.flatnonzero(shares >= SHARED).tolist():
        for entity in index.entities_by_key.at(int(keys[at])).tolist():
            found[entity] = max(found.get(entity, 0.0), float(shares[at]))
    return found
