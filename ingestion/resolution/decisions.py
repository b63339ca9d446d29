"""Decisions about names: the one place that loads, compares and undoes them.

People and models decide whether two names are one entity, and what a name means in a document
(``ResolutionDecision``). People also reassign mentions (``MentionPlacement``) and create, edit and
delete entities and relationships (``EntityRuling``, ``RelationshipRuling``), and correct claims
(``ClaimRuling``); ``ingestion.resolution.recorder`` records these. Decisions about conflicts
(``ConflictRuling``) are in ``ingestion.resolution.conflicts``. A decision is active until
``undone_at``; of several about one subject, a person's counts before a model's, then the latest.
``ingestion.resolution.overrides`` combines those that count into how names resolve.

Call everything here in the workspace's scope.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, LiteralString, TypeVar

from django.db.models import Q, QuerySet
from django.utils import timezone

from ingestion.models import (
    ClaimRuling,
    ConflictRuling,
    Entity,
    EntityRuling,
    EventKind,
    HistoryEvent,
    MentionPlacement,
    MergeSuggestion,
    RelationshipRuling,
    ResolutionDecision,
    Verdict,
)
from ingestion.resolution.keys import EntityPair, KeyPair, Ref, RefPair, entity_id, pair_of
from ingestion.resolution.overrides import NameResolution, in_force, resolve_names
from kb_project.sql import run_sql

_Subject = TypeVar("_Subject")
DECISIONS: Final = (
    ResolutionDecision,
    MentionPlacement,
    EntityRuling,
    RelationshipRuling,
    ClaimRuling,
    ConflictRuling,
)
STATES: Final[dict[str, MergeSuggestion.State]] = {
    Verdict.SAME: MergeSuggestion.State.ACCEPTED,
    Verdict.DIFFERENT: MergeSuggestion.State.REJECTED,
    Verdict.UNSURE: MergeSuggestion.State.OPEN,
}
SUGGESTED: Final = ("score", "reason", "reasons", "effect", "state")

# The kinds that there are: mostly none, and one query of them costs no less than this one of all.
KINDS_IN_FORCE: Final[LiteralString] = """
SELECT EXISTS (SELECT FROM ingestion_resolutiondecision
                WHERE workspace_id = %(workspace)s AND undone_at IS NULL),
       EXISTS (SELECT FROM ingestion_mentionplacement
                WHERE workspace_id = %(workspace)s AND undone_at IS NULL),
       EXISTS (SELECT FROM ingestion_entityruling
                WHERE workspace_id = %(workspace)s AND undone_at IS NULL
                  AND field = ANY(%(fields)s::text[])),
       EXISTS (SELECT FROM ingestion_relationshipruling
                WHERE workspace_id = %(workspace)s AND undone_at IS NULL
                  AND field = ANY(%(fields)s::text[]))
"""
# The greatest sense ever used for a name, including undone decisions and entities without mentions;
# null if there is none.
LAST_SENSE: Final[LiteralString] = """
SELECT max(sense) FROM (
    SELECT sense FROM ingestion_entity WHERE workspace_id = %(workspace)s AND key = %(key)s
     UNION ALL
    SELECT sense FROM ingestion_entityruling WHERE workspace_id = %(workspace)s AND key = %(key)s
     UNION ALL
    SELECT target_sense FROM ingestion_mentionplacement
     WHERE workspace_id = %(workspace)s AND target_key = %(key)s
     UNION ALL
    SELECT greatest(sense, left_sense) FROM ingestion_resolutiondecision
     WHERE workspace_id = %(workspace)s AND left_key = %(key)s
     UNION ALL
    SELECT right_sense FROM ingestion_resolutiondecision
     WHERE workspace_id = %(workspace)s AND right_key = %(key)s) AS used
"""
MARK_SUGGESTIONS: Final[LiteralString] = """
UPDATE ingestion_mergesuggestion AS s SET state = t.state
  FROM unnest(%(lefts)s::uuid[], %(rights)s::uuid[], %(states)s::text[]) AS t (l, r, state)
 WHERE s.workspace_id = %(workspace)s
   AND (s.left_id, s.right_id) IN ((t.l, t.r), (t.r, t.l)) AND s.state <> t.state
"""


# --- record ---------------------------------------------------------------------------------------
def record(decisions: Iterable[ResolutionDecision]) -> None:
    """Record decisions that belong to no event: a model's, or that a person is unsure."""
    ResolutionDecision.objects.bulk_create(decisions)


