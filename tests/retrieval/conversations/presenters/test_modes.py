"""The menu of ways to search."""

from __future__ import annotations

from retrieval.conversations.presenters.modes import label_of, mode_groups
from retrieval.search.modes import MODES


def test_every_mode_stands_in_the_menu_once():
    shown = [mode.name for group in mode_groups() for mode in group.modes]

    assert sorted(shown) == sorted(MODES)


def test_no_group_is_empty_and_the_one_that_chooses_stands_above_all():
    groups = mode_groups()

    assert all(group.modes for group in groups)
    if "auto" in MODES:
        assert [mode.name for mode in groups[0].modes] == ["auto"]
        assert groups[0].label == ""


def test_every_mode_says_in_a_sentence_what_it_does():
    for mode in MODES.values():
        assert mode.label
        assert mode.explanation.endswith(".")


def test_an_answer_by_a_mode_that_is_gone_keeps_its_name():
    assert label_of("walk") == MODES["walk"].label
    assert label_of("old_way") == "Old way"
