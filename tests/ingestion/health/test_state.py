"""What is still to come, and what will therefore be mended by itself."""

from __future__ import annotations

from uuid import UUID

import pytest

from ingestion.health.state import MOST_SAMPLES, DriftRow, Findings, WorkspaceState
from ingestion.pipeline.runner import WORKSPACE_STAGES

CHANGES: tuple[DriftRow, ...] = (("a", None), ("b", None))


def state(
    *ahead: str,
    changes: tuple[DriftRow, ...] = (),
    last_refresh: str = "done",
    unfinished: int = 1,
) -> WorkspaceState:
    return WorkspaceState(
        workspace_id=UUID(int=1),
        done={},
        busy=frozenset(),
        unfinished=unfinished,
        ahead=frozenset(ahead),
        last_refresh=last_refresh,
        changes=changes,
        fingerprint="fake",
    )


@pytest.mark.parametrize("stage", WORKSPACE_STAGES)
def test_where_nobody_works_nothing_is_ahead(stage: str):
    assert not state(unfinished=0).is_ahead(stage)


@pytest.mark.parametrize("stage", WORKSPACE_STAGES)
@pytest.mark.parametrize("before", ["parse", "chunk", "situate", "extract", "resolve"])
def test_a_document_in_the_main_lane_brings_a_whole_refresh(before: str, stage: str):
    assert state(before).is_ahead(stage)


def test_vectors_bring_a_tree_and_nothing_else():
    ahead = {stage for stage in WORKSPACE_STAGES if state("embed").is_ahead(stage)}

    assert ahead == {"tree"}


def test_a_refresh_mends_what_it_has_not_come_to():
    ahead = {stage for stage in WORKSPACE_STAGES if state("tree", "snapshot").is_ahead(stage)}

    assert ahead == {"tree", "snapshot"}


@pytest.mark.parametrize("last", ["", "done"])
def test_changes_are_swept_up_after_a_refresh_that_ended_well(last: str):
    assert state(changes=CHANGES, last_refresh=last).is_ahead("describe")


@pytest.mark.parametrize("last", ["failed", "cancelled"])
def test_changes_after_a_refresh_that_did_not_are_left(last: str):
    assert not state(changes=CHANGES, last_refresh=last).is_ahead("describe")


def test_new_vectors_are_not_made_by_a_refresh():
    assert not state("describe", changes=CHANGES).is_ahead("reembed")
    assert state("reembed").is_ahead("reembed")


def test_rows_become_a_number_a_few_samples_and_what_to_mend():
    rows = [(str(number), UUID(int=number % 2)) for number in range(20)]

    found = Findings.of(rows)

    assert found.count == 20
    assert len(found.samples) == MOST_SAMPLES
    assert found.targets == {UUID(int=0), UUID(int=1)}
    assert Findings.of(reversed(rows)) == found, "in whatever order they come"


def test_rows_of_nothing_to_mend_have_no_targets():
    assert Findings.of([("a", None)] * 2) == Findings(1, ("a",)), "each counts once"
    assert Findings.of([("a", None)]).targets == frozenset()
    assert Findings.of([]) == Findings()
