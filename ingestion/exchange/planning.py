"""What an import would do, row by row: create, use what is here, or leave out, and why.

An entity of the file is the one here with its id, its name or one of its aliases. A difference that
only a person can judge is a conflict: ``Choices`` say what becomes of those. Call ``plan_of`` in
the workspace's scope.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from ingestion.curation.validation import (
    DESCRIPTION_LENGTH,
    KEYWORD_LENGTH,
    MOST_KEYWORDS,
    TYPE_LENGTH,
    name_given,
    without_unseen,
)
from ingestion.exchange import sql
from ingestion.exchange.plans import (
    Choices,
    Conflicts,
    Outcome,
    Plan,
    PlannedEntity,
    PlannedFact,
)
from ingestion.exchange.records import batches
from ingestion.models import Entity, Relationship
from ingestion.parsers.graph_rows import EntityRow, FactRow, GraphFile
from ingestion.resolution.decisions import load_resolution
from ingestion.resolution.keys import Ref, entity_id, key_of_name, link_id
from ingestion.resolution.overrides import NameResolution
from kb_project.errors import InputError
from kb_project.sql import bulk_plans, run_sql
from workspaces.models import Workspace

BATCH: Final = 5000


def plan_of(workspace: Workspace, graph: GraphFile, choices: Choices) -> Plan:
    """Compare the file with the workspace."""
    with bulk_plans():
        return _Planner(workspace, graph, choices).plan()


@dataclass(frozen=True, slots=True)
class _Holder:
    """An entity here."""

    id: uuid.UUID
    ref: Ref
    name: str
    type: str
    mentions: int


class _Planner:
    def __init__(self, workspace: Workspace, graph: GraphFile, choices: Choices) -> None:
        self._workspace = workspace
        self._graph = graph
        self._choices = choices
        self._resolution: NameResolution = load_resolution(workspace.pk)
        self._entities: list[PlannedEntity] = []
        self._by_id: dict[str, PlannedEntity] = {}
        """By the file's own ids, and by the keys of names."""
        self._by_key: dict[str, PlannedEntity] = {}
        self._aliases_left = 0

    def plan(self) -> Plan:
        keys = {key for key in map(key_of_name, self._names()) if key}
        self._holders, self._here = self._read_holders(keys)
        self._senses = self._read_senses(keys)
        for row in self._graph.entities:
            self._add_entity(row)
        facts, joined = self._facts()
        self._choose_aliases()
        return Plan(self._entities, facts, joined, self._aliases_left)

    # --- what is here -----------------------------------------------------------------------------
    def _names(self) -> Iterator[str]:
        for entity in self._graph.entities:
            yield from (entity.name, *entity.aliases)
        for fact in self._graph.facts:
            yield from (fact.source_name or fact.source, fact.target_name or fact.target)

    def _read_holders(
        self, keys: Iterable[str]
    ) -> tuple[defaultdict[str, list[_Holder]], dict[str, _Holder]]:
        by_key: defaultdict[str, list[_Holder]] = defaultdict(list)
        for key, *row in self._rows(sql.HOLDERS, keys):
            by_key[key].append(_holder(*row))
        ids = [one.id for one in self._graph.entities]
        ids += [end for one in self._graph.facts for end in (one.source, one.target)]
        wanted = {found for found in map(_uuid, ids) if found}
        here: dict[str, _Holder] = {}
        rows = Entity.objects.in_workspace(self._workspace)
        for batch in batches(wanted, BATCH):
            found = rows.filter(pk__in=batch)
            columns = found.values_list("id", "key", "sense", "name", "type", "mention_count")
            here |= {str(row[0]): _holder(*row) for row in columns}
        return by_key, here

    def _read_senses(self, keys: Iterable[str]) -> dict[str, int]:
        return dict(self._rows(sql.LAST_SENSES, keys))

    def _rows(self, query: LiteralString, keys: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        for batch in batches(sorted(keys), BATCH):
            yield from run_sql(query, {"workspace": self._workspace.pk, "keys": batch})

    # --- entities ---------------------------------------------------------------------------------
    def _add_entity(self, row: EntityRow) -> PlannedEntity:
        planned = PlannedEntity(row.row, row.name, "", without_unseen(row.description), Outcome.NEW)
        self._entities.append(planned)
        self._by_id.setdefault(row.id, planned)
        try:
            planned.name, key = name_given(row.name)
            planned.type = _type_of(row.type)
        except InputError as error:
            return _leave_out(planned, error.happened)
        if len(planned.description) > DESCRIPTION_LENGTH:
            number = f"{len(planned.description):,}"
            return _leave_out(planned, f"The description has {number} characters.")
        planned.names = self._aliases_of(row.aliases, key)
        if twin := self._by_key.get(key):
            self._conflict(planned, key, f"Row {twin.row} has the same name.", twin)
        else:
            self._match(planned, row, key)
            self._by_key[key] = planned
        return planned

    def _aliases_of(self, aliases: Iterable[str], own: str) -> dict[str, str]:
        names: dict[str, str] = {}
        for alias in aliases:
            try:
                name, key = name_given(alias, "alias")
            except InputError:
                self._aliases_left += 1
                continue
            if key != own:
                names[key] = name
        return names

    def _match(self, planned: PlannedEntity, row: EntityRow, key: str) -> None:
        found = self._found(row, key, planned.names)
        if not found:
            self._create(planned, key)
            return
        if len(found) > 1:
            self._conflict(planned, key, f"{len(found)} entities here have this name.", found[0])
            return
        [one] = found
        if planned.type and one.type and planned.type != one.type.lower():
            self._conflict(planned, key, f"The entity here is of the type '{one.type}'.", one)
            return
        planned.outcome = Outcome.MATCHED
        planned.ref, planned.other = one.ref, one.id
        planned.reason = "" if one.name == planned.name else f"It is here as '{one.name}'."

    def _found(self, row: EntityRow, key: str, aliases: Iterable[str]) -> list[_Holder]:
        """The entities here that it may be, the most mentioned first."""
        if row.id in self._here:
            return [self._here[row.id]]
        by_name = self._holders.get(key) or self._resolved(key)
        if by_name:
            return _ranked(by_name)
        return _ranked([one for alias in aliases for one in self._holders.get(alias, ())])

    def _resolved(self, key: str) -> list[_Holder]:
        """The entity that the name resolves to by a decision, though no document uses it."""
        ref = self._resolution.resolve((key, 0))
        if ref == (key, 0):
            return []
        rows = Entity.objects.in_workspace(self._workspace).filter(key=ref[0], sense=ref[1])
        columns = ("id", "key", "sense", "name", "type", "mention_count")
        return [_holder(*row) for row in rows.values_list(*columns)]

    def _create(self, planned: PlannedEntity, key: str) -> None:
        planned.is_new = True
        planned.ref = self._free_ref(key)
        planned.other = entity_id(self._workspace.pk, *planned.ref)

    def _free_ref(self, key: str) -> Ref:
        """An unused entity of that name; a deleted one comes back with what documents say."""
        if (key, 0) in self._resolution.deleted and key not in self._by_key:
            return key, 0
        sense = self._senses[key] + 1 if key in self._senses else 0
        self._senses[key] = sense
        return key, sense

    def _conflict(
        self, planned: PlannedEntity, key: str, reason: str, other: PlannedEntity | _Holder
    ) -> None:
        planned.outcome, planned.reason = Outcome.CONFLICT, reason
        match self._choices.conflicts:
            case Conflicts.SEPARATE:
                self._create(planned, key)
            case Conflicts.MATCH:
                planned.ref = other.ref
                planned.other = other.id if isinstance(other, _Holder) else other.other
            case Conflicts.LEAVE_OUT:
                planned.other = other.id if isinstance(other, _Holder) else None

    def _choose_aliases(self) -> None:
        """Let each alias have one entity: the first, unless it is the name of another one."""
        taken: dict[str, Ref] = {}
        for one in self._entities:
            if one.ref is None:
                one.names = {}
            kept = {}
            for key, name in one.names.items():
                if self._is_free(key, one) and taken.setdefault(key, one.ref or ("", 0)) == one.ref:
                    kept[key] = name
                elif not self._has(key, one):
                    self._aliases_left += 1
            one.names = kept

    def _is_free(self, key: str, one: PlannedEntity) -> bool:
        holder = self._by_key.get(key)
        is_other = holder is not None and holder.ref != one.ref
        return not is_other and not self._holders.get(key) and not self._resolved(key)

    def _has(self, key: str, one: PlannedEntity) -> bool:
        return any(holder.ref == one.ref for holder in self._holders.get(key, ()))

    # --- facts ------------------------------------------------------------------------------------
    def _facts(self) -> tuple[list[PlannedFact], int]:
        facts = [self._fact(row) for row in self._graph.facts]
        first: dict[tuple[Ref, Ref], PlannedFact] = {}
        joined = 0
        for one in facts:
            if one.ends is None:
                continue
            if one.ends in first:
                joined += 1
                _join(first[one.ends], one)
                one.ends = None
            else:
                first[one.ends] = one
        self._find_existing(first)
        return [one for one in facts if one.ends or one.outcome != Outcome.NEW], joined

    def _fact(self, row: FactRow) -> PlannedFact:
        predicates = tuple(_shortened(word) for word in row.predicates[:MOST_KEYWORDS])
        source = self._end(row.source, row.source_name, row.source_type)
        target = self._end(row.target, row.target_name, row.target_type)
        planned = PlannedFact(
            row=row.row,
            source=_shown(source, row.source_name or row.source),
            target=_shown(target, row.target_name or row.target),
            predicates=predicates,
            description=without_unseen(row.description),
            outcome=Outcome.NEW,
        )
        reason = _why_not(planned, source, target)
        if reason:
            planned.outcome, planned.reason = Outcome.LEFT_OUT, reason
        elif isinstance(source, (PlannedEntity, _Holder)) and isinstance(
            target, (PlannedEntity, _Holder)
        ):
            planned.ends = (source.ref or ("", 0), target.ref or ("", 0))
        return planned

    def _end(self, given: str, name: str, type_: str) -> PlannedEntity | _Holder | None:
        """The entity at an end: by the file's id, by an id here, or by its name."""
        if found := self._by_id.get(given) or self._here.get(given):
            return found
        text = name or given
        key = key_of_name(text)
        if found := self._by_key.get(key):
            return found
        here = _ranked(self._holders.get(key) or self._resolved(key)) if key else []
        if here:
            return here[0]
        if not self._choices.makes_missing or not text:
            return None
        made = self._add_entity(EntityRow(0, given, text, type_, (), ""))
        made.reason = made.reason or "Only facts name it."
        return made

    def _find_existing(self, facts: dict[tuple[Ref, Ref], PlannedFact]) -> None:
        ids = {link_id(self._workspace.pk, *ends): one for ends, one in facts.items()}
        rows = Relationship.objects.in_workspace(self._workspace)
        for batch in batches(ids, BATCH):
            for pk in rows.filter(pk__in=batch).values_list("pk", flat=True):
                ids[pk].outcome = Outcome.MATCHED
                ids[pk].reason = "This fact is here already and stays as it is."


# --- small parts ----------------------------------------------------------------------------------
def _holder(id_: uuid.UUID, key: str, sense: int, name: str, type_: str, mentions: int) -> _Holder:
    return _Holder(id_, (key, sense), name, type_, mentions)


def _ranked(holders: Iterable[_Holder]) -> list[_Holder]:
    found = {one.id: one for one in holders}.values()
    return sorted(found, key=lambda one: (-one.mentions, one.ref))


def _leave_out(planned: PlannedEntity, reason: str) -> PlannedEntity:
    planned.outcome, planned.reason = Outcome.LEFT_OUT, reason
    return planned


def _type_of(text: str) -> str:
    """The type in small letters, '' if there is none. Raises InputError if it is too long."""
    kind = " ".join(without_unseen(text).split()).lower()
    if len(kind) > TYPE_LENGTH:
        raise InputError(f"The type has {len(kind):,} characters.")
    return kind


def _shortened(word: str) -> str:
    word = " ".join(without_unseen(word).split())
    return word if len(word) <= KEYWORD_LENGTH else f"{word[: KEYWORD_LENGTH - 1]}…"


def _shown(end: PlannedEntity | _Holder | None, given: str) -> str:
    return end.name if end else given


def _why_not(
    fact: PlannedFact,
    source: PlannedEntity | _Holder | None,
    target: PlannedEntity | _Holder | None,
) -> str:
    """Why a fact is left out, '' if it is not."""
    for end, name in ((source, fact.source), (target, fact.target)):
        if end is None:
            return (
                f"There is no entity '{name[:80]}' in the file or here."
                if name
                else ("It lacks one of its two entities.")
            )
        if end.ref is None:
            return f"The entity '{name[:80]}' is left out."
    if source and target and source.ref == target.ref:
        return "It would link an entity to itself."
    if len(fact.description) > DESCRIPTION_LENGTH:
        return f"The description has {len(fact.description):,} characters."
    return ""


def _join(first: PlannedFact, other: PlannedFact) -> None:
    """Add what another fact between the same two entities says."""
    words = dict.fromkeys((*first.predicates, *other.predicates))
    first.predicates = tuple(words)[:MOST_KEYWORDS]
    if other.description and other.description not in first.description:
        both = f"{first.description}\n{other.description}".strip()
        first.description = both if len(both) <= DESCRIPTION_LENGTH else first.description


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text) if len(text) == 36 else None
    except ValueError:
        return None
