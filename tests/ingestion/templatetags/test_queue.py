from __future__ import annotations

import pytest

from ingestion.models import Verdict
from ingestion.templatetags.queue import open_cases
from tests import rows
from tests.ingestion.suggestions.harbour import ACME, INC, decide, make_harbour, suggest

pytestmark = pytest.mark.django_db


def test_cases_are_counted_that_wait_for_a_decision():
    cast = make_harbour()

    assert open_cases(cast.workspace) == 2


def test_a_workspace_without_suggestions_has_none():
    assert open_cases(rows.make_workspace()) == 0


def test_what_is_decided_or_found_counts_at_once():
    cast = make_harbour()
    decide(cast.workspace, ACME, INC, Verdict.DIFFERENT, cast.alice)

    assert open_cases(cast.workspace) == 1
    suggest(cast.workspace, ACME, "SOU", 0.7)
    # Together with the pair that was there it makes no larger case.
    assert open_cases(cast.workspace) == 2


def test_what_was_counted_is_not_counted_again(django_assert_max_num_queries):
    cast = make_harbour()
    open_cases(cast.workspace)

    with django_assert_max_num_queries(7):
        assert open_cases(cast.workspace) == 2
