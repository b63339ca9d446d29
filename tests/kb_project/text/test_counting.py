from __future__ import annotations

import pytest

from kb_project.text.counting import counted


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 facts"), (1, "1 fact"), (2, "2 facts"), (1200, "1,200 facts")]
)
def test_one_is_told_otherwise_than_none_or_several(number: int, said: str):
    assert counted(number, "fact") == said


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 entities"), (1, "1 entity"), (3, "3 entities")]
)
def test_several_may_have_a_word_of_their_own(number: int, said: str):
    assert counted(number, "entity", "entities") == said
