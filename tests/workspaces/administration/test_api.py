"""Settings, exports and deletion over REST, for owner, reader and outsider."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _root(settings, tmp_path: Path) -> None:
    settings.EXPORT_ROOT = tmp_path / "exports"


def test_an_owner_changes_some_settings_and_keeps_the_others():
    cast = rows.make_cast()

    changed = client(cast.alice).patch(
        address(cast.workspace, ""), {"slug": "port", "editors_delete": False}
    )

    body = changed.json()
    assert (body["name"], body["slug"], body["editors_delete"]) == ("Harbour", "port", False)
    assert body["viewers_export"] is True
    assert client(cast.bob).get("/api/v1/workspaces/harbour/").json()["slug"] == "port"


def test_a_taken_address_is_refused():
    cast, _ = rows.make_cast(), rows.make_workspace("Port")

    refused = client(cast.alice).patch(address(cast.workspace, ""), {"slug": "port"})

    assert_problem(refused, 409, "slug_taken")


@pytest.mark.parametrize(
    "given", [{"slug": "no address"}, {"name": ""}, {"document_language": "tlh"}]
)
def test_a_setting_that_cannot_be_is_named(given: dict[str, str]):
    cast = rows.make_cast()

    body = assert_problem(
        client(cast.alice).patch(address(cast.workspace, ""), given), 400, "invalid_input"
    )

    assert set(body["fields"]) == set(given)


def test_readers_and_outsiders_change_delete_and_export_nothing():
    cast = rows.make_cast()
    tries = [
        ("patch", "", {"name": "Port"}),
        ("delete", "", {"name": "Harbour"}),
        ("get", "exports/", None),
        ("post", "exports/", None),
    ]

    for method, path, body in tries:
        asked = getattr(client(cast.bob), method)(address(cast.workspace, path), body)
        assert_problem(asked, 403, "forbidden")
        stranger = getattr(client(cast.charlie), method)(address(cast.workspace, path), body)
        assert_nothing_there(stranger)
    assert Workspace.objects.get().name == "Harbour"


def test_a_workspace_is_deleted_with_its_name_and_restored():
    cast = rows.make_cast()
    alice = client(cast.alice)
    at = address(cast.workspace, "")

    assert_problem(alice.delete(at, {"name": "x"}), 400, "name_differs")
    deleted = alice.delete(at, {"name": "Harbour"})
    refused = assert_problem(alice.get(at), 404, "workspace_deleted")
    assert_nothing_there(client(cast.bob).get(at))
    assert_nothing_there(client(cast.bob).post(f"{at}restore/"))
    [listed] = alice.get("/api/v1/workspaces/").json()["results"]
    restored = alice.post(f"{at}restore/")

    assert deleted.json()["purge_at"] == listed["purge_at"]
    assert refused["next_step"] == "Restore it to use it again."
    assert restored.json()["purge_at"] is None
    assert client(cast.bob).get(at).status_code == 200


def test_a_workspace_that_was_not_deleted_cannot_be_restored():
    cast = rows.make_cast()

    assert_nothing_there(client(cast.alice).post(address(cast.workspace, "restore/")))


def test_an_export_is_requested_and_followed():
    cast = rows.make_cast()
    alice = client(cast.alice)
    exports = address(cast.workspace, "exports/")

    made = alice.post(exports)
    own = f"{exports}{made.json()['id']}/"

    assert made.status_code == 202
    assert alice.get(own).json()["state"] == "waiting"
    assert alice.get(exports).json()["total"] == 1
    assert_problem(alice.post(exports), 409, "export_running")
    assert_problem(alice.get(f"{own}file/"), 409, "export_not_ready")