# --- load -----------------------------------------------------------------------------------------
def load_resolution(
    workspace_id: uuid.UUID, documents: Collection[uuid.UUID] = ()
) -> NameResolution:
    """How names resolve now, and what they mean in these documents."""
    existence = (EntityRuling.Field.CREATED.value, EntityRuling.Field.DELETED.value)
    values = {"workspace": workspace_id, "fields": list(existence)}
    [(is_decided, is_placed, has_entities, has_links)] = run_sql(KINDS_IN_FORCE, values)
    placements = MentionPlacement.objects.in_workspace(workspace_id).filter(
        Q(document=None) | Q(document__in=documents), undone_at=None
    )
    entities = entity_edits(workspace_id, field__in=existence) if has_entities else ()
    links = relationship_edits(workspace_id, field__in=existence) if has_links else ()
    return resolve_names(
        _about_names(workspace_id, documents) if is_decided else (),
        placements if is_placed else (),
        _deleted((ref, field) for ref, field, _ in entities),
        _deleted(((source, target), field) for source, target, field, _ in links),
    )


def _about_names(
    workspace_id: uuid.UUID, documents: Collection[uuid.UUID]
) -> list[ResolutionDecision]:
    """The decisions on pairs that are one, on others between these, and on names in documents."""
    active = _active(workspace_id).defer("reason")
    pairs = active.exclude(right_key="")
    same = list(pairs.filter(verdict=Verdict.SAME))
    names = {key for one in same for key in (one.left_key, one.right_key)}
    # Every other decision between names so joined. They are compared here: names may be many, and
    # the database would look through all of them for each decision.
    others = pairs.exclude(verdict=Verdict.SAME).values_list("pk", "left_key", "right_key")
    wanted = [pk for pk, *keys in others if names.issuperset(keys)] if names else []
    return [
        *same,
        *(active.filter(pk__among=wanted) if wanted else ()),
        *(active.filter(right_key="", document__in=documents) if documents else ()),
    ]


def _active(workspace_id: uuid.UUID) -> QuerySet[ResolutionDecision]:
    return ResolutionDecision.objects.in_workspace(workspace_id).filter(undone_at=None)


def _deleted(edits: Iterable[tuple[_Subject, str]]) -> set[_Subject]:
    """What was deleted last, after being created perhaps."""
    last = dict(edits)
    return {one for one, field in last.items() if field == EntityRuling.Field.DELETED}


def entity_edits(workspace_id: uuid.UUID, **narrowed: Any) -> list[tuple[Ref, str, str]]:
    """People's edits to entities: entity, field and value; later ones last."""
    rows = EntityRuling.objects.in_workspace(workspace_id).filter(undone_at=None, **narrowed)
    columns = rows.order_by("sequence", "id").values_list("key", "sense", "field", "value")
    return [((key, sense), field, value) for key, sense, field, value in columns]


def relationship_edits(workspace_id: uuid.UUID, **narrowed: Any) -> list[tuple[Ref, Ref, str, str]]:
    """People's edits to relationships: source, target, field and value; later ones last."""
    rows = RelationshipRuling.objects.in_workspace(workspace_id).filter(undone_at=None, **narrowed)
    columns = rows.order_by("sequence", "id").values_list(
        *("source_key", "source_sense", "target_key", "target_sense", "field", "value")
    )
    return [
        ((source, sense), (target, target_sense), field, value)
        for source, sense, target, target_sense, field, value in columns
    ]


def last_sense(workspace_id: uuid.UUID, key: str) -> int | None:
    """The greatest sense number ever used for this name, or None."""
    last: int | None
    [(last,)] = run_sql(LAST_SENSE, {"workspace": workspace_id, "key": key})
    return last


def next_sense(workspace_id: uuid.UUID, key: str) -> int:
    """An unused sense number for a name with one meaning. Call while holding the names' lock."""
    return 1 + (last_sense(workspace_id, key) or 0)


# --- compare --------------------------------------------------------------------------------------
def between(workspace_id: uuid.UUID, keys: Iterable[str]) -> QuerySet[ResolutionDecision]:
    """The active decisions on pairs of these names, oldest first."""
    wanted = set(keys)
    rows = _active(workspace_id).filter(left_key__among=wanted, right_key__among=wanted)
    return rows.select_related("user").order_by("created_at")


