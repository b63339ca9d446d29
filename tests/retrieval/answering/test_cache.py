"""An answer given before serves again until anything changes that it depends on."""

from __future__ import annotations

import dataclasses

import pytest

from ingestion.knowledge.corpus import corpus_version
from retrieval.answering import cache, jobs
from retrieval.answering.drafts import Asking, Earlier
from retrieval.conversations import asking
from retrieval.models import AnswerState, Citation
from retrieval.search.reporting import EventKind
from retrieval.search.scope import Scope
from tests import rows
from tests.ingestion.jobs import add
from tests.retrieval.answering.asked import (
    QUESTION,
    events_of,
    kinds_of,
    make_asked_cast,
    queue,
    run,
    set_version,
)
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def cast(fake_embedder):
    return make_asked_cast(version=1)


def is_cached(answer):
    return "cached_from" in answer.trace


def version_of(workspace):
    with access.in_workspace(workspace.pk):
        return corpus_version(workspace_id=workspace.pk)


def test_the_same_question_again_gets_the_answer_it_got(cast):
    first, second = run(queue(cast)), run(queue(cast))

    assert not is_cached(first)
    assert second.trace["cached_from"] == str(first.pk)
    names = ("sentences", "mode", "outcome", "is_supported", "nearest", "follow_ups", "written_by")
    for name in names:
        assert getattr(second, name) == getattr(first, name), name
    assert second.state == AnswerState.DONE


def test_what_is_served_again_has_citations_of_its_own(cast):
    first, second = run(queue(cast)), run(queue(cast))

    with access.in_workspace(cast.workspace.pk):
        citations = Citation.objects.in_workspace(cast.workspace)
        [one], [other] = citations.filter(answer=first), citations.filter(answer=second)
    assert (one.quote, one.number, one.spans) == (other.quote, other.number, other.spans)


def test_what_is_served_again_shows_passages_and_answer_and_ends(cast):
    first, second = run(queue(cast)), run(queue(cast))

    assert kinds_of(second) == kinds_of(first)
    assert [one.sequence for one in events_of(second)] == list(range(len(events_of(second))))
    payload = {one.kind: one.payload for one in events_of(first)}
    assert {one.kind: one.payload for one in events_of(second)} == payload


def test_an_answer_that_was_served_again_serves_again(cast):
    run(queue(cast))
    run(queue(cast))

    assert is_cached(run(queue(cast)))


@pytest.mark.parametrize(
    "changed",
    [{"question": "Who keeps the light?"}, {"mode": "lexical"}, {"scope": Scope(tags=("tide",))}],
)
def test_another_question_mode_or_scope_is_worked_on(cast, changed):
    run(queue(cast))

    assert not is_cached(run(queue(cast, **changed)))


def test_a_change_of_the_corpus_is_worked_on(cast):
    run(queue(cast))
    set_version(cast, 2)

    assert not is_cached(run(queue(cast)))


def test_a_failed_answer_serves_nobody(cast, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(jobs.flow, "draft_answer", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(queue(cast))

    assert not is_cached(run(queue(cast)))


def test_where_no_document_was_ever_read_nothing_is_concluded(fake_embedder):
    cast = make_asked_cast()

    run(queue(cast))

    assert not is_cached(run(queue(cast)))


def test_while_a_document_is_on_its_way_nothing_is_served_again(cast, media):
    run(queue(cast))
    add(cast.workspace)

    assert version_of(cast.workspace) is None
    assert not is_cached(run(queue(cast)))


def test_each_change_of_the_models_is_worked_on(cast):
    run(queue(cast))
    choice = ModelChoice(endpoint="http://127.0.0.1:9/v1", key="k", model="one")
    before = cache.conditions_of(asking_of(cast))
    keys = {before.key(QUESTION)}

    for model in ("one", "two"):
        language_model_services.model_settings_save(
            workspace=cast.workspace, choice=dataclasses.replace(choice, model=model)
        )
        keys.add(key_of(cast))

    assert len(keys) == 3


def asking_of(cast, *earlier):
    return Asking(cast.workspace, cast.workspace.pk, QUESTION, "hybrid", earlier=earlier)


def key_of(cast, *earlier):
    return cache.conditions_of(asking_of(cast, *earlier)).key(QUESTION)


def test_what_a_model_writes_in_the_light_of_a_conversation_stays_in_it(cast):
    said = Earlier("Is the keeper to be dismissed?", "She is.")
    without_model = {key_of(cast, *one) for one in ((), (said,))}
    language_model_services.model_settings_save(
        workspace=cast.workspace,
        choice=ModelChoice(endpoint="http://127.0.0.1:9/v1", key="k", model="one"),
    )

    with_model = {key_of(cast, *one) for one in ((), (said,))}

    assert len(without_model) == 1
    assert len(with_model) == 2


def test_other_prompts_are_worked_on(cast, monkeypatch, tmp_path):
    before = key_of(cast)
    (tmp_path / "answer.md").write_text("Answer otherwise.")
    monkeypatch.setattr(cache, "PROMPTS", tmp_path)
    cache._prompts.cache_clear()

    assert key_of(cast) != before
    cache._prompts.cache_clear()


def test_another_workspace_is_served_nothing_of_it(cast):
    run(queue(cast))
    other = rows.make_workspace("Elsewhere", owner=cast.alice)
    set_version(dataclasses.replace(cast, workspace=other), 1)

    answer = run(queue(dataclasses.replace(cast, workspace=other)))

    assert not is_cached(answer)
    assert not answer.is_supported


def test_a_follow_up_is_served_what_its_whole_question_was_answered(cast, monkeypatch):
    standalone = "What does the lamp of the Skarrow light burn?"
    known = run(queue(cast, standalone))
    first = run(queue(cast))
    real = jobs.flow.draft_answer

    def planning(asking_, reporter):
        plan = {"question": standalone, "is_rewritten": True, "mode": "hybrid"}
        reporter.emit(EventKind.PLAN, plan)
        return real(asking_, reporter)

    monkeypatch.setattr(jobs.flow, "draft_answer", planning)
    conversation = first.question.conversation_id
    answer = run(queue(cast, "And what does it burn?", conversation_id=conversation))

    assert answer.trace["cached_from"] == str(known.pk)
    assert answer.question.standalone == standalone


def test_asking_here_and_now_is_served_too(cast):
    run(queue(cast))

    answer = asking.ask(workspace=cast.workspace, user=None, question=QUESTION, mode="hybrid")

    assert is_cached(answer)
