from __future__ import annotations

from uuid import uuid4

import pytest

from tests import rows
from tests.ingestion.curated import (
    followed,
    last_event,
    named,
    seen,
    send,
    shown,
    words,
)
from tests.ingestion.pages import address, client_of, page_of

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


def pair(cast: rows.Cast):
    return named(cast, "ada lind"), named(cast, "miss lind")


def merge(cast: rows.Cast, user, **more):
    ada, miss = pair(cast)
    form = {"kept": ada.pk, "with": [miss.pk], "seen": seen(cast, ada.pk, miss.pk)} | more
    return send(user, cast, "entities_merge", ada.pk, **form)


def test_others_are_searched_by_name(cast):
    ada, miss = pair(cast)

    page = page_of(cast.alice, "entities_merge", cast, ada.pk, q="lind")

    assert f'name="with" value="{miss.pk}"' in " ".join(page.replace("\n", " ").split())
    assert "A preview of this merge appears here" in page
    nothing = shown(cast.alice, cast, "entities_merge", ada.pk, q="zebra")
    assert "No other entity has that name." in nothing


def test_two_stand_side_by_side_with_what_would_move(cast):
    ada, miss = pair(cast)

    page = shown(cast.alice, cast, "entities_merge", ada.pk, **{"with": [miss.pk]})

    assert "2 facts and 2 mentions move" in page
    assert "1 becomes a duplicate" in page
    assert "1 would link it to itself and is dropped" in page
    assert "3 facts · 3 mentions" in page
    assert "2 facts · 2 mentions" in page
    assert "Merge 2 into one" in page


def test_another_one_may_be_kept_and_one_dropped_again(cast):
    ada, miss = pair(cast)

    kept = page_of(cast.alice, "entities_merge", cast, ada.pk, **{"with": [miss.pk]}, kept=miss.pk)
    dropped = shown(cast.alice, cast, "entities_merge", ada.pk, **{"with": [miss.pk]}, drop=miss.pk)

    assert f'name="kept" value="{miss.pk}"' in " ".join(kept.split())
    assert "without it “Miss Lind” stays" in kept
    assert "Merge 2 into one" not in dropped


def test_a_merge_is_told_with_undo_and_undone_from_there(cast):
    ada, miss = pair(cast)

    done = followed(
        cast.alice,
        cast,
        "entities_merge",
        ada.pk,
        kept=ada.pk,
        name="Ada Lindqvist",
        reason="The same hand.",
        **{"with": [miss.pk]},
    )

    assert "Merged 'Miss Lind' into 'Ada Lind'." in done
    assert "Ada Lindqvist" in done
    gone = client_of(cast.bob).get(address("entity_detail", cast, miss.pk))
    assert gone.status_code == 410
    assert "This is now part of another entity" in words(gone)
    assert address("entity_detail", cast, ada.pk) in gone.content.decode()
    undone = followed(cast.alice, cast, "event_undo", last_event(cast).pk)
    assert "Undid: Alice merged 'Miss Lind' into 'Ada Lind'." in undone
    assert named(cast, "miss lind").mention_count == 2
    assert named(cast, "ada lind").name == "Ada Lind"


def test_types_that_differ_are_told_and_both_kept(cast):
    ada, skarrow = named(cast, "ada lind"), named(cast, "skarrow")

    page = shown(cast.alice, cast, "entities_merge", ada.pk, **{"with": [skarrow.pk]})

    assert "Their types differ (person, place)" in page
    assert "These values differ. All of them are kept, with their sources" in page


def test_not_the_same_is_said_there_too(cast):
    ada, miss = pair(cast)

    said = followed(cast.alice, cast, "entities_differ", ada.pk, **{"with": [miss.pk]})
    page = shown(cast.alice, cast, "entities_merge", ada.pk, **{"with": [miss.pk]})

    assert "Marked 'Ada Lind' and 'Miss Lind' as not the same." in said
    assert "Alice marked two of them as not the same." in page


