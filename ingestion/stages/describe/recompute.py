"""Recompute entity and relationship rows: counts from the documents, wording from people.

What nothing supports any more is removed. Everything is recomputed for rows that are marked as
changed or that people edited.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final, LiteralString

from ingestion.extractors.found import AGAIN, BARE, NER, SURE
from ingestion.resolution import locks, sql as resolution_sql
from ingestion.resolution.active import load_reading
from ingestion.resolution.keys import Ref, entity_id, key_of_name, link_id
from ingestion.stages.describe import recompute_sql, sql
from ingestion.stages.describe.wording import (
    Link,
    LinkWording,
    Wording,
    link_wordings,
    made_refs,
    wordings,
)
from kb_project.sql import run_sql

UNIT: Final = "\x1f"
SETTLED: Final[tuple[LiteralString, ...]] = (
    sql.BURY_RELATIONSHIPS,
    sql.BURY_ENTITIES,
    sql.COUNT_ENTITIES,
    sql.COUNT_RELATIONSHIPS,
    recompute_sql.UNCOUNT_ENTITIES,
    recompute_sql.UNCOUNT_RELATIONSHIPS,
)


def recompute_rows(workspace_id: uuid.UUID) -> None:
    """Bring the rows up to date. Call inside a transaction of the workspace."""
    scope = {"workspace": workspace_id}
    locks.join(workspace_id)
    said = run_sql(resolution_sql.ENTITY_RULINGS, scope)
    said_of_links = run_sql(resolution_sql.RELATIONSHIP_RULINGS, scope)
    reading = load_reading(workspace_id, [])
    entities = wordings(((tuple(row[:2]), row[2], row[3]) for row in said), reading)
    links = link_wordings(
        ((tuple(row[:2]), tuple(row[2:4]), row[4], row[5]) for row in said_of_links), reading
    )
    _make(workspace_id, entities, links)
    sources = {"sure": SURE, "again": AGAIN, "bare": BARE, "guesses": [NER, BARE, AGAIN]}
    for statement in SETTLED:
        run_sql(statement, scope | sources)
    _word_entities(workspace_id, entities)
    _word_relationships(workspace_id, links)


def _make(
    workspace_id: uuid.UUID, entities: Mapping[Ref, Wording], links: Mapping[Link, LinkWording]
) -> None:
    scope = {"workspace": workspace_id}
    refs = made_refs(entities, links)
    ids = [entity_id(workspace_id, *ref) for ref in refs]
    run_sql(recompute_sql.UNMAKE_ENTITIES, {**scope, "ids": ids})
    if refs:
        said = [entities.get(ref, Wording()) for ref in refs]
        columns = {
            "ids": ids,
            "keys": [key for key, _ in refs],
            "senses": [sense for _, sense in refs],
            "names": [one.name or ref[0] for ref, one in zip(refs, said, strict=True)],
            "types": [one.type or "" for one in said],
        }
        run_sql(recompute_sql.MAKE_ENTITIES, {**scope, **columns})
    made = sorted(link for link, wording in links.items() if wording.is_made)
    link_ids = [link_id(workspace_id, *link) for link in made]
    run_sql(recompute_sql.UNMAKE_RELATIONSHIPS, {**scope, "ids": link_ids})
    if made:
        ends = {
            "sources": [entity_id(workspace_id, *source) for source, _ in made],
            "targets": [entity_id(workspace_id, *target) for _, target in made],
        }
        run_sql(recompute_sql.MAKE_RELATIONSHIPS, {**scope, "ids": link_ids, **ends})


def _word_entities(workspace_id: uuid.UUID, entities: Mapping[Ref, Wording]) -> None:
    ids = [entity_id(workspace_id, *ref) for ref in entities]
    said = list(entities.values())
    columns = {
        "ids": ids,
        "names": [one.name for one in said],
        "types": [one.type for one in said],
        "descriptions": [one.description for one in said],
        "protected": [one.is_protected for one in said],
        "confirmed": [one.is_confirmed for one in said],
    }
    run_sql(recompute_sql.WORD_ENTITIES, {"workspace": workspace_id, **columns})
    _name_entities(workspace_id, dict(zip(ids, said, strict=True)))


def _name_entities(workspace_id: uuid.UUID, said: Mapping[uuid.UUID, Wording]) -> None:
    """Bring aliases up to date: those of mentions and those people added, minus refused ones."""
    given = [(one, name) for one, wording in said.items() for name in wording.aliases.values()]
    values = {
        "workspace": workspace_id,
        "entities": [one for one, _ in given],
        "keys": [key_of_name(name) for _, name in given],
        "names": [name for _, name in given],
    }
    run_sql(recompute_sql.PRUNE_ALIASES, values)
    if given:
        run_sql(recompute_sql.ADD_ALIASES, values)
    refused = [(one, key) for one, wording in said.items() for key in wording.refused]
    if refused:
        columns = {"entities": [one for one, _ in refused], "keys": [key for _, key in refused]}
        run_sql(recompute_sql.REFUSE_ALIASES, {"workspace": workspace_id, **columns})


def _word_relationships(workspace_id: uuid.UUID, links: Mapping[Link, LinkWording]) -> None:
    said = list(links.values())
    columns = {
        "ids": [link_id(workspace_id, *link) for link in links],
        "descriptions": [one.description for one in said],
        "keywords": [None if one.keywords is None else UNIT.join(one.keywords) for one in said],
    }
    run_sql(recompute_sql.WORD_RELATIONSHIPS, {"workspace": workspace_id, **columns})
