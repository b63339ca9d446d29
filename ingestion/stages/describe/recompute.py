"""Recompute entity and relationship rows: counts from the documents, words from people's edits.

What nothing supports any more is removed. Everything is recomputed for rows that are marked as
changed or that people edited. In a merged group the kept entity's own edits come before those of
the others; of two edits to the same field the later one counts.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, LiteralString

from ingestion.extractors.extraction import AGAIN, BARE, NER, SURE
from ingestion.models import Entity, EntityRuling, Relationship, RelationshipRuling
from ingestion.resolution import decisions, locks
from ingestion.resolution.keys import Ref, entity_id, key_of_name, link_id
from ingestion.resolution.overrides import NameResolution
from ingestion.stages.describe import edits_sql, sql
from kb_project.sql import run_sql

BURIALS: Final[tuple[LiteralString, ...]] = (sql.BURY_RELATIONSHIPS, sql.BURY_ENTITIES)
COUNTS: Final[tuple[LiteralString, ...]] = (
    sql.COUNT_ENTITIES,
    sql.COUNT_RELATIONSHIPS,
    sql.UNCOUNT_ENTITIES,
    sql.UNCOUNT_RELATIONSHIPS,
    sql.MARK_HEADINGS,
    sql.BURY_CONFLICTS,
)
UNIT: Final = "\x1f"


def recompute_rows(
    workspace_id: uuid.UUID, resolution: NameResolution | None = None, *, counts: bool = True
) -> None:
    """Bring the rows up to date. Call inside a transaction of the workspace.

    ``resolution`` spares loading how names resolve, to a caller that holds the names' lock. Without
    ``counts``, rows go and people's words count, but nothing is counted that documents say, and
    names that no document uses any more stay.
    """
    scope = {"workspace": workspace_id}
    locks.join(workspace_id)
    resolution = resolution or decisions.load_resolution(workspace_id)
    entities = edits_by_entity(decisions.entity_edits(workspace_id), resolution)
    links = edits_by_relationship(decisions.relationship_edits(workspace_id), resolution)
    _create(workspace_id, entities, links)
    sources = {"sure": SURE, "again": AGAIN, "bare": BARE, "guesses": [NER, BARE, AGAIN]}
    for statement in BURIALS + (COUNTS if counts else ()):
        run_sql(statement, scope | sources)
    _edit_entities(workspace_id, entities)
    _update_aliases(workspace_id, entities, prunes=counts)
    _edit_relationships(workspace_id, links)


def _create(
    workspace_id: uuid.UUID,
    entities: Mapping[Ref, EntityEdits],
    links: Mapping[Link, RelationshipEdits],
) -> None:
    scope = {"workspace": workspace_id}
    refs = made_refs(entities, links)
    ids = [entity_id(workspace_id, *ref) for ref in refs]
    unmade = Entity.objects.in_workspace(workspace_id).filter(is_made=True).exclude(pk__among=ids)
    unmade.update(is_made=False, is_changed=True)
    if refs:
        edits = [entities.get(ref, EntityEdits()) for ref in refs]
        columns = {
            "ids": ids,
            "keys": [key for key, _ in refs],
            "senses": [sense for _, sense in refs],
            "names": [one.name or ref[0] for ref, one in zip(refs, edits, strict=True)],
            "types": [one.type or "" for one in edits],
        }
        run_sql(edits_sql.MAKE_ENTITIES, {**scope, **columns})
    made = sorted(link for link, edits in links.items() if edits.is_made)
    link_ids = [link_id(workspace_id, *link) for link in made]
    relationships = Relationship.objects.in_workspace(workspace_id).filter(is_made=True)
    relationships.exclude(pk__among=link_ids).update(is_made=False, is_changed=True)
    if made:
        ends = {
            "sources": [entity_id(workspace_id, *source) for source, _ in made],
            "targets": [entity_id(workspace_id, *target) for _, target in made],
        }
        run_sql(edits_sql.MAKE_RELATIONSHIPS, {**scope, "ids": link_ids, **ends})


def made_refs(
    entities: Mapping[Ref, EntityEdits], links: Mapping[Link, RelationshipEdits]
) -> Sequence[Ref]:
    """Entities that exist without a document: made by a person, or ends of a made relationship."""
    made = {ref for ref, edits in entities.items() if edits.is_made}
    ends = {ref for link, edits in links.items() if edits.is_made for ref in link}
    return sorted(made | ends)


def _edit_entities(workspace_id: uuid.UUID, entities: Mapping[Ref, EntityEdits]) -> None:
    ids = [entity_id(workspace_id, *ref) for ref in entities]
    edits = list(entities.values())
    columns = {
        "ids": ids,
        "names": [one.name for one in edits],
        "types": [one.type for one in edits],
        "descriptions": [one.description for one in edits],
        "protected": [one.is_protected for one in edits],
        "confirmed": [one.is_confirmed for one in edits],
    }
    run_sql(edits_sql.EDIT_ENTITIES, {"workspace": workspace_id, **columns})


def _update_aliases(
    workspace_id: uuid.UUID, entities: Mapping[Ref, EntityEdits], *, prunes: bool
) -> None:
    """Bring aliases up to date: those of mentions and those people added, minus refused ones."""
    edited = {entity_id(workspace_id, *ref): edits for ref, edits in entities.items()}
    given = [(one, name) for one, edits in edited.items() for name in edits.aliases.values()]
    values = {
        "workspace": workspace_id,
        "entities": [one for one, _ in given],
        "keys": [key_of_name(name) for _, name in given],
        "names": [name for _, name in given],
    }
    if prunes:
        run_sql(edits_sql.PRUNE_ALIASES, values)
    if given:
        run_sql(edits_sql.ADD_ALIASES, values)
    refused = [(one, key) for one, edits in edited.items() for key in edits.refused]
    if refused:
        columns = {"entities": [one for one, _ in refused], "keys": [key for _, key in refused]}
        run_sql(edits_sql.REMOVE_ALIASES, {"workspace": workspace_id, **columns})


def _edit_relationships(workspace_id: uuid.UUID, links: Mapping[Link, RelationshipEdits]) -> None:
    edits = list(links.values())
    columns = {
        "ids": [link_id(workspace_id, *link) for link in links],
        "descriptions": [one.description for one in edits],
        "keywords": [None if one.keywords is None else UNIT.join(one.keywords) for one in edits],
    }
    run_sql(edits_sql.EDIT_RELATIONSHIPS, {"workspace": workspace_id, **columns})


# --- people's edits -------------------------------------------------------------------------------
Field = EntityRuling.Field
LinkField = RelationshipRuling.Field
WORDS: Final = (Field.NAME, Field.TYPE, Field.DESCRIPTION)
FLAGS: Final = {
    Field.CREATED: ("is_made", True),
    Field.DELETED: ("is_made", False),
    Field.PROTECTED: ("is_protected", True),
    Field.UNPROTECTED: ("is_protected", False),
    Field.CONFIRMED: ("is_confirmed", True),
}
EntityEdit = tuple[Ref, str, str]
"""Entity, field and value; later edits come last."""
Link = tuple[Ref, Ref]
RelationshipEdit = tuple[Ref, Ref, str, str]


@dataclass(slots=True)
class EntityEdits:
    """People's edits to one entity; None for fields they did not edit.

    ``aliases`` are names it goes by, ``refused`` names it does not.
    """

    name: str | None = None
    type: str | None = None
    description: str | None = None
    is_made: bool = False
    is_protected: bool = False
    is_confirmed: bool = False
    aliases: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def apply(self, what: str, value: str) -> None:
        if what in FLAGS:
            setattr(self, *FLAGS[Field(what)])
        if what in WORDS:
            setattr(self, what, value)
        if what in (Field.NAME, Field.ALIAS):
            self.aliases[key_of_name(value)] = value
            self.refused.pop(key_of_name(value), None)
        elif what == Field.NO_ALIAS:
            self.refused[key_of_name(value)] = value
            self.aliases.pop(key_of_name(value), None)

    def join(self, other: EntityEdits) -> None:
        """Take over from an entity merged into this one, which keeps its own name and type."""
        if self.description is None:
            self.description = other.description
        self.is_made |= other.is_made
        self.aliases = {**other.aliases, **self.aliases}


@dataclass(slots=True)
class RelationshipEdits:
    """People's edits to one relationship."""

    is_made: bool = False
    description: str | None = None
    keywords: tuple[str, ...] | None = None

    def apply(self, what: str, value: str) -> None:
        if what in (LinkField.CREATED, LinkField.DELETED):
            self.is_made = what == LinkField.CREATED
        elif what == LinkField.DESCRIPTION:
            self.description = value
        elif what == LinkField.KEYWORDS:
            self.keywords = tuple(line for line in value.splitlines() if line)


