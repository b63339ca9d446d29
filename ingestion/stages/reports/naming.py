"""Keep every topic's title current: loads what topics may be named after, and stores their titles.

Topics beside each other are titled together (``titles``), and again when one of them changed or
when one above them was renamed; all others keep the title they have. Thousands beside each other
are titled each by itself. Large ones, of which a change moves little, are titled once a day, and a
new one beside them by itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, groupby
from struct import Struct
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from ingestion.models.communities import OTHER_TOPICS, other_topics_id
from ingestion.stage import ALL_AFTER
from ingestion.stages.reports import sections, titles_sql as sql
from ingestion.stages.reports.sections import Passage
from ingestion.stages.reports.titles import Name, Section, TitleSubject, titles
from kb_project.sql import Row, packed_sql, run_sql

MOST_NAMES: Final = 15
"""Members that a topic may be named after."""
MOST_TOGETHER: Final = 500
"""Topics beside each other that are told apart by their titles. Only what belongs to no topic has
more: nobody reads thousands side by side, and each change would title all of them again."""
MOST_MEMBERS: Final = 500
"""Members of a topic, by rank, whose mentions and relationships decide its title."""


LARGE: Final = 100_000
"""Members of topics beside each other, mostly the roots, that are titled once a day, and whose
chief ones are sought among the ``FIRST`` of all entities."""
FIRST: Final = 20_000
MENTION: Final = Struct("!16si")
"""The passage of a mention, and where it begins."""


@dataclass(frozen=True, slots=True)
class _Topic:
    """A community as it is titled now."""

    level: int
    parent: UUID | None
    id: UUID
    title: str
    is_changed: bool
    size: int
    titled_at: datetime | None
    beside: int
    """Topics with the same parent, this one among them."""


def renew_titles(workspace_id: UUID) -> int:
    """Title topics again where a change may show, and mark reports with another title.

    Returns how many titles changed. Call in the workspace's scope, inside ``bulk_plans``.
    """
    values = {"workspace": workspace_id, "most": MOST_TOGETHER}
    changed = defaultdict[int, list[_Topic]](list)
    for row in run_sql(sql.CHANGED, values):
        changed[row[0]].append(_Topic(*row))
    naming = _Naming(workspace_id, run_sql(sql.ABOVE, values))
    renamed: dict[UUID, str] = {}
    level, above = 0, set[UUID | None]()
    while above or level <= max(changed, default=-1):
        below = run_sql(sql.BELOW, {**values, "ids": list(above)}) if above else []
        others = [one for one in changed[level] if one.parent not in above]
        topics = [*others, *(_Topic(*row) for row in below)]
        above = naming.add_level(topics)
        renamed |= {one.id: now for one in topics if (now := naming.given[one.id]) != one.title}
        level += 1
    values = {
        "workspace": workspace_id,
        "ids": list(renamed),
        "titles": list(renamed.values()),
    }
    run_sql(sql.SAVE_TITLES, values)
    run_sql(sql.MARK_RENAMED, values)
    run_sql(sql.MARK_TITLED, {"workspace": workspace_id, "ids": naming.large})
    return len(renamed)


class _Naming:
    """Titles of a workspace's topics, given level by level from the broadest down."""

    def __init__(self, workspace_id: UUID, above: Sequence[Row]) -> None:
        """``above`` are the topics above those that changed, each with its parent and title."""
        self._workspace_id = workspace_id
        self._rest = other_topics_id(workspace_id)
        self._passages: dict[bytes, Passage] = {}
        # The titles above and of each topic; the topics with another title, or under one.
        self._paths: dict[UUID | None, tuple[str, ...]] = {None: (OTHER_TOPICS,)}
        self._renamed: set[UUID | None] = set()
        self.given: dict[UUID, str] = {}
        self.large: list[UUID] = []
        """The large topics that were titled now."""
        for id_, parent, title in above:
            self._add_path(id_, parent, title)

    def add_level(self, topics: Sequence[_Topic]) -> set[UUID | None]:
        """Title topics of one level; return those with another title, or under one."""
        siblings = {
            parent: list(group) for parent, group in groupby(topics, key=lambda one: one.parent)
        }
        due = {parent: self._due(parent, group) for parent, group in siblings.items()}
        ids = set(chain.from_iterable(due.values()))
        are_large = sum(one.size for one in topics if one.id in ids) >= LARGE
        subjects = self._subjects(list(ids), are_large=are_large)
        for parent, group in siblings.items():
            self.given |= {one.id: one.title for one in group}
            if wanted := [subjects[id_] for id_ in due[parent]]:
                self.large += due[parent] if _are_large(group) else []
                if group[0].beside <= MOST_TOGETHER:
                    kept = [one.title for one in group if one.id not in ids]
                    self.given |= titles(wanted, [*self._paths[parent], *kept])
                else:
                    for one in wanted:
                        self.given |= titles([one], self._paths[parent])
            self._add_paths(parent, group)
        return self._renamed.intersection(one.id for one in topics)

    def _due(self, parent: UUID | None, siblings: Sequence[_Topic]) -> list[UUID]:
        """The topics to be titled again."""
        own = [one for one in siblings if one.id != self._rest]
        if parent in self._renamed:
            due = own
        elif _are_large(siblings) and not any(map(_was_titled_long_ago, own)):
            due = [one for one in own if one.titled_at is None]
        else:
            new = [one for one in own if one.is_changed or not one.title]
            due = own if new and siblings[0].beside <= MOST_TOGETHER else new
        return [one.id for one in due]

    def _add_paths(self, parent: UUID | None, group: Iterable[_Topic]) -> None:
        is_renamed = parent in self._renamed
        for one in group:
            if one.id == self._rest:
                self.given[one.id] = OTHER_TOPICS
            self._add_path(one.id, parent, self.given[one.id])
            if is_renamed or self.given[one.id] != one.title:
                self._renamed.add(one.id)

    def _add_path(self, id_: UUID, parent: UUID | None, title: str) -> None:
        above = self._paths[parent]
        # What is gathered under the rest belongs together in nothing: no title is taken.
        self._paths[id_] = above if id_ == self._rest else (*above, title)

    def _subjects(
        self, ids: Sequence[UUID], *, are_large: bool = False
    ) -> Mapping[UUID, TitleSubject]:
        subjects = {id_: TitleSubject(id_) for id_ in ids}
        if not ids:
            return subjects
        values: dict[str, Any] = {
            "workspace": self._workspace_id,
            "ids": list(ids),
            "most_members": MOST_MEMBERS,
            "most_names": MOST_NAMES,
            "first": FIRST,
        }
        # Asked once: the largest topics have tens of thousands of members.
        chiefs = run_sql(sql.CHIEF_OF_LARGE, values) if are_large else []
        known = {community for community, _ in chiefs}
        chiefs += run_sql(sql.CHIEF, {**values, "ids": [id_ for id_ in ids if id_ not in known]})
        values["chief_of"] = [community for community, _ in chiefs]
        values["chiefs"] = [entity for _, entity in chiefs]
        mentions = [(id_, bytes(packed)) for id_, packed in packed_sql(sql.MENTIONS, values)]
        named = {chunk for _, packed in mentions for chunk, _ in MENTION.iter_unpack(packed)}
        missing = [UUID(bytes=chunk) for chunk in named - self._passages.keys()]
        found = sections.passages(self._workspace_id, missing)
        self._passages |= {id_.bytes: passage for id_, passage in found.items()}
        for id_, packed in mentions:
            subjects[id_].mentions = self._counted(packed)
        for (id_, links), group in groupby(run_sql(sql.NAMES, values), key=lambda row: row[:2]):
            subjects[id_].links = links
            subjects[id_].names = [Name(*row[2:]) for row in group]
        return subjects

    def _counted(self, packed: bytes) -> Counter[Section]:
        """How many of the mentions are in each section: few passages have more than one."""
        found: Counter[Section] = Counter()
        divided: dict[bytes, Passage] = {}
        for chunk, number in Counter(chunk for chunk, _ in MENTION.iter_unpack(packed)).items():
            passage = self._passages.get(chunk)
            if passage and len(passage.sections) > 1:
                divided[chunk] = passage
            elif passage:
                found[passage.sections[0]] = number
        if divided:
            found.update(
                divided[chunk].at(start)
                for chunk, start in MENTION.iter_unpack(packed)
                if chunk in divided
            )
        return found


def _are_large(siblings: Sequence[_Topic]) -> bool:
    return siblings[0].beside <= MOST_TOGETHER and sum(one.size for one in siblings) >= LARGE


def _was_titled_long_ago(one: _Topic) -> bool:
    return one.titled_at is not None and timezone.now() - one.titled_at >= ALL_AFTER
