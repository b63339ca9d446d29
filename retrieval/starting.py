"""Questions for an empty conversation, from the topics that matter most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import regex

from kb_project.sql import run_sql
from kb_project.text.names import normalise_name
from retrieval import suggesting_sql
from retrieval.answering.suggesting import LONGEST_NAME, how_linked, what_is_said
from workspaces.models import Workspace

MOST_TOPICS: Final = 12
EXTRACTIVE: Final = "extractive"
_HAN: Final = regex.compile(r"\p{Han}")


@dataclass(frozen=True, slots=True)
class Topic:
    """``first`` is the name that matters most in it, ``link`` two that are linked most strongly.

    ``title`` is '' where no model worded it: it then only lists names.
    """

    title: str
    first: str
    link: tuple[str, str] | None


def starters(*, workspace: Workspace, most: int) -> list[str]:
    """At most ``most``, from as many topics; none where no topic is known yet."""
    return by_template(topics_of(workspace), most)


def topics_of(workspace: Workspace) -> list[Topic]:
    """The best rated first; in the workspace's scope."""
    rows = run_sql(suggesting_sql.TOPICS, {"workspace": workspace.pk, "count": MOST_TOPICS})
    return [
        Topic(
            "" if written_by == EXTRACTIVE else title,
            first,
            (source, target) if source and target else None,
        )
        for title, written_by, first, source, target in rows
    ]


def by_template(topics: Sequence[Topic], most: int) -> list[str]:
    """A question for each topic, about other names each, of one kind and of the other in turn.

    >>> by_template([Topic("", "Ada", None), Topic("", "Bram", ("Cora", "Dan"))], 3)
    ['What do the documents say about Ada?', 'How is Cora linked to Dan?']
    """
    found: list[str] = []
    used: set[str] = set()
    for topic in topics:
        for names, question in _questions(topic, link_first=len(found) % 2 == 1):
            keys = {normalise_name(name) for name in names}
            if not keys & used and all(0 < len(name) <= LONGEST_NAME for name in names):
                found.append(question)
                used |= keys
                break
        if len(found) == most:
            break
    return found


def _questions(topic: Topic, *, link_first: bool) -> Iterator[tuple[Sequence[str], str]]:
    """What could be asked about the topic, with the names in it."""
    name = topic.title or topic.first
    about = ((name,), what_is_said(name, is_chinese=_is_chinese(name)))
    if topic.link is None:
        yield about
        return
    one, other = topic.link
    linked = (topic.link, how_linked(one, other, is_chinese=_is_chinese(one + other)))
    yield from (linked, about) if link_first else (about, linked)


def _is_chinese(text: str) -> bool:
    return _HAN.search(text) is not None