def distinct_decisions(
    workspace_id: uuid.UUID, entities: Iterable[Ref], resolution: NameResolution
) -> list[ResolutionDecision]:
    """Decisions that keep two of these entities apart, oldest first.

    Merging the entities anyway requires a decision on each of their pairs that it is the same.
    """
    owner = {
        member: resolved
        for resolved in map(resolution.resolve, entities)
        for member in resolution.members(resolved)
    }
    rows = [
        row
        for row in between(workspace_id, (key for key, _ in owner))
        if all(end in owner for end in row.ends) and len({owner[end] for end in row.ends}) == 2
    ]
    apart = {row.ends for row in in_force(rows) if row.verdict == Verdict.DIFFERENT}
    return [row for row in rows if row.ends in apart and row.verdict == Verdict.DIFFERENT]


def ever_decided(workspace_id: uuid.UUID, pairs: Collection[KeyPair]) -> set[KeyPair]:
    """Those of the pairs that were ever decided about, even if the decision was undone."""
    rows = ResolutionDecision.objects.in_workspace(workspace_id).filter(
        left_key__in={left for left, _ in pairs}, right_key__in={right for _, right in pairs}
    )
    return set(rows.values_list("left_key", "right_key")) & set(pairs)


def decided_pairs(workspace_id: uuid.UUID) -> dict[EntityPair, ResolutionDecision]:
    """The decisions that count between entities as they resolve now.

    A decision about a name holds for the entity that it was merged into. An unsure one leaves the
    pair open. Splitting an entity, or moving its mentions to another one, decides that the two are
    distinct (that decision has no id), and so does a document in which a name means something else.
    """
    decided = sorted(
        [*_verdicts(workspace_id), *_splits(workspace_id)], key=lambda pair: pair[1].rank
    )
    if not decided:
        return {}
    resolution = load_resolution(workspace_id)
    ends = []
    for (left, right), decision in decided:
        resolved = resolution.resolve(left), resolution.resolve(right)
        # If both resolve to one, the two originally meant.
        ends.append(((left, right) if resolved[0] == resolved[1] else resolved, decision))
    rows = Entity.objects.in_workspace(workspace_id).filter(
        key__among={key for pair, _ in ends for key, _ in pair}
    )
    ids = {(key, sense): pk for key, sense, pk in rows.values_list("key", "sense", "pk")}
    return {
        pair_of(ids[left], ids[right]): decision
        for (left, right), decision in ends
        if left in ids and right in ids
    }


def _verdicts(workspace_id: uuid.UUID) -> Iterator[tuple[RefPair, ResolutionDecision]]:
    for row in _active(workspace_id).exclude(verdict=Verdict.UNSURE).select_related("user"):
        if row.right_key:
            yield row.ends, row
        elif row.verdict == Verdict.DIFFERENT:
            # A new sense of a name is distinct from all earlier ones.
            for earlier in range(row.sense):
                yield ((row.left_key, earlier), (row.left_key, row.sense)), row


def _splits(workspace_id: uuid.UUID) -> Iterator[tuple[RefPair, ResolutionDecision]]:
    events = HistoryEvent.objects.in_workspace(workspace_id).filter(
        kind__in=(EventKind.ENTITY_SPLIT, EventKind.MENTIONS_MOVED), undone_at=None
    )
    for event in events.select_related("user"):
        refs = event.details["refs"]
        (key, sense), (other, its) = (refs[event.details[end]] for end in ("from", "into"))
        decision = ResolutionDecision(
            pk=None,
            verdict=Verdict.DIFFERENT,
            by=ResolutionDecision.By.PERSON,
            user=event.user,
            event=event,
            created_at=event.created_at,
        )
        yield ((key, sense), (other, its)), decision


# --- undo and follow ------------------------------------------------------------------------------
def set_active(event: HistoryEvent, *, is_active: bool) -> None:
    """Put the decisions of an event back in force, or out of force."""
    now = timezone.now()
    for model in DECISIONS:
        rows = model.objects.in_workspace(event.workspace_id).filter(event=event)
        rows.update(undone_at=None if is_active else now)
    if event.kind == EventKind.DECISION_UNDONE:
        # The event itself undid a decision, so without the event the decision is active.
        decision = ResolutionDecision.objects.in_workspace(event.workspace_id)
        decision.filter(pk=event.details["decision"]).update(undone_at=now if is_active else None)
    mark_suggestions(
        event.workspace_id,
        [
            (row.left_key, row.right_key)
            for row in _decisions_of(event)
            if row.right_key and not row.left_sense and not row.right_sense
        ],
    )


