from __future__ import annotations

import pytest

from ingestion import tasks
from ingestion.models import ConsistencyCheck
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.rows import Cast, make_cast
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(media: object, fake_embedder: None) -> Cast:
    return make_cast()


def test_an_admin_reads_how_the_workspace_does(cast: Cast):
    body = client(cast.alice).get(address(cast.workspace, "health/")).json()

    assert body["is_sound"] is None
    assert body["check"] is None
    assert body["work"] == {
        "unfinished": 0,
        "paused": 0,
        "oldest": None,
        "held": 0,
        "is_unattended": False,
    }
    assert body["projection"] in {"age", "tables"}
    assert body["size"]["rows"] > 0


def test_a_check_is_asked_for_and_its_result_read(cast: Cast):
    response = client(cast.alice).post(address(cast.workspace, "health/"), {"deep": True})

    assert response.status_code == 202
    asked = response.json()
    assert (asked["state"], asked["repairs"], asked["is_deep"]) == ("waiting", False, True)
    tasks.check_graph(str(cast.workspace.pk), asked["id"])
    body = client(cast.alice).get(address(cast.workspace, "health/")).json()
    assert body["is_sound"] is True
    assert body["check"]["id"] == asked["id"]
    assert body["check"]["drifts"] == []
    assert body["under_way"] is None


def test_what_is_no_answer_is_refused(cast: Cast):
    response = client(cast.alice).post(address(cast.workspace, "health/"), {"repair": "perhaps"})

    assert_problem(response, 400, "invalid_input")
    with access.in_workspace(cast.workspace.pk):
        assert not ConsistencyCheck.objects.in_workspace(cast.workspace).exists()


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_reader_may_not_and_a_stranger_finds_nothing(method: str, cast: Cast):
    for_bob = getattr(client(cast.bob), method)(address(cast.workspace, "health/"))
    for_charlie = getattr(client(cast.charlie), method)(address(cast.workspace, "health/"))

    assert_problem(for_bob, 403, "forbidden")
    assert_nothing_there(for_charlie)
