"""Retrieval's pages and the answers behind them, for tests."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse

from retrieval.conversations import asking
from retrieval.models import Answer
from tests.api import sign_in
from tests.rows import Cast, make_cast, make_document
from workspaces import access

TEXT = "Skarrow Light was built by Josiah Gault. It was first lit on 3 October 1869."
QUESTION = "Who built Skarrow Light?"


def cast_with_light() -> Cast:
    cast = make_cast()
    make_document(cast.workspace, "The light", TEXT)
    return cast


def asked_by_alice(cast: Cast) -> Answer:
    """Taken up by nobody."""
    return asking.question_ask(
        workspace=cast.workspace, user=cast.alice, question=QUESTION, mode="lexical"
    )


def client_of(user) -> Client:
    client = Client()
    sign_in(client, user)
    return client


def address(name: str, cast: Cast, *args: object) -> str:
    return reverse(f"retrieval:{name}", args=[cast.workspace.slug, *args])


def page_of(user, name: str, cast: Cast, *args: object, **query: Any) -> str:
    response = client_of(user).get(address(name, cast, *args), query)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def change(cast: Cast, answer: Answer, **values: Any) -> None:
    with access.in_workspace(cast.workspace.pk):
        Answer.objects.in_workspace(cast.workspace).filter(pk=answer.pk).update(**values)


def answers(cast: Cast) -> list[Answer]:
    with access.in_workspace(cast.workspace.pk):
        return list(Answer.objects.in_workspace(cast.workspace).order_by("created_at"))