def edits_by_entity(
    edits: Iterable[EntityEdit], resolution: NameResolution
) -> dict[Ref, EntityEdits]:
    """Edits by the entity they now apply to, without deleted ones."""
    own: defaultdict[Ref, EntityEdits] = defaultdict(EntityEdits)
    for ref, what, value in edits:
        own[ref].apply(what, value)
    found: dict[Ref, EntityEdits] = {}
    for ref in sorted(own, key=lambda ref: (ref != resolution.resolve(ref), ref)):
        current = resolution.resolve(ref)
        if ref in resolution.deleted or current in resolution.deleted:
            continue
        if ref == current:
            found[current] = own[ref]
        else:
            found.setdefault(current, EntityEdits()).join(own[ref])
    return found


def edits_by_relationship(
    edits: Iterable[RelationshipEdit], resolution: NameResolution
) -> dict[Link, RelationshipEdits]:
    """Edits by the two entities they now apply to, without loops and deleted ones."""
    own: defaultdict[Link, RelationshipEdits] = defaultdict(RelationshipEdits)
    for source, target, what, value in edits:
        own[source, target].apply(what, value)
    found: dict[Link, RelationshipEdits] = {}
    for link in sorted(own, key=lambda link: (link != _current(link, resolution), link)):
        current = _current(link, resolution)
        if current[0] == current[1] or {*link, *current} & resolution.deleted:
            continue
        if {link, current} & resolution.dropped:
            continue
        found[current] = _merged(found.get(current), own[link])
    return found


def _current(link: Link, resolution: NameResolution) -> Link:
    return resolution.resolve(link[0]), resolution.resolve(link[1])


def _merged(first: RelationshipEdits | None, other: RelationshipEdits) -> RelationshipEdits:
    if first is None:
        return other
    return RelationshipEdits(
        first.is_made or other.is_made,
        other.description if first.description is None else first.description,
        other.keywords if first.keywords is None else first.keywords,
    )
