"""Import a graph: read a file, preview it, and create what is new, as one change with one undo.

The row of an import is the record; a queue entry only wakes a worker. Everything imported is a
decision of a person: it needs no document, and undoing the event leaves what would be there
without it.
"""

from __future__ import annotations

import logging
import uuid
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import IO, Any, Final

from django.utils import timezone
from django_q.tasks import async_task

from ingestion.curation.operation import apply, operation
from ingestion.documents.trial_reading import copied
from ingestion.exchange.planning import plan_of
from ingestion.exchange.plans import Choices, Conflicts, Plan
from ingestion.history import recording
from ingestion.history.recording import REASON_LENGTH, ChangeContext
from ingestion.models import (
    EntityRuling,
    EventKind,
    GraphImport,
    HistoryEvent,
    ImportState,
    RelationshipRuling,
    SubjectKind,
)
from ingestion.parsers import wire
from ingestion.parsers.document import one_line
from ingestion.parsers.graph_rows import KEPT, GraphFile
from ingestion.parsers.sandbox import default_sandbox
from ingestion.pipeline import recovery, runner
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.keys import Ref, entity_id, link_id
from ingestion.resolution.recorder import Recorder
from kb_project.database.outages import through_outages
from kb_project.errors import ConflictError, InputError, KBError, ParseError, Problem, found
from kb_project.jobs import claims
from workspaces import access
from workspaces.models import User, Workspace

logger = logging.getLogger(__name__)

RUN_IMPORT: Final = "ingestion.tasks.import_graph"
KEPT_IMPORTS: Final = 20
"""Imports kept for each workspace, with the file of those that still wait for a decision."""
PATIENCE: Final = timedelta(hours=1)
"""A worker on another host that has not finished an import by then is presumed dead."""
BROKEN: Final = Problem(
    code="import_failed",
    happened="The import could not be completed.",
    kept=KEPT,
    next_step="Try again. If it fails again, your administrator finds the cause in the log.",
)


# --- the file -------------------------------------------------------------------------------------
def graph_read(file: IO[bytes], name: str) -> GraphFile:
    """Read a file in the confined reader. Raises InputError for one that is no graph."""
    with copied(file) as path:
        try:
            return default_sandbox().read_graph(path, name=one_line(name))
        except ParseError as error:
            raise InputError(
                error.happened, code=error.code, kept=KEPT, next_step=error.next_step
            ) from error


def import_upload(
    *, workspace: Workspace, user: User, file: IO[bytes], name: str, via: str
) -> GraphImport:
    """Read a file and keep what it says for the preview. Raises InputError."""
    graph = graph_read(file, name)
    with access.in_workspace(workspace.pk):
        row = GraphImport.objects.create(
            workspace=workspace,
            name=one_line(name, limit=200) or "graph",
            format=graph.format,
            payload=zlib.compress(wire.graph_to_bytes(graph)),
            requested_by=user,
            via=via,
        )
        _forget_old(workspace)
    logger.info("graph read workspace=%s import=%s", workspace.pk, row.pk)
    return row


def graph_of(row: GraphImport) -> GraphFile:
    """Return what was read. Raises ConflictError once the import has ended."""
    if not row.payload:
        raise ConflictError("This import has ended.", code="import_ended", kept="Nothing changed.")
    return wire.graph_from_bytes(zlib.decompress(bytes(row.payload)))


def _forget_old(workspace: Workspace) -> None:
    rows = GraphImport.objects.in_workspace(workspace)
    kept = list(rows.order_by("-created_at").values_list("pk", flat=True)[:KEPT_IMPORTS])
    under_way = (ImportState.WAITING, ImportState.RUNNING)
    rows.exclude(pk__in=kept).exclude(state__in=under_way).delete()


# --- reading --------------------------------------------------------------------------------------
def imports_of(*, workspace: Workspace) -> list[GraphImport]:
    """Return the latest imports, newest first."""
    rows = GraphImport.objects.in_workspace(workspace).defer("payload")
    return list(rows.select_related("requested_by").order_by("-created_at")[:KEPT_IMPORTS])


