"""createtoken: a token for automation."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests import rows
from tests.api import address, client_with
from workspaces import access
from workspaces.models import AuditEvent

pytestmark = pytest.mark.django_db


def create(*words: str, **options: Any) -> str:
    out = StringIO()
    call_command("createtoken", *words, stdout=out, **options)
    return out.getvalue().strip()


def test_it_prints_a_token_that_works():
    cast = rows.make_cast()

    text = create("--workspace=harbour", "--user=alice@example.com", "--name=CI", "--may=edit")

    shown = client_with(text).get(address(cast.workspace, "")).json()
    assert shown["capabilities"] == ["read", "edit"]
    with access.in_workspace(cast.workspace.pk):
        event = AuditEvent.objects.in_workspace(cast.workspace).get(action="token_created")
    assert (event.actor, event.via) == ("Concordance", "command")


def test_capabilities_add_up_however_they_are_given():
    rows.make_workspace("Harbour", owner=rows.make_user("Alice"))
    given = ["--may=edit,curate", "--may=administer"]

    made = json.loads(create("--workspace=harbour", "--name=CI", "--json", *given))

    assert made["capabilities"] == ["read", "edit", "curate", "administer"]


def test_it_prints_one_object_for_programs():
    alice = rows.make_user("Alice")
    rows.make_workspace("Harbour", owner=alice)

    made = json.loads(create("--workspace=harbour", "--name=CI", "--days=0", "--json"))

    assert made["token"].startswith("cck_")
    assert (made["capabilities"], made["expires_at"]) == (["read"], None)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--workspace=nowhere", "--user=bob@example.com"], "no workspace 'nowhere'"),
        (["--workspace=harbour", "--user=nobody@example.com"], "no account"),
        (["--workspace=harbour", "--user=charlie@example.com"], "no such member"),
        (["--workspace=harbour"], "several accounts"),
        (["--workspace=harbour", "--user=bob@example.com", "--may=edit"], "does not have"),
        (["--workspace=harbour", "--user=bob@example.com", "--days=-1"], "between 0 and"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(words: list[str], reason: str):
    rows.make_cast()

    with pytest.raises(CommandError, match=reason):
        create(*words, "--name=CI")
