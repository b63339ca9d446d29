from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from ingestion.models import IngestionJob, JobKind, RunState
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.pages import client_of
from workspaces import access
from workspaces.language_models import services
from workspaces.models import ModelSettings
from workspaces.ports import ports_for

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

EDITED = {
    "domain": "Logs of a light.",
    "persona": "You are a  keeper.",
    "report_rating": "Wrecks matter.",
    "report_language": "Swedish",
}


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    cast = rows.make_cast()
    with access.in_workspace(cast.workspace.pk):
        ModelSettings.objects.create(
            workspace=cast.workspace, endpoint="http://model.invalid/v1", model="some-model"
        )
    return cast


def at(cast: rows.Cast, user: Any, method: str, rest: str = "", **body: Any) -> Any:
    where = address(cast.workspace, f"tuning/{rest}")
    return getattr(client(user), method)(where, body, format="json")


def test_an_owner_starts_sees_and_stops_it(cast: rows.Cast):
    assert at(cast, cast.alice, "get").json()["state"] is None

    started = at(cast, cast.alice, "post")
    assert (started.status_code, started.json()["state"]) == (202, "pending")
    with access.in_workspace(cast.workspace.pk):
        job = IngestionJob.objects.in_workspace(cast.workspace).get(kind=JobKind.TUNE)
    assert job.state == RunState.PENDING

    assert at(cast, cast.alice, "post", "cancel/").json()["state"] == "cancelled"
    assert_problem(at(cast, cast.alice, "post", "cancel/"), 409, "nothing_to_cancel")


def test_what_was_learned_is_edited_and_forgotten(cast: rows.Cast):
    failed = {"problem": {"code": "model_refused"}}
    services.tuning_save(
        workspace=cast.workspace, tuning={"domain": "Ships", "examples": ["one"], **failed}
    )

    seen = at(cast, cast.alice, "put", **EDITED).json()

    assert seen["persona"] == "You are a keeper."
    assert (seen["examples"], seen["problem"]) == (["one"], None)
    options = ports_for(cast.workspace.pk).options
    assert (options.domain, options.report_language) == ("Logs of a light.", "Swedish")
    assert (options.persona, options.report_rating) == ("You are a keeper.", "Wrecks matter.")
    assert at(cast, cast.alice, "delete").status_code == 204
    assert at(cast, cast.bob, "get").json()["domain"] == ""
    assert_problem(at(cast, cast.alice, "put", persona="x" * 601), 400, "invalid_input")


@pytest.mark.parametrize(
    ("method", "rest"), [("post", ""), ("put", ""), ("delete", ""), ("post", "cancel/")]
)
def test_readers_only_look_and_strangers_find_nothing(cast: rows.Cast, method: str, rest: str):
    assert at(cast, cast.bob, "get").status_code == 200
    assert_problem(at(cast, cast.bob, method, rest), 403, "forbidden")
    assert_nothing_there(at(cast, cast.charlie, method, rest))


def test_without_a_model_nothing_begins(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        ModelSettings.objects.in_workspace(cast.workspace).delete()

    assert_problem(at(cast, cast.alice, "post"), 409, "no_model")


def test_the_page_shows_the_work_stops_it_and_edits_what_was_learned(cast: rows.Cast):
    page = reverse("workspaces:model_settings", args=[cast.workspace.slug])
    browser = client_of(cast.alice)
    services.tuning_save(workspace=cast.workspace, tuning={"domain": "Ships"})
    at(cast, cast.alice, "post")
    assert "The model is learning." in browser.get(page).content.decode()

    browser.post(reverse("ingestion:tuning_cancel", args=[cast.workspace.slug]))
    browser.post(reverse("workspaces:tuning_set", args=[cast.workspace.slug]), EDITED)

    shown = browser.get(page).content.decode()
    assert "The model is learning." not in shown
    assert "You are a keeper." in shown
    assert "Wrecks matter." in shown


def tune(*arguments: str) -> str:
    out = StringIO()
    call_command("tune", "--workspace", "harbour", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_command_edits_shows_and_forgets(cast: rows.Cast):
    said = tune("--persona", "You are a keeper.", "--report-language", "Swedish")

    assert "Persona: You are a keeper." in said
    assert tune("--show") == said
    assert "Nothing was learned" in tune("--forget")


def test_the_command_learns_and_says_what_is_missing(cast: rows.Cast):
    with pytest.raises(CommandError, match="no passages to learn from"):
        tune()
