from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests import rows
from tests.workspaces.models_rows import ENDPOINT
from workspaces import access
from workspaces.models import ModelSettings, User

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


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def address(cast: rows.Cast) -> str:
    return reverse("workspaces:model_settings", args=[cast.workspace.slug])


def stored(cast: rows.Cast) -> ModelSettings:
    with access.in_workspace(cast.workspace.pk):
        return ModelSettings.objects.in_workspace(cast.workspace).get()


def is_checked(page: str, name: str) -> bool:
    [tag] = re.findall(rf'<input[^>]*name="{name}"[^>]*>', page)
    return " checked" in tag


def test_the_page_offers_both_and_begins_with_a_judge_and_no_general_knowledge(cast):
    page = signed_in(cast.alice).get(address(cast)).content.decode()

    assert is_checked(page, "wants_judge")
    assert not is_checked(page, "allows_general")
    assert "in sentences marked to be verified" in page


@pytest.mark.parametrize("ticked", [{"allows_general": "on"}, {"wants_judge": "on"}, {}])
def test_what_is_ticked_is_stored_and_shown_again(cast, ticked):
    signed_in(cast.alice).post(address(cast), FORM | ticked)

    row = stored(cast)
    page = signed_in(cast.alice).get(address(cast)).content.decode()
    for name in ("allows_general", "wants_judge"):
        assert getattr(row, name) is (name in ticked)
        assert is_checked(page, name) is (name in ticked)
