"""What changed in a topic, from its state then and now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from ingestion.knowledge.topics import (
    VISIT,
    State,
    digest_of,
    is_new_visit,
    successor,
    topic_changes as changes,
)

ids = st.frozensets(st.integers(0, 12).map(lambda number: UUID(int=number)))
states = st.builds(
    State, entities=ids, versions=ids, facts=ids, title=st.just(digest_of("a")), report=st.just("")
)
ADA, BO, CORA, DORA = (UUID(int=number) for number in range(1, 5))
SMALL, MIDDLE, LARGE = (UUID(int=number) for number in range(101, 104))


@given(before=states, now=states)
def test_changes_lead_from_the_one_state_to_the_other(before: State, now: State):
    found = changes(before, now)

    assert (before.entities | found.joined) - found.left == now.entities
    assert now.facts - before.facts == found.facts
    assert now.versions - before.versions == found.versions
    assert (found.count == 0) == (
        before.entities == now.entities
        and now.facts <= before.facts
        and now.versions <= before.versions
    )


@given(states)
def test_a_state_is_stored_and_read_back(state: State):
    assert State.from_json(state.as_json()) == state
    assert changes(state, state).count == 0


def test_a_state_holds_no_text():
    stored = State(
        frozenset([ADA]), title=digest_of("Secret"), report=digest_of("Secret")
    ).as_json()

    assert "Secret" not in str(stored)


def test_a_rewritten_report_is_one_change():
    before = State(title="a", report="b")

    assert changes(before, State(title="c", report="d")).count == 1
    assert changes(before, State(title="c", report="b")).is_retitled
    assert changes(State(), before).is_rewritten
    assert changes(before, State()).count == 0


def test_a_page_opened_again_soon_is_the_same_visit():
    now = datetime(2026, 11, 24, tzinfo=UTC)

    assert not is_new_visit(now - VISIT, now)
    assert is_new_visit(now - VISIT - timedelta(seconds=1), now)


@pytest.mark.parametrize(
    ("members", "topics", "followed"),
    [
        # Everything went into a topic, which a larger one contains.
        ({ADA, BO}, {MIDDLE: {ADA, BO}, LARGE: {ADA, BO}}, MIDDLE),
        # The larger part is followed, not the smallest topic.
        ({ADA, BO, CORA}, {SMALL: {ADA}, MIDDLE: {BO, CORA}, LARGE: {ADA, BO, CORA}}, MIDDLE),
        # No part has half: the topic above the parts is followed.
        ({ADA, BO, CORA}, {SMALL: {ADA}, MIDDLE: {BO}, LARGE: {ADA, BO, CORA}}, LARGE),
        # Entities that are gone do not count.
        ({ADA, BO, CORA, DORA}, {SMALL: {ADA}}, SMALL),
        ({ADA}, {}, None),
        (set(), {SMALL: {ADA}}, None),
    ],
)
def test_a_topic_that_is_gone_leads_to_where_most_of_it_went(
    members: set[UUID], topics: Mapping[UUID, set[UUID]], followed: UUID | None
):
    sizes = {SMALL: 5, MIDDLE: 9, LARGE: 100}

    assert successor(members, topics, sizes) == followed
