"""What pages and API show of a picture of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse

from ingestion.curation.presenters import page_context
from ingestion.explorer import queries
from ingestion.explorer.queries import Picture, Scope
from ingestion.knowledge import queries as knowledge_queries
from ingestion.knowledge.periods import readable
from workspaces.models import Workspace

MOST_FACTS: Final = 12
LEADS: Final = {
    "workspace": "The most connected people, organisations, places and things in your documents.",
    "entity": "The closest neighbours of",
    "entities": "What the cited passages name, and what it is connected to.",
    "document": "What this document names most:",
    "topic": "The most connected entities of the topic",
}
DIGITS: Final = 3


def explorer_context(workspace: Workspace, scope: Scope, given: QueryDict) -> dict[str, Any]:
    """Build the context of the explorer's page. Raises NotFoundError."""
    types = queries.types(workspace=workspace)
    return page_context(
        workspace,
        "graph",
        scope=scope,
        subject=queries.title_of(workspace=workspace, scope=scope),
        subject_url=_subject_url(workspace, scope),
        lead=LEADS[scope.kind],
        query=given.urlencode(),
        kept=[(name, value) for name, value in given.items() if name != "as_of"],
        date=readable(scope.as_of),
        types=types,
        total=sum(number for _, number in types),
        most=queries.MOST,
    )


def _subject_url(workspace: Workspace, scope: Scope) -> str:
    pages = {"entity": "entity", "document": "document", "topic": "community"}
    if scope.kind not in pages:
        return ""
    return reverse(f"ingestion:{pages[scope.kind]}_detail", args=[workspace.slug, scope.id])


def as_arrays(workspace: Workspace, picture: Picture, shown: Sequence[UUID] = ()) -> dict[str, Any]:
    """Return a picture as the page's script reads it: rows, and numbers of rows instead of ids.

    Rows are numbered from those that the page shows already.
    """
    topics = queries.topics_by_size(workspace=workspace)
    numbers = {one: number for number, (one, _) in enumerate(topics)}
    places = {one: place for place, one in enumerate(shown)}
    for node in picture.nodes:
        places.setdefault(node.id, len(places))
    return {
        "nodes": [
            [
                str(node.id),
                node.name,
                node.type,
                numbers.get(node.topic, -1) if node.topic else -1,
                node.degree,
                _short(node.x),
                _short(node.y),
                node.is_term,
            ]
            for node in picture.nodes
        ],
        "edges": [
            [places[edge.a], places[edge.b], round(edge.weight, DIGITS), edge.evidence]
            for edge in picture.edges
            if edge.a in places and edge.b in places
        ],
        "topics": [title for _, title in topics],
        "total": picture.total,
        "terms": picture.terms,
        "pairs": picture.edges_total,
        "focus": [str(one) for one in picture.focus],
        "paths": [[str(one) for one in path] for path in picture.paths],
        "remaining": picture.remaining,
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def entity_panel(workspace: Workspace, entity_id: UUID, as_of: str = "") -> dict[str, Any]:
    """Build the panel about an entity. Raises NotFoundError."""
    view = knowledge_queries.entity_view(
        workspace=workspace, entity_id=entity_id, most_facts=MOST_FACTS, as_of=as_of
    )
    return page_context(workspace, "graph", view=view, entity=view.entity)


def between_panel(workspace: Workspace, a: UUID, b: UUID, as_of: str = "") -> dict[str, Any]:
    """Build the panel about a relationship. Raises NotFoundError."""
    ends = [knowledge_queries.entity_get(workspace=workspace, entity_id=one) for one in (a, b)]
    statements = queries.statements_between(workspace=workspace, a=a, b=b, as_of=as_of)
    return page_context(workspace, "graph", ends=ends, statements=statements)
