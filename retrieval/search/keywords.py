"""Keywords: what a question names (low-level), and what it wants to know of it (high-level).

LightRAG's two lists. A chat model writes them if there is one; otherwise they are read off the
question: names, quotations, numbers and identifiers are low-level, the phrases between function
words high-level. LightRAG joins each list into one string and embeds it as one vector, which is
between all the keywords and near none; here each keyword is looked up separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Final

import regex
from pydantic import BaseModel, Field

from kb_project.errors import ModelError
from kb_project.llm.ports import About, ChatRequest, Role
from kb_project.prompt import fenced, load
from kb_project.text.words import is_unspaced, terms, words
from retrieval.search import query_features
from retrieval.search.query import Query, QuestionVector

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
