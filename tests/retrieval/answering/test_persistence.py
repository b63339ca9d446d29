from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client

from kb_project.errors import EndpointError
from kb_project.llm.halting import Halt, halted_by
from retrieval.answering import flow, jobs
from retrieval.answering.drafts import Earlier, Suggested
from retrieval.conversations import asking
from retrieval.models import AnswerState, Citation, Outcome
from retrieval.search.reporting import EventKind
from tests.retrieval.answering.asked import (
    QUESTION,
    WORKER,
    answer_with,
    call_of,
    events_of,
    fresh,
    kinds_of,
    make_asked_cast,
    queue,
    run,
)
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]
SAID = "Ada Lind keeps the Skarrow light."


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast()


def suggesting(monkeypatch, suggest):
    """Questions to go on with are made by ``suggest(reporter)``."""
    real = flow.draft_answer

    def draft(asking_, reporter):
        return replace(real(asking_, reporter), suggest=lambda: suggest(reporter))

    monkeypatch.setattr(jobs.flow, "draft_answer", draft)


def test_the_answer_is_told_and_kept_before_anything_is_suggested(cast, monkeypatch):
    answer = queue(cast)
    seen = []

    def look(_reporter):
        seen.append((fresh(answer), kinds_of(answer)))
        return Suggested(("What does the lamp burn?",), {"count": 2})

    suggesting(monkeypatch, look)
    ended = run(answer)

    [(before, kinds)] = seen
    assert (before.state, before.is_written) == (AnswerState.RUNNING, True)
    assert before.sentences == ended.sentences
    assert before.sentences[0]["text"] == SAID
    assert kinds[-1] == "answer"
    assert (ended.state, ended.follow_ups) == (AnswerState.DONE, ["What does the lamp burn?"])
    assert ended.trace["calls"] == {"count": 2}
    assert kinds_of(ended)[-3:] == ["answer", "follow_ups", "done"]


def drafting(monkeypatch, change):
    """What is drafted is what ``change`` makes of it."""
    real = flow.draft_answer
    monkeypatch.setattr(jobs.flow, "draft_answer", lambda *given: change(real(*given)))


def test_citations_are_kept_and_told_in_the_order_in_which_they_appear(cast, monkeypatch):
    def seventh(draft):
        sentence, passage = draft.sentences[0], draft.citations[0]
        [span] = sentence.spans
        return replace(
            draft,
            sentences=[replace(sentence, spans=(replace(span, number=7),), marked=((0, 8),))],
            citations=[replace(passage, number=7)],
        )

    drafting(monkeypatch, seventh)
    answer = run(queue(cast))

    [told] = [one.payload for one in events_of(answer) if one.kind == "answer"]
    with access.in_workspace(cast.workspace.pk):
        [citation] = Citation.objects.in_workspace(cast.workspace).filter(answer=answer)
    [sentence] = answer.sentences
    assert (sentence["citations"], sentence["spans"][0][0], citation.number) == ([1], 1, 1)
    assert sentence["marked"] == [[0, 8]]
    assert told["sentences"] == answer.sentences
    assert [one["number"] for one in told["citations"]] == [1]


@pytest.mark.parametrize("outcome", [Outcome.UNSURE, Outcome.NOTHING])
def test_what_an_answer_came_to_is_kept_and_told(cast, monkeypatch, outcome):
    without = {"outcome": outcome, "is_supported": False, "sentences": (), "citations": ()}
    drafting(monkeypatch, lambda draft: replace(draft, **without))

    answer = run(queue(cast))

    [told] = [one.payload for one in events_of(answer) if one.kind == "answer"]
    assert (answer.outcome, answer.message) == (outcome, outcome.label)
    assert (told["outcome"], told["message"]) == (outcome, outcome.label)


def test_the_page_shows_the_answer_while_suggestions_are_made(cast, monkeypatch):
    answer = queue(cast)
    client = Client()
    client.force_login(cast.bob)
    seen = []

    def look(_reporter):
        page = client.get(f"/w/{cast.workspace.slug}/questions/{answer.question_id}/")
        seen.append(page.content.decode())
        return Suggested()

    suggesting(monkeypatch, look)
    run(answer)

    assert 'data-state="running"' in seen[0]
    assert "data-events=" in seen[0]
    assert SAID in seen[0]
    assert "Ask again" in seen[0]
    assert "data-stop" not in seen[0]


def test_events_while_suggesting_are_numbered_on(cast, monkeypatch):
    def step(reporter):
        reporter.emit(EventKind.STEP, {"name": "suggest", "sentence": "Looking on."})
        return Suggested(("Why?",))

    suggesting(monkeypatch, step)
    answer = run(queue(cast))

    assert kinds_of(answer)[-4:] == ["answer", "step", "follow_ups", "done"]
    numbers = [event.sequence for event in events_of(answer)]
    assert numbers == sorted(set(numbers))


def test_a_stop_while_suggesting_leaves_the_answer_done(cast, monkeypatch):
    halt = Halt()

    def stopped(reporter):
        halt.set()
        reporter.check()

    suggesting(monkeypatch, stopped)
    with halted_by(halt):
        answer = run(queue(cast))

    assert (answer.state, answer.follow_ups) == (AnswerState.DONE, [])
    assert answer.sentences[0]["text"] == SAID
    assert kinds_of(answer)[-2:] == ["answer", "done"]


def test_a_model_that_fails_to_suggest_leaves_the_answer_done(cast, monkeypatch):
    def away(_reporter):
        raise EndpointError("The endpoint does not answer.")

    suggesting(monkeypatch, away)

    assert run(queue(cast)).state == AnswerState.DONE
    here = asking.ask(workspace=cast.workspace, user=cast.bob, question=QUESTION, mode="hybrid")
    assert (here.state, here.problem) == (AnswerState.DONE, None)


def test_a_worker_that_dies_while_suggesting_leaves_the_answer_done(cast, monkeypatch):
    answer = queue(cast)

    def killed(_reporter):
        jobs.QUEUE.interrupt(call_of(answer), WORKER)
        return Suggested(("Never told?",))

    suggesting(monkeypatch, killed)
    ended = run(answer)

    assert (ended.state, ended.problem, ended.follow_ups) == (AnswerState.DONE, None, [])
    assert ended.lease_until is None
    assert ended.finished_at
    assert kinds_of(ended)[-2:] == ["answer", "done"]


def test_what_nobody_foresaw_while_suggesting_leaves_the_answer_done(cast, monkeypatch):
    answer = queue(cast)
    suggesting(monkeypatch, lambda _reporter: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        run(answer)
    jobs.QUEUE.fail(call_of(answer), WORKER, ZeroDivisionError())

    assert fresh(answer).state == AnswerState.DONE


def test_what_is_asked_meanwhile_knows_the_answer_that_stands(cast, monkeypatch):
    first = queue(cast)
    seen: list[Earlier] = []

    def ask_on(_reporter):
        further = queue(cast, "And when?", conversation_id=first.question.conversation_id)
        seen.extend(jobs.load(further.workspace_id, further.pk)[1].earlier)
        return Suggested()

    suggesting(monkeypatch, ask_on)
    run(first)

    assert [one.question for one in seen] == [QUESTION]
    assert seen[0].answer.startswith(SAID)


def test_an_answer_that_does_not_stand_yet_fails(cast):
    answer = queue(cast)
    assert jobs.QUEUE.claim(call_of(answer), WORKER)

    jobs.QUEUE.interrupt(call_of(answer), WORKER)

    assert answer_with(answer.workspace_id, answer.pk).state == AnswerState.FAILED
    assert kinds_of(answer)[-1] == "failed"
