"""Suggest: find entities that may be one, for a person to decide.

In: entities with their names, neighbours, passages and vectors, and earlier decisions.  Out:
MergeSuggestion rows with their certainty and reasons.
Safe to repeat: earlier suggestions are replaced. All entities are compared each time (a few seconds
for 50,000), so that suggestions depend on the current graph and not on the order in which it grew,
and disappear once they no longer apply. Where that takes long, only those that changed are compared
with all others, and all of them once a day.

Nothing is merged here. Pairs come from keys that few entities share (``blocks``), names are
compared word by word (``naming``), then their surroundings, and all of it is weighed into one
certainty (``weighing``). Decided pairs are not asked about again: a pair ruled
distinct stays, marked as such, so that people see it was found again.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Final, TypeGuard

from django.utils import timezone

from ingestion import stage
from ingestion.extractors.extraction import CONCEPT, SYMBOL
from ingestion.models import IngestionJob, MergeSuggestion, SuggestionState
from ingestion.resolution.decisions import STATES, decided_pairs
from ingestion.resolution.keys import EntityPair
from ingestion.stage import Progress, StageOutcome, is_long_and_recent
from ingestion.stages.suggest import blocks, changes, naming, sql, weighing
from ingestion.stages.suggest.features import Candidate, Reason, Suggestion
from ingestion.stages.suggest.links import Links
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, packed_sql, run_sql, run_sql_count, stream_sql
from workspaces import access

MOST_WRITTEN: Final = 5000
"""Suggestions kept per run, the most certain ones: no one works through more."""
MOST_PASSAGES: Final = 12
SAMPLE: Final = 1000
REASON_LENGTH: Final = 300
MOST_CHANGED: Final = 0.02
"""The share of entities that changed above which all are compared."""

Entities = Mapping[uuid.UUID, Candidate]


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id, started = job.workspace_id, time.monotonic()
    with access.in_workspace(workspace_id), bulk_plans():
        state = SuggestionState.objects.in_workspace(workspace_id).first()
        names = _names(workspace_id)
        changed = names.changed_since(bytes(state.digests)) if _is_recent(state) else None
    if changed is None or len(changed) > MOST_CHANGED * len(names.keys):
        entities, possible = _among_all(workspace_id, progress)
        changed = None
    else:
        entities, possible = _among_changed(workspace_id, changed, names)
    progress(2, 3)
    with access.in_workspace(workspace_id):
        cosines = _cosines(workspace_id, possible, ports.embedder.fingerprint)
        found = weighing.with_passages(possible, cosines)
        if changed is not None:
            found = weighing.best_of_each([*found, *_kept(workspace_id, changed)])
        suggestions = found[:MOST_WRITTEN]
        _save(workspace_id, suggestions, entities)
        _remember(workspace_id, names, time.monotonic() - started if changed is None else None)
    progress(3, 3)
    return StageOutcome(written=len(suggestions))


def _is_recent(state: SuggestionState | None) -> TypeGuard[SuggestionState]:
    """Whether all were compared lately, and that took long."""
    return state is not None and is_long_and_recent(state.seconds, state.compared_at)


def _names(workspace_id: uuid.UUID) -> changes.Names:
    values = {"workspace": workspace_id, "exact": [SYMBOL]}
    [(ids, digests, keys)] = packed_sql(sql.DIGESTS, values)
    aliases = changes.Digests(*map(bytes, packed_sql(sql.DIGESTS_OF_ALIASES, values)[0]))
    return changes.names_of(changes.Digests(bytes(ids), bytes(digests)), keys, aliases)


def _among_all(workspace_id: uuid.UUID, progress: Progress) -> tuple[Entities, list[Suggestion]]:
    """Compare all entities; returns them by id, and the pairs that may be one."""
    with access.in_workspace(workspace_id), bulk_plans():
        entities = _load(workspace_id)
        stated = weighing.stated_names(_adjacent_names(workspace_id))
    progress(1, 3)
    common = blocks.common_in(entities.values())
    pairs = blocks.candidates(entities.values(), common)
    return entities, weighing.weighed(pairs, entities, common, stated)


def _among_changed(
    workspace_id: uuid.UUID, ids: Sequence[uuid.UUID], names: changes.Names
) -> tuple[Entities, list[Suggestion]]:
    """Compare these entities with all others; returns as ``_among_all``."""
    if not ids:
        return {}, []
    with access.in_workspace(workspace_id):
        changed = _named(workspace_id, ids)
        called = [name for one in changed.values() for name in (one.key, *one.aliases)]
        also = run_sql(sql.ALSO_NAMED, {"workspace": workspace_id, "keys": called})
        near = names.at(changes.partners(changed.values(), names.keys))
        compared = _named(workspace_id, [*near, *(id_ for (id_,) in also)]) | changed
        beside = weighing.stated_names(_adjacent_names(workspace_id, ids))
        stated = {pair: why for pair, why in beside.items() if not changed.keys().isdisjoint(pair)}
        also_named = _named(workspace_id, list({end for pair in stated for end in pair}))
        common = changes.common_in(names.keys, (also_named | compared).values())
        named = changes.pairs_of(changed.keys(), compared.values(), common)
        pairs = [(one.id, other.id) for one, other in named if naming.may_be_one(one, other)]
        # What neighbours tell is asked of those alone whose names may be one.
        entities = _load(workspace_id, list({end for pair in (*pairs, *stated) for end in pair}))
        around = {id_ for one in entities.values() for id_ in one.neighbours} - entities.keys()
        entities |= _named(workspace_id, list(around))
    # Any may have been deleted meanwhile.
    left = (pair for pair in pairs if entities.keys() >= set(pair))
    known = ((entities[one], entities[other]) for one, other in left)
    return entities, weighing.weighed(known, entities, common, stated)


def _load(
    workspace_id: uuid.UUID, ids: Sequence[uuid.UUID] | None = None
) -> dict[uuid.UUID, Candidate]:
    """The entities to compare with their neighbours: all, or those of ``ids``.

    Call in the workspace's scope.
    """
    values = {"workspace": workspace_id, "ids": ids}
    [(sources, targets)] = packed_sql(sql.LINKS if ids is None else sql.LINKS_OF, values)
    links = Links(bytes(sources), bytes(targets))
    return _named(workspace_id, ids, links)


def _named(
    workspace_id: uuid.UUID, ids: Sequence[uuid.UUID] | None, links: Links | None = None
) -> dict[uuid.UUID, Candidate]:
    """The entities with their names, and with their neighbours if ``links`` are given."""
    values = {"workspace": workspace_id, "exact": [SYMBOL], "term": CONCEPT, "ids": ids}
    aliases: defaultdict[uuid.UUID, dict[str, str]] = defaultdict(dict)
    for key, name, entity in sorted(
        run_sql(sql.ALIASES if ids is None else sql.ALIASES_OF, values)
    ):
        aliases[entity][key] = name
    entities = run_sql(sql.ENTITIES if ids is None else sql.ENTITIES_OF, values)
    found = [row[0] for row in entities]
    neighbours = links.neighbours(found) if links else repeat(frozenset[uuid.UUID](), len(found))
    return {
        id_: Candidate(id_, key, name, type_, sense, mentions, degree, aliases.get(id_, {}), near)
        for (id_, key, name, type_, sense, mentions, degree), near in zip(
            entities, neighbours, strict=True
        )
    }


def _adjacent_names(
    workspace_id: uuid.UUID, ids: Sequence[uuid.UUID] | None = None
) -> Iterator[weighing.AdjacentNames]:
    """Names beside each other, in all passages or those that name one of ``ids``."""
    values = {"workspace": workspace_id, "longest": weighing.LONGEST_GAP, "ids": ids}
    statement = sql.ADJACENT_NAMES if ids is None else sql.ADJACENT_NAMES_OF
    return (
        weighing.AdjacentNames(first, second, between, after, is_full=" " in surface.strip())
        for first, second, between, after, surface in stream_sql(statement, values)
    )


def _kept(workspace_id: uuid.UUID, changed: Collection[uuid.UUID]) -> list[Suggestion]:
    """The suggestions of pairs of which neither changed, without their reasons."""
    rows = run_sql(sql.SUGGESTED, {"workspace": workspace_id, "ids": list(changed)})
    return [Suggestion((left, right), score, ()) for left, right, score in rows]


def _remember(workspace_id: uuid.UUID, names: changes.Names, seconds: float | None) -> None:
    """Note what was compared, and how long it took if that was everything."""
    state: dict[str, object] = {"digests": names.digests}
    if seconds is not None:
        state |= {"seconds": seconds, "compared_at": timezone.now()}
        if seconds < stage.LONG:
            state["digests"] = b""
    SuggestionState.objects.update_or_create(workspace_id=workspace_id, defaults=state)


def _cosines(
    workspace_id: uuid.UUID, possible: Sequence[Suggestion], fingerprint: str
) -> dict[EntityPair, float]:
    """Cosines of pairs that no passage names together, if there are vectors."""
    values = {
        "workspace": workspace_id,
        **_ends(possible[: 2 * MOST_WRITTEN]),
        "most": MOST_PASSAGES,
        "sample": SAMPLE,
        "fingerprint": fingerprint,
    }
    # The cosine of a zero vector is not a number.
    return {
        (left, right): cosine
        for left, right, cosine in run_sql(sql.COSINES, values)
        if not math.isnan(cosine)
    }


def _save(
    workspace_id: uuid.UUID,
    suggestions: Sequence[Suggestion],
    entities: Mapping[uuid.UUID, Candidate],
) -> None:
    """Replace earlier suggestions, but for those without reasons, which stay as they are."""
    decided = decided_pairs(workspace_id)
    run_sql_count(sql.FORGET, {"workspace": workspace_id, **_ends(suggestions)})
    rows = sorted((one for one in suggestions if one.reasons), key=lambda one: one.pair)
    states = [
        STATES[decided[one.pair].verdict] if one.pair in decided else MergeSuggestion.State.OPEN
        for one in rows
    ]
    columns = {
        "scores": [round(one.certainty, 4) for one in rows],
        # How much a merge moves, on a logarithmic scale.
        "effects": [
            round(math.log(2 + min(entities[end].moves for end in one.pair)), 4) for one in rows
        ],
        "sentences": [_sentence(one.reasons) for one in rows],
        "reasons": [json.dumps([reason.as_json() for reason in one.reasons]) for one in rows],
        "states": [state.value for state in states],
    }
    run_sql_count(sql.SUGGEST, {"workspace": workspace_id, **_ends(rows), **columns})


def _ends(rows: Sequence[Suggestion]) -> dict[str, list[uuid.UUID]]:
    return {"lefts": [one.pair[0] for one in rows], "rights": [one.pair[1] for one in rows]}


def _sentence(reasons: Sequence[Reason]) -> str:
    """The reasons in one line: Same name after removing Inc.; share 4 neighbours."""
    line = "; ".join(reason.words for reason in reasons if reason.words)
    return (line[:1].upper() + line[1:])[:REASON_LENGTH]
