"""Write a report from existing sentences: choose, order and name, invent nothing.

Sentences are chosen greedily for what they add (Lin and Bilmes 2011, a submodular gain): how much
the entities they name matter in the topic, less for those already covered, less for documents
already quoted, nothing for a near copy. How well they fit the topic counts: one name shared with it
makes no sentence about *Paris* one about *The Paris Commune*. Form matters too: a sentence that
makes sense alone is better than one that begins with "He". The title is given beforehand
(``naming``).
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import regex

from ingestion.models.communities import OTHER_TOPICS
from ingestion.stages.reports.titles import parts_of
from kb_project.text.languages import HAN
from kb_project.text.names import normalise_name
from kb_project.text.statements import is_ended, is_labelled, needs_context
from kb_project.text.words import terms

MOST_SUMMARY: Final = 3
MOST_FINDINGS: Final = 10
LEAST_FINDINGS: Final = 5

# Factor for naming an entity again, and for each further sentence of the same document.
REPEATED: Final = 0.25
SAME_DOCUMENT: Final = 0.85
# Only the weightiest entities of a sentence count, or lists of names would win.
COUNTED_ENTITIES: Final = 5
# Shared words divided by all words of both: above this, one sentence repeats the other.
NEAR_COPY: Final = 0.6
# Factor for the sentence that says what an entity is, in its description.
INTRODUCING: Final = 1.3
# An introduction opens the report unless it reads worse than this on its own.
LEAST_SHAPE: Final = 0.9
# An introduction of anything but the title's subject opens the report unless it fits the topic less
# than this share of the best fit.
LEAST_FIT: Final = 0.7
# Fit of a sentence that has none of the title's words, compared with 1.25 of one that has all.
UNTITLED: Final = 0.25
# Factor for a sentence that begins in another script than most of the topic's.
OTHER_SCRIPT: Final = 0.3
# Once there are enough findings, stop at sentences that gain less than this share of the first's
# gain.
LEAST_GAIN: Final = 0.05

# Character counts; a Chinese character says about as much as two and a half letters.
SHORT, LONG, FAR_TOO_LONG = 40, 220, 500
WIDE: Final = 2.5

# How much of an entity's pull counts, by type: half of all texts mention nationalities, and a topic
# shows in its people and places before its common nouns. Other types count in full.
NAMING: Final[Mapping[str, float]] = {"group": 0.3, "language": 0.3, "concept": 0.6, "symbol": 0.8}

# Factors for a sentence that leads up to something or goes on from it (*If …*, *As we see …*), and
# for one that says what something is.
LEADING_UP: Final = 0.5
SAYS_WHAT: Final = 1.3
_LEADING_UP: Final = regex.compile(
    r"(?:above|after|also|although|another|as|because|before|below|either|for|however|if|indeed|let"
    r"|more|note|now|on the|once|see|similarly|since|so|starting|though|to|unless|until|when"
    r"|whenever|while|with|in (?:addition|contrast|fact|general|order|other|such|that|the|these"
    r"|this|those)|an? (?:alternative|example)|the (?:first|five|following|former|four|latter|left"
    r"|lower|next|right|second|third|three|two|upper)|\d+[.:)]?)\b",
    regex.IGNORECASE,
)
_SAYS_WHAT: Final = regex.compile(
    r"(?:(?:The|An?) )?(?:[\p{L}\p{N}][\p{L}\p{N}'’.-]* ){1,5}(?:\([^)]{1,40}\) )?"
    r"(?:is|are|was|were) (?:an?|the|one) "
)
_WORD: Final = regex.compile(r"\p{Han}|[\p{L}\p{N}]+")
_WIDE_ENDS: Final = "。！？：；…」』】）"
_QUOTES: Final = "\"'“”‘’«「『[("


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document; ``text[start:end]`` of the document is its quote.

    ``text`` is the quote on one line. ``entities`` are those it names, ``introduces`` those whose
    descriptions begin with it. ``states`` means that it states a relationship, ``leads`` that its
    document begins with it. It stands ``under`` its document's title and its headings.
    """

    chunk: UUID
    document: UUID
    start: int
    end: int
    text: str
    entities: frozenset[UUID]
    introduces: frozenset[UUID] = frozenset()
    states: bool = False
    leads: bool = False
    under: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """An entity of a topic; ``pull`` is its importance in the topic."""

    id: UUID
    name: str
    type: str
    pull: float

    @property
    def weight(self) -> float:
        """The entity's weight when sentences and titles are chosen."""
        return self.pull * NAMING.get(self.type, 1.0)


