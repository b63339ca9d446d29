"""What is still to come, and what will therefore be mended by itself."""

from __future__ import annotations

from uuid import UUID

import pytest

from ingestion.health.report import MOST_SAMPLES, NOTHING, Found
from ingestion.health.scope import Scope, found_in
from ingestion.pipeline.runner import WORKSPACE_STAGES

MARKS = Found(3, ("a", "b", "c"))


def scope(
    *ahead: str, marks: Found = NOTHING, last_refresh: str = "done", unfinished: int = 1
) -> Scope:
    return Scope(
        workspace_id=UUID(int=1),
        done={},
        busy=frozenset(),
        unfinished=unfinished,
        ahead=frozenset(ahead),
        last_refresh=last_refresh,
        marks=marks,
        fingerprint="fake",
    )


@pytest.mark.parametrize("stage", WORKSPACE_STAGES)
def test_where_nobody_works_nothing_is_ahead(stage: str):
    assert not scope(unfinished=0).is_ahead(stage)


@pytest.mark.parametrize("stage", WORKSPACE_STAGES)
@pytest.mark.parametrize("before", ["parse", "chunk", "situate", "extract", "resolve"])
def test_a_document_in_the_main_lane_brings_a_whole_refresh(before: str, stage: str):
    assert scope(before).is_ahead(stage)


def test_vectors_bring_a_tree_and_nothing_else():
    ahead = {stage for stage in WORKSPACE_STAGES if scope("embed").is_ahead(stage)}

    assert ahead == {"tree"}


def test_a_refresh_mends_what_it_has_not_come_to():
    ahead = {stage for stage in WORKSPACE_STAGES if scope("tree", "snapshot").is_ahead(stage)}

    assert ahead == {"tree", "snapshot"}


@pytest.mark.parametrize("last", ["", "done"])
def test_marks_are_swept_up_after_a_refresh_that_ended_well(last: str):
    assert scope(marks=MARKS, last_refresh=last).is_ahead("describe")


@pytest.mark.parametrize("last", ["failed", "cancelled"])
def test_marks_after_a_refresh_that_did_not_are_left(last: str):
    assert not scope(marks=MARKS, last_refresh=last).is_ahead("describe")


def test_new_vectors_are_not_made_by_a_refresh():
    assert not scope("describe", marks=MARKS).is_ahead("reembed")
    assert scope("reembed").is_ahead("reembed")


def test_rows_become_a_number_a_few_samples_and_what_to_mend():
    rows = [(str(number), UUID(int=number % 2)) for number in range(20)]

    found = found_in(rows)

    assert found.count == 20
    assert len(found.samples) == MOST_SAMPLES
    assert found.targets == {UUID(int=0), UUID(int=1)}
    assert found_in(list(reversed(rows))) == found, "in whatever order they come"


def test_rows_of_nothing_to_mend_have_no_targets():
    assert found_in([("a", None)]).targets == frozenset()
    assert not found_in([])
