from __future__ import annotations

import pytest

from kb_project.errors import EndpointError
from kb_project.llm.breaker import Breaker


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


def test_it_knows_whether_others_were_answered_meanwhile():
    clock = Clock()
    breaker = Breaker("models.example", clock=clock)
    clock.now = 5
    breaker.succeeded()

    assert breaker.answered_since(4)
    assert not breaker.answered_since(5)
