"""Suggest: questions to go on with, each of which the documents can answer.

From the names in the passages an answer cites and their strongest links. A chat model words them,
and what it suggests is looked up before anybody sees it; without one, or where it fails, they are
made by template. A failure here never fails an answer.
"""

from __future__ import annotations

import logging
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
from retrieval import suggesting_sql
from retrieval.answering import answerable
from retrieval.answering.drafts import Asking, Draft
from retrieval.answering.telling_names import are_alike, telling
from retrieval.search.query import Query
from retrieval.services import SearchResult
from workspaces import access

logger = logging.getLogger(__name__)

STAGE: Final = "suggest"
MOST: Final = 5
ENOUGH: Final = 3
MOST_TRIED: Final = 5
LONGEST: Final = 200
"""Characters of a suggestion: it stands on a button."""
MOST_NAMES: Final = 8
MOST_LINKS: Final = 40
LINKS_READ: Final = 20
"""Links that a model is given, and characters of each and of the answer."""
LONGEST_LINK: Final = 200
LONGEST_ANSWER: Final = 3_000
LONGEST_NAME: Final = 60
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
    """What questions can be made of: names in the cited passages, and their links."""

    names: Sequence[str]
    links: Sequence[Link]


def follow_ups(asking: Asking, found: SearchResult, draft: Draft) -> tuple[str, ...]:
    """Three to five questions, fewer where there is little to ask; none after no answer.

    Call outside transactions. Raises no ModelError.
    """
    if not is_worthwhile(draft):
        return ()
    query = found.query
    material = _material(query, [one.chunk_id for one in draft.citations])
    answer = " ".join(sentence.text for sentence in draft.sentences)
    asked = [query.question, asking.question, *(one.question for one in asking.earlier)]
    by_model = _by_model(query, query.chat, material, answer) if query.chat else []
    questions = distinct(by_model, asked)
    questions = [one for one in questions if answerable.is_answerable(query, one)][:MOST]
    if len(questions) < ENOUGH:
        by_rule = from_material(material, query.question, answer)
        questions = _filled(query, questions, distinct(by_rule, [*asked, *questions]))
    return tuple(questions)


def is_worthwhile(draft: Draft) -> bool:
    """Whether there is something to go on from."""
    return draft.is_supported and bool(draft.citations)


def _filled(query: Query, questions: list[str], more: Sequence[str]) -> list[str]:
    """With those of ``more`` that can be answered, up to ``ENOUGH``."""
    found = list(questions)
    for one in more[:MOST_TRIED]:
        if len(found) < ENOUGH and answerable.is_answerable(query, one):
            found.append(one)
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


def from_material(material: Material, question: str, answer: str) -> list[str]:
    """Questions by template: of links that the answer does not tell, and of names it leaves out.

    A link is told where the answer names both its ends. Links of what was asked about come first.
    """
    is_chinese = _HAN.search(question) is not None
    asked = question.lower()
    links = [
        how_linked(link.source, link.target, is_chinese=is_chinese)
        for link in sorted(
            _untold(material, asked + answer.lower()),
            key=lambda link: not _speaks_of(asked, link.source, link.target),
        )
    ]
    known = telling(_names_in(material))
    names = [
        what_is_said(name, is_chinese=is_chinese)
        for name in material.names
        if name in known and _is_short(name) and not _speaks_of(asked, name)
    ]
    return _mixed(links, names)


def _untold(material: Material, told: str) -> list[Link]:
    known = telling(_names_in(material))
    return [
        link
        for link in material.links
        if {link.source, link.target} <= known
        and _is_short(link.source, link.target)
        and not are_alike(link.source, link.target)
        and not (_speaks_of(told, link.source) and _speaks_of(told, link.target))
    ]


def _names_in(material: Material) -> list[str]:
    ends = [name for link in material.links for name in (link.source, link.target)]
    return [*material.names, *ends]


def _speaks_of(text: str, *names: str) -> bool:
    """Whether any of the names stands in a text in small letters."""
    return any(name.lower() in text for name in names)


def _mixed(links: Sequence[str], names: Sequence[str]) -> list[str]:
    """Two links for a name: links lead further."""
    return [*links[:2], *names[:1], *links[2:4], *names[1:3], *links[4:], *names[3:]]


def how_linked(one: str, other: str, *, is_chinese: bool) -> str:
    """
    >>> how_linked("Ada", "Bram", is_chinese=False)
    'How is Ada linked to Bram?'
    """
    return f"{one}与{other}有什么关系？" if is_chinese else f"How is {one} linked to {other}?"


def what_is_said(name: str, *, is_chinese: bool) -> str:
    """
    >>> what_is_said("杭州", is_chinese=True)
    '关于杭州，文件里说了什么？'
    """
    if is_chinese:
        return f"关于{name}，文件里说了什么？"
    return f"What do the documents say about {name}?"


def _is_short(*names: str) -> bool:
    return all(0 < len(name) <= LONGEST_NAME for name in names)


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


def _by_model(query: Query, chat: ChatModel, material: Material, answer: str) -> list[str]:
    """What the model suggests, unchecked; nothing where it fails."""
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
