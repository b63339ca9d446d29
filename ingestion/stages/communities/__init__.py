"""Communities: group a workspace's entities into topics and sub-topics.

In: all entities and relationships of the workspace.  Out: Community rows with their members, level
0 being the root; every entity belongs to one community of level 0.
Safe to repeat: the same graph gives the same communities, and only differences are written, in one
transaction. Communities stay as they are, and only what is around a change moves; the whole graph
is clustered again when it has changed much (``keeping``). A community whose members or
sub-communities changed is marked for a new report. It keeps its id, and with it its report and
every link to it, as long as most of its members stay together.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final
from uuid import UUID, uuid5

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from ingestion.models import Clustering, IngestionJob
from ingestion.models.communities import other_topics_id
from ingestion.stage import REFRESH_STATISTICS, Progress, StageOutcome
from ingestion.stages.communities import keeping, sql
from ingestion.stages.communities.clustering import Cluster, hierarchy
from ingestion.stages.communities.graph import PLACES, Graph, Indexes, Weights
from kb_project.graph.compact import ID_BYTES, NOWHERE, Ids, IdsByPlace
from kb_project.ports import Ports
from kb_project.sql import Columns, bulk_plans, copy_into, packed_sql, run_sql, temporary_rows
from workspaces import access

# Shared members divided by the members of both: below this it is a different community.
LEAST_OVERLAP: Final = 0.3

LARGE: Final = 10_000
"""Entities that are more than three sentences can name: what they rest on need not be asked."""

Id = bytes
"""Of a community: an object of its own for each of a hundred thousand ids is hashed in Python."""
Membership = tuple[Id, int]


@dataclass(frozen=True, slots=True)
class Group:
    """A community with its members, including those of sub-communities, by their numbers.

    ``size`` is what the row says: it differs from the members if an entity has been deleted.
    """

    id: Id
    level: int
    parent: Id | None
    members: frozenset[int]
    size: int

    @property
    def without_members(self) -> tuple[int, Id | None, int]:
        return self.level, self.parent, self.size


@dataclass(frozen=True, slots=True)
class Changes:
    """What has to be written; ``changed`` are the communities that need a new report."""

    added: list[Group] = field(default_factory=list)
    moved: list[Group] = field(default_factory=list)
    removed: list[Id] = field(default_factory=list)
    changed: list[Id] = field(default_factory=list)
    joined: list[Membership] = field(default_factory=list)
    left: list[Membership] = field(default_factory=list)


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id = job.workspace_id
    with access.in_workspace(workspace_id), bulk_plans():
        # Entities made since then have no number, and wait for the next refresh.
        [(ids,)] = packed_sql(sql.ENTITIES, {"workspace": workspace_id})
        entities = Ids.of_bytes(bytes(ids))
        old = _load(workspace_id, entities)
        graph = _graph(workspace_id, entities)
        clusters = _clusters(workspace_id, graph, as_clusters(old, workspace_id), entities)
        by_place = IdsByPlace(bytes(ids))
        new = identified(clusters, old, workspace_id, by_place)
        found = changes(old, new)
        _save(workspace_id, found, by_place)
    progress(1, 1)
    return StageOutcome(written=len(found.added) + len(found.moved) + len(found.removed))


def _clusters(
    workspace_id: UUID, graph: Graph, old: Sequence[Cluster], entities: Ids
) -> Sequence[Cluster]:
    """The earlier clusters with what changed since; those of the whole graph when that is due."""
    names = [one.name for one in fields(keeping.Figures)]
    if last := Clustering.objects.in_workspace(workspace_id).values(*names).first():
        unclear = graph.outside_largest(LARGE, keeping.gathered(old))
        told = graph.told(*_sentences(workspace_id, entities, unclear))
        clusters, now = keeping.brought_up_to_date(told, old)
        if not keeping.is_due(now, keeping.Figures(**last)):
            return clusters
    graph = graph.told(*_sentences(workspace_id, entities, None))
    clusters, now = keeping.kept_or_new(hierarchy(graph), old, graph)
    Clustering.objects.update_or_create(workspace_id=workspace_id, defaults=asdict(now))
    return clusters


def _load(workspace_id: UUID, entities: Ids) -> dict[Id, Group]:
    """The communities by id, parts before what they are part of."""
    rows = packed_sql(sql.COMMUNITIES, {"workspace": workspace_id})
    read = [members for *_, members in rows if members is not None]
    places = entities.places_packed(b"".join(read)).tolist()
    found: dict[Id, Group] = {}
    parts: defaultdict[Id | None, list[frozenset[int]]] = defaultdict(list)
    first = 0
    for id_, level, parent, size, packed in rows:
        if packed is None:
            members = frozenset[int]().union(*parts[id_])
        else:
            last = first + len(packed) // ID_BYTES
            members = frozenset(places[first:last])
            members = members - {NOWHERE} if NOWHERE in members else members
            first = last
        found[id_] = Group(id_, level, parent, members, size)
        parts[parent].append(members)
    return found


def _graph(workspace_id: UUID, entities: Ids) -> Graph:
    """The workspace's graph, without the sentences that it rests on."""
    return Graph.of(len(entities), *_links(workspace_id, entities))


