from __future__ import annotations

from uuid import uuid4

import pytest

from ingestion.documents import lifecycle
from ingestion.history.recording import ChangeContext
from ingestion.models import Document, HistoryEvent
from tests import rows
from tests.ingestion.curated import followed, last_event, named, send, shown, words
from tests.ingestion.curation.views.test_splitting import document
from tests.ingestion.pages import address, client_of, page_of
from workspaces import access
from workspaces.models import Role
from workspaces.people import services as people_services

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


def merge(cast: rows.Cast, reason: str = "") -> HistoryEvent:
    ada, miss = named(cast, "ada lind"), named(cast, "miss lind")
    send(cast.alice, cast, "entities_merge", ada.pk, **{"with": [miss.pk]}, reason=reason)
    return last_event(cast)


def test_everything_is_told_in_sentences_with_links(cast):
    merge(cast, reason="The same hand.")

    page = page_of(cast.bob, "workspace_history", cast)
    text = shown(cast.bob, cast, "workspace_history")

    assert "Alice merged Miss Lind into Ada Lind ." in text
    assert "“The same hand.”" in text
    assert "2 facts and 2 mentions move" in text
    assert "Through page" in text
    assert f'href="{address("entity_detail", cast, named(cast, "ada lind").pk)}"' in page


def test_it_is_narrowed_by_person_kind_and_day(cast):
    event = merge(cast)
    day = f"{event.created_at:%Y-%m-%d}"

    def told(**query) -> bool:
        return "Alice merged" in shown(cast.bob, cast, "workspace_history", **query)

    assert told(person=cast.alice.pk, kind="entities_merged", since=day, until=day)
    assert not told(kind="entity_deleted")
    assert not told(person=cast.bob.pk)
    assert not told(until="2020-01-01")
    assert not told(since="2999-01-01")
    assert told(person="x", kind="nonsense", since="2026-99-99", until="later", before="x")
    assert told(until="9999-12-31")
    assert not told(before=event.sequence)
    assert "No matching changes" in shown(
        cast.bob, cast, "workspace_history", kind="entity_deleted"
    )


def test_what_went_for_good_is_no_step_to_an_undo(cast):
    gone = document(cast, "log")
    trashed = lifecycle.documents_trash(
        change=ChangeContext(cast.workspace, cast.alice), documents=[gone]
    )
    lifecycle.documents_delete(change=ChangeContext(cast.workspace, cast.alice), documents=[gone])

    for text in (
        shown(cast.alice, cast, "document_history", gone.pk),
        shown(cast.alice, cast, "event_detail", trashed.pk),
    ):
        assert "was deleted for good by Alice on" in text
        assert "Undo that first" not in text


def test_a_long_history_goes_on(cast):
    ada = named(cast, "ada lind")
    with access.in_workspace(cast.workspace.pk):
        HistoryEvent.objects.bulk_create(
            HistoryEvent(workspace=cast.workspace, sequence=100 + n, kind="entity_edited")
            for n in range(60)
        )

    page = page_of(cast.bob, "workspace_history", cast)

    assert "before=120" in page
    assert "Earlier" not in shown(cast.bob, cast, "workspace_history", before=120).split("Skarrow")
    assert "No changes yet" in shown(cast.bob, cast, "entity_history", ada.pk)


def test_an_entity_and_a_document_have_their_own(cast):
    merge(cast)
    ada, miss = named(cast, "ada lind"), last_event(cast).details["others"][0]
    paper = document(cast, "log")

    assert "Alice merged" in shown(cast.bob, cast, "entity_history", ada.pk)
    assert "It no longer exists." in shown(cast.bob, cast, "entity_history", miss)
    of_paper = shown(cast.bob, cast, "document_history", paper.pk)
    assert "History of log" in of_paper
    assert "Alice merged" not in of_paper
    for page in ("entity_history", "document_history", "event_detail"):
        assert client_of(cast.alice).get(address(page, cast, uuid4())).status_code == 404


# --- taking back ----------------------------------------------------------------------------------
def test_undoing_tells_first_what_it_moves(cast):
    event = merge(cast)

    page = shown(cast.alice, cast, "event_detail", event.pk)
    undone = followed(cast.alice, cast, "event_undo", event.pk, reason="A mistake.")

    assert "2 mentions move back" in page
    assert "Undo this" in page
    assert "Undid: Alice merged 'Miss Lind' into 'Ada Lind'." in undone
    assert named(cast, "miss lind").mention_count == 2
    after = shown(cast.bob, cast, "event_detail", event.pk)
    assert "It was undone by Alice" in after
    assert "“A mistake.”" in shown(cast.bob, cast, "workspace_history")


def test_undoing_twice_says_that_it_was_done(cast):
    event = merge(cast)
    send(cast.alice, cast, "event_undo", event.pk)

    twice = send(cast.alice, cast, "event_undo", event.pk)

    assert twice.status_code == 409
    assert "This has already been undone." in words(twice)


def test_an_undo_can_be_undone(cast):
    event = merge(cast)
    send(cast.alice, cast, "event_undo", event.pk)

    followed(cast.alice, cast, "event_undo", last_event(cast).pk)

    assert named(cast, "ada lind").mention_count == 5


def test_what_is_in_the_way_is_named_with_a_link(cast):
    first = merge(cast)
    ada, olaf = named(cast, "ada lind"), named(cast, "olaf brekke")
    send(cast.alice, cast, "entities_merge", olaf.pk, **{"with": [ada.pk]})
    later = last_event(cast)

    refused = send(cast.alice, cast, "event_undo", first.pk)
    listed = page_of(cast.bob, "workspace_history", cast)

    assert refused.status_code == 409
    assert "'Ada Lind' was merged again into 'Olaf Brekke' by Alice" in words(refused)
    assert f'href="{address("event_detail", cast, later.pk)}"' in refused.content.decode()
    assert "Undo that first." in listed


def test_it_returns_to_a_page_of_ours_only(cast):
    event = merge(cast)
    home = address("entity_list", cast)

    away = send(cast.alice, cast, "event_undo", event.pk, next="https://example.com/")
    back = send(cast.alice, cast, "event_undo", last_event(cast).pk, next=home)

    assert "example.com" not in away["Location"]
    assert back["Location"] == home


def test_a_reader_sees_the_button_disabled_and_may_not(cast):
    event = merge(cast)

    page = shown(cast.bob, cast, "event_detail", event.pk)
    refused = send(cast.bob, cast, "event_undo", event.pk)

    assert "Only curators of Harbour can undo this. Ask Alice." in page
    assert refused.status_code == 403
    for name in ("event_detail", "workspace_history"):
        args = [event.pk] if name == "event_detail" else []
        assert client_of(cast.charlie).get(address(name, cast, *args)).status_code == 404
    assert send(cast.charlie, cast, "event_undo", event.pk).status_code == 404


def test_an_editor_may_not_take_back_what_curators_did(cast):
    event = merge(cast)
    dora = rows.make_user("Dora")
    people_services.member_add(workspace=cast.workspace, user=dora, role=Role.EDITOR)

    assert send(dora, cast, "event_undo", event.pk).status_code == 403


def test_a_document_that_is_no_more_keeps_its_history(cast):
    paper = document(cast, "log")
    with access.in_workspace(cast.workspace.pk):
        Document.objects.in_workspace(cast.workspace).filter(pk=paper.pk)._raw_delete("default")

    assert "added log" in shown(cast.bob, cast, "document_history", paper.pk)
