"""Names, reasons and titles that look like markup are shown as they were typed, everywhere."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from django.test import Client

from ingestion.curation.entities import entity_create, entity_edit
from ingestion.curation.relationships import relationship_create
from ingestion.documents import metadata
from tests import rows
from tests.ingestion.curation.papers import Desk
from tests.ingestion.pages import address, client_of
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]

BREAKS_OUT = "\"'><img src=x onerror=alert(1)>"


@pytest.fixture
def desk(media: Path) -> Desk:
    return Desk(rows.make_cast(), papers="bd")


def assert_harmless(browser: Client, where: str) -> None:
    content = browser.get(where).content.decode()
    assert "onerror=alert(1)" in content, where
    assert "<img src=x" not in content, where
    assert "\"'>" not in content, where


def test_what_people_type_is_text_on_every_page(desk: Desk):
    name = f"Brig {BREAKS_OUT}"
    change = desk.change(reason=f"Why {BREAKS_OUT}")
    event = entity_create(
        change=change,
        name=name,
        type="<b>ship</b>",
        description=name,
        aliases=[f"Sloop {BREAKS_OUT}"],
    )
    made = UUID(event.details["entity"])
    entity_edit(change=change, entity=desk.entity("acme ltd"), description=name)
    link = relationship_create(
        change=change, source=made, target=desk.id("acme ltd"), description=name, keywords=["<i>"]
    )
    pages = {
        "entity_detail": [made],
        "entity_delete": [made],
        "entities_merge": [made],
        "entity_split": [made],
        "relationship_edit": [link.details["relationship"]],
        "relationship_delete": [link.details["relationship"]],
        "workspace_history": [],
        "entity_history": [made],
        "event_detail": [link.pk],
        "entity_list": [],
    }

    for page, args in pages.items():
        assert_harmless(client_of(desk.cast.alice), address(page, desk.cast, *args))


def test_titles_are_text_in_lists_toasts_and_the_trash(desk: Desk):
    document = desk.document("b")
    with access.in_workspace(desk.workspace.pk):
        metadata.document_edit(change=desk.change(), document=document, title=f"Log {BREAKS_OUT}")
    browser = client_of(desk.cast.alice)

    for page in ("document_detail", "document_history"):
        assert_harmless(browser, address(page, desk.cast, document.pk))
    browser.post(address("document_trash", desk.cast, document.pk))
    assert_harmless(browser, address("document_list", desk.cast))
    assert_harmless(browser, address("trash", desk.cast))
    assert_harmless(browser, address("workspace_history", desk.cast))


def test_a_form_sends_nobody_elsewhere(desk: Desk):
    for number, wanted in enumerate(
        ("//evil.example/", "https://evil.example/", "/\\evil.example")
    ):
        made = entity_create(change=desk.change(), name=f"Brig {number}", type="ship")
        where = address("event_undo", desk.cast, made.pk)

        response = client_of(desk.cast.alice).post(where, {"next": wanted})

        assert response.status_code == 302
        assert response["Location"].startswith(f"/w/{desk.workspace.slug}/"), wanted


def test_no_page_is_changed_by_looking_at_it_or_without_its_token(desk: Desk):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(desk.cast.alice)
    acme = desk.id("acme ltd")
    forms = {
        "entity_edit": [acme],
        "entity_delete": [acme],
        "entities_differ": [acme],
        "case_merge": [],
        "document_trash": [desk.document("b").pk],
        "trash_empty": [],
        "health_check": [],
    }

    for page, args in forms.items():
        assert strict.post(address(page, desk.cast, *args)).status_code == 403, page
        assert strict.get(address(page, desk.cast, *args)).status_code in {200, 302, 405}, page
    assert desk.events() == []