def _links(workspace_id: UUID, entities: Ids) -> tuple[Indexes, Weights]:
    [(sources, targets, weights)] = packed_sql(sql.LINKS, {"workspace": workspace_id})
    ends, are_known = _numbered(entities, sources, targets)
    return ends, np.frombuffer(weights, ">f8")[are_known].astype(float)


def _sentences(
    workspace_id: UUID, entities: Ids, nodes: Sequence[int] | None
) -> tuple[Indexes, Indexes]:
    """Both ends, and the first and last sentence, of the relationships of some entities, or all."""
    of = None if nodes is None else [entities[node] for node in nodes]
    values = {"workspace": workspace_id, "places": PLACES, "entities": of}
    statement = sql.SENTENCES if nodes is None else sql.SENTENCES_OF
    [(sources, targets, sentences)] = packed_sql(statement, values)
    ends, are_known = _numbered(entities, sources, targets)
    return ends, np.frombuffer(sentences, ">i8").reshape(-1, 2)[are_known].astype(np.int64)


def _numbered(entities: Ids, sources: bytes, targets: bytes) -> tuple[Indexes, NDArray[np.bool_]]:
    """Both ends of those links whose ends have numbers, and which these are."""
    ends = np.stack([entities.places_packed(bytes(one)) for one in (sources, targets)], axis=1)
    are_known = (ends != NOWHERE).all(axis=1)
    return ends[are_known], are_known


def _save(workspace_id: UUID, found: Changes, entities: Sequence[UUID]) -> None:
    workspace = {"workspace": workspace_id}
    if found.removed:
        run_sql(sql.REMOVE, {**workspace, "ids": [*map(_uuid, found.removed)]})
    _add(workspace_id, found.added)
    _move(workspace, found.moved)
    pair: Columns = {"community_id": "uuid", "entity_id": "uuid"}
    if found.left:
        with temporary_rows("left_members", pair, _named(found.left, entities)):
            run_sql(sql.LEAVE, workspace)
    if found.joined:
        with temporary_rows("new_members", pair, _named(found.joined, entities)):
            run_sql(sql.JOIN, workspace)
    run_sql(sql.MARK, {**workspace, "ids": [*map(_uuid, found.changed)]})
    # The members' constraints are checked as the transaction ends: each by reading all communities,
    # if the table was empty when it was last looked at.
    run_sql(REFRESH_STATISTICS)
    run_sql(sql.NOTE_CHANGED, workspace)


def _named(
    memberships: Iterable[Membership], entities: Sequence[UUID]
) -> Iterator[tuple[UUID | None, UUID]]:
    return ((_uuid(community), entities[member]) for community, member in memberships)


def _uuid(id_: Id | None) -> UUID | None:
    return None if id_ is None else UUID(bytes=id_)


def _add(workspace_id: UUID, groups: Sequence[Group]) -> None:
    now = timezone.now()
    rows = [
        (_uuid(one.id), workspace_id, one.level, _uuid(one.parent), one.size, True, now)
        for one in groups
    ]
    copy_into(
        "ingestion_community",
        {
            "id": "uuid",
            "workspace_id": "uuid",
            "level": "int2",
            "parent_id": "uuid",
            "size": "int4",
            "is_changed": "bool",
            "created_at": "timestamptz",
        },
        rows,
    )


def _move(workspace: dict[str, Any], groups: Sequence[Group]) -> None:
    if not groups:
        return
    columns: Columns = {"id": "uuid", "level": "int2", "parent_id": "uuid", "size": "int4"}
    rows = ((_uuid(one.id), one.level, _uuid(one.parent), one.size) for one in groups)
    with temporary_rows("moved_communities", columns, rows):
        run_sql(sql.MOVE, workspace)


def as_clusters(old: Mapping[Id, Group], workspace_id: UUID) -> list[Cluster]:
    """The communities as clusters, parents before children, in an order that their ids decide."""
    ordered = sorted(old.values(), key=lambda one: (one.level, one.id))
    place = {one.id: number for number, one in enumerate(ordered)}
    rest = other_topics_id(workspace_id).bytes
    return [
        Cluster(
            one.level,
            one.members,
            None if one.parent is None else place[one.parent],
            is_rest=one.id == rest,
        )
        for one in ordered
    ]


