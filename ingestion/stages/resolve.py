"""Resolve: decide which mentions are the same entity.

In: what was extracted from a version's chunks.  Out: entities, aliases, mentions, relationships,
evidence, and suggestions for the grey zone.
Safe to repeat: the document's mentions and evidence are replaced in one transaction.

Two mentions are one entity when their normalised names are equal. Inside one document a single
name also stands for the one full name that contains it ("Scrooge", after "Ebenezer Scrooge").
Nothing else is merged by machine: look-alikes become suggestions, names that differ in a digit
never do, and no decision is carried on to a third name. The outcome does not depend on the order
in which documents arrive.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from rapidfuzz import fuzz

from ingestion import sql
from ingestion.extractors import Extraction, FoundRelation
from ingestion.models import ChunkExtraction, IngestionJob, Mention
from ingestion.outcome import Progress, StageOutcome
from kb_project.ports import Ports
from kb_project.sql import run_sql
from kb_project.text.names import normalise_name
from workspaces import access

NAME_LENGTH = 300
PERSON = "person"
# Two names of one type this alike (0 to 100, by edit distance) are worth a person's look.
ALIKE = 88.0
# Keys shorter than this resemble each other by chance.
SHORTEST_ALIKE = 6
PREFIX = 4
MOST_NEAR = 8
DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Name:
    """A mention with the key it is resolved under."""

    chunk_id: uuid.UUID
    start: int
    end: int
    surface: str
    type: str
    source: str
    key: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation between two resolved names."""

    source: str
    target: str
    chunk_id: uuid.UUID
    relation: FoundRelation


@dataclass(frozen=True, slots=True)
class Resolution:
    """What one document says, by entity key."""

    names: tuple[Name, ...]
    facts: tuple[Fact, ...]


def run(job: IngestionJob, _ports: Ports, _progress: Progress) -> StageOutcome:
    with access.in_workspace(job.workspace_id):
        rows = (
            ChunkExtraction.objects.in_workspace(job.workspace_id)
            .filter(chunk__version=job.version_id, chunk__workspace=job.workspace_id)
            .order_by("chunk__ordinal")
            .values_list("chunk_id", "payload")
        )
        found = [(chunk_id, Extraction.from_json(payload)) for chunk_id, payload in rows]
    resolution = resolve(found)
    with access.in_workspace(job.workspace_id):
        save(job, resolution)
    return StageOutcome(written=len(resolution.names))


def resolve(found: Sequence[tuple[uuid.UUID, Extraction]]) -> Resolution:
    """Give every mention its key, and every relation the keys of its ends."""
    keyed = [(chunk_id, extraction, _keys(extraction)) for chunk_id, extraction in found]
    full_names = stand_ins(
        (key, mention.type)
        for _, extraction, keys in keyed
        for key, mention in zip(keys, extraction.mentions, strict=True)
    )
    names: list[Name] = []
    facts: list[Fact] = []
    for chunk_id, extraction, raw_keys in keyed:
        keys = [full_names.get(key, key) for key in raw_keys]
        names += [
            Name(chunk_id, m.start, m.end, m.surface[:NAME_LENGTH], m.type, m.source, key)
            for m, key in zip(extraction.mentions, keys, strict=True)
            if key
        ]
        facts += [
            Fact(keys[r.source], keys[r.target], chunk_id, r)
            for r in extraction.relations
            if keys[r.source] and keys[r.target] and keys[r.source] != keys[r.target]
        ]
    return Resolution(tuple(names), tuple(facts))


def _keys(extraction: Extraction) -> list[str]:
    return [normalise_name(mention.surface)[:NAME_LENGTH] for mention in extraction.mentions]


