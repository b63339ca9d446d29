"""What people asked outlives the edition that they asked it in."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from ingestion.documents import lifecycle, metadata
from ingestion.history.recording import ChangeContext
from ingestion.models import Collection, CollectionGrant, Document, Entity
from kb_project.errors import UnavailableError
from retrieval import user_content
from retrieval.conversations import asking, queries, streaming
from retrieval.conversations.queries import Asked
from retrieval.models import Answer, Citation, Question, QuestionSet
from tests import rows
from tests.ingestion.editions.conftest import Team, team, team_once
from workspaces import access, editions as closing
from workspaces.models import User, Workspace

__all__ = ["team", "team_once"]

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "Who sells oil to Ada Lind?"


def ask(team: Team, user: User, question: str = QUESTION) -> Asked:
    """Ask where the person reads."""
    edition = team.read_by(user)
    answer = asking.ask(workspace=edition, user=user, question=question, mode="hybrid")
    asked = read(edition, answer.question_id)
    assert asked is not None
    assert asked.citations
    return asked


def read(workspace: Workspace, question: UUID) -> Asked | None:
    with access.in_workspace(workspace.pk):
        if not Question.objects.in_workspace(workspace).filter(pk=question).exists():
            return None
        return queries.asked(workspace=workspace, question_id=question)


def quotes(asked: Asked | None) -> list[tuple[UUID | None, str]]:
    assert asked is not None
    return [(one.document_id, one.quote) for one in asked.citations]


def take(team: Team, user: User) -> None:
    with access.in_workspace(team.workspace.pk):
        CollectionGrant.objects.in_workspace(team.workspace).filter(
            membership=team.membership(user)
        ).delete()
    team.sync()


def stores(team: Team) -> list[Workspace]:
    return list(Workspace.objects.filter(source=team.workspace, is_store=True))


def test_questions_follow_who_sees_more_and_their_citations_open(team: Team, client: Client):
    team.restrict(team.court)
    team.sync()
    asked = ask(team, team.bob)

    team.grant(team.bob, team.court)
    team.sync()

    assert team.read_by(team.bob).pk == team.workspace.pk
    there = read(team.workspace, asked.question.pk)
    assert quotes(there) == quotes(asked)
    client.force_login(team.bob)
    listed = client.get(reverse("retrieval:ask", args=[team.workspace.slug])).content.decode()
    assert str(asked.question.pk) in listed
    for citation in asked.citations:
        address = reverse(
            "ingestion:document_detail", args=[team.workspace.slug, citation.document_id]
        )
        assert client.get(address).status_code == 200
    answer = reverse("retrieval_api:answer", args=[team.workspace.slug, asked.answer.pk])
    assert client.get(answer).json()["citations"][0]["quote"] == asked.citations[0].quote


def test_questions_follow_from_one_edition_to_a_larger_one(team: Team):
    sea = team_collection(team, "Sea", "Lease")
    team.restrict(team.court)
    team.restrict(sea)
    team.sync()
    asked = ask(team, team.bob)

    team.grant(team.bob, sea)
    team.sync()

    edition = team.read_by(team.bob)
    assert edition.pk != team.workspace.pk
    assert quotes(read(edition, asked.question.pk)) == quotes(asked)
    assert stores(team) == []


def test_questions_wait_while_access_is_smaller_and_are_back_with_it(team: Team, client: Client):
    sea = team_collection(team, "Sea", "Lease")
    team.restrict(team.court)
    team.restrict(sea)
    team.grant(team.bob, sea)
    team.sync()
    asked = ask(team, team.bob)

    take(team, team.bob)

    edition = team.read_by(team.bob)
    assert read(edition, asked.question.pk) is None
    [store] = stores(team)
    assert read(store, asked.question.pk) is not None
    client.force_login(team.bob)
    for place in (team.workspace.slug, edition.pk, store.pk):
        address = reverse("retrieval_api:answer", args=[place, asked.answer.pk])
        assert client.get(address).status_code == 404

    team.grant(team.bob, sea)
    team.sync()
    assert quotes(read(team.read_by(team.bob), asked.question.pk)) == quotes(asked)
    assert stores(team) == []


def test_what_was_asked_before_a_collection_was_restricted_is_not_read_after(team: Team):
    team.restrict(team.court)
    team.sync()
    asked = ask(team, team.bob)
    sea = team_collection(team, "Sea", "Lease")
    team.restrict(sea)
    team.sync()

    assert read(team.read_by(team.bob), asked.question.pk) is None

    team.restrict(sea, is_restricted=False)
    team.sync()
    assert quotes(read(team.read_by(team.bob), asked.question.pk)) == quotes(asked)


def test_who_sees_all_no_more_finds_their_questions_again_with_all(team: Team):
    asked = ask(team, team.bob)
    team.restrict(team.court)
    team.sync()
    assert read(team.read_by(team.bob), asked.question.pk) is None

    team.grant(team.bob, team.court)
    team.sync()
    assert quotes(read(team.read_by(team.bob), asked.question.pk)) == quotes(asked)


def test_an_edition_without_an_audience_keeps_what_people_made_and_nothing_else(team: Team):
    team.restrict(team.court)
    team.sync()
    asked = ask(team, team.bob)
    edition = team.read_by(team.bob)
    with access.in_workspace(edition.pk):
        QuestionSet.objects.create(workspace=edition, name="Harbour", added_by=team.bob)
    team_left(team)
    team.sync()

    assert not Workspace.objects.filter(pk=edition.pk).exists()
    [store] = stores(team)
    assert quotes(read(store, asked.question.pk)) == quotes(asked)
    with access.in_workspace(store.pk):
        assert QuestionSet.objects.in_workspace(store).count() == 1
        assert not Entity.objects.in_workspace(store).exists()
        titles = set(Document.objects.in_workspace(store).values_list("title", flat=True))
    assert titles == {""}
    with pytest.raises(UnavailableError):
        closing.edition_for(team.workspace, [team.court.pk])


def test_deleting_a_document_for_good_takes_its_quotes_out_of_stores(team: Team):
    team.restrict(team.court)
    team.sync()
    asked = ask(team, team.bob)
    team_left(team)
    team.sync()
    cited = {one.document_id for one in asked.citations}
    with access.in_workspace(team.workspace.pk):
        documents = list(Document.objects.in_workspace(team.workspace).filter(pk__in=cited))

    lifecycle.documents_delete(
        change=ChangeContext(team.workspace, team.alice), documents=documents
    )
    team.sync()

    [store] = stores(team)
    assert {quote for _, quote in quotes(read(store, asked.question.pk))} == {""}


def test_a_question_waits_while_a_document_it_rests_on_is_hidden(team: Team):
    team.restrict(team.court)
    team.sync()
    asked = ask(team, team.bob)
    other = ask(team, team.bob, "Who rents the house of Skarrow?")
    change = ChangeContext(team.workspace, team.alice)
    cited = {one.document_id for one in asked.citations}
    with access.in_workspace(team.workspace.pk):
        documents = list(Document.objects.in_workspace(team.workspace).filter(pk__in=cited))

    for document in documents:
        metadata.document_edit(change=change, document=document, collection="Court")
    team.sync()
    assert read(team.read_by(team.bob), asked.question.pk) is None
    with access.in_workspace(team.read_by(team.bob).pk):
        cited_now = Citation.objects.in_workspace(team.read_by(team.bob))
        assert not cited_now.filter(document_id=None).exists()

    for document in documents:
        metadata.document_edit(change=change, document=document, collection="")
    team.sync()
    edition = team.read_by(team.bob)
    assert quotes(read(edition, asked.question.pk)) == quotes(asked)
    assert quotes(read(edition, other.question.pk)) == quotes(other)


def test_a_document_that_changes_keeps_what_was_cited_of_it(team: Team):
    team.restrict(team.court)
    team.sync()
    asked = ask(team, team.bob)
    change = ChangeContext(team.workspace, team.alice)

    for title in ("Log", "Ledger"):
        document = team.documents[title]
        metadata.document_edit(change=change, document=document, title=f"The {title}")
    team.sync()

    assert quotes(read(team.read_by(team.bob), asked.question.pk)) == quotes(asked)


def test_an_answer_that_is_being_written_keeps_its_edition_until_it_ends(team: Team):
    team.restrict(team.court)
    team.sync()
    asked = ask(team, team.bob)
    edition = team.read_by(team.bob)
    with access.in_workspace(edition.pk):
        Answer.objects.in_workspace(edition).update(state="running")
    team_left(team)
    team.sync()
    assert read(edition, asked.question.pk) is not None
    assert not Workspace.objects.get(pk=edition.pk).is_current

    with access.in_workspace(edition.pk):
        Answer.objects.in_workspace(edition).update(state="stopped")
    team.sync()
    [store] = stores(team)
    assert read(store, asked.question.pk) is not None


def test_who_follows_an_answer_in_an_edition_is_let_go_when_their_access_changes(team: Team):
    team.restrict(team.court)
    team.sync()
    asked = ask(team, team.bob)
    place = team.read_by(team.bob).pk
    follower = streaming.Followed(place, asked.answer.pk, team.bob.pk, -1)
    stranger = streaming.Followed(place, asked.answer.pk, rows.make_user("Charlie").pk, -1)

    seen = streaming._read_in(place, [stranger, follower])
    assert list(seen) == [1]
    assert [event.kind for event in seen[1]][-1] == "done"

    closing.close(team.workspace.pk)
    assert not streaming._read_in(place, [follower])

    team.sync()
    assert streaming._read_in(place, [follower])
    team.grant(team.bob, team.court)
    assert not streaming._read_in(place, [follower])


def test_a_set_whose_name_is_taken_gets_a_number(team: Team):
    team.restrict(team.court)
    team.sync()
    edition = team.read_by(team.bob)
    for workspace, owner in ((edition, team.bob), (team.workspace, team.alice)):
        with access.in_workspace(workspace.pk):
            QuestionSet.objects.create(workspace=workspace, name="Harbour", added_by=owner)

    team.grant(team.bob, team.court)
    team.sync()

    with access.in_workspace(team.workspace.pk):
        sets = QuestionSet.objects.in_workspace(team.workspace)
        assert sorted(sets.values_list("name", flat=True)) == ["Harbour", "Harbour 2"]


def test_everything_that_people_make_here_is_declared():
    declared = {model for kind in user_content.KINDS for model, _ in kind.tables}

    assert declared == set(apps.get_app_config("retrieval").get_models())


def team_collection(team: Team, name: str, *titles: str) -> Collection:
    collection = rows.make_collection(team.workspace, name)
    team.put(collection, *titles)
    return collection


def team_left(team: Team) -> None:
    """Bob leaves: nobody reads his edition any more."""
    with access.in_workspace(team.workspace.pk):
        team.membership(team.bob).delete()
