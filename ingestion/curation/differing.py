"""Not the same: remembered, and obeyed whenever anything would join the names again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from ingestion import history
from ingestion.curation import suggested
from ingestion.curation.carrying import carried_out
from ingestion.curation.given import UNCHANGED
from ingestion.curation.merging import MOST
from ingestion.curation.ruled import Rules
from ingestion.curation.settling import read_anew
from ingestion.curation.subjects import (
    EntityGiven,
    all_living,
    as_subjects,
    id_of,
    names_of,
    ref_of,
    refs_of,
)
from ingestion.history import Deed
from ingestion.models import EventKind, HistoryEvent, Verdict
from ingestion.stages.resolve.pairs import read_otherwise
from ingestion.standing import load_reading
from kb_project.errors import InputError


def entities_differ(*, deed: Deed, entities: Iterable[EntityGiven]) -> HistoryEvent:
    """Say of entities that no two of them are the same, whatever a later run finds.

    Raises InputError, ConflictError, NotFoundError, PreconditionError.
    """
    given = list(entities)
    if len({id_of(one) for one in given}) < 2 or len(given) > MOST:
        raise InputError(
            f"Two to {MOST} entities can be told apart at once.",
            code="number_of_entities",
            kept=UNCHANGED,
            next_step="Name each of them once.",
        )
    return carried_out(deed, lambda: _differ(deed, given))


def _differ(deed: Deed, given: Sequence[EntityGiven]) -> HistoryEvent:
    rows = {entity.pk: entity for entity in all_living(deed.workspace, given)}
    entities = list(rows.values())
    details = {"names": names_of(entities), "refs": refs_of(entities)}
    event = history.record(deed, EventKind.NOT_THE_SAME, as_subjects(*entities), details)
    before = load_reading(deed.workspace.pk, [])
    rules = Rules(deed, event)
    for one, other in combinations(entities, 2):
        rules.pair(ref_of(one), ref_of(other), Verdict.DIFFERENT)
    rules.keep()
    suggested.show(deed.workspace, entities, Verdict.DIFFERENT)
    # What a model joined a moment ago is parted again.
    otherwise = read_otherwise(before, load_reading(deed.workspace.pk, []))
    if otherwise:
        read_anew(deed.workspace.pk, otherwise)
    return event
