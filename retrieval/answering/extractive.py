"""Answer in the documents' own words: choose statements, mark the words that answer, cite them.

The best statement comes first, then a second if it is not clear. A question in two parts, or about
two things to tell apart, gets one for each; one for a list the entries of the list or table that
fits. If the documents probably do not answer it, there is no answer. Overviews (``overview``) and
connections of two things (``connections``) are composed instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import regex

from kb_project.ports import build_ports
from kb_project.text.statements import StatementKind, is_ended
from kb_project.text.words import terms
from retrieval.answering import (
    checking,
    conflicts,
    connections,
    explain,
    headed,
    lists,
    messages,
    minutes,
    overview,
    places,
    ranking,
    scheduler,
)
from retrieval.answering.candidates import Candidate, with_term
from retrieval.answering.citations.citing import Span, cited_passages
from retrieval.answering.citations.labels import Numbering
from retrieval.answering.drafts import Asking, Draft, SpanOf, WrittenSentence
from retrieval.answering.marking import apart, marked, with_whom
from retrieval.answering.options import ResponseType
from retrieval.answering.overview_language import to_sum_up
from retrieval.answering.ranking import Gathered, Ranked, Ranking, lacks_number, of_each
from retrieval.models import Outcome
from retrieval.search import as_of, sentences
from retrieval.search.query import Query, QuestionVector
from retrieval.search.query_features import read
from retrieval.search.results import Hit
from retrieval.search.services import SearchResult
from workspaces import access

# --- choosing -------------------------------------------------------------------------------------
ANSWERED: Final = 0.5
"""The lowest probability at which an answer is given: more likely right than not …"""
UNSURE: Final = 0.15
"""… and at which the closest passages are shown instead."""
SURE: Final = 0.84
"""The share of the probability at which no second statement is needed …"""
WORTH: Final = 0.035
"""… and the lowest share at which one is added. With these, half of all answers have at most 35
words; a third and a fourth statement were right for 2 % of the questions, and too much for 10 %."""
MOST_STATED: Final = 2
MOST_SUMMED_UP: Final = 5
"""Statements of an answer, and of one that sums up what is no document."""
LIKE: Final = 0.5
"""Share of the shorter statement's terms; two statements that share more say the same."""
MOST_NEAREST: Final = 3

_NEXT_PART: Final = regex.compile(
    r",? (?:and|but) (?=(?:who|what|when|where|which|whose|why|how)\b)|[，,；;](?=.{0,8}"
    r"(?:谁|什么|哪|多少|几|怎|何))",
    regex.IGNORECASE,
)
_ASKS: Final = regex.compile(
    r"\b(?:who|what|when|where|which|whose|why|how)\b|谁|什么|哪|多少|几|怎|何|吗", regex.IGNORECASE
)
_NAME_WITHIN: Final = regex.compile(
    r"(?<=[\p{L}\d,]\s)[\p{Lu}\d][\p{L}\d.'’-]*(?:\s[\p{Lu}\d][\p{L}\d.'’-]*)*"
)
_THING: Final = regex.compile(r"\b(?:it|they|them)\b", regex.IGNORECASE)
_PERSON: Final = regex.compile(r"\b(?:he|she|him)\b", regex.IGNORECASE)
_SUBJECT: Final = regex.compile(r"\b(?:is|was|did|does|has|had|can|will) $")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A chosen statement; ``marked`` are offsets in its text of the words that answer."""

    candidate: Candidate
    marked: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome: ``chosen`` in reading order, ``nearest`` best first; ``is_list`` if the chosen
    are the entries of a list or the rows of a table."""

    outcome: Outcome
    chosen: Sequence[Chosen]
    nearest: Sequence[Ranked]
    probability: float
    is_list: bool = False


