"""Suggest follow-up questions, all of which the documents answer.

Made from what the passages found state besides the answer. A chat model words its own from the
names and relationships in the cited passages; without a model, or if it fails, they are made from
patterns. Both kinds are tried before anyone sees them. A failure here never fails an answer.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

import regex
from pydantic import BaseModel, Field

from kb_project.errors import ModelError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.prompt import fenced, load
from kb_project.sql import run_sql
from kb_project.text.languages import HAN
from kb_project.text.names import normalise_name
from kb_project.text.regions import RegionKind
from kb_project.text.words import terms
from retrieval.answering import sql, suggestions
from retrieval.answering.drafts import Asking, CitedPassage, Draft
from retrieval.answering.suggestions import Suggestion, ask_the_same, asks
from retrieval.answering.wording import Form
from retrieval.search.query import Query
from retrieval.search.services import SearchResult
from workspaces import access

logger = logging.getLogger(__name__)

STAGE: Final = "suggest"
MOST: Final = 5
ENOUGH: Final = 3
MOST_TRIED: Final = 8
MOST_OF_A_FORM: Final = 2
LONGEST: Final = 200
"""In characters: a suggestion has to fit on a button."""
MOST_NAMES: Final = 8
MOST_LINKS: Final = 40
LINKS_READ: Final = 20
"""Relationships given to a model."""
LONGEST_LINK: Final = 200
LONGEST_ANSWER: Final = 3_000
"""In characters."""
_PROMPT: Final = Path(__file__).resolve().parent.parent / "prompts" / "follow_ups.md"
_SPACES: Final = regex.compile(r"\s+")


class Suggested(BaseModel):
    """Questions, most interesting first."""

    questions: list[str] = Field(max_length=40)


def follow_ups(asking: Asking, found: SearchResult, draft: Draft) -> tuple[str, ...]:
    """Return three to five questions, fewer if there is little to ask; none without an answer.

    Call outside transactions. Raises no ModelError.
    """
    if not is_worthwhile(draft):
        return ()
    query = found.query
    answer = " ".join(sentence.text for sentence in draft.sentences)
    asked = [query.question, asking.question, *(one.question for one in asking.earlier)]
    by_model = _by_model(query, query.chat, draft.citations, answer) if query.chat else []
    questions = distinct(by_model, asked)
    questions = [one for one in questions if suggestions.is_answerable(query, one)][:MOST]
    if len(questions) < ENOUGH:
        with access.in_workspace(query.workspace_id):
            known = suggestions.names_of(query.workspace_id, found.hits)
        made = suggestions.answered_by(found.hits, known)
        questions = _filled(query, questions, to_go_on(made, asked, draft))
    return tuple(questions)


def is_worthwhile(draft: Draft) -> bool:
    """Return whether there is anything to follow up on."""
    return draft.is_supported and bool(draft.citations)


def _filled(query: Query, questions: list[str], leading: Iterable[Suggestion]) -> list[str]:
    """Add those of the other questions that are answered and ask something else, up to
    ``ENOUGH``."""
    found, forms, tried = list(questions), Counter[Form](), 0
    for one in leading:
        if len(found) >= ENOUGH or tried == MOST_TRIED:
            break
        if forms[one.form] == MOST_OF_A_FORM or any(
            ask_the_same(one.asks, asks(other)) for other in found
        ):
            continue
        tried += 1
        if suggestions.is_answerable(query, one.question):
            found.append(one.question)
            forms[one.form] += 1
    return found


def distinct(questions: Iterable[str], asked: Iterable[str]) -> list[str]:
    """Return each question once, on one line, without those asked before or too long.

    >>> distinct([" Who was\\nAda? ", "Who was ADA?", "Why?"], ["why"])
    ['Who was Ada?']
    """
    seen = {normalise_name(one) for one in asked} | {""}
    found = []
    for question in questions:
        line = _SPACES.sub(" ", question.replace("\0", "")).strip()
        key = normalise_name(line)
        if key not in seen and len(line) <= LONGEST:
            seen.add(key)
            found.append(line)
    return found


def to_go_on(made: Sequence[Suggestion], asked: Sequence[str], draft: Draft) -> list[Suggestion]:
    """Return the questions that follow from an answer, nearest to it first.

    Leaves out those that the answer covers or that were ``asked`` (the last question first), and
    those on other subjects: each shares a word with the last question or the answer.
    """
    answer = " ".join(sentence.text for sentence in draft.sentences)
    before = [asks(question) for question in asked]
    question_terms, answer_terms = set(terms(asked[0])), set(terms(answer))
    cited = {one.chunk_id for one in draft.citations}
    is_chinese = bool(HAN.search(asked[0]))

    def near(one: Suggestion) -> int:
        return 2 * len(one.asks & question_terms) + len(one.asks & answer_terms)

    leading = [
        one
        for one in made
        if (one.hit.chunk_id in cited if one.form is Form.SECTION else near(one))
        and bool(HAN.search(one.question)) is is_chinese
        and not _is_covered(one, answer, draft)
        and not any(ask_the_same(one.asks, had) for had in before)
    ]
    return sorted(leading, key=lambda one: (one.form is Form.SECTION, -near(one)))


def _is_covered(one: Suggestion, answer: str, draft: Draft) -> bool:
    """Return whether the answer has this very sentence, or cites the text below the heading."""
    if one.said in answer:
        return True
    end = one.end
    if one.form in (Form.ASKED, Form.SECTION):
        hit = one.hit
        headings = (hit.start + it.start for it in hit.regions if it.kind is RegionKind.HEADING)
        end = min((start for start in headings if start > one.start), default=hit.end)
    numbers = {row.number for row in draft.citations if row.document_id == one.hit.document_id}
    return any(
        span.number in numbers and span.start < end and one.start < span.end
        for sentence in draft.sentences
        for span in sentence.spans
    )


def _by_model(
    query: Query, chat: ChatModel, citations: Sequence[CitedPassage], answer: str
) -> list[str]:
    """Return the model's suggestions, unchecked; none if it fails."""
    prompt = load(_PROMPT).fill(
        question=fenced(query.question, "question"),
        answer=fenced(answer[:LONGEST_ANSWER], "answer"),
        links=fenced(_material(query, [one.chunk_id for one in citations]), "links"),
        language="Chinese" if HAN.search(query.question) else "the language of the question",
    )
    about = About(STAGE, question_id=query.question_id)
    try:
        reply = chat.ask(ChatRequest(Role.KEYWORD, prompt, about, Suggested))
    except ModelError as error:
        logger.info("no suggestions by model question=%s code=%s", query.question_id, error.code)
        return []
    return list(reply.value.questions) if reply.value else []


def _material(query: Query, chunks: Sequence[UUID]) -> str:
    """Return the relationships of the names in the cited passages, one a line, else the names."""
    scope = {"workspace": query.workspace_id, "documents": query.document_list}
    with access.in_workspace(query.workspace_id):
        entities = run_sql(sql.ENTITIES_OF_CHUNKS, scope | {"chunks": chunks, "count": MOST_NAMES})
        names = {pk: name for pk, name, _, _ in entities if pk not in query.exclude}
        values = scope | {"entities": list(names), "count": MOST_LINKS}
        links = run_sql(sql.LINKS_OF_ENTITIES, values)
    excluded = set(query.exclude)
    lines = [
        _SPACES.sub(" ", f"{source} – {target}: {text}")[:LONGEST_LINK]
        for source_id, source, target_id, target, text in links
        if not excluded & {source_id, target_id}
    ]
    return "\n".join(lines[:LINKS_READ]) or ", ".join(names.values())
