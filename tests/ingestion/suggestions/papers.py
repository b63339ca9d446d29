"""A workspace whose papers spell names in several ways, searched for what may be one."""

from __future__ import annotations

from uuid import UUID

from ingestion.history.recording import ChangeContext
from ingestion.models import Entity, IngestionJob, JobKind
from ingestion.resolution.keys import entity_id
from ingestion.stage import NO_PROGRESS
from ingestion.stages import suggest
from ingestion.stages.describe.recompute import recompute_rows
from ingestion.suggestions.cases import Case, case_queue
from kb_project.ports import build_ports
from tests import rows
from tests.ingestion.stages.resolve.said import Said, all_of, paper, run
from workspaces import access

FIRM = "organization"
SAID = {
    "a": Said([("Acme Instruments", FIRM), ("Ada Lind", "person")], links=[(0, 1, "employs")]),
    "b": Said([("Acme Instruments Inc", FIRM), ("Ada Lind", "person")], links=[(0, 1, "pays")]),
    "c": Said([("Harbour Boat Unit", FIRM), ("Hestay", "place")], links=[(0, 1, "lies at")]),
    "d": Said([("HBU", FIRM), ("Hestay", "place")], links=[(0, 1, "lies at")]),
}
ACME, INC, UNIT, SHORT = "acme instruments", "acme instruments inc", "harbour boat unit", "hbu"


def make_cast() -> rows.Cast:
    cast = rows.make_cast()
    run(*(paper(cast.workspace, name, said) for name, said in SAID.items()))
    search(cast)
    return cast


def search(cast: rows.Cast) -> None:
    """What the refresh does that a decision asks for."""
    with access.in_workspace(cast.workspace.pk):
        recompute_rows(cast.workspace.pk)
    job = IngestionJob(workspace=cast.workspace, kind=JobKind.WORKSPACE)
    suggest.run(job, build_ports(), NO_PROGRESS)


def cases(cast: rows.Cast) -> list[Case]:
    with access.in_workspace(cast.workspace.pk):
        return list(case_queue(workspace=cast.workspace, user=cast.alice).cases)


def keys(case: Case) -> set[str]:
    return {side.name.lower() for side in case.entities}


def case_of(cast: rows.Cast, *wanted: str) -> Case:
    [found] = [case for case in cases(cast) if keys(case) == set(wanted)]
    return found


def id_of(cast: rows.Cast, key: str) -> UUID:
    return entity_id(cast.workspace.pk, key)


def change(cast: rows.Cast, **more: object) -> ChangeContext:
    return ChangeContext(cast.workspace, cast.alice, **more)  # type: ignore[arg-type]  # as ChangeContext says


def entities(cast: rows.Cast) -> list[str]:
    found: list[str] = all_of(cast.workspace, Entity, "key")
    return found
