from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.llm.config import DEFAULT_LIMITS, PRIORITIES, ChatConfig, RoleLimits
from kb_project.llm.ports import Role
from kb_project.llm.support import Feature, Support


@given(st.dictionaries(st.sampled_from([*Feature, "more"]), st.booleans() | st.text()))
def test_what_was_remembered_is_read_whatever_it_is(found):
    support = Support.from_dict(found)

    assert all(isinstance(value, bool) for value in support.as_dict().values())
    assert Support.from_dict(support.as_dict()) == support


@pytest.mark.parametrize("feature", Feature)
def test_every_feature_can_be_left_out(feature):
    assert Support().has(feature)
    assert not Support().without(feature).has(feature)


@pytest.mark.parametrize("role", Role)
def test_every_role_has_limits_and_a_priority(role):
    assert DEFAULT_LIMITS[role].max_output > 0
    assert PRIORITIES[role] in {0, 1, 2}


def test_a_question_goes_before_a_summary_before_an_extraction():
    assert PRIORITIES[Role.ANSWER] < PRIORITIES[Role.SUMMARISE] < PRIORITIES[Role.EXTRACT]


def test_a_small_window_is_shared_between_question_and_answer():
    config = ChatConfig("http://x", "m", context_window=1_000)

    assert config.max_output(Role.EXTRACT) == 500
    assert config.input_limit(Role.EXTRACT) + 500 < 1_000


def test_limits_of_a_role_can_be_set():
    config = ChatConfig("http://x", "m", limits={Role.JUDGE: RoleLimits(9, 1.5)})

    assert config.max_output(Role.JUDGE) == 9
    assert config.max_output(Role.JUDGE, 4) == 4
    assert config.limits_of(Role.JUDGE).timeout == 1.5


def test_who_shares_an_endpoint_and_a_key_shares_a_line():
    line = ChatConfig("http://x", "a", key="k").line

    assert line == ChatConfig("http://x", "b", key="k").line
    assert line != ChatConfig("http://x", "a", key="l").line
    assert 0 <= line < 2**31


def test_an_address_is_shown_without_the_password_in_it():
    assert ChatConfig("https://me:secret@models.example/v1", "m").host == "models.example"
