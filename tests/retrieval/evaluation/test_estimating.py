from __future__ import annotations

from decimal import Decimal

import pytest

from kb_project.llm.fake import FakeChat
from kb_project.ports import build_ports
from retrieval.evaluation import control
from retrieval.search.modes import MODES
from tests.retrieval.evaluation import cast
from workspaces import access
from workspaces.models import ModelBudget, ModelPrice

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace(fake_embedder):
    return cast.make_read_workspace().workspace


@pytest.fixture
def made(workspace):
    return cast.make_set(workspace)


@pytest.fixture
def with_chat(monkeypatch):
    ports = build_ports()
    chat = FakeChat(lambda request: "never asked")
    with_model = type(ports)(ports.embedder, ports.graph, chat)
    monkeypatch.setattr(control, "ports_for", lambda _: with_model)
    return chat


def estimate(workspace, made, *modes, answers=False):
    return control.estimate_for_run(
        workspace=workspace, question_set=made, modes=list(modes), answers=answers
    )


def priced(workspace, *, cap: str = "") -> None:
    with access.in_workspace(workspace.pk):
        ModelPrice.objects.create(
            workspace=workspace,
            model="fake-model",
            prompt=Decimal(10),
            cached_prompt=Decimal(1),
            completion=Decimal(20),
        )
        if cap:
            ModelBudget.objects.create(workspace=workspace, cap=Decimal(cap))


def test_without_a_model_nothing_costs_anything(workspace, made):
    found = estimate(workspace, made, "lexical", "dense", answers=True)

    assert (found.documents, found.passages.high, found.is_free) == (3, 6, True)
    assert control.estimate_sentences(found) == ["Costs nothing: no model is called."]


def test_modes_that_only_read_rows_cost_nothing(workspace, made, with_chat):
    found = estimate(workspace, made, "lexical", "dense")

    assert found.is_free
    assert control.estimate_sentences(found) == ["Costs nothing: these modes call no model."]


def test_answers_cost_their_writing_and_their_judging(workspace, made, with_chat):
    priced(workspace)

    found = estimate(workspace, made, "lexical", answers=True)

    # Three answers; two are judged: claims of both answers, and each passage.
    assert found.calls.low >= 3 + 4 + 2 * 8
    assert found.cost is not None
    assert 0 < found.cost.low < found.cost.high
    assert with_chat.requests == []
    told = " ".join(control.estimate_sentences(found))
    assert "Cost:" in told
    assert "calls to the model" in told


def test_two_modes_cost_twice_as_much(workspace, made, with_chat):
    one = estimate(workspace, made, "lexical", answers=True)
    two = estimate(workspace, made, "lexical", "dense", answers=True)

    assert two.calls.high == 2 * one.calls.high


def test_without_a_price_the_calls_are_told_and_the_cost_is_not_known(workspace, made, with_chat):
    found = estimate(workspace, made, "lexical", answers=True)

    assert found.cost is None
    assert "unknown" in control.estimate_sentences(found)[0]


def test_a_budget_that_will_not_do_is_told(workspace, made, with_chat):
    priced(workspace, cap="0.0001")

    found = estimate(workspace, made, "lexical", answers=True)

    assert found.is_surely_short
    assert "will not be enough" in " ".join(control.estimate_sentences(found))


def test_making_questions_is_priced_too(workspace, with_chat):
    found = control.estimate_for_making(workspace=workspace, number=10)

    assert (found.calls.low, found.calls.high) == (10, 30)


def test_making_questions_from_sentences_costs_nothing(workspace):
    assert control.estimate_for_making(workspace=workspace, number=10).is_free


def test_modes_that_ask_are_modes_there_are():
    assert set(control.SEARCH_CALLS) <= set(MODES)