# --- which community a cluster is -----------------------------------------------------------------
def identified(
    clusters: Sequence[Cluster],
    old: Mapping[Id, Group],
    workspace_id: UUID,
    entities: Sequence[UUID],
) -> dict[Id, Group]:
    """The clusters as communities, by id, parents before children."""
    ids = _kept_ids(clusters, old, workspace_id)
    taken = {*ids.values(), *old}
    for place, cluster in enumerate(clusters):
        if place not in ids:
            members = sorted(entities[member] for member in cluster.members)
            ids[place] = _new_id(members, cluster.level, workspace_id, taken)
            taken.add(ids[place])
    return {
        ids[place]: Group(
            id=ids[place],
            level=cluster.level,
            parent=None if cluster.parent is None else ids[cluster.parent],
            members=cluster.members,
            size=len(cluster.members),
        )
        for place, cluster in enumerate(clusters)
    }


def _kept_ids(
    clusters: Sequence[Cluster], old: Mapping[Id, Group], workspace_id: UUID
) -> dict[int, Id]:
    """Map each cluster's index to the id it keeps: the closest pairs first, each side used once."""
    rest = other_topics_id(workspace_id).bytes
    ids = {place: rest for place, cluster in enumerate(clusters) if cluster.is_rest}
    # Most have not changed, and nothing is closer than the same members at the same level.
    same = {(one.level, one.members): one.id for one in old.values() if one.id != rest}
    for place, cluster in enumerate(clusters):
        if place not in ids and (found := same.pop((cluster.level, cluster.members), None)):
            ids[place] = found
    used = {rest, *ids.values()}
    others = [(place, one) for place, one in enumerate(clusters) if place not in ids]
    left = sorted((one for one in old.values() if one.id not in used), key=lambda one: one.id)
    for _, place, number in sorted(_overlaps(others, left)):
        community = left[number].id
        if place not in ids and community not in used:
            ids[place] = community
            used.add(community)
    return ids


def _overlaps(
    clusters: Sequence[tuple[int, Cluster]], old: Sequence[Group]
) -> Iterable[tuple[tuple[float, int], int, int]]:
    """((distance, levels apart), index, index of the old one) of every pair close enough."""
    homes: defaultdict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(old):
        for entity in group.members:
            homes[entity].append(number)
    for place, cluster in clusters:
        shared = Counter(home for entity in cluster.members for home in homes.get(entity, ()))
        for number, common in shared.items():
            group = old[number]
            overlap = common / (len(cluster.members) + len(group.members) - common)
            if overlap >= LEAST_OVERLAP:
                yield (1 - overlap, abs(cluster.level - group.level)), place, number


def _new_id(members: Sequence[UUID], level: int, workspace_id: UUID, taken: set[Id]) -> Id:
    """Derive an id from the members, so that the same graph gives the same ids."""
    digest = hashlib.sha256("".join(entity.hex for entity in members).encode()).hexdigest()
    name = f"community {level} {digest}"
    while (found := uuid5(workspace_id, name).bytes) in taken:
        name += " again"
    return found


# --- what changes ---------------------------------------------------------------------------------
def changes(old: Mapping[Id, Group], new: Mapping[Id, Group]) -> Changes:
    """The difference, in an order that depends only on the ids."""
    found = Changes(removed=sorted(old.keys() - new.keys()))
    has_other_parts = _with_other_parts(old, new)
    for group in new.values():
        before = old.get(group.id)
        if before is None:
            found.added.append(group)
        elif before.without_members != group.without_members:
            found.moved.append(group)
        members = before.members if before else frozenset[int]()
        # Of most, they are not even copied: no need to look at each.
        if has_others := group.members is not members and group.members != members:
            found.joined.extend((group.id, entity) for entity in sorted(group.members - members))
            found.left.extend((group.id, entity) for entity in sorted(members - group.members))
        is_same = before is not None and not has_others and before.size == group.size
        if not is_same or group.id in has_other_parts:
            found.changed.append(group.id)
    return found


def _with_other_parts(old: Mapping[Id, Group], new: Mapping[Id, Group]) -> set[Id | None]:
    """The parents that communities were added to, or taken from."""
    found = {one.parent for one in new.values() if one.id not in old}
    for before in old.values():
        now = new.get(before.id)
        if now is None or now.parent != before.parent:
            found |= {before.parent, now.parent if now else None}
    return found
