"""Limits shared by all processes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from kb_project.sql import run_sql
from workspaces import limits
from workspaces.limits import Rate
from workspaces.models import RateLimit

pytestmark = pytest.mark.django_db
FIVE = Rate(5, 60)


def used(name: str, times: int, rate: Rate = FIVE) -> list[bool]:
    return [limits.take(name, rate).is_allowed for _ in range(times)]


def later(seconds: float) -> None:
    """Let time pass for every limit."""
    for row in RateLimit.objects.all():
        row.full_at -= timedelta(seconds=seconds)
        row.save()


def test_no_more_than_the_count_is_allowed_at_once():
    assert used("a", 8) == [True] * 5 + [False] * 3


def test_two_names_do_not_limit_each_other():
    used("a", 5)
    assert limits.take("b", FIVE).is_allowed


def test_what_is_left_is_counted_down_and_the_wait_is_told():
    assert [limits.take("a", FIVE).remaining for _ in range(5)] == [4, 3, 2, 1, 0]
    refused = limits.take("a", FIVE)
    assert (refused.is_allowed, refused.remaining) == (False, 0)
    assert 1 <= refused.retry_after <= 12


def test_uses_come_back_one_after_the_other():
    used("a", 5)
    later(13)
    assert used("a", 2) == [True, False]


def test_a_refused_use_does_not_prolong_the_wait():
    used("a", 50)
    later(61)
    assert used("a", 5) == [True] * 5


def test_old_rows_are_deleted_and_names_are_not_stored():
    used("anna@example.org", 1)
    assert "anna" not in RateLimit.objects.get().key
    RateLimit.objects.update(full_at=timezone.now() - timedelta(seconds=1))
    limits.forget_old()
    assert not RateLimit.objects.exists()


def test_several_things_are_counted_at_once_the_least_allowed_first():
    uses = {"a": Rate(9, 60), "b": Rate(2, 60)}

    first, second = limits.take_each(uses)

    assert (first.limit, first.remaining, second.limit, second.remaining) == (2, 1, 9, 8)
    limits.take_each(uses)
    refused, other = limits.take_each(uses)
    assert (refused.is_allowed, refused.limit, other.is_allowed) == (False, 2, True)
    assert 1 <= refused.retry_after <= 30


def test_a_use_refused_for_one_thing_still_counts_for_the_others_only():
    limits.take_each({"b": Rate(1, 60)})
    limits.take_each({"a": Rate(9, 60), "b": Rate(1, 60)})

    assert limits.take("a", Rate(9, 60)).remaining == 7
    later(61)
    assert limits.take("b", Rate(1, 60)).is_allowed


def test_one_statement_counts_like_one_use_of_each():
    for _ in range(3):
        limits.take_each({"a": FIVE})

    assert used("a", 3) == [True, True, False]


@pytest.mark.django_db(transaction=True)
def test_counting_at_once_leaves_the_settings_of_its_connection_alone():
    run_sql("SET synchronous_commit = on")

    limits.take_each({"a": FIVE})

    assert run_sql("SHOW synchronous_commit") == [("on",)]
