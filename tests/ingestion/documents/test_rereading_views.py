from __future__ import annotations

from pathlib import Path

import pytest

from ingestion.documents import rereading
from ingestion.models import Document
from tests import rows
from tests.ingestion.pages import address, client_of, page_of
from tests.ingestion.unread import half_read
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import ModelSettings

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def document(cast: rows.Cast) -> Document:
    """Read by a model, in a workspace without one."""
    return half_read(cast.workspace)


def models_page(cast: rows.Cast, user: object) -> str:
    page = client_of(user).get(f"/w/{cast.workspace.slug}/models/")
    assert page.status_code == 200
    return page.content.decode()


def use_model(cast: rows.Cast) -> None:
    choice = ModelChoice(endpoint="http://127.0.0.1:9/v1", model="tiny", key="sk-secret")
    language_model_services.model_settings_save(workspace=cast.workspace, choice=choice)


def offer(cast: rows.Cast) -> str:
    """What the list of documents fetches and shows."""
    assert address("read_again", cast) in page_of(cast.alice, "document_list", cast)
    return page_of(cast.alice, "read_again", cast)


def test_both_pages_offer_it_with_its_price(cast: rows.Cast, document: Document):
    for page in (offer(cast), models_page(cast, cast.alice)):
        assert "1 document was" in page
        assert "read in another way than documents are read now" in page
        assert "Costs nothing" in page
        assert address("read_again", cast) in page


def test_with_a_model_the_price_is_told_before(cast: rows.Cast, document: Document):
    half_read(cast.workspace)
    use_model(cast)

    page = offer(cast)

    assert "2 documents were" in page
    assert "read without this model" in page
    assert "no price is set for the model" in page
    assert "calls" in page


def test_nothing_is_offered_where_nothing_is_to_be_done(cast: rows.Cast):
    assert offer(cast).strip() == ""
    assert address("read_again", cast) not in models_page(cast, cast.alice)


def test_the_refreshing_list_does_not_repeat_the_offer(cast: rows.Cast, document: Document):
    rows_only = client_of(cast.alice).get(
        address("document_list", cast), headers={"HX-Request": "true"}
    )

    assert address("read_again", cast) not in rows_only.content.decode()


def test_a_reader_is_offered_nothing(cast: rows.Cast, document: Document):
    assert address("read_again", cast) not in page_of(cast.bob, "document_list", cast)
    assert address("read_again", cast) not in models_page(cast, cast.bob)


def test_the_button_has_them_read_again(cast: rows.Cast, document: Document):
    response = client_of(cast.alice).post(address("read_again", cast), follow=True)

    assert "1 document is being read again." in response.content.decode()
    assert len(rereading.outdated_ids(workspace=cast.workspace)) == 0


def test_pressing_it_again_says_that_nothing_is_left(cast: rows.Cast, document: Document):
    client_of(cast.alice).post(address("read_again", cast))

    response = client_of(cast.alice).post(address("read_again", cast), follow=True)

    assert "Every document was read with this workspace" in response.content.decode()


def test_a_reader_may_not_press_it(cast: rows.Cast, document: Document):
    assert client_of(cast.bob).get(address("read_again", cast)).status_code == 403
    assert client_of(cast.bob).post(address("read_again", cast)).status_code == 403
    assert len(rereading.outdated_ids(workspace=cast.workspace)) == 1


def test_an_outsider_finds_nothing(cast: rows.Cast, document: Document):
    assert client_of(cast.charlie).get(address("read_again", cast)).status_code == 404
    assert client_of(cast.charlie).post(address("read_again", cast)).status_code == 404


def test_a_key_that_cannot_be_read_breaks_no_page(cast: rows.Cast, document: Document):
    use_model(cast)
    with access.in_workspace(cast.workspace.pk):
        ModelSettings.objects.in_workspace(cast.workspace).update(sealed_key=b"spoiled")

    assert offer(cast).strip() == ""
    assert address("read_again", cast) not in models_page(cast, cast.alice)
    response = client_of(cast.alice).post(address("read_again", cast), follow=True)
    assert "key" in response.content.decode()