def parts_of(question: str) -> tuple[str, ...]:
    """Split a question into its parts, each with its own question word and subject.

    >>> parts_of("When did Hamm come out and how many packages did it have?")
    ('When did Hamm come out', 'how many packages did Hamm have?')
    >>> parts_of("Who founded the society, and when?")
    ('Who founded the society', 'when founded the society?')
    >>> parts_of("What is bread and butter?")
    ('What is bread and butter?',)
    """
    pieces = [one.strip() for one in _NEXT_PART.split(question, maxsplit=1)]
    if len(pieces) == 1 or not all(_ASKS.search(one) for one in pieces):
        return (question,)
    first, second = pieces
    named = {match.group(): match.start() for match in _NAME_WITHIN.finditer(first)}
    # With two names, it is unclear which one is meant.
    if len(named) == 1:
        [(name, start)] = named.items()
        second = _THING.sub(name, second)
        # *Who worked at Pixar, and when was he born?* asks about the answer.
        if _SUBJECT.search(first[:start]):
            second = _PERSON.sub(name, second)
    if not read(second).terms:
        # *And when?* asks it of all that the first part says.
        second = f"{second.rstrip('?？ ')} {_ASKS.sub('', first, count=1).strip()}?"
    return first, second


def choose(
    gathered: Gathered,
    ranking: Ranking,
    parts: lists.Headed | None = None,
    most: int = MOST_STATED,
) -> Choice:
    """Choose at most ``most`` statements, or a list."""
    ranked = ranking.ranked
    outcome = outcome_of(ranking.probability) if ranked else Outcome.NOTHING
    if there := places.statements_at(gathered, ranked):
        return Choice(Outcome.ANSWERED, _marked(there, gathered), (), ranking.probability)
    if outcome is Outcome.NOTHING:
        return Choice(outcome, (), (), ranking.probability)
    # A fitting list answers better than the probability of its best entry suggests.
    entries = lists.fitting(gathered, ranked, parts)
    if not entries and outcome is Outcome.ANSWERED:
        entries = lists.around(gathered, ranked)
    if entries:
        chosen = [Chosen(one) for one in entries]
        return Choice(Outcome.ANSWERED, chosen, (), ranking.probability, is_list=True)
    # A line before a list says nothing without it, and a question answers none.
    stating = [one for one in ranked if not (one.candidate.introduces or one.candidate.asks)]
    best = of_each(gathered.sought.text, stating, _best(stating, most)) if stating else ()
    lacks = lacks_number(gathered.sought, best) or places.lacks_place(gathered.sought, best)
    # *Apologies: Bram* tells who was missing, however seldom such words are about that.
    tells = bool(best) and minutes.has_label(best[0].said, minutes.label_for(gathered.sought.text))
    if not best or lacks or (outcome is Outcome.UNSURE and not tells):
        near: dict[UUID, Ranked] = {}
        for one in stating or ranked:
            near.setdefault(one.candidate.hit.chunk_id, one)
        return Choice(Outcome.UNSURE, (), list(near.values())[:MOST_NEAREST], ranking.probability)
    told = [with_term(one) for one in with_whom(best, gathered.candidates)]
    return Choice(Outcome.ANSWERED, _marked(told, gathered), (), ranking.probability)


def _marked(found: Iterable[Candidate], gathered: Gathered) -> list[Chosen]:
    return [Chosen(one, marked(one.said, gathered.sought)) for one in found]


def together(choices: Sequence[Choice]) -> Choice:
    """Combine a question's parts: one statement for each answered part, another one if the part is
    not sure of what an earlier part said; if no part is answered, the likeliest part's choice."""
    likeliest = max(choices, key=lambda one: one.probability)
    if len(choices) == 1 or likeliest.outcome is not Outcome.ANSWERED:
        return likeliest
    chosen: dict[tuple[UUID, int, int], Chosen] = {}
    for choice in choices:
        new = [one for one in choice.chosen if one.candidate.key not in chosen]
        for one in choice.chosen:
            if said := chosen.get(one.candidate.key):
                marks = sorted([*said.marked, *apart(one.marked, said.marked)])
                chosen[one.candidate.key] = replace(said, marked=tuple(marks))
        chosen |= {one.candidate.key: one for one in (new if choice.is_list else new[:1])}
    return replace(likeliest, chosen=list(chosen.values()))