def undo(decision: ResolutionDecision) -> None:
    """Undo a decision that belongs to no event."""
    decision.undone_at = timezone.now()
    decision.save(update_fields=["undone_at"])
    if decision.right_key:
        mark_suggestions(decision.workspace_id, [(decision.left_key, decision.right_key)])


def names_in(event: HistoryEvent) -> set[str]:
    """The key of every name that the event's decisions concern."""
    keys = {key for key, _ in event.details.get("refs", {}).values()}
    for row in _decisions_of(event):
        keys |= {row.left_key, row.right_key}
    rulings = EntityRuling.objects.in_workspace(event.workspace_id).filter(event=event)
    keys |= set(rulings.values_list("key", flat=True))
    placed = MentionPlacement.objects.in_workspace(event.workspace_id).filter(event=event)
    for key, target in placed.values_list("key", "target_key"):
        keys |= {key, target}
    return keys - {""}


def _decisions_of(event: HistoryEvent) -> QuerySet[ResolutionDecision]:
    rows = ResolutionDecision.objects.in_workspace(event.workspace_id)
    return rows.filter(Q(event=event) | Q(pk=event.details.get("decision")))


def _suggested(workspace_id: uuid.UUID, pairs: Collection[KeyPair]) -> list[KeyPair]:
    """Those of the pairs that were suggested."""
    ids = {
        pair_of(entity_id(workspace_id, left), entity_id(workspace_id, right)): (left, right)
        for left, right in pairs
    }
    rows = MergeSuggestion.objects.in_workspace(workspace_id).filter(
        left__among={left for left, _ in ids}, right__among={right for _, right in ids}
    )
    return [ids[pair] for pair in rows.values_list("left_id", "right_id") if pair in ids]


def mark_suggestions(workspace_id: uuid.UUID, pairs: Collection[KeyPair]) -> None:
    """Give the suggestions of these pairs the state that the decisions in force imply."""
    pairs = _suggested(workspace_id, pairs)
    if not pairs:
        return
    rows = between(workspace_id, (key for pair in pairs for key in pair))
    decided = in_force(rows.filter(left_sense=0, right_sense=0))
    verdicts = {(row.left_key, row.right_key): row.verdict for row in decided}
    states = [STATES[verdicts.get(pair_of(*pair), Verdict.UNSURE)].value for pair in pairs]
    values = {
        "lefts": [entity_id(workspace_id, left) for left, _ in pairs],
        "rights": [entity_id(workspace_id, right) for _, right in pairs],
        "states": states,
    }
    run_sql(MARK_SUGGESTIONS, {"workspace": workspace_id, **values})


def suggestions_of(workspace_id: uuid.UUID, entities: Collection[uuid.UUID]) -> list[Any]:
    """The suggestions that go with these entities, to be kept for ``suggest_again``."""
    rows = MergeSuggestion.objects.in_workspace(workspace_id)
    rows = rows.filter(Q(left__among=entities) | Q(right__among=entities))
    return [
        {"left": str(row.left_id), "right": str(row.right_id)}
        | {field: getattr(row, field) for field in SUGGESTED}
        for row in rows
    ]


def suggest_again(workspace_id: uuid.UUID, suggestions: Collection[Any]) -> None:
    """Put suggestions back whose entities are both there again."""
    pairs = [pair_of(uuid.UUID(one["left"]), uuid.UUID(one["right"])) for one in suggestions]
    ends = {end for pair in pairs for end in pair}
    rows = Entity.objects.in_workspace(workspace_id).filter(pk__among=ends)
    there = set(rows.values_list("pk", flat=True))
    MergeSuggestion.objects.bulk_create(
        (
            MergeSuggestion(
                workspace_id=workspace_id,
                left_id=left,
                right_id=right,
                **{field: one[field] for field in SUGGESTED},
            )
            for (left, right), one in zip(pairs, suggestions, strict=True)
            if {left, right} <= there
        ),
        # Resolution suggests it too, and knows less.
        update_conflicts=True,
        unique_fields=["workspace", "left", "right"],
        update_fields=SUGGESTED,
    )
