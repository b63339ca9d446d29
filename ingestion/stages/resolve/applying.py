"""Resolve documents' names under the decisions in force, and save what they say as rows."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final, LiteralString

from ingestion.extractors import Extraction
from ingestion.extractors.extraction import MEANT
from ingestion.models import (
    Claim,
    Document,
    Evidence,
    Fragment,
    HiddenName,
    Mention,
    ResolutionDecision,
)
from ingestion.resolution import decisions, locks
from ingestion.resolution.keys import KeyPair, Ref, entity_id, key_of_name, link_id
from ingestion.stages.resolve import claims, sql
from ingestion.stages.resolve.names import (
    SHORTEST_ALIKE,
    Fact,
    Name,
    Note,
    Resolution,
    Statement,
    resolve,
    suggestions,
    types_of,
)
from kb_project.sql import Row, run_sql
from workspaces import access

GROUP: Final = 64
"""Documents written in one transaction."""
PREFIX: Final = 4
MOST_NEAR: Final = 8
PREDICATE_LENGTH: Final = 120
UNIT: Final = "\x1f"


def resolve_documents(
    workspace_id: uuid.UUID, versions: Mapping[uuid.UUID, uuid.UUID]
) -> list[Resolution]:
    """Resolve documents again; ``versions`` gives the version of each that counts.

    In the order in which they were added, so that the same documents give the same names and
    questions, whatever their ids.
    """
    with access.in_workspace(workspace_id):
        rows = Document.objects.in_workspace(workspace_id).filter(pk__among=versions)
        added = dict(rows.values_list("pk", "created_at"))
    documents = sorted(versions, key=lambda one: (one not in added, added.get(one), one))
    resolved: list[Resolution] = []
    for first in range(0, len(documents), GROUP):
        group = {one: versions[one] for one in documents[first : first + GROUP]}
        with access.in_workspace(workspace_id):
            locks.join(workspace_id)
            # Only one transaction at a time writes a document.
            rows = Document.objects.in_workspace(workspace_id).filter(pk__in=group)
            list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk"))
            resolutions = read_documents(workspace_id, group)
            save(workspace_id, resolutions)
        resolved += resolutions
    return resolved


def read_documents(
    workspace_id: uuid.UUID, versions: Mapping[uuid.UUID, uuid.UUID]
) -> list[Resolution]:
    """Resolve documents without writing anything. Call in the workspace's scope."""
    found: defaultdict[uuid.UUID, list[tuple[uuid.UUID, Extraction]]] = defaultdict(list)
    places: dict[uuid.UUID, tuple[int, str]] = {}
    values = {"workspace": workspace_id, "versions": list(versions.values())}
    for document_id, chunk_id, start, text, payload in run_sql(sql.EXTRACTIONS, values):
        found[document_id].append((chunk_id, Extraction.from_json(json.loads(payload))))
        places[chunk_id] = (start, text)
    decided = decisions.load_resolution(workspace_id, list(versions))
    return [resolve(one, found[one], decided, places) for one in versions]


# --- new decisions --------------------------------------------------------------------------------
def record_decisions(
    workspace_id: uuid.UUID, made: Sequence[ResolutionDecision]
) -> tuple[KeyPair, ...]:
    """Record decisions about pairs and resolve all names they affect again, in one transaction.

    Returns the pairs to judge before the chains that depend on them may be followed.
    """
    locks.hold(workspace_id)
    before = decisions.load_resolution(workspace_id)
    decisions.record(made)
    after = decisions.load_resolution(workspace_id)
    resolve_again(workspace_id, documents_naming(workspace_id, after.changed_since(before)))
    decisions.mark_suggestions(workspace_id, [(one.left_key, one.right_key) for one in made])
    return after.unchecked


def documents_naming(
    workspace_id: uuid.UUID, keys: Collection[str], *, most: int | None = None
) -> list[uuid.UUID]:
    """Return the documents that name an entity with one of the keys, by ascending id."""
    values = {"workspace": workspace_id, "keys": list(keys), "most": most}
    return [one for (one,) in run_sql(sql.DOCUMENTS_NAMING, values)] if keys else []


