"""Make the questions that passages answer, from the statements in their sentences and from
headings.

Furniture yields none: code, menus and licences are not statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import regex

from kb_project.sql import run_sql
from kb_project.text.names import normalise_name
from kb_project.text.statements import Statement, StatementKind, statements
from kb_project.text.terms import terms
from retrieval.answering import suggesting_sql
from retrieval.answering.wording import Form, Wording, of_heading, of_sentence
from retrieval.search.hits import Hit

MOST_NAMES: Final = 500
ALIKE: Final = 0.65
"""Share of what two questions ask at which they count as the same."""
_ASKING: Final = regex.compile(
    r"\b(?:who|when|where|why|how many|how|what|which)\b|谁|什么时候|多少|为什么|哪里",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stated:
    """A question and its answer's place: the statement at ``document[start:end]``, or the text
    below that heading."""

    question: str
    form: Form
    said: str
    hit: Hit
    start: int
    end: int

    @property
    def asks(self) -> frozenset[str]:
        return asks(self.question)


def stated_in(hits: Sequence[Hit], known: Mapping[str, str]) -> list[Stated]:
    """Return each question once, in the order of the passages. ``known`` is as from
    ``names_of``."""
    read = [(hit, statements(hit.text, hit.regions)) for hit in hits]
    headings = Counter(
        (hit.document_id, normalise_name(one.said))
        for hit, found in read
        for one in found
        if one.kind is StatementKind.HEADING
    )
    questions: dict[str, Stated] = {}
    for hit, found in read:
        for one in found:
            if headings[hit.document_id, normalise_name(one.said)] > 1:
                continue  # every chapter has one
            for made in _worded(one, hit, known):
                stated = Stated(
                    made.question,
                    made.form,
                    one.said,
                    hit,
                    hit.start + one.start,
                    hit.start + one.end,
                )
                questions.setdefault(normalise_name(made.question), stated)
    return list(questions.values())


def names_of(
    workspace_id: UUID, hits: Iterable[Hit], documents: list[UUID] | None
) -> dict[str, str]:
    """Map the keys of the names in some passages to their types. Call in the workspace's scope."""
    values = {
        "workspace": workspace_id,
        "documents": documents,
        "chunks": [hit.chunk_id for hit in hits],
        "count": MOST_NAMES,
    }
    rows = run_sql(suggesting_sql.ENTITIES_OF_CHUNKS, values)
    return {normalise_name(name): kind for _, name, kind, _ in rows}


def asks(question: str) -> frozenset[str]:
    """Return what a question asks: its terms without figures, and its question word.

    >>> sorted(asks("Who built Skarrow Light?"))
    ['?who', 'built', 'light', 'skarrow']
    """
    word = _ASKING.search(question)
    about = (term for term in terms(question) if not term.isdigit())
    return frozenset((*about, f"?{word.group().lower()}" if word else "?"))


def ask_the_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two questions ask the same, in other words or with subject and object
    swapped.

    >>> ask_the_same(frozenset({"ada", "bram", "link"}), frozenset({"bram", "ada", "link"}))
    True
    """
    either = one | other
    return not either or len(one & other) >= ALIKE * len(either) or one <= other


def _worded(one: Statement, hit: Hit, known: Mapping[str, str]) -> Iterator[Wording]:
    if one.kind is StatementKind.HEADING:
        made = of_heading(one.said, hit.title, known)
        if made is not None:
            yield made
    elif one.kind in (StatementKind.SENTENCE, StatementKind.ENTRY):
        yield from of_sentence(one.said, known)
