from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from kb_project.llm import policy
from tests import rows
from tests.provider import Provider
from tests.workspaces.models_rows import ENDPOINT, KEY
from tests.workspaces.pages import address, signed_in
from workspaces import access
from workspaces.models import ModelSettings, User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

FORM = {
    "reranker": "endpoint",
    "rerank_endpoint": f"{ENDPOINT}/rerank",
    "rerank_model": "cross-1",
    "rerank_key": KEY,
}


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def provider() -> Iterator[Provider]:
    policy.breaker_of.cache_clear()
    with Provider() as running:
        yield running


def page(user: User) -> str:
    return signed_in(user).get(address("model_settings")).content.decode()


def stored(cast: rows.Cast) -> ModelSettings | None:
    with access.in_workspace(cast.workspace.pk):
        return ModelSettings.objects.in_workspace(cast.workspace).first()


@pytest.mark.parametrize("name", ["reranker_set", "reranker_test"])
def test_only_an_owner_may_change_it(cast, name):
    assert signed_in(cast.charlie).post(address(name), FORM).status_code == 404
    assert signed_in(cast.bob).post(address(name), FORM).status_code == 403
    assert Client().post(address(name), FORM).status_code == 302
    assert stored(cast) is None


def test_an_owner_chooses_an_endpoint(cast):
    response = signed_in(cast.alice).post(address("reranker_set"), FORM)

    assert response.status_code == 302
    row = stored(cast)
    assert (row.reranker, row.rerank_endpoint, row.rerank_model) == (
        "endpoint",
        ENDPOINT,
        "cross-1",
    )


def test_the_page_shows_what_is_chosen_and_never_the_key(cast):
    signed_in(cast.alice).post(address("reranker_set"), FORM)

    for_owner, for_reader = page(cast.alice), page(cast.bob)

    assert "Test reranking" in for_owner
    assert "Test reranking" not in for_reader
    for shown in (for_owner, for_reader):
        assert "cross-1" in shown
        assert KEY not in shown


def test_an_empty_key_field_keeps_the_key_and_the_box_removes_it(cast):
    client = signed_in(cast.alice)
    client.post(address("reranker_set"), FORM)

    client.post(address("reranker_set"), FORM | {"rerank_key": ""})
    assert bytes(stored(cast).rerank_sealed_key)

    client.post(address("reranker_set"), FORM | {"rerank_key": "", "remove_rerank_key": "on"})
    assert not bytes(stored(cast).rerank_sealed_key)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rerank_endpoint": "no address"}, "The endpoint"),
        ({"rerank_endpoint": ""}, "needs an address and a model"),
        ({"reranker": "model"}, "works on the local tier"),
        ({"reranker": "magic"}, "magic"),
    ],
)
def test_what_is_refused_is_said_on_the_page(cast, changes, said):
    response = signed_in(cast.alice).post(address("reranker_set"), FORM | changes)

    assert response.status_code == 200
    assert said in response.content.decode()


@pytest.mark.django_db(transaction=True)
def test_what_is_entered_is_tested_and_saved_only_if_it_works(cast, provider):
    client = signed_in(cast.alice)
    entered = FORM | {"rerank_endpoint": provider.url}
    saving = entered | {"save": "1"}

    whole = client.post(address("reranker_test"), entered).content.decode()
    part = client.post(address("reranker_test"), entered, headers={"hx-request": "true"})

    assert "Put the right sentence first" in whole
    assert "Put the right sentence first" in part.content.decode()
    assert "<html" not in part.content.decode()
    assert stored(cast) is None
    provider.script.next("401", kind="rerank")
    assert "Nothing was saved" in client.post(address("reranker_test"), saving).content.decode()
    assert stored(cast) is None
    assert client.post(address("reranker_test"), saving).status_code == 302
    assert stored(cast).rerank_model == "cross-1"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rerank_endpoint": "no address"}, "The endpoint"),
        ({"reranker": "off"}, "Reranking is off"),
    ],
)
def test_what_cannot_be_tested_is_said(cast, changes, said):
    page = signed_in(cast.alice).post(address("reranker_test"), FORM | changes).content.decode()

    assert said in page
    assert stored(cast) is None
