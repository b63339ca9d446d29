from __future__ import annotations

import pytest

from ingestion.models import Chunk, Document
from kb_project.errors import EndpointError, InputError
from kb_project.llm.halting import Halt, halted_by
from retrieval.answering import jobs, persistence
from retrieval.conversations import asking
from retrieval.models import Answer, AnswerState, Citation
from retrieval.search.reporting import EventKind
from retrieval.search.scope import Scope
from tests.retrieval.answering.asked import (
    QUESTION,
    WORKER,
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


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast()


def passage_of(cast):
    """As the event has it."""
    with access.in_workspace(cast.workspace.pk):
        chunk = Chunk.objects.in_workspace(cast.workspace).order_by("ordinal").first()
    return {
        "number": 1,
        "chunk": str(chunk.pk),
        "document": str(chunk.document_id),
        "title": "Keepers",
        "start": 0,
        "end": 33,
        "text": "Ada Lind keeps the Skarrow light.",
    }


def citations_of(answer):
    with access.in_workspace(answer.workspace_id):
        return list(Citation.objects.in_workspace(answer.workspace_id).filter(answer=answer))


def flow_that(monkeypatch, make):
    """Answers are made by ``make(asking, reporter)``."""
    monkeypatch.setattr(jobs.flow, "draft_answer", make)


def test_a_claimed_answer_is_made_and_kept_with_all_that_happened(cast):
    answer = run(queue(cast))

    assert answer.state == AnswerState.DONE
    assert answer.sentences[0]["text"] == "Ada Lind keeps the Skarrow light."
    assert answer.finished_at
    assert answer.lease_until is None
    assert citations_of(answer)[0].quote == "Ada Lind keeps the Skarrow light."
    kinds = kinds_of(answer)
    assert kinds[:2] == ["state", "state"]
    assert kinds.index("passages") < kinds.index("answer")
    assert kinds[-1] == "done"


def test_events_are_numbered_without_a_gap_from_nought(cast):
    answer = run(queue(cast))

    numbers = [event.sequence for event in events_of(answer)]
    assert numbers == list(range(len(numbers)))


def test_the_event_of_the_answer_is_what_is_kept(cast):
    answer = run(queue(cast))

    payload = next(one.payload for one in events_of(answer) if one.kind == "answer")
    assert payload["sentences"] == answer.sentences
    assert payload["supported"] is True
    first = payload["citations"][0]
    assert (first["number"], first["title"]) == (1, "Keepers")
    assert first["quote"] == "Ada Lind keeps the Skarrow light."


def test_a_model_that_is_away_ends_in_a_state_that_says_so_with_the_passages(cast, monkeypatch):
    def away(_asking, reporter):
        reporter.emit(EventKind.PASSAGES, {"passages": [passage_of(cast)]})
        raise EndpointError(
            "The endpoint does not answer.", next_step="Work continues when it does."
        )

    flow_that(monkeypatch, away)
    answer = run(queue(cast))

    assert answer.state == AnswerState.FAILED
    assert answer.problem == {
        "code": "endpoint_down",
        "happened": "The endpoint does not answer.",
        "kept": persistence.KEPT,
        "next_step": "Work continues when it does. Ask again then.",
    }
    assert kinds_of(answer)[-2:] == ["passages", "failed"]
    assert events_of(answer)[-1].payload == answer.problem


def test_what_failed_can_be_tried_again(cast, monkeypatch):
    with monkeypatch.context() as patched:
        flow_that(patched, lambda *_: (_ for _ in ()).throw(EndpointError("It is away.")))
        failed = run(queue(cast))

    again = asking.answer_again(
        workspace=cast.workspace, user=cast.bob, question_id=failed.question_id
    )

    assert run(again).state == AnswerState.DONE
    assert again.question_id == failed.question_id
    assert fresh(failed).state == AnswerState.FAILED


def test_another_mode_may_be_tried_and_the_question_keeps_its_own(cast):
    first = run(queue(cast, mode="hybrid"))

    again = run(
        asking.answer_again(
            workspace=cast.workspace,
            user=cast.bob,
            question_id=first.question_id,
            mode="lexical",
        )
    )

    assert again.mode == "lexical"
    assert again.question.mode == "hybrid"


def test_what_is_stopped_keeps_the_sentences_so_far_with_their_passages(cast, monkeypatch):
    halt = Halt()

    def slow(_asking, reporter):
        reporter.emit(EventKind.PASSAGES, {"passages": [passage_of(cast)]})
        reporter.emit(EventKind.TEXT, {"text": "Ada keeps it [1]. She came"})
        halt.set()
        reporter.emit(EventKind.TEXT, {"text": " in 1987."})

    flow_that(monkeypatch, slow)
    with halted_by(halt):
        answer = run(queue(cast))

    assert answer.state == AnswerState.STOPPED
    assert [one["text"] for one in answer.sentences] == ["Ada keeps it.", "She came in 1987."]
    assert answer.sentences[0]["citations"] == [1]
    assert {one["check"] for one in answer.sentences} == {None}
    assert [one.quote for one in citations_of(answer)] == [passage_of(cast)["text"]]
    assert kinds_of(answer)[-2:] == ["answer", "stopped"]


def test_a_document_deleted_meanwhile_is_not_cited(cast, monkeypatch):
    real = jobs.flow.draft_answer

    def deleting(asking_, reporter):
        draft = real(asking_, reporter)
        with access.in_workspace(cast.workspace.pk):
            Document.objects.in_workspace(cast.workspace).delete()
        return draft

    flow_that(monkeypatch, deleting)
    answer = run(queue(cast))

    assert answer.state == AnswerState.DONE
    assert citations_of(answer) == []


def test_what_is_stopped_before_a_word_keeps_the_passages(cast, monkeypatch):
    halt = Halt()

    def slow(_asking, reporter):
        reporter.emit(EventKind.PASSAGES, {"passages": [passage_of(cast)]})
        halt.set()
        reporter.check()

    flow_that(monkeypatch, slow)
    with halted_by(halt):
        answer = run(queue(cast))

    assert (answer.state, answer.sentences) == (AnswerState.STOPPED, [])
    assert kinds_of(answer)[-2:] == ["passages", "stopped"]


def test_an_error_that_comes_of_stopping_is_no_failure(cast, monkeypatch):
    halt = Halt()

    def cut_off(_asking, _reporter):
        halt.set()
        raise EndpointError("It broke off.")

    flow_that(monkeypatch, cut_off)
    with halted_by(halt):
        answer = run(queue(cast))

    assert answer.state == AnswerState.STOPPED


def test_an_answer_that_was_taken_over_is_not_written_to(cast, monkeypatch):
    answer = queue(cast)

    def late(asking_, reporter):
        jobs.QUEUE.interrupt(call_of(answer), WORKER)
        reporter.emit(EventKind.STEP, {"name": "read", "sentence": "Reading."})

    flow_that(monkeypatch, late)
    ended = run(answer)

    assert ended.state == AnswerState.FAILED
    assert (ended.problem or {})["code"] == "interrupted"
    assert kinds_of(ended)[-1] == "failed"


def test_the_pieces_of_the_text_are_gone_once_the_answer_is_there(cast, monkeypatch):
    real = jobs.flow.draft_answer

    def telling(asking_, reporter):
        reporter.emit(EventKind.TEXT, {"text": "Ada keeps it."})
        return real(asking_, reporter)

    flow_that(monkeypatch, telling)

    assert "text" not in kinds_of(run(queue(cast)))


def test_a_question_is_understood_in_its_conversation(cast, monkeypatch):
    first = run(queue(cast))
    conversation = first.question.conversation_id
    with pytest.raises(InputError):
        queue(cast, "???", conversation_id=conversation)
    second = run(queue(cast, "What does the lamp burn?", conversation_id=conversation))
    third = queue(cast, "And when?", conversation_id=conversation)

    _, wanted = jobs.load(third.workspace_id, third.pk)

    assert [one.question for one in wanted.earlier] == [QUESTION, "What does the lamp burn?"]
    assert wanted.earlier[0].answer.startswith("Ada Lind keeps the Skarrow light.")
    assert second.question.conversation_id == conversation


def test_an_answer_of_other_documents_is_marked_in_the_conversation(cast):
    first = run(queue(cast))
    conversation = first.question.conversation_id
    scope = Scope(media_types=("text/plain",))
    second = queue(cast, "And when?", conversation_id=conversation, scope=scope)
    third = queue(cast, "And why?", conversation_id=conversation)

    marked = [jobs.load(one.workspace_id, one.pk)[1].earlier for one in (second, third)]

    assert [one.is_same_scope for one in marked[0]] == [False]
    assert [one.is_same_scope for one in marked[1]] == [True]


def test_a_conversation_of_ones_own_begins_with_each_question(cast):
    first, second = queue(cast), queue(cast)

    assert first.question.conversation_id != second.question.conversation_id
    assert jobs.load(second.workspace_id, second.pk)[1].earlier == ()


def test_the_scope_goes_along(cast):
    answer = run(queue(cast, scope=Scope(tags=("none such",))))

    assert answer.trace["notes"][0]["code"] == "scope_empty"
    assert not answer.is_supported


def test_asking_here_and_now_leaves_the_same_rows(cast):
    answer = asking.ask(workspace=cast.workspace, user=cast.bob, question=QUESTION, mode="hybrid")

    assert fresh(answer).state == answer.state == AnswerState.DONE
    assert kinds_of(answer) == kinds_of(run(queue(cast)))


def test_a_failure_here_and_now_is_raised_and_kept(cast, monkeypatch):
    def away(_asking, _reporter):
        raise EndpointError("The endpoint does not answer.")

    flow_that(monkeypatch, away)
    with pytest.raises(EndpointError):
        asking.ask(workspace=cast.workspace, user=cast.bob, question=QUESTION, mode="hybrid")

    with access.in_workspace(cast.workspace.pk):
        [question] = asking.Question.objects.in_workspace(cast.workspace)
        [answer] = asking.Answer.objects.in_workspace(cast.workspace).filter(question=question)
    assert (answer.state, (answer.problem or {})["code"]) == (AnswerState.FAILED, "endpoint_down")


def test_the_first_step_is_told_at_once(cast, monkeypatch):
    told = told_before_drafting(monkeypatch)

    run(queue(cast))

    assert told == ["state", "state", "step"]


def test_where_others_wait_the_first_step_is_told_with_what_comes_of_it(cast, monkeypatch):
    told = told_before_drafting(monkeypatch)
    monkeypatch.setattr(jobs.scheduler, "is_crowded", lambda: True)

    answer = run(queue(cast))

    assert told == ["state"]
    assert kinds_of(answer)[:5] == ["state", "state", "step", "plan", "passages"]


def told_before_drafting(monkeypatch):
    """The kinds of events that are there when the search begins, filled when it does."""
    told, real = [], jobs.flow.draft_answer

    def draft(asking_, reporter):
        rows = Answer.objects.in_workspace(asking_.workspace)
        with access.in_workspace(asking_.workspace.pk):
            told.extend(kinds_of(rows.get(question_id=asking_.question_id)))
        return real(asking_, reporter)

    flow_that(monkeypatch, draft)
    return told
