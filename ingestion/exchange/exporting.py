"""Export the graph of a workspace as a file, whole or in part.

The file is written to the disk from one state of the database, then sent: what fails says so
instead of ending early, and memory holds one batch of rows.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Final

from django.http import StreamingHttpResponse
from django.utils import timezone

from ingestion.exchange import records, writers
from ingestion.exchange.records import Scope
from ingestion.exchange.writers import GraphSource
from kb_project.errors import InputError
from kb_project.http.downloads import download
from workspaces import access, audit, editions
from workspaces.audit import Target
from workspaces.models import AuditAction, User, Workspace
from workspaces.models.people import EXPORT


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: ``label`` and ``hint`` are for the page, ``ending`` for its name."""

    label: str
    hint: str
    ending: str
    content_type: str
    write: Callable[[BinaryIO, GraphSource], None]
    what: str = "graph"


FORMATS: Final[Mapping[str, Format]] = {
    "graphml": Format(
        "GraphML",
        "For networkx, yEd and most graph tools.",
        "graphml",
        "application/graphml+xml",
        writers.write_graphml,
    ),
    "gexf": Format("GEXF", "For Gephi.", "gexf", "application/gexf+xml", writers.write_gexf),
    "json": Format(
        "JSON",
        "Node-link JSON, for programs and D3.",
        "json",
        "application/json",
        writers.write_node_link,
    ),
    "csv": Format(
        "CSV",
        "A ZIP archive with one table of entities and one of facts, for spreadsheets.",
        "zip",
        "application/zip",
        writers.write_tables,
    ),
    "entities.csv": Format(
        "CSV of entities", "", "csv", "text/csv; charset=utf-8", writers.write_entities, "entities"
    ),
    "facts.csv": Format(
        "CSV of facts", "", "csv", "text/csv; charset=utf-8", writers.write_facts, "facts"
    ),
}


def format_for(name: str) -> str:
    """Return the format that a file's name ends with. Raises InputError if it says none or several.

    >>> format_for("graph.zip"), format_for("Graph.GEXF"), format_for("my-facts.csv")
    ('csv', 'gexf', 'facts.csv')
    """
    folded = name.lower()
    whole = [one for one in FORMATS if "." in one and folded.endswith(one)]
    found = whole or [n for n, one in FORMATS.items() if folded.endswith(f".{one.ending}")]
    if len(found) != 1:
        endings = [one if "." in one else f".{each.ending}" for one, each in FORMATS.items()]
        raise InputError(
            f"The name '{name}' does not say which format to write.",
            code="unknown_format",
            kept="Nothing was exported.",
            next_step=f"Let it end with {', '.join(endings[:-1])} or {endings[-1]}, or choose a"
            f" format: {', '.join(FORMATS)}.",
        )
    return found[0]


def graph_write(*, workspace: Workspace, format: str, scope: Scope, file: BinaryIO) -> None:
    """Write the graph to a file. Raises InputError for an unknown format, NotFoundError."""
    chosen = FORMATS.get(format)
    if chosen is None:
        raise InputError(
            f"There is no export format '{format}'.",
            code="unknown_format",
            kept="Nothing was exported.",
            next_step=f"Choose one of {', '.join(FORMATS)}.",
        )
    with access.in_workspace(workspace.pk):
        source = GraphSource(
            workspace.name,
            partial(records.entity_records, workspace, scope),
            partial(records.fact_records, workspace, scope),
        )
        chosen.write(file, source)


def graph_export(
    *, workspace: Workspace, user: User | None, format: str, scope: Scope
) -> StreamingHttpResponse:
    """Return the graph as a download, and record that.

    Raises ForbiddenError if the settings keep exports from the user, InputError, NotFoundError.
    """
    access.check_right(workspace, EXPORT)
    with tempfile.TemporaryFile() as file:
        graph_write(workspace=workspace, format=format, scope=scope, file=file)
        record_export(workspace=workspace, user=user, format=format, scope=scope)
        return download(
            file,
            name=file_name(workspace, format),
            content_type=FORMATS[format].content_type,
        )


def record_export(*, workspace: Workspace, user: User | None, format: str, scope: Scope) -> None:
    """Record an export in the audit of the workspace, for one from an edition too."""
    source = Workspace.objects.get(pk=editions.source_id(workspace.pk))
    audit.record(
        AuditAction.GRAPH_EXPORTED,
        workspace=source,
        user=user,
        target=Target("graph", name=f"the {FORMATS[format].what} as {FORMATS[format].label}"),
        after={"format": format, **scope.in_words},
    )


def file_name(workspace: Workspace, format: str) -> str:
    """
    >>> file_name(Workspace(slug="harbour"), "csv")[:14]
    'harbour-graph-'
    """
    chosen = FORMATS[format]
    slug = re.sub(r"[^A-Za-z0-9_-]", "", workspace.slug)
    return f"{slug}-{chosen.what}-{timezone.localdate():%Y-%m-%d}.{chosen.ending}"
