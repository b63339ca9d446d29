"""Match new clusters with existing communities, and find what changes.

A community keeps its id, and with it its report and every link to it, as long as most of its
members stay together.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid5

from ingestion.models.communities import other_topics_id
from ingestion.stages.communities.clustering import Cluster

# Shared members divided by the members of both: below this it is a different community.
LEAST_OVERLAP: Final = 0.3

Membership = tuple[UUID, UUID]


@dataclass(frozen=True, slots=True)
class Group:
    """A community with its members, including those of sub-communities.

    ``size`` is what the row says: it differs from the members if an entity has been deleted.
    """

    id: UUID
    level: int
    parent: UUID | None
    members: frozenset[UUID]
    size: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What has to be written; ``changed`` are the communities that need a new report."""

    added: list[Group] = field(default_factory=list)
    moved: list[Group] = field(default_factory=list)
    removed: list[UUID] = field(default_factory=list)
    changed: list[UUID] = field(default_factory=list)
    joined: list[Membership] = field(default_factory=list)
    left: list[Membership] = field(default_factory=list)

    def count(self) -> int:
        return len(self.added) + len(self.moved) + len(self.removed)


def named(
    clusters: Sequence[Cluster], old: Mapping[UUID, Group], workspace_id: UUID
) -> dict[UUID, Group]:
    """The clusters as communities, by id, parents before children."""
    ids = _kept_ids(clusters, old, workspace_id)
    taken = {*ids.values(), *old}
    for place, cluster in enumerate(clusters):
        if place not in ids:
            ids[place] = _new_id(cluster, workspace_id, taken)
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


def changes(old: Mapping[UUID, Group], new: Mapping[UUID, Group]) -> Changes:
    """The difference, in an order that depends only on the ids."""
    found = Changes(removed=sorted(old.keys() - new.keys()))
    children_before, children_now = _children(old.values()), _children(new.values())
    for group in new.values():
        before = old.get(group.id)
        if before is None:
            found.added.append(group)
        elif _place(before) != _place(group):
            found.moved.append(group)
        members = before.members if before else frozenset()
        found.joined.extend((group.id, entity) for entity in sorted(group.members - members))
        found.left.extend((group.id, entity) for entity in sorted(members - group.members))
        is_same = before is not None and group.members == members and before.size == group.size
        if not is_same or children_before[group.id] != children_now[group.id]:
            found.changed.append(group.id)
    return found


def _kept_ids(
    clusters: Sequence[Cluster], old: Mapping[UUID, Group], workspace_id: UUID
) -> dict[int, UUID]:
    """Map each cluster's index to the id it keeps: the closest pairs first, each side used once."""
    rest = other_topics_id(workspace_id)
    ids = {place: rest for place, cluster in enumerate(clusters) if cluster.is_rest}
    used = {rest}
    for _, place, community in sorted(_overlaps(clusters, old)):
        if place not in ids and community not in used:
            ids[place] = community
            used.add(community)
    return ids


def _overlaps(
    clusters: Sequence[Cluster], old: Mapping[UUID, Group]
) -> Iterable[tuple[tuple[float, int], int, UUID]]:
    """((distance, levels apart), index, old id) of every pair that is close enough."""
    homes: defaultdict[UUID, list[UUID]] = defaultdict(list)
    for group in old.values():
        for entity in group.members:
            homes[entity].append(group.id)
    for place, cluster in enumerate(clusters):
        shared = Counter(home for entity in cluster.members for home in homes.get(entity, ()))
        for community, common in shared.items():
            group = old[community]
            overlap = common / (len(cluster.members) + len(group.members) - common)
            if overlap >= LEAST_OVERLAP:
                yield (1 - overlap, abs(cluster.level - group.level)), place, community


def _new_id(cluster: Cluster, workspace_id: UUID, taken: set[UUID]) -> UUID:
    """Derive an id from the members, so that the same graph gives the same ids."""
    members = "".join(entity.hex for entity in sorted(cluster.members))
    digest = hashlib.sha256(members.encode()).hexdigest()
    name = f"community {cluster.level} {digest}"
    while (found := uuid5(workspace_id, name)) in taken:
        name += " again"
    return found


def _children(groups: Iterable[Group]) -> defaultdict[UUID | None, set[UUID]]:
    children: defaultdict[UUID | None, set[UUID]] = defaultdict(set)
    for group in groups:
        children[group.parent].add(group.id)
    return children


def _place(group: Group) -> tuple[int, UUID | None, int]:
    return group.level, group.parent, group.size
