from __future__ import annotations

import re

import pytest

from tests import rows
from tests.workspaces.models_rows import ENDPOINT
from tests.workspaces.pages import address, signed_in
from workspaces import access
from workspaces.models import ModelSettings

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

FORM = {
    "endpoint": ENDPOINT,
    "model": "small-1",
    "context_window": 16000,
    "concurrency": 8,
    "gleanings": 1,
}


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def stored(cast: rows.Cast) -> ModelSettings:
    with access.in_workspace(cast.workspace.pk):
        return ModelSettings.objects.in_workspace(cast.workspace).get()


def is_checked(page: str, name: str) -> bool:
    [tag] = re.findall(rf'<input[^>]*name="{name}"[^>]*>', page)
    return " checked" in tag


def test_the_page_offers_both_and_begins_with_a_judge_and_no_general_knowledge(cast):
    page = signed_in(cast.alice).get(address("model_settings")).content.decode()

    assert is_checked(page, "wants_judge")
    assert not is_checked(page, "allows_general")
    assert "in sentences marked to be verified" in page


@pytest.mark.parametrize(
    "ticked",
    [{"allows_general": "on"}, {"wants_judge": "on"}, {"local_extraction": "on"}, {}],
)
def test_what_is_ticked_is_stored_and_shown_again(cast, ticked):
    signed_in(cast.alice).post(address("model_settings"), FORM | ticked)

    row = stored(cast)
    page = signed_in(cast.alice).get(address("model_settings")).content.decode()
    for name in ("allows_general", "wants_judge", "local_extraction"):
        assert getattr(row, name) is (name in ticked)
        assert is_checked(page, name) is (name in ticked)
