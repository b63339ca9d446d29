"""Writers of a tree's summaries: a chat model or, without one, a choice of sentences.

The sentences chosen are those most like everything else: the classical centroid method (Radev and
others 2004) without vectors. A term counts by how many of the texts have it, a sentence by its
terms, less for those already covered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, log1p, sqrt
from pathlib import Path
from typing import Final

from ingestion.stages.tree.clustering import TEXT_LIMIT
from ingestion.stages.tree.growth import (
    EXTRACTIVE,
    Draft,
    Item,
    Quote,
    Summary,
    Units,
    Writer,
)
from kb_project.errors import ReplyError
from kb_project.llm.ports import About, ChatModel, ChatReply, ChatRequest, Role
from kb_project.llm.tokens import count_tokens, truncate_tokens
from kb_project.prompt import fenced, load
from kb_project.text.statements import is_ended, needs_context
from kb_project.text.words import one_line, terms

PROMPT: Final = Path(__file__).parents[2] / "prompts" / "tree.md"

# Longest summary kept, however much the model writes within its role's limit.
MOST_TOKENS: Final = 300

# Tokens of the prompt itself and the marks around passages.
OVERHEAD: Final = 400
LEAST_LIMIT: Final = 200
_FENCE: Final = re.compile(r"^```\w*\s*|\s*```$")


@dataclass(frozen=True, slots=True)
class ExtractiveWriter:
    """Chooses sentences."""

    name: str = EXTRACTIVE
    key: str = "extractive-2"
    limit: int = TEXT_LIMIT
    at_once: int = 16

    def write(self, drafts: Sequence[Draft], units: Units) -> list[Summary]:
        summaries = []
        for draft in drafts:
            summaries.append(summarise(draft.items))
            units.hold()
        return summaries


class ModelWriter:
    """Asks the chat model about all clusters in parallel; sentences replace unusable answers.

    It reads no licences, menus and contents lists: of clusters of those alone it reads nothing.
    Replies are found again, so that the turn may end between them.
    """

    at_once = 128

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._template = load(PROMPT)
        self.name = chat.model_of(Role.SUMMARISE)[:120]
        self.key = f"{self.name}/{self._template.version}"
        room = chat.input_limit(Role.SUMMARISE) - OVERHEAD
        self.limit = max(LEAST_LIMIT, min(TEXT_LIMIT, room))

    def write(self, drafts: Sequence[Draft], units: Units) -> list[Summary]:
        prose = [[item for item in draft.items if not item.is_furniture] for draft in drafts]
        asked = [place for place, items in enumerate(prose) if items]
        requests = [self._request(drafts[place], prose[place]) for place in asked]
        summaries: dict[int, Summary] = {}
        for index, reply in self._chat.ask_many(requests):
            summaries[asked[index]] = self._summary(drafts[asked[index]], reply)
            units.tick()
        return [summaries.get(at) or summarise(draft.items) for at, draft in enumerate(drafts)]

    def _request(self, draft: Draft, items: Sequence[Item]) -> ChatRequest:  # type: ignore[type-arg]  # no schema
        passages = fitting(items, self.limit)
        return ChatRequest(
            role=Role.SUMMARISE,
            prompt=self._template.fill(passages="\n\n".join(map(fenced, passages))),
            about=About("tree", document_id=draft.document_id),
        )

    def _summary(self, draft: Draft, reply: ChatReply | ReplyError) -> Summary:  # type: ignore[type-arg]  # no schema
        text = "" if isinstance(reply, ReplyError) else cleaned(reply.text)
        if not text:
            return replace(summarise(draft.items), failed=True)
        return Summary(text, count_tokens(text), self.name)


def writer_for(chat: ChatModel | None) -> Writer:
    return ExtractiveWriter() if chat is None else ModelWriter(chat)


def fitting(items: Sequence[Item], limit: int) -> list[str]:
    """The items' texts; if they are too long in total, each is cut to its share."""
    if sum(item.tokens for item in items) <= limit:
        return [item.text for item in items]
    share = max(1, limit // len(items))
    return [
        item.text if item.tokens <= share else truncate_tokens(item.text, share) for item in items
    ]


def cleaned(said: str) -> str:
    """One bounded paragraph of the model's answer; empty if it has no words.

    >>> cleaned("```text\\nThe keepers\\x00 of the light.\\n```"), cleaned(" ** \\n")
    ('The keepers of the light.', '')
    """
    plain = one_line(_FENCE.sub("", said.replace("\0", "").strip()))
    if not any(character.isalnum() for character in plain):
        return ""
    return truncate_tokens(plain, MOST_TOKENS)


# --- choosing sentences ---------------------------------------------------------------------------
EXTRACT_TOKENS: Final = 120
LONGEST_QUOTE: Final = 400
FEWEST_TERMS: Final = 4

# Factors for a term that is repeated, for a sentence that makes sense only after another, and for
# one without an end.
REPEATED: Final = 0.2
LEANING: Final = 0.6
UNENDED: Final = 0.4


@dataclass(frozen=True, slots=True)
class _Candidate:
    place: int
    sentence: Quote
    terms: frozenset[str]
    cost: float


def summarise(items: Sequence[Item]) -> Summary:
    """Sentences of the items, in order, about ``MOST_TOKENS`` in total; at least one.

    List entries if there are no sentences; "…" if there is no prose at all.
    """
    quotes = [item.sentences() for item in items]
    has_sentences = any(not one.is_entry for found in quotes for one in found)
    kept = [
        [shortened(one) for one in found if not (has_sentences and one.is_entry)]
        for found in quotes
    ]
    weights = term_weights([sentence.text for sentence in sentences] for sentences in kept)
    candidates = [
        _Candidate(place, sentence, frozenset(terms(sentence.text)), cost(sentence.text))
        for place, sentence in enumerate(sentence for sentences in kept for sentence in sentences)
    ]
    chosen = tuple(
        one.sentence for one in sorted(_chosen(candidates, weights), key=lambda one: one.place)
    )
    text = " ".join(sentence.text for sentence in chosen) or "…"
    sources = chosen if all(sentence.chunk for sentence in chosen) else ()
    return Summary(text, count_tokens(text), EXTRACTIVE, sources)


def term_weights(texts: Iterable[Iterable[str]]) -> dict[str, float]:
    """Each term's weight: how many items have it, and slightly how often they do."""
    spread: Counter[str] = Counter()
    often: Counter[str] = Counter()
    for sentences in texts:
        found = Counter(term for sentence in sentences for term in terms(sentence))
        spread.update(found.keys())
        often.update(found)
    return {term: number * log1p(often[term]) for term, number in spread.items()}


def cost(text: str) -> float:
    """Rough number of tokens, at a hundredth of the cost of counting them."""
    return len(text.encode()) / 4


def shortened(sentence: Quote) -> Quote:
    """Cut a sentence that is too long to quote, if possible at a space, together with its span.

    Only if the quote is on one line in the document: otherwise offsets would be guesses.
    """
    if len(sentence.text) <= LONGEST_QUOTE:
        return sentence
    space = sentence.text.rfind(" ", LONGEST_QUOTE // 2, LONGEST_QUOTE)
    cut = space if space > 0 else LONGEST_QUOTE
    if sentence.end - sentence.start != len(sentence.text):
        return sentence
    return replace(sentence, text=sentence.text[:cut], end=sentence.start + cut)


def _chosen(candidates: Sequence[_Candidate], weights: Mapping[str, float]) -> list[_Candidate]:
    """Choose greedily what adds most for its length, until the summary is long enough."""
    left, budget = list(candidates), float(EXTRACT_TOKENS)
    chosen: list[_Candidate] = []
    covered: set[str] = set()
    while left:
        best = max(left, key=lambda one: (_gain(one, weights, covered), -one.place))
        chosen.append(best)
        covered |= best.terms
        budget -= best.cost
        left = [one for one in left if one is not best and one.cost <= budget]
        left = [one for one in left if one.terms - covered]
    return chosen


def _gain(one: _Candidate, weights: Mapping[str, float], covered: set[str]) -> float:
    """Divided by the root of the length, so that neither the shortest nor the longest wins."""
    # In the order of a set, a sum has another last digit in each process, which would decide ties.
    worth = fsum(weights[term] * (REPEATED if term in covered else 1.0) for term in one.terms)
    shape = (LEANING if needs_context(one.sentence.text) else 1.0) * (
        1.0 if is_ended(one.sentence.text) else UNENDED
    )
    return shape * worth / sqrt(max(FEWEST_TERMS, len(one.terms)) * max(1.0, one.cost / 40))
