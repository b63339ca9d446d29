"""Suggest questions that the documents answer.

Made from the statements in sentences and from headings; code, menus and licences yield none.
Starter questions for an empty conversation come from the beginnings of documents and from passages
about their most prominent names, and are tried before anyone sees them. That takes a moment, so
they are cached until what can be searched changes. With a chat model they are its questions on
the main topics (``ingestion.stages.questions``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache as once
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final
from uuid import UUID

import regex
from django.conf import settings
from django.core.cache import cache

from ingestion.knowledge import corpus
from ingestion.models import CommunityReport
from kb_project.errors import InputError
from kb_project.sql import run_sql
from kb_project.text.names import normalise_name
from kb_project.text.statements import Statement, StatementKind, statements
from kb_project.text.words import terms
from retrieval.answering import extractive, sql
from retrieval.answering.wording import Form, Wording, of_heading, of_sentence
from retrieval.models import Outcome
from retrieval.search import lexical, rewrite_pronouns
from retrieval.search.query import Query, QuestionVector, ScoredChunk, clean_question
from retrieval.search.results import Hit, hydrate
from retrieval.search.scope_entities import named_in
from workspaces import access
from workspaces.models import Workspace
from workspaces.ports import ports_for

PASSAGES: Final = 8
"""Passages searched for a question's answer, to try it."""
MOST_READ: Final = 3
"""Statements read to tell whether a suggestion is answered."""
MOST_NAMES: Final = 500
ALIKE: Final = 0.65
"""Share of what two questions ask at which they count as the same."""
_ASKING: Final = regex.compile(
    r"\b(?:who|when|where|why|how many|how|what|which)\b|谁|什么时候|多少|为什么|哪里",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Suggestion:
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


def answered_by(hits: Sequence[Hit], known: Mapping[str, str]) -> list[Suggestion]:
    """Return each question that the passages answer once, in their order. ``known`` is as from
    ``names_of``."""
    read = [(hit, statements(hit.text, hit.regions)) for hit in hits]
    headings = Counter(
        (hit.document_id, normalise_name(one.said))
        for hit, found in read
        for one in found
        if one.kind is StatementKind.HEADING
    )
    questions: dict[str, Suggestion] = {}
    for hit, one in ((hit, one) for hit, found in read for one in found):
        if headings[hit.document_id, normalise_name(one.said)] > 1:
            continue  # every chapter has one
        start, end = hit.start + one.start, hit.start + one.end
        for made in _worded(one, hit, known):
            suggestion = Suggestion(made.question, made.form, one.said, hit, start, end)
            questions.setdefault(normalise_name(made.question), suggestion)
    return list(questions.values())


def _worded(one: Statement, hit: Hit, known: Mapping[str, str]) -> Iterator[Wording]:
    if one.kind is StatementKind.HEADING:
        made = of_heading(one.said, hit.title, known)
        if made is not None:
            yield made
    elif one.kind in (StatementKind.SENTENCE, StatementKind.ENTRY):
        yield from of_sentence(one.said, known)


def names_of(workspace_id: UUID, hits: Iterable[Hit]) -> dict[str, str]:
    """Map the keys of the names in some passages to their types. Call in the workspace's scope."""
    chunks = [hit.chunk_id for hit in hits]
    values = {"workspace": workspace_id, "chunks": chunks, "count": MOST_NAMES}
    rows = run_sql(sql.ENTITIES_OF_CHUNKS, values)
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


def is_answerable(query: Query, question: str) -> bool:
    """Return whether a question names something known, stands on its own, and is answered by
    passages in the query's scope. Call outside transactions."""
    try:
        question = clean_question(question)
    except InputError:
        return False
    candidate = Query(
        query.workspace_id,
        question,
        PASSAGES,
        QuestionVector(query.vector.embedder, question),
        query.documents,
        exclude=query.exclude,
    )
    with access.in_workspace(query.workspace_id):
        names = {one.entity_id for one in named_in(query.workspace_id, question)}
    if not names or not names.isdisjoint(query.exclude):
        return False
    if rewrite_pronouns.unnamed_reference(question, has_name=True):
        return False
    parts = extractive.prepared(candidate)
    with access.in_workspace(query.workspace_id):
        hits = hydrate(query.workspace_id, lexical.search(candidate))
    choice = extractive.extract(candidate, hits, parts, most_read=MOST_READ).choice
    return choice.outcome is Outcome.ANSWERED


# --- starter questions ----------------------------------------------------------------------------
DEMO_QUESTIONS: Final = Path("ingestion") / "demo" / "questions.jsonl"
MOST_STARTERS: Final = 3
MOST_DOCUMENTS: Final = 12
EACH: Final = 3
"""Passages read of each document."""
MOST_ENTITIES: Final = 20
MOST_TELLING: Final = 12
MOST_TRIED: Final = 12
LONGEST_STARTER: Final = 90
"""In characters: a question has to fit on a button."""
SECONDS_KEPT: Final = 24 * 3600
SECONDS_KEPT_WHILE_READING: Final = 120


def starters(*, workspace: Workspace) -> list[str] | None:
    """Return the starter questions of a workspace: written ones for the demo, else a model's on the
    main topics, else those made of its documents, None if ``make_starters`` is still to make them.
    Call in the workspace's scope."""
    if workspace.is_demo:
        return demo_starters()[:MOST_STARTERS]
    return topic_starters(workspace) or made_starters(workspace)


def topic_starters(workspace: Workspace) -> list[str]:
    """Return a model's questions on the largest topics, one of each before any has a second; none
    without a chat model, since questions on a whole topic need one to be answered."""
    if ports_for(workspace.pk).chat is None:
        return []
    asked = CommunityReport.objects.in_workspace(workspace).filter(questions__len__gt=0)
    largest = asked.order_by("-community__size", "community_id")[:MOST_STARTERS]
    rows = [questions or [] for questions in largest.values_list("questions", flat=True)]
    turns = (one for turn in zip_longest(*rows) for one in turn if one)
    return list(islice(turns, MOST_STARTERS))


def made_starters(workspace: Workspace) -> list[str] | None:
    """Return the questions made of what can be searched now, None if there are none yet. Call in
    the workspace's scope."""
    found = cache.get(_key(workspace))
    return None if found is None else list(found)


def make_starters(workspace: Workspace) -> list[str]:
    """Make the questions, from different documents if possible. Call outside transactions."""
    values = {
        "workspace": workspace.pk,
        "documents": MOST_DOCUMENTS,
        "each": EACH,
        "names": MOST_ENTITIES,
        "count": MOST_TELLING,
    }
    with access.in_workspace(workspace.pk):
        key = _key(workspace)
        rows = run_sql(sql.PASSAGES_TO_BEGIN_WITH, values)
        hits = hydrate(workspace.pk, [ScoredChunk(pk, 0.0) for (pk,) in rows])
        known = names_of(workspace.pk, hits)
    embedder = ports_for(workspace.pk).embedder
    query = Query(workspace.pk, "", MOST_TRIED, QuestionVector(embedder, ""))
    tried = _in_turns(answered_by(hits, known))[:MOST_TRIED]
    answered = (one.question for one in tried if is_answerable(query, one.question))
    questions = list(islice(answered, MOST_STARTERS))
    is_final = not key.endswith(":None")
    cache.set(key, questions, SECONDS_KEPT if is_final else SECONDS_KEPT_WHILE_READING)
    return questions


def _in_turns(made: Sequence[Suggestion]) -> list[Suggestion]:
    """Order questions: statements before sections, one from each document before any has a second,
    none that asks the same as another."""
    kept: list[tuple[int, Suggestion]] = []
    turns: Counter[UUID] = Counter()
    for one in sorted(made, key=lambda one: one.form is Form.SECTION):
        is_known = any(ask_the_same(one.asks, other.asks) for _, other in kept)
        if len(one.question) <= LONGEST_STARTER and not is_known:
            kept.append((turns[one.hit.document_id], one))
            turns[one.hit.document_id] += 1
    return [one for _, one in sorted(kept, key=lambda pair: (pair[0], pair[1].form))]


def _key(workspace: Workspace) -> str:
    version = corpus.corpus_version(workspace_id=workspace.pk)
    return f"starters:{workspace.pk}:{version}"


@once
def demo_starters() -> list[str]:
    """Return the questions marked as starters in the demo's own list."""
    path = Path(settings.BASE_DIR) / DEMO_QUESTIONS
    if not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [str(row["question"]) for row in rows if row.get("starter")]
