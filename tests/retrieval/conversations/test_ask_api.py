from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from kb_project.ports import build_ports
from retrieval.models import Answer, Outcome, Question
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.provider import Provider
from tests.workspaces.models_rows import set_price
from workspaces import access
from workspaces.language_models import services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import StoredReply

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light of Skarrow.\n\nThe light burns oil that is bought in Strand."
QUESTION = "Who keeps the light of Skarrow?"


@pytest.fixture
def cast(fake_embedder: None) -> rows.Cast:
    cast = rows.make_cast()
    names = {"Ada Lind": "PERSON", "Skarrow": "GPE"}
    rows.make_document(
        cast.workspace, "Keepers", TEXT, embedder=build_ports().embedder, names=names
    )
    return cast


def ask(cast: rows.Cast, user, **body: Any) -> Any:
    return client(user).post(address(cast.workspace, "ask/"), {"mode": "lexical", **body})


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_an_answer_cites_stretches_of_the_documents_text(cast: rows.Cast, who: str):
    response = ask(cast, getattr(cast, who), question=QUESTION)

    assert response.status_code == 201
    answer = response.json()
    assert answer["supported"]
    assert "Ada Lind" in answer["answer"]
    assert answer["citations"]
    for citation in answer["citations"]:
        assert citation["quote"] == TEXT[citation["start"] : citation["end"]]
        assert citation["title"] == "Keepers"


def test_every_number_in_a_sentence_is_a_citation(cast: rows.Cast):
    answer = ask(cast, cast.bob, question=QUESTION).json()

    numbers = {number for sentence in answer["sentences"] for number in sentence["citations"]}
    assert numbers == {citation["number"] for citation in answer["citations"]}
    assert answer["answer"] == " ".join(sentence["text"] for sentence in answer["sentences"])


def test_an_answer_can_be_looked_at_again(cast: rows.Cast):
    given = ask(cast, cast.bob, question=QUESTION).json()

    again = client(cast.alice).get(address(cast.workspace, f"answers/{given['id']}/"))

    assert again.json() == given


def test_the_question_is_kept_with_who_asked_and_where(cast: rows.Cast):
    ask(cast, cast.bob, question=QUESTION, scope={"media_types": ["text/plain"]})

    with access.in_workspace(cast.workspace.pk):
        question = Question.objects.in_workspace(cast.workspace).get()
    assert (question.text, question.mode, question.asked_by) == (QUESTION, "lexical", cast.bob)
    assert question.scope == {"media_types": ["text/plain"]}


def test_what_the_documents_do_not_answer_is_no_error(cast: rows.Cast):
    answer = ask(cast, cast.bob, question="What does a zeppelin weigh?").json()

    assert not answer["supported"]
    assert (answer["answer"], answer["citations"]) == ("", [])


@pytest.mark.parametrize("who", ["alice", "bob"])
@pytest.mark.parametrize("outcome", [Outcome.UNSURE, Outcome.NOTHING])
def test_an_answer_says_what_it_came_to_in_a_word_and_a_sentence(cast: rows.Cast, who, outcome):
    given = ask(cast, cast.alice, question=QUESTION).json()
    assert (given["outcome"], given["message"]) == ("answered", "")
    values = {"outcome": outcome, "is_supported": False, "trace": {"probability": 0.3}}
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).update(**values)

    where = address(cast.workspace, f"answers/{given['id']}/")
    answer = client(getattr(cast, who)).get(where).json()

    told = (answer["outcome"], answer["message"], answer["probability"])
    assert told == (outcome.value, outcome.label, 0.3)
    assert_nothing_there(client(cast.charlie).get(where))


def test_an_answer_on_its_way_has_come_to_nothing_yet(cast: rows.Cast):
    queued = client(cast.bob).post(
        address(cast.workspace, "questions/"), {"question": QUESTION, "mode": "lexical"}
    )

    answer = client(cast.bob).get(address(cast.workspace, f"answers/{queued.json()['id']}/")).json()

    assert (answer["outcome"], answer["message"], answer["probability"]) == (None, "", None)


def test_the_words_that_answer_are_told_by_their_places(cast: rows.Cast):
    given = ask(cast, cast.bob, question=QUESTION).json()
    sentence = given["sentences"][0] | {"marked": [[0, 8]]}
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).update(sentences=[sentence])

    answer = client(cast.bob).get(address(cast.workspace, f"answers/{given['id']}/")).json()

    assert answer["sentences"][0]["marked"] == [[0, 8]]


def test_what_cannot_be_asked_is_named(cast: rows.Cast):
    problem = assert_problem(ask(cast, cast.bob, question="", mode="magic"), 400, "invalid_input")

    assert set(problem["fields"]) == {"question", "mode"}


def test_a_question_without_a_word_is_refused(cast: rows.Cast):
    assert_problem(ask(cast, cast.bob, question="???"), 400, "question_empty")


def test_an_answer_that_is_not_there_is_not_found(cast: rows.Cast):
    response = client(cast.bob).get(address(cast.workspace, f"answers/{uuid4()}/"))

    assert_problem(response, 404, "not_found")