# --- what may not be ------------------------------------------------------------------------------
def test_an_entity_is_not_merged_with_itself_or_with_nothing(cast):
    ada, _ = pair(cast)

    alone = send(cast.alice, cast, "entities_merge", ada.pk)
    itself = send(cast.alice, cast, "entities_merge", ada.pk, **{"with": [ada.pk]})

    assert alone.status_code == itself.status_code == 400
    assert "A merge needs at least two entities." in words(alone)


def test_five_hundred_at_once_are_too_many(cast):
    ada, _ = pair(cast)

    response = send(
        cast.alice, cast, "entities_merge", ada.pk, **{"with": [uuid4() for _ in range(500)]}
    )

    assert response.status_code == 400
    assert "501 entities are too many" in words(response)


def test_more_than_fit_side_by_side_are_not_previewed(cast):
    ada, _ = pair(cast)
    others = [rows.make_entity(cast.workspace, f"Lind {n}").pk for n in range(5)]

    page = shown(cast.alice, cast, "entities_merge", ada.pk, **{"with": others})

    assert "only 5 fit side by side." in page
    assert "into one" not in page


def test_one_of_another_workspace_is_not_there(cast):
    ada, _ = pair(cast)
    foreign = rows.make_entity(rows.make_workspace("Other"), "Ada Lind")

    for wrong in (str(foreign.pk), str(uuid4()), "no id"):
        sent = send(cast.alice, cast, "entities_merge", ada.pk, **{"with": [wrong]})
        looked = client_of(cast.alice).get(
            address("entities_merge", cast, ada.pk), {"with": [wrong]}
        )
        assert sent.status_code == looked.status_code == 404


def test_who_merges_what_was_merged_away_is_told_into_what(cast):
    ada, miss = pair(cast)
    assert merge(cast, cast.alice).status_code == 302

    late = client_of(cast.alice).post(
        address("entities_merge", cast, miss.pk), {"with": [ada.pk]}, follow=True
    )

    assert late.status_code == 410
    assert "This is now part of another entity" in words(late)


def test_who_comes_second_is_told_what_was_done_meanwhile(cast):
    ada, miss = pair(cast)
    before = seen(cast, ada.pk, miss.pk)
    send(cast.alice, cast, "entity_edit", miss.pk, name="Miss Lindh")

    late = merge(cast, cast.alice, seen=before, reason="The same hand.")

    assert late.status_code == 412
    assert "Alice renamed 'Miss Lind' to 'Miss Lindh'." in words(late)
    assert "The same hand." in late.content.decode()


@pytest.mark.parametrize("page", ["entities_merge", "entities_differ"])
def test_a_reader_may_not_and_a_stranger_finds_nothing(cast, page):
    ada, _ = pair(cast)

    refused = send(cast.bob, cast, page, ada.pk)

    assert refused.status_code == 403
    assert "Ask Alice." in words(refused)
    assert send(cast.charlie, cast, page, ada.pk).status_code == 404


def test_a_merge_returns_to_where_it_began(cast):
    ada, miss = pair(cast)
    picture = f"{address('explorer', cast)}?picture=last"

    page = page_of(cast.alice, "entities_merge", cast, ada.pk, **{"with": [miss.pk]}, next=picture)
    done = merge(cast, cast.alice, next=picture)

    assert page.count(f'name="next" value="{picture}"') == 3
    assert f'<a class="btn btn-ghost" href="{picture}">Cancel</a>' in " ".join(page.split())
    assert (done.status_code, done["Location"]) == (302, picture)


@pytest.mark.parametrize(
    "elsewhere", ["https://elsewhere.example/", "//elsewhere.example/", "nowhere"]
)
def test_a_merge_never_leads_to_another_site(cast, elsewhere: str):
    ada, miss = pair(cast)

    page = page_of(cast.alice, "entities_merge", cast, ada.pk, **{"with": miss.pk}, next=elsewhere)
    done = merge(cast, cast.alice, next=elsewhere)

    assert elsewhere not in page
    assert done["Location"] == address("entity_detail", cast, ada.pk)