def outcome_of(probability: float) -> Outcome:
    if probability >= ANSWERED:
        return Outcome.ANSWERED
    return Outcome.UNSURE if probability >= UNSURE else Outcome.NOTHING


def _best(ranked: Sequence[Ranked], most: int) -> list[Candidate]:
    """Return the best statement, and others if it is not clear or more are wanted: no mere
    labels."""
    found = [ranked[0].candidate]
    if ranked[0].share < SURE or most > MOST_STATED:
        for one in ranked[1 : 2 * most - 1]:
            said = one.candidate.said
            is_whole = one.candidate.kind is not StatementKind.SENTENCE or is_ended(said)
            is_new = not any(alike(other, one.candidate) for other in found)
            if is_whole and one.share >= WORTH and is_new and len(found) < most:
                found.append(one.candidate)
    return found


def alike(one: Candidate, other: Candidate) -> bool:
    own, others = set(terms(one.said)), set(terms(other.said))
    return len(own & others) > LIKE * min(len(own), len(others))


# --- answering ------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Extract:
    """``choice`` was made among ``read`` statements of ``hits``: the passages found, and those
    added to them."""

    choice: Choice
    hits: Sequence[Hit]
    read: int


def prepared(query: Query) -> list[tuple[str, QuestionVector | None]]:
    """Return the question's parts, or what it asks to sum up, each with its vector from the
    sentence model, None if the ranking was not fitted to that model's cosines. Call outside
    transactions: a model makes the vectors."""
    parts: list[tuple[str, QuestionVector | None]] = []
    summed_up = to_sum_up(query.question)
    for question in (summed_up,) if summed_up else parts_of(query.question):
        vector = sentences.vector_of(query, question)
        is_fitted = ranking.is_fitted_to(vector.fingerprint)
        if is_fitted:
            vector.make()
        parts.append((question, vector if is_fitted else None))
    return parts


def extract(
    query: Query,
    found: Sequence[Hit],
    parts: Sequence[tuple[str, QuestionVector | None]],
    most_read: int = ranking.READ,
) -> Extract:
    """Choose the answer's statements; ``parts`` are from ``prepared``. Call outside transactions: a
    model may read them."""
    with access.in_workspace(query.workspace_id):
        found = places.with_place(query, headed.with_whole_tables(query, found))
        gathered = [
            ranking.gather(replace(query, question=question), found, vector)
            for question, vector in parts
        ]
    encoder = build_ports().cross_encoder
    readings = [ranking.read(one, encoder, most_read) for one in gathered]
    ranked = [ranking.rank(*of) for of in zip(gathered, readings, strict=True)]
    with access.in_workspace(query.workspace_id):
        most = MOST_SUMMED_UP if to_sum_up(query.question) else MOST_STATED
        choices = [
            _choice(query.workspace_id, *of, most) for of in zip(gathered, ranked, strict=True)
        ]
    choice = together(choices)
    shown = [one.candidate for one in choice.chosen]
    if choice.is_list and any(lists.goes_on(one, shown) for one in gathered):
        query.note("list_goes_on", "Of a long list, the first entries are shown. See its source.")
    hits = {hit.chunk_id: hit for one in gathered for hit in one.hits}
    hits |= {one.candidate.hit.chunk_id: one.candidate.hit for one in choice.chosen}
    return Extract(choice, list(hits.values()), sum(len(one.statements) for one in gathered))


def _choice(workspace_id: UUID, gathered: Gathered, ranking: Ranking, most: int) -> Choice:
    if head := messages.head_of(workspace_id, gathered, ranking.ranked):
        return Choice(Outcome.ANSWERED, _marked(head, gathered), (), ranking.probability)
    return choose(gathered, ranking, headed.best(workspace_id, gathered, ranking), most)


