from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import EndpointError, ReplyError
from kb_project.llm.policy import Breaker, LengthLimit, Retry, RetryPolicy


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def broken(clock: Clock) -> Breaker:
    breaker = Breaker("models.example", threshold=3, rest=30, clock=clock)
    for _ in range(3):
        breaker.check()
        breaker.failed()
    return breaker


def test_an_endpoint_that_failed_again_and_again_is_left_alone():
    with pytest.raises(EndpointError) as raised:
        broken(Clock()).check()

    assert raised.value.code == "endpoint_down"
    assert "models.example" in raised.value.sentence


def test_after_a_rest_one_call_goes_through():
    clock = Clock()
    breaker = broken(clock)

    clock.now = 31
    breaker.check()

    with pytest.raises(EndpointError):
        breaker.check()


def test_an_answer_closes_it():
    clock = Clock()
    breaker = broken(clock)
    clock.now = 31
    breaker.check()

    breaker.succeeded()

    breaker.check()
    breaker.check()


def test_a_failure_after_the_rest_opens_it_again():
    clock = Clock()
    breaker = broken(clock)
    clock.now = 31
    breaker.check()
    breaker.failed()

    clock.now = 60
    with pytest.raises(EndpointError):
        breaker.check()


def test_failures_between_answers_do_not_add_up():
    breaker = Breaker("models.example", threshold=2)
    for _ in range(5):
        breaker.failed()
        breaker.succeeded()

    breaker.check()


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def retry_in(time: Time, dice: float = 1.0, attempts: int = 6) -> Retry:
    policy = RetryPolicy(attempts=attempts)
    return Retry(policy, clock=time.clock, sleep=time.sleep, dice=lambda: dice)


def failing(times: int, retry_after: float = 0.0):
    left = [times]

    def once() -> str:
        if left[0]:
            left[0] -= 1
            error = EndpointError("Away.")
            error.retry_after = retry_after
            raise error
        return "answer"

    return once


def test_an_endpoint_that_comes_back_is_asked_again():
    time = Time()

    assert retry_in(time).run(failing(3), patience=60) == "answer"
    assert time.now == pytest.approx(100 + 0.5 + 1 + 2)


def test_the_last_failure_is_raised_when_the_attempts_are_used_up():
    with pytest.raises(EndpointError):
        retry_in(Time(), attempts=3).run(failing(3), patience=600)


def test_a_retry_after_is_heeded():
    time = Time()

    retry_in(time).run(failing(1, retry_after=7), patience=60)

    assert time.now == pytest.approx(107)


def test_a_retry_after_beyond_all_patience_gives_up_at_once():
    time = Time()

    with pytest.raises(EndpointError):
        retry_in(time).run(failing(1, retry_after=3600), patience=30)

    assert time.slept == []


def test_nobody_waits_for_what_is_no_longer_wanted():
    time = Time()

    with pytest.raises(EndpointError):
        retry_in(time).run(failing(1), patience=60, stopped=lambda: True)

    assert time.slept == []


def test_other_errors_are_not_tried_again():
    def once() -> str:
        calls.append(1)
        raise ReplyError("Nonsense.")

    calls: list[int] = []
    with pytest.raises(ReplyError):
        retry_in(Time()).run(once, patience=60)

    assert len(calls) == 1


@given(st.integers(0, 40), st.floats(0, 1e9), st.floats(0, 1))
def test_a_wait_is_never_endless_and_never_nothing(attempt, wish, dice):
    delay = retry_in(Time(), dice).delay(attempt, wish)

    assert 0.25 <= delay <= 60


def test_a_length_that_was_refused_is_tried_again_after_a_while():
    clock = Clock()
    limit = LengthLimit(24_000, 400, clock=clock)

    assert limit.refused(["x" * 3_000, "short"])
    assert limit.now == 1_500
    clock.now += 601
    assert limit.now == 24_000


def test_the_shortest_length_is_not_halved():
    limit = LengthLimit(24_000, 400)

    assert not limit.refused(["a word"])
    assert limit.now == 24_000
