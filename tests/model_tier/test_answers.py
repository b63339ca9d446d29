"""Questions end to end: real pipeline, real database, a scripted server of models."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from ingestion.models import Chunk
from kb_project.errors import EndpointError, ReplyError
from retrieval.conversations import asking
from retrieval.models import Answer, AnswerEvent, AnswerState, Citation
from tests.ingestion.once import Kept, once_a_module
from tests.model_tier.conftest import write_every_topic
from tests.model_tier.tier import Tier, make_tier
from tests.provider import Provider
from workspaces.language_models import services as language_model_services
from workspaces.language_models.services import PriceGiven
from workspaces.models import ModelCall, Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

QUESTION = "Who kept the light of Skarrow?"
MODES = "walk local entities relations mix tree global drift lexical".split()


def make_read() -> Workspace:
    with Provider() as provider, pytest.MonkeyPatch.context() as patch:
        write_every_topic(patch)
        tier = make_tier(provider)
        # Prices that were read hold for some seconds: they are set first.
        price = PriceGiven(provider.model, Decimal(10), Decimal(30))
        language_model_services.prices_set(workspace=tier.workspace, prices=[price])
        tier.add_papers(2, paragraphs=12)
        tier.drain()
    return tier.workspace


read_once = once_a_module(make_read, Kept)


@pytest.fixture
def read(read_once: Kept[Workspace], provider: Provider, media: Path, fake_embedder: None) -> Tier:
    """With documents that are read already."""
    tier = Tier(read_once.for_a_test(media), provider)
    tier.choose()
    return tier


def ask(tier: Tier, question: str = QUESTION, mode: str = "hybrid") -> Answer:
    return asking.ask(workspace=tier.workspace, user=None, question=question, mode=mode)


def test_an_answer_is_written_streamed_cited_checked_and_paid(read: Tier):
    answer = ask(read)

    assert answer.state == AnswerState.DONE
    assert answer.is_supported
    assert answer.written_by == read.provider.model
    assert [one["check"]["verdict"] for one in answer.sentences] == ["supported", "supported"]
    chunks = {chunk.pk: chunk for chunk in read.rows(Chunk)}
    for one in read.rows(Citation):
        chunk = chunks[one.chunk_id]
        assert chunk.text[one.start - chunk.start : one.end - chunk.start] == one.quote
    calls = [one for one in read.rows(ModelCall) if one.question_id == answer.question_id]
    assert {"answer"} <= {one.stage for one in calls}
    assert answer.trace["calls"]["count"] == len(calls)
    assert answer.trace["calls"]["cost"] == pytest.approx(float(sum(one.cost for one in calls)))
    assert answer.trace["calls"]["cost"] > 0


def test_every_mode_answers_in_the_models_words(read: Tier):
    for mode in MODES:
        answer = ask(read, mode=mode)

        assert answer.state == AnswerState.DONE, mode
        numbers = {number for one in answer.sentences for number in one["citations"]}
        cited = [one for one in read.rows(Citation) if one.answer_id == answer.pk]
        assert numbers == {one.number for one in cited}, mode


def test_markers_that_do_not_hold_never_leave_the_server(read: Tier):
    read.provider.script.on("NO_ANSWER", "The keeper kept the light [1][77][E99] [doc 3].")

    answer = ask(read)

    [sentence] = answer.sentences
    assert (sentence["text"], sentence["citations"]) == ("The keeper kept the light.", [1])
    assert answer.trace["citations"]["invented"] == 1
    assert answer.trace["citations"]["foreign"] == 2


def test_an_unsupported_sentence_is_shown_as_one(read: Tier):
    read.provider.script.on(r'"verdicts"|verdicts', "I would rather not judge.")
    read.provider.script.on("NO_ANSWER", "In 1234 Queen Zenobia kept the light [1].")

    answer = ask(read)

    [sentence] = answer.sentences
    assert sentence["check"]["verdict"] == "unsupported"
    assert not answer.is_supported
    assert answer.nearest


@pytest.mark.parametrize(("fault", "error"), [("truncated", ReplyError), ("hang", EndpointError)])
def test_a_failing_model_leaves_the_passages(read: Tier, fault: str, error: type[Exception]):
    timeout = 1 if fault == "hang" else 60
    read.choose(limits={"answer": {"timeout": timeout, "max_output": 500}})
    read.provider.script.next(fault, times=20)

    with pytest.raises(error):
        ask(read)

    [answer] = read.rows(Answer)
    assert answer.state == AnswerState.FAILED
    problem = answer.problem or {}
    assert problem["happened"]
    assert problem["next_step"]
    assert "passages" in {one.kind for one in read.rows(AnswerEvent)}
    read.provider.script.forget()
    read.choose()
    assert ask(read).state == AnswerState.DONE