def test_strangers_get_no_answers(cast: rows.Cast):
    given = ask(cast, cast.bob, question=QUESTION).json()
    where = address(cast.workspace, f"answers/{given['id']}/")

    assert_nothing_there(ask(cast, cast.charlie, question=QUESTION))
    assert_nothing_there(client(cast.charlie).get(where))
    assert_problem(ask(cast, None, question=QUESTION), 401, "not_authenticated")
    assert_problem(client().get(where), 401, "not_authenticated")


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_only_the_context_makes_and_stores_no_answer(cast: rows.Cast, who: str):
    response = ask(cast, getattr(cast, who), question=QUESTION, only="context")

    assert response.status_code == 200
    found = response.json()
    assert "Ada Lind keeps the light of Skarrow." in found["text"]
    assert found["items"][0]["sources"] == [1]
    assert found["passages"][0]["text"] == TEXT[: found["passages"][0]["end"]]
    assert found["messages"] == []
    with access.in_workspace(cast.workspace.pk):
        assert not Question.objects.in_workspace(cast.workspace).exists()
        assert not Answer.objects.in_workspace(cast.workspace).exists()


def test_only_the_prompt_needs_a_model_to_be_for(cast: rows.Cast):
    assert_problem(ask(cast, cast.bob, question=QUESTION, only="prompt"), 409, "no_model")


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_a_spent_budget_is_told_as_a_service_that_is_away(cast: rows.Cast, who: str):
    with Provider() as provider:
        choice = ModelChoice(endpoint=provider.url, model=provider.model)
        services.model_settings_save(workspace=cast.workspace, choice=choice)
        set_price(cast.workspace, model=provider.model)
        services.budget_set(workspace=cast.workspace, cap=Decimal(0))

        response = ask(cast, getattr(cast, who), question=QUESTION)

    assert_problem(response, 503, "budget_spent")
    # Documents continue when the budget is raised, a question does not.
    assert response.json()["next_step"].endswith("Ask again then.")
    assert not provider.count()


def test_strangers_get_no_context_and_conversations_stay_private(cast: rows.Cast):
    kept = ask(cast, cast.alice, question=QUESTION).json()["conversation"]
    body = {"question": QUESTION, "only": "context", "conversation": kept}

    assert_nothing_there(ask(cast, cast.charlie, question=QUESTION, only="context"))
    assert ask(cast, cast.bob, **body).status_code == 403
    assert ask(cast, cast.alice, **body).status_code == 200


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_general_knowledge_without_a_model_is_refused_before_anything_is_stored(cast, who):
    user = getattr(cast, who)

    assert_problem(ask(cast, user, question=QUESTION, mode="bypass"), 409, "no_model")
    response = client(user).post(
        address(cast.workspace, "questions/"), {"question": QUESTION, "mode": "bypass"}
    )
    assert_problem(response, 409, "no_model")
    assert_nothing_there(ask(cast, cast.charlie, question=QUESTION, mode="bypass"))
    with access.in_workspace(cast.workspace.pk):
        assert not Question.objects.in_workspace(cast.workspace).exists()


# --- once -----------------------------------------------------------------------------------------
def ask_once(cast: rows.Cast, user, key: str = "k", **body: Any) -> Any:
    given = {"mode": "lexical", "question": QUESTION, **body}
    return client(user).post(
        address(cast.workspace, "ask/"), given, headers={"Idempotency-Key": key}
    )


@pytest.mark.django_db(transaction=True)
def test_a_question_with_a_key_is_answered_once(cast: rows.Cast):
    first, again = ask_once(cast, cast.bob), ask_once(cast, cast.bob)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again["Idempotency-Replayed"] == "true"
    with access.in_workspace(cast.workspace.pk):
        assert Answer.objects.in_workspace(cast.workspace).count() == 1


def test_a_key_is_not_for_another_question(cast: rows.Cast):
    ask_once(cast, cast.bob)

    assert_problem(ask_once(cast, cast.bob, question="Who?"), 409, "idempotency_key_reused")
    assert Answer.objects.in_workspace(cast.workspace).count() == 1


def test_no_text_of_documents_is_stored_with_a_key(cast: rows.Cast):
    ask_once(cast, cast.bob)
    ask_once(cast, cast.bob, key="other", only="context")

    [stored] = StoredReply.objects.in_workspace(cast.workspace)
    assert list(stored.body or ()) == ["id"]


@pytest.mark.django_db(transaction=True)
def test_a_question_that_was_refused_may_be_asked_again_with_its_key(cast: rows.Cast):
    conversation = ask(cast, cast.alice, question=QUESTION).json()["conversation"]
    refused = ask_once(cast, cast.bob, conversation=conversation)

    assert_problem(refused, 403, "forbidden")
    assert ask_once(cast, cast.bob).status_code == 201


def test_a_question_still_being_answered_is_not_asked_a_second_time(cast: rows.Cast):
    ask_once(cast, cast.bob)
    stored = StoredReply.objects.in_workspace(cast.workspace)
    stored.update(status=None, body=None)

    assert_problem(ask_once(cast, cast.bob), 409, "in_progress")


def test_a_key_whose_process_died_is_free_when_no_answer_takes_that_long(cast: rows.Cast):
    ask_once(cast, cast.bob)
    stored = StoredReply.objects.in_workspace(cast.workspace)
    stored.update(status=None, body=None, created_at=timezone.now() - timedelta(minutes=11))

    assert ask_once(cast, cast.bob).status_code == 201
    assert Answer.objects.in_workspace(cast.workspace).count() == 2


def test_a_stranger_learns_nothing_of_keys(cast: rows.Cast):
    ask_once(cast, cast.bob)

    assert_nothing_there(ask_once(cast, cast.charlie))
