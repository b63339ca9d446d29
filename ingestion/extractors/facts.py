"""Stated facts: who did what to whom, read off a dependency parse.

From every name that is not a subject, the parse is climbed towards the root, within its clause, to
the next name: a subject, an apposition, or a name on the way. The words between the two are the
predicate. So "X is a film directed by Y" gives (X, directed by, Y), and "Marley was Scrooge's
partner" (Marley, was partner of, Scrooge).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from ingestion.extractors.extraction import STATED, FoundRelation
from kb_project.text.sentences import Span

if TYPE_CHECKING:
    from spacy.tokens import Token

_SUBJECTS: Final = frozenset({"nsubj", "nsubjpass", "csubj"})
# A name before a noun only describes it: "an American writer".
_NO_OBJECTS: Final = _SUBJECTS | {"amod", "compound", "nmod", "nummod", "npadvmod"}
_SPOKEN: Final = frozenset({"aux", "auxpass", "neg", "prt", "det", "amod", "compound", "nummod"})
_VERBS: Final = frozenset({"VERB", "AUX"})
_LINKS: Final = _VERBS | {"ADP"}
_CLAUSES: Final = frozenset({"acl", "relcl"})
_LAYOUT: Final = frozenset("|•●–—-:;/")
_HIGHEST: Final = 6
"""Steps up the parse. Names farther apart than that are hardly related."""
_LONGEST: Final = 100
"""Characters of a predicate."""


class Named(NamedTuple):
    """A mention, by index, and its head token."""

    mention: int
    head: Token | None


def stated(named: Sequence[Named], sentences: Sequence[Span]) -> list[FoundRelation]:
    """At most one fact per pair of mentions and per object, in the order of the text.

    Both names of a fact stand in one of the ``sentences``, which is its quote.
    """
    by_head: dict[int, int] = {}
    for index, head in named:
        if head is not None:
            by_head.setdefault(head.i, index)
    heads = dict(named)
    facts: list[FoundRelation] = []
    for index, head in named:
        if head is None or head.dep_ in _NO_OBJECTS or by_head.get(head.i) != index:
            continue
        link = _subject_of(head, by_head)
        predicate = _predicate(link.path, by_head) if link else ""
        if predicate.isupper():
            continue  # a line of a title page that was parsed as a sentence
        span = _around(head, heads[link.subject], sentences) if link and predicate else None
        if link and span and link.subject != index:
            facts.append(FoundRelation(link.subject, index, predicate, *span, STATED, 1.0))
    return facts


def _around(one: Token, other: Token | None, sentences: Sequence[Span]) -> Span | None:
    """The sentence that both words stand in."""
    span = sentences[bisect_right(sentences, one.idx, key=itemgetter(0)) - 1]
    return span if other is not None and span[0] <= other.idx < span[1] else None


class _Link(NamedTuple):
    """The mention that is the subject, and the tokens between it and the object, top down."""

    subject: int
    path: list[Token]


def _subject_of(start: Token, by_head: Mapping[int, int]) -> _Link | None:
    """Climb from ``start`` to the nearest name that it depends on or shares a verb with."""
    token = _first_of_several(start)
    if token.dep_ in _SUBJECTS:
        return None  # "A and B met C": what A and B did together, A did not do to B
    path = [token] if token.dep_ == "poss" else []  # its "'s" is read as "of"
    for _ in range(_HIGHEST):
        parent = token.head
        if parent.i == token.i or _leaves_clause(token):
            return None
        if path and parent.i in by_head and token.dep_ not in _SUBJECTS:
            return _Link(by_head[parent.i], path[::-1])
        if not (token.dep_ == "conj" and parent.pos_ not in _VERBS):
            path.append(parent)
        subject = _named_subject(parent, by_head)
        if subject is None:
            subject = _named_apposition(parent, start, by_head)
        if subject is not None and subject != start.i:
            return _Link(by_head[subject], path[::-1])
        token = parent
    return None


def _leaves_clause(token: Token) -> bool:
    """From one verb to another that it does not complement: two statements."""
    return token.pos_ in _VERBS and token.head.pos_ in _VERBS and token.dep_ != "xcomp"


def _first_of_several(token: Token) -> Token:
    """The first of "A, B and C": all of them depend on what A depends on."""
    while token.dep_ == "conj" and token.head.pos_ not in _VERBS:
        token = token.head
    return token


def _named_subject(verb: Token, by_head: Mapping[int, int]) -> int | None:
    """The head of the verb's subject if it is a name; a conjoined verb borrows the other's."""
    if verb.pos_ not in _VERBS:
        return None
    subjects = [child for child in verb.children if child.dep_ in _SUBJECTS]
    while not subjects and verb.dep_ in ("conj", "xcomp", "advcl") and verb.head.pos_ in _VERBS:
        verb = verb.head
        subjects = [child for child in verb.children if child.dep_ in _SUBJECTS]
    return next((subject.i for subject in subjects if subject.i in by_head), None)


def _named_apposition(noun: Token, start: Token, by_head: Mapping[int, int]) -> int | None:
    """ "Scrooge's nephew, Fred" and "her husband Henri": the name that the noun describes."""
    if noun.pos_ != "NOUN":
        return None
    return next(
        (
            child.i
            for child in noun.children
            if child.dep_ == "appos" and child.i in by_head and child.i != start.i
        ),
        None,
    )


def _predicate(path: Sequence[Token], by_head: Mapping[int, int]) -> str:
    """The words between subject and object, in the order of the sentence.

    Empty if another name is among them, or the text's layout, or if nothing links the two: then
    these are not one statement.
    """
    path = _from_last_clause(path)
    possessive = bool(path) and path[-1].dep_ == "poss"
    spine = path[:-1] if possessive else path
    words = set(spine)
    for token in spine:
        words |= {child for child in token.children if child.dep_ in _SPOKEN}
    links = possessive or any(token.pos_ in _LINKS for token in spine)
    if not links or any(token.i in by_head or token.text in _LAYOUT for token in words):
        return ""
    kept = [token.text for token in sorted(words, key=lambda t: t.i) if not token.is_space]
    text = " ".join([*kept, "of"] if possessive else kept)
    return " ".join(text.split()) if len(text) <= _LONGEST else ""


def _from_last_clause(path: Sequence[Token]) -> Sequence[Token]:
    """ "is a film directed by" says no more than "directed by"."""
    for place in range(len(path) - 1, 0, -1):
        if path[place].dep_ in _CLAUSES:
            return path[place:]
    return path
