from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.models import Entity, HistoryEvent, Verdict
from ingestion.suggestions import cases, services
from ingestion.suggestions.cases import Case, Queue
from kb_project.errors import InputError, NotFoundError
from tests import rows
from tests.ingestion.suggestions.harbour import (
    ACME,
    INC,
    SOU,
    UNIT,
    decide,
    id_of,
    make_harbour,
    suggest,
)
from workspaces import access
from workspaces.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return make_harbour()


def look(cast: rows.Cast, user: User | None = None, **wanted: Any) -> Queue:
    with access.in_workspace(cast.workspace.pk):
        return cases.case_queue(workspace=cast.workspace, user=user or cast.alice, **wanted)


def names(case: Case) -> set[str]:
    return {side.name for side in case.entities}


def skip(cast: rows.Cast, user: User, case: Case) -> None:
    services.case_skip(workspace=cast.workspace, user=user, case=case.key)


def test_what_is_certain_and_moves_much_comes_first(cast: rows.Cast):
    found = look(cast)

    assert [names(case) for case in found.cases] == [{ACME, INC}, {UNIT, SOU}]
    assert found.counts == cases.Counts(open=2, skipped=0, decided_today=0)
    assert found.next == ""


def test_a_case_says_why_and_shows_where_each_is_named(cast: rows.Cast):
    case = look(cast).cases[0]

    assert case.sentence == "Same name after removing Inc.; share 4 neighbours"
    assert case.percent == 90
    sides = {side.name: side for side in case.entities}
    assert len(sides[ACME].quotes) == 2
    assert len({quote.document for quote in sides[ACME].quotes}) == 2
    quote = sides[INC].quotes[0]
    assert quote.before + quote.name + quote.after == (
        "The board thanked Acme Instruments Inc. for the lamp."
    )
    assert (sides[INC].mentions, sides[INC].documents, sides[INC].revision) == (2, 1, 0)


def test_the_one_to_keep_is_what_people_vouch_for_else_what_is_named_most(cast: rows.Cast):
    assert look(cast).cases[0].kept == id_of(cast.workspace, ACME)
    with access.in_workspace(cast.workspace.pk):
        Entity.objects.in_workspace(cast.workspace).filter(name=INC).update(is_confirmed=True)

    assert look(cast).cases[0].kept == id_of(cast.workspace, INC)


def test_pages_follow_each_other_whatever_is_decided_meanwhile(cast: rows.Cast):
    first = look(cast, limit=1)
    decide(cast.workspace, ACME, INC, Verdict.DIFFERENT, cast.alice)

    second = look(cast, limit=1, after=first.next)

    assert [names(case) for case in (*first.cases, *second.cases)] == [{ACME, INC}, {UNIT, SOU}]
    assert second.next == ""


@pytest.mark.parametrize("after", ["x", "1~2~3", "0~nan", "~~"])
def test_no_page_begins_just_anywhere(cast: rows.Cast, after: str):
    with pytest.raises(InputError):
        look(cast, after=after)


def test_what_a_person_puts_off_comes_back_to_them_behind_the_others(cast: rows.Cast):
    skip(cast, cast.alice, look(cast).cases[0])

    found = look(cast)

    assert [names(case) for case in found.cases] == [{UNIT, SOU}, {ACME, INC}]
    assert [case.is_skipped for case in found.cases] == [False, True]
    assert found.counts.skipped == 1
    assert [names(case) for case in look(cast, cast.bob).cases] == [{ACME, INC}, {UNIT, SOU}]


def test_what_was_put_off_last_comes_last(cast: rows.Cast):
    acme, unit = look(cast).cases
    for case in (unit, acme, unit):
        skip(cast, cast.alice, case)

    assert [case.key for case in look(cast).cases] == [acme.key, unit.key]


@pytest.mark.parametrize("verdict", [Verdict.SAME, Verdict.DIFFERENT])
def test_what_was_decided_is_not_asked_again(cast: rows.Cast, verdict: Verdict):
    decide(cast.workspace, UNIT, SOU, verdict)

    found = look(cast)

    assert [names(case) for case in found.cases] == [{ACME, INC}]


def test_what_was_taken_back_is_asked_again(cast: rows.Cast):
    decision = decide(cast.workspace, UNIT, SOU, Verdict.DIFFERENT, cast.alice)
    with access.in_workspace(cast.workspace.pk):
        decision.undone_at = decision.created_at
        decision.save(update_fields=["undone_at"])

    assert len(look(cast).cases) == 2


def test_a_pair_found_again_is_shown_with_who_said_that_it_differs(cast: rows.Cast):
    decision = decide(cast.workspace, UNIT, SOU, Verdict.DIFFERENT, cast.alice)

    with access.in_workspace(cast.workspace.pk):
        [refused] = cases.case_refused(workspace=cast.workspace)

    assert {refused.left.name, refused.right.name} == {UNIT, SOU}
    assert refused.sentence.startswith("Alice marked these as not the same on ")
    assert refused.decision.pk == decision.pk
    assert refused.suggested.reasons


def test_a_model_that_said_so_is_named(cast: rows.Cast):
    decide(cast.workspace, UNIT, SOU, Verdict.DIFFERENT)

    with access.in_workspace(cast.workspace.pk):
        [refused] = cases.case_refused(workspace=cast.workspace)

    assert refused.said_by == "judge-1"


def test_three_that_were_all_suggested_with_each_other_stand_side_by_side(cast: rows.Cast):
    for other in (ACME, INC):
        suggest(cast.workspace, SOU, other, 0.85)

    assert {frozenset(names(case)) for case in look(cast).cases} == {
        frozenset((ACME, INC, SOU)),
        frozenset((UNIT, SOU)),
    }


def test_one_case_by_its_key(cast: rows.Cast):
    case = look(cast).cases[1]

    with access.in_workspace(cast.workspace.pk):
        assert cases.case_get(workspace=cast.workspace, key=case.key) == case
        with pytest.raises(NotFoundError):
            cases.case_get(workspace=cast.workspace, key=uuid4())


def test_decisions_of_today_that_stand_are_counted(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        for number, kind in enumerate(("entities_merged", "not_the_same", "entity_edited")):
            HistoryEvent.objects.create(workspace=cast.workspace, sequence=number, kind=kind)
        undone = HistoryEvent.objects.create(
            workspace=cast.workspace, sequence=9, kind="entities_merged"
        )
        undone.undone_at = undone.created_at
        undone.save(update_fields=["undone_at"])
        counts = cases.case_counts(workspace=cast.workspace)

    assert counts.decided_today == 2


def test_an_empty_workspace_has_an_empty_queue():
    workspace = rows.make_workspace("Empty")

    with access.in_workspace(workspace.pk):
        found = cases.case_queue(workspace=workspace)

    assert (found.cases, found.next, found.counts.open) == ((), "", 0)


def test_a_queue_costs_the_same_statements_however_long_it_is(
    cast: rows.Cast, django_assert_max_num_queries
):
    with django_assert_max_num_queries(17):
        look(cast)
