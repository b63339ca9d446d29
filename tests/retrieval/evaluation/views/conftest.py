"""The cast with a set, signed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from retrieval.evaluation import control, runs
from retrieval.evaluation.control import Order
from retrieval.evaluation.measuring import Plan
from retrieval.models import EvaluationRun, QuestionSet
from tests.api import sign_in
from tests.retrieval.evaluation import cast
from tests.rows import Cast
from workspaces import access
from workspaces.models import User

RunIt = Callable[..., EvaluationRun]


@pytest.fixture
def people(fake_embedder: None) -> Cast:
    return cast.make_read_workspace()


@pytest.fixture
def made(people: Cast) -> QuestionSet:
    return cast.make_set(people.workspace)


@pytest.fixture
def signed_in() -> Callable[[User], Any]:
    def client_of(user: User) -> Client:
        client = Client()
        sign_in(client, user)
        return client

    return client_of


@pytest.fixture
def alice(people: Cast, signed_in: Callable[[User], Any]) -> Any:
    return signed_in(people.alice)


@pytest.fixture
def bob(people: Cast, signed_in: Callable[[User], Any]) -> Any:
    return signed_in(people.bob)


@pytest.fixture
def charlie(people: Cast, signed_in: Callable[[User], Any]) -> Any:
    return signed_in(people.charlie)


@pytest.fixture
def run_it(people: Cast, made: QuestionSet) -> RunIt:
    """A run over the set that has come to its end."""

    def run_to_its_end(*, answers: bool = False) -> EvaluationRun:
        run = control.run_start(
            workspace=people.workspace,
            order=Order(people.alice),
            question_set=made,
            plan=Plan(("lexical", "dense"), (1, 5)),
            answers=answers,
        )
        runs.run_evaluation(people.workspace.pk, run.pk)
        with access.in_workspace(people.workspace.pk):
            run.refresh_from_db()
        return run

    return run_to_its_end
