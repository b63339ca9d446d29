from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from retrieval.search.topic_choice import DEEPEST_LEVEL, Selection, TopicChoice

LEVELS = st.none() | st.integers(0, DEEPEST_LEVEL)


@given(LEVELS, st.sampled_from(Selection))
def test_a_choice_is_read_back_as_it_was_stored(level, selection):
    choice = TopicChoice(level, selection)

    assert TopicChoice.from_json(choice.as_json()) == choice


def test_what_was_not_chosen_is_not_stored():
    assert TopicChoice().as_json() == {}
    assert TopicChoice.from_json({"level": "", "selection": ""}) == TopicChoice()
    assert TopicChoice(level=0).as_json() == {"level": 0}


@pytest.mark.parametrize("level", [-1, 10, "deep", "1.5", "0x1", 1.5, [1]])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(InputError) as refused:
        TopicChoice.from_json({"level": level})

    assert refused.value.code == "invalid_level"


@pytest.mark.parametrize("selection", ["some", 1, ["auto"]])
def test_an_unknown_selection_is_refused(selection):
    with pytest.raises(InputError) as refused:
        TopicChoice.from_json({"selection": selection})

    assert refused.value.code == "invalid_selection"


@pytest.mark.parametrize(
    ("choice", "when_much", "when_little"),
    [
        (TopicChoice(), True, False),
        (TopicChoice(level=1), False, False),
        (TopicChoice(selection=Selection.DYNAMIC), True, True),
        (TopicChoice(1, Selection.DYNAMIC), True, True),
        (TopicChoice(selection=Selection.FIXED), False, False),
    ],
)
def test_topics_are_rated_where_that_was_chosen_or_there_are_many(choice, when_much, when_little):
    assert choice.selects(is_much=True) is when_much
    assert choice.selects(is_much=False) is when_little
