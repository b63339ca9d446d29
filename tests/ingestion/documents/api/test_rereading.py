from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ingestion.documents import rereading
from ingestion.models import Document
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.unread import half_read

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def document(cast: rows.Cast) -> Document:
    return half_read(cast.workspace)


def again(cast: rows.Cast) -> str:
    return address(cast.workspace, "documents/read-again/")


def post(cast: rows.Cast, user: Any, **body: Any) -> Any:
    return client(user).post(again(cast), body, format="json")


def test_what_it_will_cost_is_told_before(cast: rows.Cast, document: Document):
    body = client(cast.alice).get(again(cast)).json()

    assert body["documents"] == 1
    assert body["is_free"]
    assert body["sentences"] == ["Costs nothing: no model is called."]
    assert len(rereading.outdated_ids(workspace=cast.workspace)) == 1


def test_an_editor_has_all_of_them_read_again(cast: rows.Cast, document: Document):
    half_read(cast.workspace)

    answer = post(cast, cast.alice)

    assert (answer.status_code, answer.json()) == (202, {"documents": 2})
    assert client(cast.alice).get(again(cast)).json()["documents"] == 0


def test_a_second_request_does_nothing(cast: rows.Cast, document: Document):
    post(cast, cast.alice)

    answer = post(cast, cast.alice)

    assert (answer.status_code, answer.json()) == (202, {"documents": 0})


def test_some_may_be_named(cast: rows.Cast, document: Document):
    half_read(cast.workspace)

    answer = post(cast, cast.alice, documents=[str(document.pk), str(uuid4())])

    assert answer.json() == {"documents": 1}
    assert len(rereading.outdated_ids(workspace=cast.workspace)) == 1


def test_an_empty_list_names_none(cast: rows.Cast, document: Document):
    assert post(cast, cast.alice, documents=[]).json() == {"documents": 0}


def test_ids_have_to_be_ids(cast: rows.Cast):
    assert_problem(post(cast, cast.alice, documents=["the lease"]), 400, "invalid_input")


def test_a_reader_may_not(cast: rows.Cast, document: Document):
    assert_problem(post(cast, cast.bob), 403, "forbidden")
    assert_problem(client(cast.bob).get(again(cast)), 403, "forbidden")
    assert len(rereading.outdated_ids(workspace=cast.workspace)) == 1


def test_an_outsider_finds_nothing(cast: rows.Cast, document: Document):
    assert_nothing_there(post(cast, cast.charlie))
    assert_nothing_there(client(cast.charlie).get(again(cast)))


def test_nobody_in_particular_may_not(cast: rows.Cast):
    assert post(cast, None).status_code == 401
