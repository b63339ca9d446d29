"""After SECRET_KEY was changed, everything sealed is sealed again under the new one."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import call_command
from pytest_django import Settings

from kb_project.keys import opened
from tests import rows
from workspaces import access, resealing
from workspaces.models import EmbeddingIndex, IndexState, ModelSettings, User, Workspace
from workspaces.secrets import seal, seal_factor, unseal, unseal_factor

pytestmark = pytest.mark.django_db

KEY = "sk-0123456789abcdef"


@pytest.fixture
def workspaces() -> list[Workspace]:
    """Two workspaces, each with a key of a model, of a reranker and of an embedding index."""
    made = [rows.make_workspace("Harbour", owner=rows.make_user("Alice")), rows.make_workspace("B")]
    for workspace in made:
        with access.in_workspace(workspace.pk):
            ModelSettings.objects.create(
                workspace=workspace,
                sealed_key=seal(KEY, workspace.pk),
                rerank_sealed_key=seal("rerank", workspace.pk),
            )
            EmbeddingIndex.objects.create(
                workspace=workspace,
                sealed_key=seal(KEY, workspace.pk),
                dimension=3,
                state=IndexState.ACTIVE,
            )
    return made


def rotate(settings: Settings) -> None:
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "a new secret of this server"


def resealkeys() -> dict[str, Any]:
    out = StringIO()
    call_command("resealkeys", json=True, stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def counts(renewed: int, present: int = 0, unreadable: int = 0) -> dict[str, int]:
    return {"sealed_again": renewed, "present": present, "unreadable": unreadable}


def test_every_sealed_column_is_known():
    assert {(model.__name__, column) for model, column in resealing.sealed_columns()} == {
        ("ModelSettings", "sealed_key"),
        ("ModelSettings", "rerank_sealed_key"),
        ("EmbeddingIndex", "sealed_key"),
    }


def test_everything_opens_without_the_former_secret_afterwards(
    workspaces: list[Workspace], settings: Settings
):
    rotate(settings)

    answer = resealkeys()

    settings.SECRET_KEY_FALLBACKS = []
    assert (answer["keys"], answer["passwords"]) == (counts(6), counts(1))
    for workspace in workspaces:
        with access.in_workspace(workspace.pk):
            row = ModelSettings.objects.in_workspace(workspace).get()
            index = EmbeddingIndex.objects.in_workspace(workspace).get()
        assert unseal(row.sealed_key, workspace.pk) == unseal(index.sealed_key, workspace.pk) == KEY
        assert unseal(row.rerank_sealed_key, workspace.pk) == "rerank"
    [password] = User.objects.values_list("password", flat=True)
    assert opened(password) != password


def test_repeating_it_changes_nothing(workspaces: list[Workspace], settings: Settings):
    rotate(settings)
    resealkeys()

    answer = resealkeys()

    assert (answer["keys"], answer["passwords"]) == (counts(0, 6), counts(0, 1))


def test_what_was_done_before_an_interruption_is_not_done_again(
    workspaces: list[Workspace], settings: Settings
):
    rotate(settings)
    resealing.reseal_workspace(workspaces[0])

    assert resealkeys()["keys"] == counts(3, 3)


def test_what_no_secret_opens_is_counted_and_kept(workspaces: list[Workspace], settings: Settings):
    settings.SECRET_KEY = "a secret that sealed nothing"
    out = StringIO()

    with pytest.raises(SystemExit):
        call_command("resealkeys", stdout=out)

    assert "keys: 0 sealed again, 0 already up to date, 6 cannot be opened" in out.getvalue()
    assert "cannot be opened in: harbour" in out.getvalue()
    with access.in_workspace(workspaces[0].pk):
        assert ModelSettings.objects.in_workspace(workspaces[0]).get().sealed_key


def test_second_factors_are_sealed_again_too(workspaces: list[Workspace], settings: Settings):
    user = User.objects.get()
    kinds = {Authenticator.Type.TOTP: "secret", Authenticator.Type.RECOVERY_CODES: "seed"}
    for kind, name in kinds.items():
        data = {name: seal_factor(f"the {name}"), "used_mask": 0}
        Authenticator.objects.create(user=user, type=kind, data=data)
    rotate(settings)

    assert resealkeys()["factors"] == counts(2)
    assert resealkeys()["factors"] == counts(0, 2)

    settings.SECRET_KEY_FALLBACKS = []
    for factor in Authenticator.objects.all():
        name = kinds[Authenticator.Type(factor.type)]
        assert unseal_factor(factor.data[name]) == f"the {name}"