def resolve_again(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Resolve documents again, each in the version that was read."""
    values = {"workspace": workspace_id, "documents": list(documents)}
    with access.in_workspace(workspace_id):
        versions: dict[uuid.UUID, uuid.UUID] = dict(run_sql(sql.VERSIONS_READ, values))
    resolve_documents(workspace_id, versions)


# --- rows -----------------------------------------------------------------------------------------
def save(workspace_id: uuid.UUID, resolutions: Sequence[Resolution]) -> None:
    """Save with one statement per table. Call inside a transaction of the workspace."""
    forget(workspace_id, [resolution.document_id for resolution in resolutions])
    if any(resolution.names for resolution in resolutions):
        _Writer(workspace_id).write(resolutions)
    hidden = [(one.document_id, key) for one in resolutions for key in one.hidden]
    if hidden:
        documents, keys = map(list, zip(*hidden, strict=True))
        values = {"workspace": workspace_id, "documents": documents, "keys": keys}
        run_sql(sql.ADD_HIDDEN, values)


def forget(workspace_id: uuid.UUID, documents: Sequence[uuid.UUID]) -> None:
    """Remove what the documents said before, and mark the entities it was about."""
    HiddenName.objects.in_workspace(workspace_id).filter(document__in=documents).delete()
    mentions = Mention.objects.in_workspace(workspace_id).filter(document__in=documents)
    known = list(mentions.values_list("document_id", flat=True).distinct())
    if not known:
        return
    values = {"workspace": workspace_id, "documents": known}
    run_sql(sql.MARK_ENTITIES, values)
    run_sql(sql.MARK_RELATIONSHIPS, values)
    for model in (Evidence, Fragment, Claim, Mention):
        model.objects.in_workspace(workspace_id).filter(document__in=known).delete()


class _Writer:
    """Writes the rows of one group; caches its entities' ids."""

    def __init__(self, workspace_id: uuid.UUID) -> None:
        self.workspace_id = workspace_id
        self.id_of = cache(self._id_of)

    def _id_of(self, entity: Ref) -> uuid.UUID:
        return entity_id(self.workspace_id, *entity)

    def write(self, resolutions: Sequence[Resolution]) -> None:
        self._entities([name for one in resolutions for name in one.names])
        self._mentions([(one.document_id, name) for one in resolutions for name in one.names])
        self._facts([(one.document_id, fact) for one in resolutions for fact in one.facts])
        self._notes([(one.document_id, note) for one in resolutions for note in one.notes])
        self._claims([(one.document_id, said) for one in resolutions for said in one.statements])
        # Documents may disagree on a name's type: look-alikes are sought under each.
        self._suggestions({item for one in resolutions for item in types_of(one.names).items()})

    def _entities(self, names: Sequence[Name]) -> None:
        types = types_of(names)
        labels: dict[Ref, str] = {}
        for name in names:
            labels.setdefault(name.entity, name.label)
        entities = sorted(types)
        self._run(
            sql.ADD_ENTITIES,
            ids=[self.id_of(entity) for entity in entities],
            keys=[key for key, _ in entities],
            senses=[sense for _, sense in entities],
            names=[labels[entity] for entity in entities],
            types=[types[entity] for entity in entities],
        )
        aliases = sorted({alias for name in names for alias in _aliases(name)})
        self._run(
            sql.ADD_ALIASES,
            entities=[self.id_of(entity) for entity, _, _ in aliases],
            keys=[key for _, key, _ in aliases],
            names=[name for _, _, name in aliases],
        )

    def _mentions(self, names: Sequence[tuple[uuid.UUID, Name]]) -> None:
        self._run(
            sql.ADD_MENTIONS,
            documents=[document for document, _ in names],
            entities=[self.id_of(name.entity) for _, name in names],
            chunks=[name.chunk_id for _, name in names],
            starts=[name.start for _, name in names],
            ends=[name.end for _, name in names],
            surfaces=[name.surface for _, name in names],
            types=[name.type for _, name in names],
            sources=[name.source for _, name in names],
            keys=[name.named for _, name in names],
            own_keys=[name.key for _, name in names],
            labels=[name.label for _, name in names],
        )

    def _facts(self, facts: Sequence[tuple[uuid.UUID, Fact]]) -> None:
        if not facts:
            return
        link_of = cache(self._link_of)
        pairs = sorted({(fact.source, fact.target) for _, fact in facts})
        self._run(
            sql.ADD_RELATIONSHIPS,
            ids=[link_of(*pair) for pair in pairs],
            sources=[self.id_of(source) for source, _ in pairs],
            targets=[self.id_of(target) for _, target in pairs],
        )
        self._run(
            sql.ADD_EVIDENCE,
            documents=[document for document, _ in facts],
            relationships=[link_of(fact.source, fact.target) for _, fact in facts],
            chunks=[fact.chunk_id for _, fact in facts],
            starts=[fact.relation.start for _, fact in facts],
            ends=[fact.relation.end for _, fact in facts],
            predicates=[fact.relation.predicate[:PREDICATE_LENGTH] for _, fact in facts],
            kinds=[fact.relation.kind for _, fact in facts],
            strengths=[fact.relation.strength for _, fact in facts],
            descriptions=[fact.relation.description for _, fact in facts],
            keywords=[
                UNIT.join(keyword.replace(UNIT, " ")[:80] for keyword in fact.relation.keywords)
                for _, fact in facts
            ],
            period_starts=[fact.period.start if fact.period else "" for _, fact in facts],
            period_ends=[fact.period.end if fact.period else "" for _, fact in facts],
            quote_starts=[fact.period.quote_start if fact.period else None for _, fact in facts],
            quote_ends=[fact.period.quote_end if fact.period else None for _, fact in facts],
        )

    def _link_of(self, source: Ref, target: Ref) -> uuid.UUID:
        return link_id(self.workspace_id, source, target)

    def _notes(self, notes: Sequence[tuple[uuid.UUID, Note]]) -> None:
        if notes:
            self._run(
                sql.ADD_FRAGMENTS,
                documents=[document for document, _ in notes],
                entities=[self.id_of(note.entity) for _, note in notes],
                chunks=[note.chunk_id for _, note in notes],
                starts=[note.fragment.start for _, note in notes],
                ends=[note.fragment.end for _, note in notes],
                texts=[note.fragment.text for _, note in notes],
            )

    def _claims(self, statements: Sequence[tuple[uuid.UUID, Statement]]) -> None:
        if statements:
            found = [said.claim for _, said in statements]
            self._run(
                sql.ADD_CLAIMS,
                ids=claims.claim_ids(said for _, said in statements),
                documents=[document for document, _ in statements],
                subjects=[self.id_of(said.subject) for _, said in statements],
                objects=[said.object and self.id_of(said.object) for _, said in statements],
                chunks=[said.chunk_id for _, said in statements],
                starts=[claim.start for claim in found],
                ends=[claim.end for claim in found],
                types=[claim.type[:80] for claim in found],
                statuses=[claim.status for claim in found],
                period_starts=[claim.period_start[:25] for claim in found],
                period_ends=[claim.period_end[:25] for claim in found],
                descriptions=[claim.description for claim in found],
            )
            claims.correct(self.workspace_id, {document for document, _ in statements})

    def _suggestions(self, types: set[tuple[Ref, str]]) -> None:
        wanted = sorted(
            (key, kind) for (key, sense), kind in types if len(key) >= SHORTEST_ALIKE and not sense
        )
        near = self._run(
            sql.NEAR_KEYS,
            keys=[key for key, _ in wanted],
            types=[kind for _, kind in wanted],
            lows=[key[:PREFIX] for key, _ in wanted],
            highs=[key[:PREFIX] + "\U0010ffff" for key, _ in wanted],
            most=MOST_NEAR,
        )
        rows = suggestions(self.workspace_id, ((key, other, id_) for key, id_, other in near))
        if rows:
            self._run(
                sql.ADD_SUGGESTIONS,
                lefts=[row.left for row in rows],
                rights=[row.right for row in rows],
                scores=[row.score for row in rows],
                reasons=[row.reason for row in rows],
                left_keys=[row.keys[0] for row in rows],
                right_keys=[row.keys[1] for row in rows],
            )

    def _run(self, statement: LiteralString, **values: object) -> list[Row]:
        return run_sql(statement, {"workspace": self.workspace_id, **values})


def _aliases(name: Name) -> list[tuple[Ref, str, str]]:
    """The text's own spelling, and the name a model gave if that is different."""
    label = (name.entity, name.key, name.label)
    if name.surface == name.label or name.source == MEANT:
        return [label]
    return [label, (name.entity, key_of_name(name.surface), name.surface)]
