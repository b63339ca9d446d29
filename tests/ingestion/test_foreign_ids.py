"""Ids of another workspace in everything that takes ids, and what no program should send."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from ingestion.models import Document, Mention, SuggestionSkip
from ingestion.resolution.keys import entity_id
from tests import rows
from tests.api import address, assert_problem, client
from tests.ingestion.curation.papers import SAID, Desk
from tests.ingestion.pages import address as page_address, client_of
from tests.ingestion.stages.resolve.said import paper, run
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
LTD, ADA = "acme ltd", "ada lind"


@pytest.fixture
def desk(media: Path) -> Desk:
    return Desk(rows.make_cast(), papers="bd")


@pytest.fixture
def theirs(desk: Desk) -> dict[str, str]:
    """What there is in a workspace in which Alice has no part."""
    other = rows.make_workspace("Elsewhere", owner=desk.cast.charlie)
    run(paper(other, "b", SAID["b"]))
    with access.in_workspace(other.pk):
        mention = Mention.objects.in_workspace(other).filter(entity__key=LTD)[0]
        document = Document.objects.in_workspace(other).get()
    ltd, ada = (str(entity_id(other.pk, key)) for key in (LTD, ADA))
    return {"ltd": ltd, "ada": ada, "mention": str(mention.pk), "document": str(document.pk)}


def send(desk: Desk, path: str, body: Any) -> Any:
    where = address(desk.workspace, path)
    return client(desk.cast.alice).post(where, body, format="json")


def bodies(ours: UUID, their: dict[str, str]) -> list[tuple[str, dict[str, Any]]]:
    own = str(ours)
    link = {"description": "x"}
    return [
        ("entities/merge/", {"kept": own, "others": [their["ada"]]}),
        ("entities/merge/?preview=1", {"kept": own, "others": [their["ada"]]}),
        ("entities/merge/", {"kept": their["ltd"], "others": [own]}),
        ("entities/different/", {"entities": [own, their["ada"]]}),
        (f"entities/{their['ltd']}/split/", {"documents": [their["document"]], "name": "New"}),
        (f"entities/{own}/move/", {"documents": [str(uuid4())], "target": their["ada"]}),
        ("relationships/", {"source": own, "target": their["ada"], **link}),
        ("relationships/", {"source": their["ada"], "target": own, **link}),
        ("suggestions/accept/", {"entities": [own, their["ada"]], "kept": own}),
        ("suggestions/reject/", {"entities": [own, their["ada"]]}),
        ("suggestions/skip/", {"case": their["ltd"]}),
        ("documents/trash/", {"ids": [their["document"]]}),
        ("trash/restore/", {"ids": [their["document"]]}),
    ]


def test_what_belongs_to_another_workspace_is_not_there(desk: Desk, theirs: dict[str, str]):
    before = desk.state()

    for path, body in bodies(desk.id(LTD), theirs):
        response = send(desk, path, body)
        assert response.status_code == 404, (path, response.json())
        told = assert_problem(response, 404, "not_found")
        assert "address" not in told["happened"], path

    assert desk.state() == before
    assert desk.events() == []
    with access.in_workspace(desk.workspace.pk):
        assert not SuggestionSkip.objects.in_workspace(desk.workspace).exists()


@pytest.mark.parametrize("kind", ["document", "mention"])
def test_what_another_workspace_has_is_selected_nowhere(
    desk: Desk, theirs: dict[str, str], kind: str
):
    body = {f"{kind}s": [theirs[kind]], "name": "New"}
    unknown = {f"{kind}s": [str(uuid4())], "name": "New"}
    path = f"entities/{desk.id(LTD)}/split/"

    found, other = send(desk, path, body), send(desk, path, unknown)

    assert found.status_code in {400, 409}
    assert found.json() | {"request_id": ""} == other.json() | {"request_id": ""}
    assert "new" not in desk.names()


def test_revisions_of_what_is_elsewhere_tell_nothing_of_it(desk: Desk, theirs: dict[str, str]):
    body = {"entities": [str(desk.id(LTD)), str(desk.id(ADA))]}

    answers = [
        send(desk, "entities/different/", body | {"expected": {one: 7}}).json() | {"request_id": ""}
        for one in (theirs["ltd"], str(uuid4()))
    ]

    assert answers[0] == answers[1]
    assert answers[0]["status"] == 412
    assert answers[0]["fields"] == {"events": []}


@pytest.mark.parametrize("query", ["user", "before", "page"])
def test_numbers_that_no_row_has_are_no_fault_of_the_server(desk: Desk, query: str):
    where = address(desk.workspace, f"history/?{query}={10**30}")

    assert client(desk.cast.bob).get(where).status_code in {200, 400, 404}


@pytest.mark.parametrize("field", ["alias", "name", "type", "reason", "q", "into", "do"])
def test_a_form_may_hold_what_no_row_can(desk: Desk, field: str):
    form = {"document": str(desk.document("b").pk), "name": "New"} | {field: "a\0b"}
    where = page_address("entity_split", desk.cast, desk.id(LTD))

    assert client_of(desk.cast.alice).post(where, form).status_code < 500


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31", "9999-12-30", "2026-13-01", "x"])
def test_days_that_are_far_away_are_no_fault_of_the_server(desk: Desk, day: str):
    where = page_address("workspace_history", desk.cast)

    for name in ("since", "until"):
        assert client_of(desk.cast.bob).get(where, {name: day}).status_code == 200
