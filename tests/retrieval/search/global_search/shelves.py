"""Reports and topics in memory."""

from __future__ import annotations

from uuid import UUID, uuid5

from retrieval.search.global_search.ranking import Ranked
from retrieval.search.global_search.reports import Report, Statement, Topic

SPACE = UUID(int=1)


def id_of(name: str) -> UUID:
    return uuid5(SPACE, name)


def make_report(
    title: str,
    *statements: str,
    parent: str = "",
    level: int = 0,
    size: int = 1,
    rating: float = 5.0,
) -> Report:
    """A report whose statements each rest on a chunk of the same words."""
    return Report(
        id=id_of(f"report {title}"),
        community=id_of(title),
        parent=id_of(parent) if parent else None,
        level=level,
        size=size,
        title=title,
        summary=f"On {title}.",
        rating=rating,
        statements=tuple(
            Statement(text, is_summary=False, chunks=(id_of(text),)) for text in statements
        ),
    )


def ranked(*reports: Report) -> list[Ranked]:
    """The reports as ranked in this order, seen whole."""
    return [
        Ranked(
            Topic(place, report, is_whole=True),
            float(len(reports) - place),
            near={},
            said=[0.0] * len(report.statements),
        )
        for place, report in enumerate(reports)
    ]


def titles(found: list[Ranked]) -> list[str]:
    return [one.topic.title for one in found]
