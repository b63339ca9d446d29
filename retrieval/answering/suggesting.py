"""Suggest: questions to go on with, each of which the documents answer.

Made of what the passages found state beside the answer. A chat model words its own from the names
and links in the cited passages; without one, or where it fails, they are made by form. Either kind
is tried before anybody sees it. A failure here never fails an answer.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

import regex
from pydantic import BaseModel, Field

from kb_project.errors import ModelError
from kb_project.llm.ports import About, ChatModel, ChatRequest, Role
from kb_project.prompt import fenced, load
from kb_project.sql import run_sql
from kb_project.text.names import normalise_name
from kb_project.text.terms import terms
from retrieval import suggesting_sql
from retrieval.answering import answerable, stated
from retrieval.answering.drafts import Asking, CitedPassage, Draft
from retrieval.answering.stated import Stated, ask_the_same, asks
from retrieval.answering.wording import Form
from retrieval.search.query import Query
from retrieval.services import SearchResult
from workspaces import access

logger = logging.getLogger(__name__)

STAGE: Final = "suggest"
MOST: Final = 5
ENOUGH: Final = 3
MOST_TRIED: Final = 8
MOST_OF_A_FORM: Final = 2
LONGEST: Final = 200
"""Characters of a suggestion: it stands on a button."""
MOST_NAMES: Final = 8
MOST_LINKS: Final = 40
LINKS_READ: Final = 20
"""Links that a model is given, and characters of each and of the answer."""
LONGEST_LINK: Final = 200
LONGEST_ANSWER: Final = 3_000
_PROMPT: Final = Path(__file__).resolve().parent.parent / "prompts" / "follow_ups.md"
_HAN: Final = regex.compile(r"\p{Han}")
_SPACES: Final = regex.compile(r"\s+")


class Suggested(BaseModel):
    """Questions, the most interesting first."""

    questions: list[str] = Field(max_length=40)


@dataclass(frozen=True, slots=True)
class Link:
    """Two names that a passage links; ``text`` says how, as far as it is known."""

    source: str
    target: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Material:
    """What a model makes questions of: names in the cited passages, and their links."""

    names: Sequence[str]
    links: Sequence[Link]


def follow_ups(asking: Asking, found: SearchResult, draft: Draft) -> tuple[str, ...]:
    """Three to five questions, fewer where there is little to ask; none after no answer.

    Call outside transactions. Raises no ModelError.
    """
    if not is_worthwhile(draft):
        return ()
    query = found.query
    answer = " ".join(sentence.text for sentence in draft.sentences)
    asked = [query.question, asking.question, *(one.question for one in asking.earlier)]
    by_model = _by_model(query, query.chat, draft.citations, answer) if query.chat else []
    questions = distinct(by_model, asked)
    questions = [one for one in questions if answerable.is_answerable(query, one)][:MOST]
    if len(questions) < ENOUGH:
        with access.in_workspace(query.workspace_id):
            known = stated.names_of(query.workspace_id, found.hits, query.document_list)
        made = stated.stated_in(found.hits, known)
        questions = _filled(query, questions, to_go_on(made, asked, draft))
    return tuple(questions)


def is_worthwhile(draft: Draft) -> bool:
    """Whether there is something to go on from."""
    return draft.is_supported and bool(draft.citations)


def _filled(query: Query, questions: list[str], leading: Iterable[Stated]) -> list[str]:
    """With those of the others that are answered and ask something else, up to ``ENOUGH``."""
    found, forms, tried = list(questions), Counter[Form](), 0
    for one in leading:
        if len(found) >= ENOUGH or tried == MOST_TRIED:
            break
        if forms[one.form] == MOST_OF_A_FORM or any(
            ask_the_same(one.asks, asks(other)) for other in found
        ):
            continue
        tried += 1
        if answerable.is_answerable(query, one.question):
            found.append(one.question)
            forms[one.form] += 1
    return found


def distinct(questions: Iterable[str], asked: Iterable[str]) -> list[str]:
    """Each once, on one line, none that was asked before or is too long.

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


def to_go_on(made: Sequence[Stated], asked: Sequence[str], draft: Draft) -> list[Stated]:
    """Those of the questions that lead on from an answer, the nearest to it first.

    None that the answer tells already or that was ``asked`` (the last question first), and none of
    something else: each shares a word with what was asked last or answered.
    """
    answer = " ".join(sentence.text for sentence in draft.sentences)
    before = [asks(question) for question in asked]
    about, told = set(terms(asked[0])), set(terms(answer))
    cited = {one.chunk_id for one in draft.citations}
    is_chinese = bool(_HAN.search(asked[0]))

    def near(one: Stated) -> int:
        return 2 * len(one.asks & about) + len(one.asks & told)

    leading = [
        one
        for one in made
        if (one.hit.chunk_id in cited if one.form is Form.SECTION else near(one))
        and bool(_HAN.search(one.question)) is is_chinese
        and not _is_told(one, answer, draft)
        and not any(ask_the_same(one.asks, had) for had in before)
    ]
    return sorted(leading, key=lambda one: (one.form is Form.SECTION, -near(one)))


def _is_told(one: Stated, answer: str, draft: Draft) -> bool:
    """Whether the answer has the very sentence, or stands below that heading."""
    if one.said in answer:
        return True
    numbers = {row.number for row in draft.citations if row.document_id == one.hit.document_id}
    return any(
        span.number in numbers and span.start < one.end and one.start < span.end
        for sentence in draft.sentences
        for span in sentence.spans
    )


def _material(query: Query, chunks: Sequence[UUID]) -> Material:
    with access.in_workspace(query.workspace_id):
        scope = {"workspace": query.workspace_id, "documents": query.document_list}
        rows = run_sql(
            suggesting_sql.ENTITIES_OF_CHUNKS, scope | {"chunks": chunks, "count": MOST_NAMES}
        )
        left_out = set(query.exclude)
        named = {pk: name for pk, name, _, _ in rows if pk not in left_out}
        links = run_sql(
            suggesting_sql.LINKS_OF_ENTITIES,
            scope | {"entities": list(named), "count": MOST_LINKS},
        )
    return Material(
        list(named.values()),
        [
            Link(source, target, text)
            for source_id, source, target_id, target, text in links
            if not left_out & {source_id, target_id}
        ],
    )


def _by_model(
    query: Query, chat: ChatModel, citations: Sequence[CitedPassage], answer: str
) -> list[str]:
    """What the model suggests, unchecked; nothing where it fails."""
    material = _material(query, [one.chunk_id for one in citations])
    links = "\n".join(
        _SPACES.sub(" ", f"{link.source} – {link.target}: {link.text}")[:LONGEST_LINK]
        for link in material.links[:LINKS_READ]
    )
    prompt = load(_PROMPT).fill(
        question=fenced(query.question, "question"),
        answer=fenced(answer[:LONGEST_ANSWER], "answer"),
        links=fenced(links or ", ".join(material.names), "links"),
        language="Chinese" if _HAN.search(query.question) else "the language of the question",
    )
    about = About(STAGE, question_id=query.question_id)
    try:
        reply = chat.ask(ChatRequest(Role.KEYWORD, prompt, about, Suggested))
    except ModelError as error:
        logger.info("no suggestions by model question=%s code=%s", query.question_id, error.code)
        return []
    return list(reply.value.questions) if reply.value else []
