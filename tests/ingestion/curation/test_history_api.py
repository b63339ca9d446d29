from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ingestion.curation.entities import entity_edit
from ingestion.curation.merging import entities_merge
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.curation.papers import Desk
from workspaces.models import Role, User
from workspaces.people import services as people_services

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
INC, LTD, ORRAN = "acme inc", "acme ltd", "orran"


@pytest.fixture
def desk(media: Path) -> Desk:
    cast = rows.make_cast()
    desk = Desk(cast)
    people_services.member_add(workspace=cast.workspace, user=cast.bob, role=Role.VIEWER)
    entity_edit(change=desk.change(), entity=desk.id(LTD), type="firm")
    entities_merge(change=desk.change(), kept=desk.id(LTD), others=[desk.id(INC)])
    entities_merge(change=desk.change(cast.bob), kept=desk.id(ORRAN), others=[desk.id(LTD)])
    return desk


def look(desk: Desk, path: str = "", user: User | None = None) -> Any:
    return client(user or desk.cast.bob).get(address(desk.workspace, f"history/{path}"))


def curated(found: Any) -> list[str]:
    return [one["sentence"] for one in found.json()["results"] if "document" not in one["kind"]]


MERGED_AGAIN = "Bob merged 'Acme Ltd' into 'Orran'."
MERGED = "Alice merged 'Acme Inc' into 'Acme Ltd'."
EDITED = "Alice changed the type of 'Acme Ltd' from organization to firm."


def test_readers_see_what_was_done_latest_first(desk: Desk):
    found = look(desk)

    assert curated(found) == [MERGED_AGAIN, MERGED, EDITED]
    assert found.json()["total"] >= 3


def test_the_history_is_narrowed(desk: Desk):
    [first, second, *_] = look(desk).json()["results"]

    assert curated(look(desk, f"?subject={desk.id(INC)}")) == [MERGED]
    assert curated(look(desk, f"?user={desk.cast.bob.pk}")) == [MERGED_AGAIN]
    assert curated(look(desk, "?kind=entity_edited")) == [EDITED]
    assert curated(look(desk, f"?before={second['sequence']}")) == [EDITED]
    page = look(desk, "?page=2&page_size=1")
    assert curated(page) == [MERGED]
    assert first["sentence"] == MERGED_AGAIN


@pytest.mark.parametrize("query", ["?subject=x", "?kind=x", "?kind=copied", "?before=0", "?user=x"])
def test_what_is_no_filter_is_refused(desk: Desk, query: str):
    assert_problem(look(desk, query), 400, "invalid_input")


def test_an_event_tells_what_is_in_the_way_of_undoing_it(desk: Desk):
    [later, event, *_] = look(desk).json()["results"]

    seen = look(desk, f"{event['id']}/").json()

    assert (seen["can_undo"], later["can_undo"]) == (False, True)
    assert (seen["blocked_by"]["event"], seen["blocked_by"]["is_for_good"]) == (later["id"], False)
    blocked = client(desk.cast.alice).post(
        address(desk.workspace, f"history/{event['id']}/undo/"), {}, format="json"
    )
    body = assert_problem(blocked, 409, "undo_blocked")
    assert body["fields"] == {"event": later["id"]}
    assert body["sentence"].startswith("'Acme Ltd' was merged again into 'Orran' by Bob on ")
    assert body["sentence"].endswith("Undo that first.")


def test_undoing_is_previewed(desk: Desk):
    [later, *_] = look(desk).json()["results"]
    path = f"history/{later['id']}/undo/"
    before = desk.state()

    preview = client(desk.cast.alice).post(address(desk.workspace, f"{path}?preview=1"))
    assert desk.state() == before
    undone = client(desk.cast.alice).post(address(desk.workspace, path), {}, format="json")

    assert preview.status_code == undone.status_code == 200
    assert preview.json() == undone.json()["effect"]
    assert LTD in desk.names()


def test_readers_undo_nothing_and_strangers_see_nothing(desk: Desk):
    [later, *_] = look(desk).json()["results"]
    undo = address(desk.workspace, f"history/{later['id']}/undo/")

    assert_problem(client(desk.cast.bob).post(undo), 403, "forbidden")
    assert_nothing_there(client(desk.cast.charlie).post(undo))
    assert_nothing_there(look(desk, user=desk.cast.charlie))
    assert_nothing_there(look(desk, f"{later['id']}/", desk.cast.charlie))
    assert_problem(look(desk, f"{uuid4()}/"), 404, "not_found")