@dataclass(frozen=True, slots=True)
class Topic:
    """What a report is written from. Of many members (``size``), those that may matter to it."""

    members: tuple[Member, ...]
    sentences: tuple[Sentence, ...]
    size: int = 0
    links: int = 0
    documents: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A report whose every sentence is a quote; ``rating`` is 0 to 10."""

    title: str
    summary: str
    rating: float
    reason: str
    summary_sentences: tuple[Sentence, ...]
    findings: tuple[Sentence, ...]


def write(topic: Topic) -> Report:
    pulls = {member.id: member.weight for member in topic.members}
    fits = fits_of(topic)
    chosen = choose(topic.sentences, pulls, fits)
    first = opening(topic, fits)
    if first in chosen:
        chosen.sort(key=lambda one: one != first)
    most = min(MOST_SUMMARY, max(1, len(chosen) // 3))
    summary, findings = chosen[:most], chosen[most : most + MOST_FINDINGS]
    figures = max(topic.size, len(topic.members)), topic.links, topic.documents
    return Report(
        title=topic.title,
        summary=join_sentences([sentence.text for sentence in summary]),
        rating=rating(*figures),
        reason=reason(*figures),
        summary_sentences=tuple(summary),
        findings=tuple(findings),
    )


def fits_of(topic: Topic) -> dict[Sentence, float]:
    """How well each sentence fits the topic, whatever it names: 0.1 to 1.25.

    By the words of the title in it and above it, and by how many of the topic's sentences its
    document has: a document with one of them is about something else more often than one with ten.
    """
    title = set() if topic.title == OTHER_TOPICS else set(terms(topic.title))
    of_document = Counter(one.document for one in topic.sentences)
    fits: dict[Sentence, float] = {}
    for one in topic.sentences:
        shared = title.intersection(terms(" ".join([one.text, *one.under]))) if title else title
        number = of_document[one.document]
        fits[one] = (UNTITLED + len(shared) / (len(title) or 1)) * number / (number + 1)
    return fits


def opening(topic: Topic, fits: Mapping[Sentence, float]) -> Sentence | None:
    """The sentence that says what the title's name is; else what the topic's chief member is.

    A name that is only part of the title, and a chief member, are often known for something else.
    """
    keys = {member.id: normalise_name(member.name) for member in topic.members}
    title = normalise_name(topic.title)
    subjects = {normalise_name(part) for part in parts_of(topic.title)}
    least = LEAST_FIT * max(fits.values(), default=0.0)
    members = sorted(topic.members, key=lambda one: (-round(one.weight, 6), one.name, one.id))
    named = [one.id for one in members if keys[one.id] in title]
    named.sort(key=lambda id_: keys[id_] not in subjects)
    for id_ in [*named, *(one.id for one in members[:1])]:
        found = [
            one
            for one in topic.sentences
            if id_ in one.introduces and (keys[id_] in subjects or fits[one] >= least)
        ]
        if found and shape(best := max(found, key=lambda s: (shape(s), _stable(s)))) >= LEAST_SHAPE:
            return best
    return None


def choose(
    sentences: Collection[Sentence],
    pulls: Mapping[UUID, float],
    fits: Mapping[Sentence, float] | None = None,
) -> list[Sentence]:
    """The sentences worth reading, the best first, enough for summary and findings.

    Without ``fits``, all fit equally well.
    """
    han = {one: HAN.match(one.text) is not None for one in sentences}
    usual = 2 * sum(han.values()) > len(han)
    shapes = {s: shape(s) * (1.0 if han[s] == usual else OTHER_SCRIPT) for s in sentences}
    fitting = {s: shapes[s] * fits[s] for s in sentences} if fits else shapes
    covered: set[UUID] = set()
    quoted: Counter[UUID] = Counter()
    chosen: dict[Sentence, frozenset[str]] = {}

    def gain_of(sentence: Sentence) -> float:
        worth = sorted(
            pulls[e] * (REPEATED if e in covered else 1.0) for e in sentence.entities if e in pulls
        )
        factor = fitting[sentence] * SAME_DOCUMENT ** quoted[sentence.document]
        if any(entity in pulls for entity in sentence.introduces):
            factor *= INTRODUCING
        return factor * sum(worth[-COUNTED_ENTITIES:])

    # Gains only fall, so the heap's top is the best if its gain is fresh.
    heap = [(-gain_of(s), *_stable(s), s) for s in sentences]
    heapq.heapify(heap)
    floor = -LEAST_GAIN * heap[0][0] if heap else 0.0
    while heap and len(chosen) < MOST_SUMMARY + MOST_FINDINGS:
        *_, sentence = entry = heapq.heappop(heap)
        gain = gain_of(sentence)
        if gain < -entry[0]:
            heapq.heappush(heap, (-gain, *_stable(sentence), sentence))
            continue
        if gain < floor and len(chosen) >= MOST_SUMMARY + LEAST_FINDINGS:
            break
        words = frozenset(_WORD.findall(sentence.text.lower()))
        if not any(_alike(words, others) > NEAR_COPY for others in chosen.values()):
            covered |= sentence.entities
            quoted[sentence.document] += 1
            chosen[sentence] = words
    return list(chosen)


def shape(sentence: Sentence) -> float:
    """How well a sentence reads on its own, whatever its subject: about 0.1 to 1.8."""
    text = sentence.text
    length = len(text) + (WIDE - 1) * len(HAN.findall(text))
    if length < SHORT:
        quality = max(0.3, length / SHORT)
    else:
        quality = min(1.0, max(0.4, 1.0 - 0.6 * (length - LONG) / (FAR_TOO_LONG - LONG)))
    # Statements first, then questions and exclamations, fragments last.
    if text[-1] not in ".。":
        quality *= 0.7 if is_ended(text) else 0.2
    before, bracket, _ = text.partition(")")
    # More than a third of the letters are capitals: a heading, a list, a form.
    shouts = sum(map(str.isupper, text)) * 3 > sum(map(str.isalpha, text)) > 0
    factors = (
        # A bracket that opens in the sentence before: this is the rest of one cut in two.
        (0.4, needs_context(text) or (bracket and "(" not in before)),
        (LEADING_UP, _LEADING_UP.match(text)),
        (SAYS_WHAT, _SAYS_WHAT.match(text)),
        (0.2, shouts or is_labelled(text)),
        (0.6, text[0] in _QUOTES),
        (1.2, sentence.states),
        (1.15, sentence.leads),
    )
    return math.prod([quality, *(factor for factor, applies in factors if applies)])


def join_sentences(texts: Sequence[str]) -> str:
    """Join into one paragraph, without a space after a sentence that ends the Chinese way.

    >>> join_sentences(["他走了。", "她来了。"]), join_sentences(["He left.", "她来了。"])
    ('他走了。她来了。', 'He left. 她来了。')
    """
    joined = ""
    for text in texts:
        gap = "" if not joined or HAN.match(joined[-1]) or joined[-1] in _WIDE_ENDS else " "
        joined += gap + text
    return joined


def rating(entities: int, links: int, documents: int) -> float:
    """0 to 10, growing ever more slowly with each figure; a part is half full at its constant."""
    share = (
        0.4 * entities / (entities + 8)
        + 0.3 * links / (links + 12)
        + 0.3 * documents / (documents + 4)
    )
    return round(10 * share, 1)


def reason(entities: int, links: int, documents: int) -> str:
    """
    >>> reason(2, 1, 4)
    '2 entities with 1 fact between them, mentioned in 4 documents.'
    """
    return (
        f"{_counted(entities, 'entity', 'entities')} with"
        f" {_counted(links, 'fact', 'facts')} between them, mentioned in"
        f" {_counted(documents, 'document', 'documents')}."
    )


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _stable(sentence: Sentence) -> tuple[str, int, UUID, int]:
    """Sort key by content: the same documents give the same report, whatever their ids."""
    return sentence.text, sentence.start, sentence.document, sentence.end


def _alike(some: frozenset[str], others: frozenset[str]) -> float:
    return len(some & others) / (len(some | others) or 1)
