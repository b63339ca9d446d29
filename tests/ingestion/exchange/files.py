"""Graphs to import, and what is in a workspace, as tests compare them."""

from __future__ import annotations

import io
from typing import Any

from ingestion.exchange import exporting, importing
from ingestion.exchange.plans import Choices, Plan
from ingestion.exchange.records import Scope, entity_records, fact_records
from ingestion.history.recording import ChangeContext
from ingestion.models import HistoryEvent
from tests import rows
from workspaces import access
from workspaces.models import Workspace

ENTITIES = """name,type,aliases,description
Ada Lind,person,Keeper Lind,Keeps the light.
Bo Strand,person,,
Skarrow,place,,A lighthouse.
"""
FACTS = """source,target,predicate,description
Ada Lind,Skarrow,keeps,Ada Lind keeps Skarrow.
Bo Strand,Ada Lind,sells to,
"""


def exported(workspace: Workspace, format: str = "graphml", **scope: Any) -> bytes:
    file = io.BytesIO()
    exporting.graph_write(workspace=workspace, format=format, scope=Scope(**scope), file=file)
    return file.getvalue()


def imported(
    cast: rows.Cast, data: bytes | str, choices: Choices | None = None, name: str = "file"
) -> tuple[HistoryEvent, Plan]:
    return importing.graph_import(
        change=ChangeContext(cast.workspace, cast.alice),
        graph=read(data, name),
        choices=choices or Choices(),
        name=name,
    )


def read(data: bytes | str, name: str = "file") -> Any:
    raw = data.encode() if isinstance(data, str) else data
    return importing.graph_read(io.BytesIO(raw), name)


def contents(workspace: Workspace) -> tuple[list[Any], list[Any]]:
    """Names, types, aliases and descriptions of entities; ends, predicates and descriptions of
    facts.
    """
    with access.in_workspace(workspace.pk):
        entities = [
            (one.name, one.type, tuple(one.aliases), one.description)
            for one in entity_records(workspace, Scope())
        ]
        facts = [
            (one.source_name, one.target_name, tuple(one.predicates), one.description)
            for one in fact_records(workspace, Scope())
        ]
    return sorted(entities), sorted(facts)