def write(asking: Asking, found: SearchResult) -> Draft:
    """Draft an overview, or statements of the passages found. Call outside transactions."""
    query = found.query
    if composed := _connection(found):
        return _draft(asking, found, *composed, {"is_connection": True})
    with access.in_workspace(query.workspace_id):
        composed = _overview(query, found.hits)
    if composed:
        return _draft(asking, found, *composed, {"is_overview": True})
    parts = prepared(query)
    made = extract(query, found.hits, parts)
    choice = made.choice
    if asking.options.response is ResponseType.SHORT and len(parts) == 1 and not choice.is_list:
        choice = replace(choice, chosen=choice.chosen[:1])
    numbering = Numbering(found.hits, sources={hit.chunk_id: hit for hit in made.hits})
    figures = {
        "probability": round(choice.probability, 4),
        "passages": len(made.hits),
        "sentences_read": made.read,
    }
    written = [_written(one, numbering) for one in choice.chosen]
    return replace(
        _draft(asking, found, written, numbering, figures),
        outcome=choice.outcome,
        is_supported=choice.outcome is Outcome.ANSWERED,
        nearest=[_near(one) for one in choice.nearest],
    )


def _draft(
    asking: Asking,
    found: SearchResult,
    written: Sequence[WrittenSentence],
    numbering: Numbering,
    figures: dict[str, Any],
) -> Draft:
    scheduler.give_way()
    marked = conflicts.mark(written, found.query, numbering)
    complete = conflicts.with_other_sides(marked, numbering)
    scheduler.give_way()
    citations = cited_passages(complete, numbering)
    trace = explain.trace(
        asking,
        found,
        citations={"kept": len(complete)},
        check={"by": "quote", **checking.counts([one.check for one in complete])},
        cited=[one.chunk_id for one in citations],
    )
    return Draft(
        is_supported=True,
        sentences=complete,
        citations=citations,
        nearest=(),
        trace=found.trace | figures | {"sentences_chosen": len(written)} | trace,
        mode=found.mode.name,
    )


def _connection(found: SearchResult) -> tuple[list[WrittenSentence], Numbering] | None:
    """Compose the answer of the mode ``paths``, if it looked for a connection."""
    query, connection = found.query, found.found.connection
    if connection is None:
        return None
    with access.in_workspace(query.workspace_id):
        hits = connections.quoted_hits(connection, query.workspace_id)
    return connections.compose(connection, found.hits, hits, query.question)


def _overview(query: Query, found: Sequence[Hit]) -> tuple[list[WrittenSentence], Numbering] | None:
    """Compose an overview if the question asks for one of existing documents."""
    target = overview.target(query.workspace_id, query.question, query.documents, found)
    if target is None:
        return None
    if len(target.documents) == 1 and not target.section:
        told = minutes.told(query.workspace_id, target.documents[0], query.question)
        if told:
            numbering = Numbering(found, sources={one.hit.chunk_id: one.hit for one in told})
            return [_written(Chosen(one), numbering) for one in told], numbering
    composed, hits = overview.compose(query.workspace_id, target, query.documents)
    numbering = Numbering(found, sources={hit.chunk_id: hit for hit in hits})
    written = [
        WrittenSentence(
            one.text,
            tuple(SpanOf(numbering.number_of(chunk), *span) for chunk, *span in one.spans),
            connections.QUOTED if one.spans else None,
            marked=(one.bold,) if one.bold else (),
        )
        for one in composed
        if as_of.holds(one.text, query.as_of)
    ]
    return (written, numbering) if written else None


def _written(one: Chosen, numbering: Numbering) -> WrittenSentence:
    candidate = one.candidate
    span = SpanOf(numbering.number_of(candidate.hit.chunk_id), candidate.start, candidate.end)
    return WrittenSentence(candidate.said, (span,), connections.QUOTED, marked=one.marked)


def _near(one: Ranked) -> dict[str, Any]:
    return {
        "chunk": str(one.candidate.hit.chunk_id),
        "document": str(one.candidate.hit.document_id),
        "start": one.candidate.start,
        "end": one.candidate.end,
        "score": round(one.share, 4),
    }