def import_get(*, workspace: Workspace, import_id: uuid.UUID) -> GraphImport:
    """Raises NotFoundError."""
    rows = GraphImport.objects.in_workspace(workspace).select_related("event", "requested_by")
    return found(rows.filter(pk=import_id).first(), "import")


# --- deciding -------------------------------------------------------------------------------------
def import_confirm(
    *, workspace: Workspace, user: User, import_id: uuid.UUID, choices: Choices, reason: str = ""
) -> GraphImport:
    """Have a worker carry out an import. Raises NotFoundError, ConflictError if it began before."""
    with access.in_workspace(workspace.pk):
        row = import_get(workspace=workspace, import_id=import_id)
        rows = GraphImport.objects.in_workspace(workspace).filter(pk=row.pk)
        is_ours = rows.filter(state=ImportState.PREVIEW).update(
            state=ImportState.WAITING,
            choices=asdict(choices),
            reason=reason[:REASON_LENGTH],
            requested_by=user,
        )
        if not is_ours:
            raise ConflictError(
                "This file is being imported already, or has been.",
                code="import_began",
                kept="Nothing was changed.",
                next_step="Choose the file again to import it once more.",
            )
        wake(row)
    return import_get(workspace=workspace, import_id=import_id)


def import_discard(*, workspace: Workspace, import_id: uuid.UUID) -> None:
    """Delete a file that was not imported. Raises NotFoundError, ConflictError while it runs."""
    row = import_get(workspace=workspace, import_id=import_id)
    if row.state in (ImportState.WAITING, ImportState.RUNNING):
        raise ConflictError(
            "This import is under way.",
            code="import_running",
            kept="Nothing was changed.",
            next_step="Wait until it has ended, then undo it.",
        )
    GraphImport.objects.in_workspace(workspace).filter(pk=row.pk).delete()


def wake(row: GraphImport) -> None:
    async_task(RUN_IMPORT, str(row.workspace_id), str(row.pk), cluster=runner.REFRESHING)


# --- carrying out ---------------------------------------------------------------------------------
def run(workspace_id: uuid.UUID, import_id: uuid.UUID) -> None:
    """Carry out a waiting import, unless another worker has it. Its row says how it ended."""
    row = _begin(workspace_id, import_id)
    if row is None:
        return
    ended: dict[str, Any] = {"state": ImportState.FAILED, "problem": BROKEN}
    try:
        event, plan = through_outages(partial(_run, row))
        ended = {"state": ImportState.DONE, "event": event, "counts": plan.counts}
    except KBError as error:
        ended = {"state": ImportState.FAILED, "problem": error.problem(kept=KEPT)}
    finally:
        with access.in_workspace(workspace_id):
            GraphImport.objects.in_workspace(workspace_id).filter(pk=import_id).update(
                payload=b"", finished_at=timezone.now(), **ended
            )
        logger.info("import ended workspace=%s state=%s", workspace_id, ended["state"])


def _begin(workspace_id: uuid.UUID, import_id: uuid.UUID) -> GraphImport | None:
    with access.in_workspace(workspace_id):
        rows = GraphImport.objects.in_workspace(workspace_id).filter(pk=import_id)
        began = rows.filter(state=ImportState.WAITING).update(
            state=ImportState.RUNNING, worker=claims.worker_name(), started_at=timezone.now()
        )
        return rows.select_related("requested_by", "workspace").get() if began else None


def _run(row: GraphImport) -> tuple[HistoryEvent, Plan]:
    change = ChangeContext(row.workspace, row.requested_by, row.reason, row.via)
    return graph_import(
        change=change, graph=graph_of(row), choices=choices_of(row.choices), name=row.name
    )


