from __future__ import annotations

import gc
import weakref

import pytest

from kb_project.jobs.gc import THRESHOLDS, seldom_collected


class Ring:
    """Something that only the search for garbage can end."""

    def __init__(self) -> None:
        self.itself = self


def test_the_search_is_made_more_seldom_inside_and_as_before_after():
    before = gc.get_threshold()

    with seldom_collected():
        assert gc.get_threshold() == THRESHOLDS
        assert gc.get_freeze_count() > 0

    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_it_is_as_before_after_an_error_too():
    before = gc.get_threshold()

    with pytest.raises(RuntimeError), seldom_collected():
        raise RuntimeError

    assert gc.get_threshold() == before


def test_what_comes_into_being_inside_is_still_found():
    with seldom_collected():
        ended = weakref.ref(Ring())
        gc.collect()

        assert ended() is None
