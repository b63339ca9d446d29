"""Private addresses are neither saved nor called, whoever enters them and wherever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kb_project import egress
from tests import rows
from tests.api import address, assert_problem, client
from tests.listener import Listener
from tests.workspaces.pages import signed_in
from workspaces import access
from workspaces.models import ModelSettings, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

# What a sign-up could save before addresses were checked.
ADDRESSES = [
    "http://127.0.0.1:8000/",
    "http://localhost:5432/",
    "http://[::1]:8000/",
    "http://0.0.0.0:8000/",
    "http://10.0.0.1/",
    "http://100.100.100.200/",
    "http://[fd00:ec2::254]/",
    "http://192.0.0.192/",
    "http://metadata.goog/",
    "http://metadata.google.internal/",
    "http://169.254.169.254/latest/meta-data",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "http://169.254.43518/",
    "http://169.254.169.254.:80/",
    "http://[::ffff:169.254.169.254]/",
    "http://169.254.169.254.nip.io/",
]


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def listener(settings) -> Iterator[Listener]:
    settings.MODEL_HOSTS_ALLOWED = []
    with Listener() as running:
        yield running


def stored(workspace: Workspace) -> list[ModelSettings]:
    with access.in_workspace(workspace.pk):
        return list(ModelSettings.objects.in_workspace(workspace))


def put(cast: rows.Cast, path: str, body: dict[str, Any]) -> Any:
    return client(cast.alice).put(address(cast.workspace, path), body, format="json")


@pytest.mark.parametrize("endpoint", ADDRESSES)
@pytest.mark.usefixtures("listener")
def test_a_private_address_is_saved_neither_for_a_model_nor_for_a_reranker(cast, endpoint: str):
    for path, kind in (("models/", {}), ("reranker/", {"kind": "endpoint"})):
        body = put(cast, path, {"endpoint": endpoint, "model": "m", **kind})
        problem = assert_problem(body, 400, "endpoint_not_reached")
        assert "does not answer like the expected service, or its address" in problem["happened"]

    assert stored(cast.workspace) == []


def test_the_page_says_it_beside_the_form(cast, listener):
    page = signed_in(cast.alice).post(
        f"/w/{cast.workspace.slug}/models/",
        {
            "endpoint": f"http://127.0.0.1:{listener.port}/v1",
            "model": "m",
            "context_window": "16000",
            "concurrency": "8",
            "gleanings": "1",
        },
    )

    assert "or its address is not allowed here" in page.content.decode()
    assert (stored(cast.workspace), listener.connections) == ([], 0)


def test_an_address_that_became_private_after_it_was_saved_is_not_called(cast, listener, settings):
    endpoint = f"http://127.0.0.1:{listener.port}/v1"
    settings.MODEL_HOSTS_ALLOWED = ["127.0.0.1"]
    put(cast, "models/", {"endpoint": endpoint, "model": "m"})
    put(cast, "reranker/", {"kind": "endpoint", "endpoint": endpoint, "model": "m"})
    settings.MODEL_HOSTS_ALLOWED = []

    for path in ("models/test/", "reranker/test/"):
        tested = client(cast.alice).post(address(cast.workspace, path))
        lines = tested.json()["results"]
        assert not any(line["is_good"] for line in lines)
        assert egress.not_reached("127.0.0.1") in lines[0]["sentence"]
    assert listener.connections == 0


def test_other_settings_can_be_saved_while_the_address_is_not_allowed(cast, settings):
    put(cast, "models/", {"endpoint": "http://127.0.0.1:9/v1", "model": "m"})
    settings.MODEL_HOSTS_ALLOWED = []

    assert put(cast, "models/", {"gleanings": 2}).status_code == 200


def test_the_answer_does_not_name_the_setting(cast, listener):
    body = put(cast, "models/", {"endpoint": f"http://127.0.0.1:{listener.port}/", "model": "m"})

    assert "MODEL_HOSTS_ALLOWED" not in body.content.decode()
