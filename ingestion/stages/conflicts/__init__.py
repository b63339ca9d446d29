"""Conflicts: find sources that disagree, for a person to decide.

In: passages, names, notes and claims of the entities marked as changed, and contradictions that
models noted.  Out: Conflict rows with their sides, in the state that people's decisions give them.
Safe to repeat: what an entity's documents say is compared as a whole, and earlier conflicts of the
entities looked at are replaced. Before the graph stage, which clears the marks.

With a chat model, entities with short notes from several documents are shown to it as well.

Nothing is decided here. A decision is known by its subject and what it is about
(``ingestion.resolution.conflicts``), so it holds when documents are processed again.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Final

from ingestion.extractors.extraction import SYMBOL
from ingestion.models import ConflictKind, ConflictSide, IngestionJob, RunState, StageRun
from ingestion.resolution.conflicts import about_of, apply_rulings, conflict_id
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.conflicts import sql
from ingestion.stages.conflicts.asking import Contradictions, Note, contradictions
from ingestion.stages.conflicts.assertions import Name
from ingestion.stages.conflicts.reading import (
    Dispute,
    Passage,
    Said,
    disputes,
    names_told,
    statements_of,
)
from ingestion.stages.conflicts.stated import (
    ClaimRow,
    Found,
    Side,
    claims_in_conflict,
    notes_in_conflict,
)
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, run_sql, run_sql_count
from kb_project.text.regions import from_json
from workspaces import access

STAGE: Final = "conflicts"
BATCH: Final = 500
VALUE_LENGTH: Final = 300


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id = job.workspace_id
    with access.in_workspace(workspace_id), bulk_plans():
        entities = _changed(workspace_id)
        said = list(_said(workspace_id, entities))
        together = _together(workspace_id, said)
        claims = list(_claims(workspace_id, entities))
        noted = list(_noted(workspace_id, entities))
        notes = _notes_of_several(workspace_id, entities) if ports.reader else []
    progress(1, 2)
    unheard: set[uuid.UUID] = set()
    if ports.reader:
        heard = partial(progress, 1, 2)
        more, unheard = contradictions(notes, ports.reader, ports.options, heard)
        noted += more
    values = [_found(one) for one in disputes(said, together)]
    with access.in_workspace(workspace_id):
        stated = [*claims, *_in_conflict(workspace_id, noted)]
        found = [*values, *(one for one in stated if not _is_told(one, values))]
        written = _save(workspace_id, entities, found, unheard)
        apply_rulings(workspace_id)
    progress(2, 2)
    return StageOutcome(written=written)


def _changed(workspace_id: uuid.UUID) -> list[uuid.UUID]:
    """Return the entities to look at: all of them the first time."""
    runs = StageRun.objects.in_workspace(workspace_id).filter(stage=STAGE, state=RunState.DONE)
    values = {"workspace": workspace_id, "every": not runs.exists()}
    return [pk for (pk,) in run_sql(sql.CHANGED, values)]


def _said(workspace_id: uuid.UUID, entities: Sequence[uuid.UUID]) -> Iterator[Said]:
    wanted = frozenset(entities)
    values = {"workspace": workspace_id, "entities": list(entities), "silent": [SYMBOL]}
    rows = run_sql(sql.PASSAGES, values)
    for first in range(0, len(rows), BATCH):
        batch = rows[first : first + BATCH]
        names: defaultdict[uuid.UUID, list[tuple[uuid.UUID, Name]]] = defaultdict(list)
        starts = {chunk: start for chunk, _, start, _, _ in batch}
        found = run_sql(sql.NAMES, {"workspace": workspace_id, "chunks": list(starts)})
        for chunk, entity, start, end, key, type_ in found:
            name = Name(start - starts[chunk], end - starts[chunk], key, type_)
            names[chunk].append((entity, name))
        for chunk, document, start, text, regions in batch:
            marked = from_json(json.loads(regions) if isinstance(regions, str) else regions)
            passage = Passage(chunk, document, start, text, tuple(marked), tuple(names[chunk]))
            yield from statements_of(passage, wanted)


def _together(workspace_id: uuid.UUID, said: Sequence[Said]) -> set[frozenset[str]]:
    keys = names_told(said)
    if not keys:
        return set()
    values = {"workspace": workspace_id, "keys": sorted(keys)}
    return {frozenset(pair) for pair in run_sql(sql.TOGETHER, values)}


def _claims(workspace_id: uuid.UUID, entities: Sequence[uuid.UUID]) -> Iterator[Found]:
    rows = run_sql(sql.CLAIMS, {"workspace": workspace_id, "entities": list(entities)})
    return claims_in_conflict(
        ClaimRow(subject, type_, object_, said, status, since, until, (chunk, document, start, end))
        for subject, type_, object_, said, status, since, until, chunk, document, start, end in rows
    )


def _noted(workspace_id: uuid.UUID, entities: Sequence[uuid.UUID]) -> Iterator[Contradictions]:
    """Yield the contradictions noted when the entities and their relationships were described."""
    rows = run_sql(sql.NOTES, {"workspace": workspace_id, "entities": list(entities)})
    for subject, stored in rows:
        yield subject, json.loads(stored) if isinstance(stored, str) else stored


def _notes_of_several(workspace_id: uuid.UUID, entities: Sequence[uuid.UUID]) -> list[Note]:
    values = {"workspace": workspace_id, "entities": list(entities)}
    return [Note(*row) for row in run_sql(sql.NOTES_OF_SEVERAL, values)]


def _in_conflict(workspace_id: uuid.UUID, noted: Sequence[Contradictions]) -> Iterator[Found]:
    chunks = {
        str(one["chunk"])
        for _, conflicts in noted
        for conflict in conflicts
        for one in conflict["statements"]
    }
    places = run_sql(sql.PLACES, {"workspace": workspace_id, "chunks": sorted(chunks)})
    return notes_in_conflict(
        noted,
        {
            str(chunk): {
                "id": chunk,
                "document": document,
                "start": start,
                "end": end,
                "text": text,
                "order": (created, str(document), ordinal),
            }
            for chunk, document, start, end, text, created, ordinal in places
        },
    )


def _found(dispute: Dispute) -> Found:
    return Found(
        dispute.entity_id,
        ConflictKind.VALUES.value,
        about_of(ConflictKind.VALUES, dispute.about),
        dispute.label,
        tuple(
            Side(
                (one.chunk_id, one.document_id, one.start, one.end),
                one.assertion.written[:VALUE_LENGTH],
                one.assertion.value.key,
            )
            for one in dispute.sides
        ),
    )


def _is_told(stated: Found, values: Sequence[Found]) -> bool:
    """Whether the same sentences are in a conflict already."""
    return any(
        one.subject_id == stated.subject_id
        and all(any(_touch(side, other) for other in one.sides) for side in stated.sides)
        for one in values
    )


def _touch(one: Side, other: Side) -> bool:
    (chunk, _, start, end), (its, _, first, last) = one.place, other.place
    return chunk == its and start < last and first < end


def _save(
    workspace_id: uuid.UUID,
    entities: Sequence[uuid.UUID],
    found: Sequence[Found],
    unheard: Collection[uuid.UUID],
) -> int:
    """Replace the conflicts of these entities by those found; return how many there are.

    Contradictions known of entities that are ``unheard`` stay.
    """
    scope = {"workspace": workspace_id, "entities": list(entities)}
    held = {pk: (key, sense) for pk, key, sense in run_sql(sql.HOLD, scope)}
    chunks = sorted({side.place[0] for one in found for side in one.sides})
    there = {pk for (pk,) in run_sql(sql.HOLD_PASSAGES, scope | {"chunks": chunks})}
    kept = [
        one
        for one in found
        if one.subject_id in held and all(side.place[0] in there for side in one.sides)
    ]
    columns = {
        "subjects": [one.subject_id for one in kept],
        "abouts": [one.about for one in kept],
        "kinds": [one.kind for one in kept],
        "topics": [one.topic for one in kept],
        "ids": [conflict_id(held[one.subject_id], one.about) for one in kept],
        "unheard": list(unheard),
    }
    run_sql_count(sql.FORGET, scope | columns)
    run_sql_count(sql.FIND, scope | columns)
    _save_sides(workspace_id, kept)
    return len(kept)


def _save_sides(workspace_id: uuid.UUID, found: Sequence[Found]) -> None:
    subjects = {one.subject_id for one in found}
    rows = run_sql(sql.CONFLICTS, {"workspace": workspace_id, "subjects": list(subjects)})
    ids = {(subject, about): pk for pk, subject, about in rows}
    ConflictSide.objects.in_workspace(workspace_id).filter(conflict__in=ids.values()).delete()
    ConflictSide.objects.bulk_create(
        (
            ConflictSide(
                workspace_id=workspace_id,
                conflict_id=ids[one.subject_id, one.about],
                chunk_id=side.place[0],
                document_id=side.place[1],
                ordinal=ordinal,
                start=side.place[2],
                end=side.place[3],
                value=side.value,
                key=side.key,
            )
            for one in found
            for ordinal, side in enumerate(one.sides)
        ),
        batch_size=BATCH,
    )
