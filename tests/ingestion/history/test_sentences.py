from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.messages import constants
from django.contrib.messages.storage.base import Message
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils import timezone

from ingestion.history import sentences
from ingestion.history.sentences import _ACTIVE, active, on_day, passive, quoted, who
from ingestion.models import EventKind, HistoryEvent
from ingestion.templatetags.curation import as_toast
from workspaces.models import User, Workspace

NAMES = {"1": "Acme Ltd", "2": "Acme Inc", "3": "Orran"}


def event(kind: str, names: str = "1", *, user: str = "Ana", **details: Any) -> HistoryEvent:
    shown = {one: NAMES[one] for one in names}
    return HistoryEvent(
        kind=kind,
        user=User(name=user, email="x@example.com") if user else None,
        details={"names": shown, **details},
        created_at=timezone.now(),
    )


@pytest.mark.parametrize(
    ("happened", "sentence"),
    [
        (event("entity_created"), "Ana created 'Acme Ltd'"),
        (event("entity_deleted"), "Ana deleted 'Acme Ltd'"),
        (
            event("entities_merged", "123", kept="3", others=["2", "1"]),
            "Ana merged 'Acme Inc' and 'Acme Ltd' into 'Orran'",
        ),
        (
            event("entity_split", "12", into="2", **{"from": "1"}),
            "Ana split 'Acme Inc' off from 'Acme Ltd'",
        ),
        (
            event("mentions_moved", "12", into="2", counts={"mentions": 5}, **{"from": "1"}),
            "Ana moved 5 mentions from 'Acme Ltd' to 'Acme Inc'",
        ),
        (
            event("not_the_same", "12"),
            "Ana marked 'Acme Inc' and 'Acme Ltd' as not the same",
        ),
        (
            event("relationship_created", "13", source="1", target="3"),
            "Ana linked 'Acme Ltd' to 'Orran'",
        ),
        (event("document_trashed"), "Ana moved 'Acme Ltd' to the trash"),
        (
            event("decision_undone", left="acme", right="acme ltd", verdict="same"),
            "Ana undid the decision that 'acme' and 'acme ltd' are the same",
        ),
        (event("undo", undid="Ben deleted 'Orran'"), "Ana undid: Ben deleted 'Orran'"),
    ],
)
def test_events_are_told_in_sentences(happened: HistoryEvent, sentence: str):
    assert active(happened) == sentence


def test_very_many_documents_are_all_counted_though_few_names_are_kept():
    happened = event("document_restored", "123", counts={"documents": 1400})

    assert active(happened) == (
        "Ana restored 'Acme Inc', 'Acme Ltd', 'Orran' and 1,397 others from the trash"
    )
    assert passive(happened, of="4").startswith(
        "'Acme Inc', 'Acme Ltd', 'Orran' and 1,397 others were restored"
    )
    assert passive(happened, of="3").startswith("'Orran' was restored")
    deleted = event("collection_deleted", "1", counts={"documents": 2})
    assert active(deleted).endswith("'Acme Ltd'")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"name": "A"}, {"name": "B"}, "renamed 'A' to 'B'"),
        ({"type": "x"}, {"type": "y"}, "changed the type of 'Acme Ltd' from x to y"),
        ({}, {"description": "New."}, "edited the description of 'Acme Ltd'"),
        ({}, {"add_aliases": ["A", "B"]}, "added the aliases 'A' and 'B' to 'Acme Ltd'"),
        ({"remove_aliases": ["A"]}, {"remove_aliases": []}, "removed the alias 'A' from"),
        ({}, {"is_protected": True}, "protected 'Acme Ltd'"),
        ({}, {"is_protected": False}, "unprotected 'Acme Ltd'"),
        ({"name": "A"}, {"name": "B", "is_confirmed": True}, "and confirmed 'Acme Ltd'"),
    ],
)
def test_an_edit_says_what_is_otherwise(before: Any, after: Any, said: str):
    assert said in active(event("entity_edited", entity="1", before=before, after=after))


@pytest.mark.parametrize("kind", EventKind.values)
def test_every_kind_is_told_both_ways(kind: str):
    details: dict[str, Any] = {
        "kept": "1",
        "others": ["2"],
        "into": "2",
        "from": "1",
        "entity": "1",
    }

    happened = event(kind, "12", source="1", target="2", **details)

    assert kind in _ACTIVE
    assert active(happened).startswith("Ana ")
    assert " by Ana on " in passive(happened, of="2", again=True)


def test_what_was_done_is_told_of_the_one_it_was_done_to():
    happened = event("entities_merged", "123", kept="3", others=["1", "2"])

    assert passive(happened, of="1").startswith("'Acme Ltd' was merged into 'Orran' by Ana on ")
    assert passive(happened).startswith("'Acme Ltd' and 'Acme Inc' were merged into 'Orran' by")
    assert passive(happened, of="1", again=True).startswith("'Acme Ltd' was merged again into")


def test_whoever_did_it_is_named():
    by_nobody = event("document_deleted", user="")

    assert active(by_nobody) == "A former member deleted 'Acme Ltd' for good"
    by_nobody.via = "schedule"
    assert who(by_nobody) == "Concordance"


def test_a_day_of_another_year_says_so():
    happened = event("entity_created")
    assert not on_day(happened).endswith(str(timezone.now().year))

    happened.created_at -= timedelta(days=400)

    assert on_day(happened).endswith(str(timezone.localtime(happened.created_at).year))


def test_many_names_are_cut():
    assert quoted([]) == "something"
    assert quoted(["A"]) == "'A'"
    assert quoted(list("ABCD")) == "'A', 'B', 'C' and 1 other"


EVENT = HistoryEvent(
    pk=UUID(int=7),
    kind=EventKind.ENTITIES_MERGED,
    details={"names": {"a": "Acme <Inc>", "b": "Acme Ltd"}, "kept": "b", "others": ["a"]},
)
UNDO = "/w/harbour/history/00000000-0000-0000-0000-000000000007/undo/"


def test_it_says_what_was_done_and_where_to_take_it_back():
    toast = sentences.toast_of(Workspace(slug="harbour"), EVENT)

    assert toast.text == "Merged 'Acme <Inc>' into 'Acme Ltd'."
    assert toast.undo_url == UNDO


def test_it_rides_on_a_message_and_ordinary_ones_are_none():
    tagged = Message(constants.SUCCESS, "Merged.", extra_tags=f"{sentences.UNDO_TAG}{UNDO}")

    assert as_toast(tagged) == sentences.Toast("Merged.", UNDO)
    assert as_toast(Message(constants.SUCCESS, "Saved.")) is None
    assert as_toast(Message(constants.SUCCESS, "Saved.", extra_tags="other")) is None


def test_it_is_a_form_that_returns_to_the_page():
    request = RequestFactory().get("/w/harbour/entities/?q=a")
    toast = sentences.toast_of(Workspace(slug="harbour"), EVENT)

    page = render_to_string("components/toast.html", {"toast": toast}, request)

    assert f'action="{UNDO}"' in page
    assert 'value="/w/harbour/entities/?q=a"' in page
    assert "Acme &lt;Inc&gt;" in page


def test_without_a_way_back_it_has_no_button():
    request = RequestFactory().get("/")

    page = render_to_string("components/toast.html", {"toast": sentences.Toast("Done.")}, request)

    assert "<form" not in page