def stand_ins(keys: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Single names of persons and the one full name in the document that contains each.

    >>> stand_ins([("ebenezer scrooge", "person"), ("scrooge", "person"), ("fred", "person")])
    {'scrooge': 'ebenezer scrooge'}
    """
    votes = Counter(keys)
    types: dict[str, str] = {}
    for (key, type_name), _ in votes.most_common():
        types.setdefault(key, type_name)
    people = {key for key, type_name in types.items() if type_name == PERSON and " " in key}
    holders: dict[str, set[str]] = defaultdict(set)
    for key in people:
        words = key.split()
        for word in (words[0], words[-1]):
            holders[word].add(key)
    return {
        word: next(iter(full))
        for word, full in holders.items()
        if len(full) == 1 and types.get(word) == PERSON
    }


def save(job: IngestionJob, resolution: Resolution) -> None:
    """Write the document's names and facts in place of those it had before."""
    forget(job)
    if not resolution.names:
        return
    by_key: dict[str, list[Name]] = defaultdict(list)
    for name in resolution.names:
        by_key[name.key].append(name)
    types = {
        key: Counter(n.type for n in names).most_common(1)[0][0] for key, names in by_key.items()
    }
    _save_entities(job.workspace_id, by_key, types)
    _save_mentions(job, resolution.names)
    _save_facts(job, resolution.facts)
    _save_suggestions(job.workspace_id, types)


def forget(job: IngestionJob) -> None:
    """Take away what the document said before, and mark who it said it of."""
    known = Mention.objects.in_workspace(job.workspace_id).filter(document=job.document_id)
    if not known.exists():
        return
    scope = {"workspace": job.workspace_id, "document": job.document_id}
    for statement in (
        sql.MARK_ENTITIES_OF_DOCUMENT,
        sql.MARK_RELATIONSHIPS_OF_DOCUMENT,
        sql.FORGET_EVIDENCE,
        sql.FORGET_MENTIONS,
    ):
        run_sql(statement, scope)


def _save_entities(
    workspace_id: uuid.UUID, by_key: dict[str, list[Name]], types: dict[str, str]
) -> None:
    keys = sorted(by_key)
    run_sql(
        sql.ADD_ENTITIES,
        {
            "workspace": workspace_id,
            "ids": [entity_id(workspace_id, key) for key in keys],
            "keys": keys,
            "names": [by_key[key][0].surface for key in keys],
            "types": [types[key] for key in keys],
        },
    )
    surfaces = sorted({(name.key, name.surface) for names in by_key.values() for name in names})
    run_sql(
        sql.ADD_ALIASES,
        {
            "workspace": workspace_id,
            "entities": [entity_id(workspace_id, key) for key, _ in surfaces],
            "keys": [normalise_name(surface)[:NAME_LENGTH] for _, surface in surfaces],
            "names": [surface for _, surface in surfaces],
        },
    )


def _save_mentions(job: IngestionJob, names: Sequence[Name]) -> None:
    run_sql(
        sql.ADD_MENTIONS,
        {
            "workspace": job.workspace_id,
            "document": job.document_id,
            "entities": [entity_id(job.workspace_id, name.key) for name in names],
            "chunks": [name.chunk_id for name in names],
            "starts": [name.start for name in names],
            "ends": [name.end for name in names],
            "surfaces": [name.surface for name in names],
            "types": [name.type for name in names],
            "sources": [name.source for name in names],
        },
    )


def _save_facts(job: IngestionJob, facts: Sequence[Fact]) -> None:
    if not facts:
        return
    ws = job.workspace_id
    pairs = sorted({(fact.source, fact.target) for fact in facts})
    run_sql(
        sql.ADD_RELATIONSHIPS,
        {
            "workspace": ws,
            "ids": [relationship_id(ws, *pair) for pair in pairs],
            "sources": [entity_id(ws, source) for source, _ in pairs],
            "targets": [entity_id(ws, target) for _, target in pairs],
        },
    )
    run_sql(
        sql.ADD_EVIDENCE,
        {
            "workspace": ws,
            "document": job.document_id,
            "relationships": [relationship_id(ws, fact.source, fact.target) for fact in facts],
            "chunks": [fact.chunk_id for fact in facts],
            "starts": [fact.relation.start for fact in facts],
            "ends": [fact.relation.end for fact in facts],
            "predicates": [fact.relation.predicate[:120] for fact in facts],
            "kinds": [fact.relation.kind for fact in facts],
            "strengths": [fact.relation.strength for fact in facts],
        },
    )


def _save_suggestions(workspace_id: uuid.UUID, types: dict[str, str]) -> None:
    keys = sorted(key for key in types if len(key) >= SHORTEST_ALIKE)
    near = run_sql(
        sql.NEAR_KEYS,
        {
            "workspace": workspace_id,
            "keys": keys,
            "types": [types[key] for key in keys],
            "lows": [key[:PREFIX] for key in keys],
            "highs": [key[:PREFIX] + "\U0010ffff" for key in keys],
            "most": MOST_NEAR,
        },
    )
    rows = suggestions(workspace_id, ((key, other, other_id) for key, other_id, other, _ in near))
    if rows:
        lefts, rights, scores, reasons = map(list, zip(*rows, strict=True))
        values = {"lefts": lefts, "rights": rights, "scores": scores, "reasons": reasons}
        run_sql(sql.ADD_SUGGESTIONS, {"workspace": workspace_id, **values})


def suggestions(
    workspace_id: uuid.UUID, pairs: Iterable[tuple[str, str, uuid.UUID]]
) -> list[tuple[uuid.UUID, uuid.UUID, float, str]]:
    """Left, right, score and reason of each pair of keys that look alike; left < right."""
    rows = {}
    for key, other, other_id in pairs:
        score = likeness(key, other)
        if score >= ALIKE:
            left, right = sorted([entity_id(workspace_id, key), other_id])
            rows[left, right] = (score / 100, f"The names are {score:.0f} % alike")
    return [(left, right, *rest) for (left, right), rest in sorted(rows.items())]


def likeness(left: str, right: str) -> float:
    """0 to 100; names that differ in any digit are never alike.

    >>> likeness("asr 1603", "asr 1605")
    0.0
    """
    if DIGITS.findall(left) != DIGITS.findall(right):
        return 0.0
    return fuzz.ratio(left, right)


def entity_id(workspace_id: uuid.UUID, key: str) -> uuid.UUID:
    """The id an entity of this name has in the workspace, whichever document names it first."""
    return _id(workspace_id, "entity", key)


def relationship_id(workspace_id: uuid.UUID, source: str, target: str) -> uuid.UUID:
    return _id(workspace_id, "relationship", source, target)


def _id(workspace_id: uuid.UUID, *parts: str) -> uuid.UUID:
    digest = blake2b("\0".join(parts).encode(), digest_size=16, key=workspace_id.bytes)
    return uuid.UUID(bytes=digest.digest())
