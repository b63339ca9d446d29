"""Marks entities as not the same; later runs obey it whenever something would join their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from ingestion.curation import suggested
from ingestion.curation.merging import MOST
from ingestion.curation.operation import operation
from ingestion.curation.records import Rules
from ingestion.curation.subjects import (
    EntityGiven,
    all_living,
    as_subjects,
    id_of,
    names_of,
    ref_of,
    refs_of,
)
from ingestion.curation.validation import UNCHANGED
from ingestion.history import recording
from ingestion.history.recording import ChangeContext
from ingestion.models import EventKind, HistoryEvent, Verdict
from ingestion.pipeline.propagate import read_anew
from ingestion.resolution.active import load_reading
from ingestion.stages.resolve.pairs import read_otherwise
from kb_project.errors import InputError


def entities_differ(*, change: ChangeContext, entities: Iterable[EntityGiven]) -> HistoryEvent:
    """Record that no two of the entities are the same, whatever a later run finds.

    Raises InputError, ConflictError, NotFoundError, PreconditionError.
    """
    given = list(entities)
    if len({id_of(one) for one in given}) < 2 or len(given) > MOST:
        raise InputError(
            f"Two to {MOST} entities can be marked as not the same at once.",
            code="number_of_entities",
            kept=UNCHANGED,
            next_step=f"Select two to {MOST} entities, each of them once.",
        )
    return operation(change, lambda: _differ(change, given))


def _differ(change: ChangeContext, given: Sequence[EntityGiven]) -> HistoryEvent:
    rows = {entity.pk: entity for entity in all_living(change.workspace, given)}
    entities = list(rows.values())
    details = {"names": names_of(entities), "refs": refs_of(entities)}
    event = recording.record(change, EventKind.NOT_THE_SAME, as_subjects(*entities), details)
    before = load_reading(change.workspace.pk, [])
    rules = Rules(change, event)
    for one, other in combinations(entities, 2):
        rules.pair(ref_of(one), ref_of(other), Verdict.DIFFERENT)
    rules.keep()
    suggested.show(change.workspace, entities, Verdict.DIFFERENT)
    # A recent join by a model is undone.
    otherwise = read_otherwise(before, load_reading(change.workspace.pk, []))
    if otherwise:
        read_anew(change.workspace.pk, otherwise)
    return event
