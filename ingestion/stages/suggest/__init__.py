"""Suggest: find entities that may be one, for a person to decide.

In: entities with their names, neighbours, passages and vectors, and earlier decisions.  Out:
MergeSuggestion rows with their certainty and reasons.
Safe to repeat: earlier suggestions are replaced. All entities are compared each time (a few seconds
for 50,000), so that suggestions depend on the current graph and not on the order in which it grew,
and disappear once they no longer apply.

Nothing is merged here. Pairs come from keys that few entities share (``blocks``), names are
compared word by word (``naming``), then their surroundings (``neighbours``), and all of it is
weighed into one certainty (``weighing``). Decided pairs are not asked about again: a pair ruled
distinct stays, marked as such, so that people see it was found again.
"""

from __future__ import annotations

import json
import math
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from ingestion.extractors.found import CONCEPT, SYMBOL
from ingestion.models import IngestionJob, MergeSuggestion, Verdict
from ingestion.resolution.pair_decisions import Pair, decided_pairs
from ingestion.stage import Progress, StageOutcome
from ingestion.stages.suggest import blocks, neighbours, sql, weighing
from ingestion.stages.suggest.features import Found, Reason, Thing
from kb_project.ports import Ports
from kb_project.sql import bulk_plans, run_sql, run_sql_count
from workspaces import access

MOST_WRITTEN: Final = 5000
"""Suggestions kept per run, the most certain ones: no one works through more."""
MOST_PASSAGES: Final = 12
SAMPLE: Final = 1000
REASON_LENGTH: Final = 300
STATES: Final[dict[str, MergeSuggestion.State]] = {
    Verdict.SAME: MergeSuggestion.State.ACCEPTED,
    Verdict.DIFFERENT: MergeSuggestion.State.REJECTED,
}


def run(job: IngestionJob, ports: Ports, progress: Progress) -> StageOutcome:
    workspace_id = job.workspace_id
    with access.in_workspace(workspace_id), bulk_plans():
        things = load(workspace_id)
        called = neighbours.calling(_besides(workspace_id, things))
    progress(1, 3)
    common = blocks.common_in(things.values())
    pairs = blocks.candidates(things.values(), common)
    possible = weighing.weighed(pairs, things, common, called)
    progress(2, 3)
    with access.in_workspace(workspace_id):
        cosines = _cosines(workspace_id, possible, ports.embedder.fingerprint)
        found = weighing.with_likeness(possible, cosines)[:MOST_WRITTEN]
        _save(workspace_id, found, things)
    progress(3, 3)
    return StageOutcome(written=len(found))


def load(workspace_id: uuid.UUID) -> dict[uuid.UUID, Thing]:
    """The entities to compare. Call in the workspace's scope."""
    values = {"workspace": workspace_id, "exact": [SYMBOL], "term": CONCEPT}
    aliases: defaultdict[uuid.UUID, dict[str, str]] = defaultdict(dict)
    for entity, key, name in run_sql(sql.CALLED, values):
        aliases[entity][key] = name
    near: defaultdict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
    for source, target in run_sql(sql.LINKED, values):
        near[source].add(target)
        near[target].add(source)
    return {
        one: Thing(
            one,
            key,
            name,
            type_,
            sense,
            mentions,
            degree,
            aliases.get(one, {}),
            frozenset(near[one]),
        )
        for one, key, name, type_, sense, mentions, degree in run_sql(sql.THINGS, values)
    }


def _besides(workspace_id: uuid.UUID, things: Mapping[uuid.UUID, Thing]) -> list[neighbours.Beside]:
    values = {"workspace": workspace_id, "longest": neighbours.LONGEST_GAP}
    return [
        neighbours.Beside(first, second, between, after, is_full=" " in surface.strip())
        for first, second, between, after, surface in run_sql(sql.BESIDE, values)
        if first in things and second in things
    ]


def _cosines(
    workspace_id: uuid.UUID, possible: Sequence[Found], fingerprint: str
) -> dict[Pair, float]:
    """Cosines of pairs that no passage names together, if there are vectors."""
    asked = possible[: 2 * MOST_WRITTEN]
    values = {
        "lefts": [one.pair[0] for one in asked],
        "rights": [one.pair[1] for one in asked],
        "most": MOST_PASSAGES,
        "sample": SAMPLE,
        "fingerprint": fingerprint,
    }
    rows = run_sql(sql.ALIKE, {"workspace": workspace_id, **values})
    # The cosine of a zero vector is not a number.
    return {(left, right): cosine for left, right, cosine in rows if not math.isnan(cosine)}


def _save(
    workspace_id: uuid.UUID, found: Sequence[Found], things: Mapping[uuid.UUID, Thing]
) -> None:
    """Replace earlier suggestions."""
    decided = decided_pairs(workspace_id)
    rows = sorted(found, key=lambda one: one.pair)
    ends = {"lefts": [one.pair[0] for one in rows], "rights": [one.pair[1] for one in rows]}
    values = {"workspace": workspace_id, **ends}
    run_sql_count(sql.FORGET, values)
    states = [
        STATES[decided[one.pair].verdict] if one.pair in decided else MergeSuggestion.State.OPEN
        for one in rows
    ]
    run_sql_count(
        sql.SUGGEST,
        {
            **values,
            "scores": [round(one.certainty, 4) for one in rows],
            # How much a merge moves, on a logarithmic scale.
            "effects": [
                round(math.log(2 + min(things[end].moves for end in one.pair)), 4) for one in rows
            ],
            "said": [sentence_of(one.reasons) for one in rows],
            "reasons": [json.dumps(_as_json(one.reasons)) for one in rows],
            "states": [state.value for state in states],
        },
    )


def sentence_of(reasons: Sequence[Reason]) -> str:
    """The reasons in one line: Same name after removing Inc.; share 4 neighbours."""
    said = [reason.words for reason in reasons if reason.words]
    line = "; ".join(said)
    return (line[:1].upper() + line[1:])[:REASON_LENGTH]


def _as_json(reasons: Sequence[Reason]) -> list[dict[str, object]]:
    return [
        {"kind": reason.kind, "weight": round(reason.weight, 2), "words": reason.words}
        for reason in reasons
    ]
