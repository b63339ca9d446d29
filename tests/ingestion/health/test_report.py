"""What a check says, in values and in sentences."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from ingestion.health.checking import by_weight
from ingestion.health.checks import CHECKS, Check
from ingestion.health.repairs import OTHERS, SENTENCES, STAGES, Remedy
from ingestion.health.report import NOTHING, Drift, Found, Report, Waiting
from ingestion.pipeline.runner import DOCUMENT_STAGES, STAGES as ALL_STAGES

WORKSPACE = UUID(int=1)
DRIFT = Drift(
    "degrees", "1 entity has a wrong count of relationships.", Found(1, ("a",)), "Counted."
)
WAITING = Waiting("marks", "1 change is waiting.", 1)


def test_sound_is_what_has_no_drift_and_settled_what_waits_for_nothing_either():
    assert Report(WORKSPACE).is_settled
    assert Report(WORKSPACE, waiting=(WAITING,)).is_sound
    assert not Report(WORKSPACE, waiting=(WAITING,)).is_settled
    assert not Report(WORKSPACE, drifts=(DRIFT,)).is_sound


def test_what_a_test_prints_names_the_check_and_some_ids():
    assert str(Report(WORKSPACE)) == "No drift was found."
    assert str(Report(WORKSPACE, drifts=(DRIFT,))) == (
        "degrees: 1 entity has a wrong count of relationships. ['a']"
    )


def test_all_of_it_can_be_stored():
    stored = json.loads(json.dumps([DRIFT.as_json(), WAITING.as_json()]))

    assert stored[0]["samples"] == ["a"]
    assert stored[0]["count"] == 1
    assert stored[1] == {"check": "marks", "sentence": "1 change is waiting.", "count": 1}


def test_how_long_it_took_does_not_tell_two_reports_apart():
    assert Report(WORKSPACE, seconds=1.0) == Report(WORKSPACE, seconds=2.0)


# --- the checks -----------------------------------------------------------------------------------
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_check_speaks_in_sentences(check: Check):
    assert check.sentence(1) == f"1 {check.one}."
    assert check.sentence(1200) == f"1,200 {check.several}."
    assert check.one != check.several


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_check_says_what_mends_it_or_what_a_person_does(check: Check):
    drift = check.drift(Found(1))

    assert drift.next_step.endswith(".")
    assert drift.is_repairable == (check.remedy is not None)
    assert bool(check.remedy) != bool(check.advice)


def test_the_stages_that_checks_wait_for_are_stages():
    assert {check.stage for check in CHECKS} - {""} <= set(ALL_STAGES)


def test_names_are_given_once():
    assert len({check.name for check in CHECKS}) == len(CHECKS)


# --- the remedies ---------------------------------------------------------------------------------
def test_every_remedy_is_said_and_done():
    assert set(SENTENCES) == set(Remedy)
    assert set(STAGES) | set(OTHERS) == set(Remedy)
    assert not set(STAGES) & set(OTHERS)
    assert {check.remedy for check in CHECKS} - {None} == set(Remedy)


@pytest.mark.parametrize("remedy", STAGES)
def test_documents_go_through_stages_in_their_order(remedy: Remedy):
    order = list(DOCUMENT_STAGES)
    places = [order.index(stage) for stage in STAGES[remedy]]

    assert places == sorted(places)


def test_what_reads_the_most_anew_is_mended_first():
    drifts = [
        Drift(name, "", NOTHING) for name in ("snapshot", "mentions", "words", "text", "references")
    ]

    names = [drift.check for drift in by_weight(drifts)]

    assert names == ["references", "text", "words", "mentions", "snapshot"]