def choices_of(given: dict[str, Any]) -> Choices:
    """Read stored or submitted choices; unknown values are the defaults."""
    conflicts = Conflicts.LEAVE_OUT
    with suppress(ValueError):
        conflicts = Conflicts(str(given.get("conflicts", "")))
    return Choices(conflicts, makes_missing=bool(given.get("makes_missing")))


def graph_import(
    *, change: ChangeContext, graph: GraphFile, choices: Choices, name: str
) -> tuple[HistoryEvent, Plan]:
    """Create what is new in a graph, as one event.

    Raises InputError (nothing_to_import) if nothing is.
    """
    plans: list[Plan] = []

    def work() -> HistoryEvent:
        plan = plan_of(change.workspace, graph, choices)
        plans.append(plan)
        return _import(change, plan, name)

    event = operation(change, work)
    return event, plans[-1]


def _import(change: ChangeContext, plan: Plan, name: str) -> HistoryEvent:
    if plan.is_empty:
        raise InputError(
            f"“{name}” contains nothing new.",
            code="nothing_to_import",
            kept=KEPT,
            next_step="The preview shows what became of each row.",
        )
    workspace = change.workspace
    before = load_resolution(workspace.pk)
    entities = {entity_id(workspace.pk, *ref): ref for ref in _refs(plan.new_entities)}
    changed = {entity_id(workspace.pk, *ref): ref for ref in _refs(plan.changed)}
    facts = [link_id(workspace.pk, *one.ends) for one in plan.new_facts if one.ends]
    subjects = dict.fromkeys((*entities, *changed), SubjectKind.ENTITY)
    subjects |= dict.fromkeys(facts, SubjectKind.RELATIONSHIP)
    shown = plan.new_entities[: recording.MOST_NAMES]
    details = {
        "file": name,
        "entities": len(entities),
        "facts": len(facts),
        "names": {str(entity_id(workspace.pk, *one.ref)): one.name for one in shown if one.ref},
        "created": [str(one) for one in (*entities, *facts)],
    }
    event = recording.record(change, EventKind.GRAPH_IMPORTED, subjects, details)
    recorder = Recorder(event)
    recorder.entities(_entity_rulings(plan))
    recorder.relationships(_fact_rulings(plan))
    aliases = [(one.ref, key) for one in plan.entities if one.ref for key in one.names]
    recorder.names(aliases)
    dropped = {ends for one in plan.new_facts if (ends := one.ends) in before.dropped and ends}
    keys = {key for key, _ in (*entities.values(), *changed.values())}
    keys |= {key for _, key in aliases} | {key for ends in dropped for key, _ in ends}
    apply(workspace, before, keys, may_wait=False)
    return event


def _refs(entities: list[Any]) -> list[Ref]:
    return [one.ref for one in entities if one.ref]


def _entity_rulings(plan: Plan) -> Iterator[tuple[Ref, EntityRuling.Field, str]]:
    field = EntityRuling.Field
    for one in plan.entities:
        if one.ref is None:
            continue
        if one.is_new:
            yield one.ref, field.CREATED, ""
            yield one.ref, field.NAME, one.name
            if one.type:
                yield one.ref, field.TYPE, one.type
            if one.description:
                yield one.ref, field.DESCRIPTION, one.description
        for alias in one.names.values():
            yield one.ref, field.ALIAS, alias


def _fact_rulings(plan: Plan) -> Iterator[tuple[Ref, Ref, RelationshipRuling.Field, str]]:
    field = RelationshipRuling.Field
    for one in plan.new_facts:
        if one.ends is None:
            continue
        yield *one.ends, field.CREATED, ""
        if one.description:
            yield *one.ends, field.DESCRIPTION, one.description
        if one.predicates:
            yield *one.ends, field.KEYWORDS, "\n".join(one.predicates)


# --- recovery -------------------------------------------------------------------------------------
def take_up(workspaces: Collection[uuid.UUID]) -> int:
    """Wake imports of these workspaces that no worker took up, or whose worker died; returns how
    many."""
    return recovery.take_up(GraphImport, workspaces, PATIENCE, wake)
