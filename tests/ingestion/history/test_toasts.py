from __future__ import annotations

from uuid import UUID

from django.contrib.messages import constants
from django.contrib.messages.storage.base import Message
from django.template.loader import render_to_string
from django.test import RequestFactory

from ingestion.history import toasts
from ingestion.models import EventKind, HistoryEvent
from ingestion.templatetags.toasts import as_toast
from workspaces.models import Workspace

EVENT = HistoryEvent(
    pk=UUID(int=7),
    kind=EventKind.ENTITIES_MERGED,
    details={"names": {"a": "Acme <Inc>", "b": "Acme Ltd"}, "kept": "b", "others": ["a"]},
)
UNDO = "/w/harbour/history/00000000-0000-0000-0000-000000000007/undo/"


def test_it_says_what_was_done_and_where_to_take_it_back():
    toast = toasts.toast_of(Workspace(slug="harbour"), EVENT)

    assert toast.text == "Merged 'Acme <Inc>' into 'Acme Ltd'."
    assert toast.undo_url == UNDO


def test_it_rides_on_a_message_and_ordinary_ones_are_none():
    tagged = Message(constants.SUCCESS, "Merged.", extra_tags=f"{toasts.MARK}{UNDO}")

    assert as_toast(tagged) == toasts.Toast("Merged.", UNDO)
    assert as_toast(Message(constants.SUCCESS, "Saved.")) is None
    assert as_toast(Message(constants.SUCCESS, "Saved.", extra_tags="other")) is None


def test_it_is_a_form_that_returns_to_the_page():
    request = RequestFactory().get("/w/harbour/entities/?q=a")
    toast = toasts.toast_of(Workspace(slug="harbour"), EVENT)

    page = render_to_string("components/toast.html", {"toast": toast}, request)

    assert f'action="{UNDO}"' in page
    assert 'value="/w/harbour/entities/?q=a"' in page
    assert "Acme &lt;Inc&gt;" in page


def test_without_a_way_back_it_has_no_button():
    request = RequestFactory().get("/")

    page = render_to_string("components/toast.html", {"toast": toasts.Toast("Done.")}, request)

    assert "<form" not in page
