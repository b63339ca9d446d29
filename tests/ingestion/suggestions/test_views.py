from __future__ import annotations

import re
from uuid import uuid4

import pytest

from ingestion.models import EventKind, HistoryEvent, SuggestionSkip
from tests import rows
from tests.ingestion.curated import followed, last_event, send, shown, words
from tests.ingestion.pages import address, client_of, page_of
from tests.ingestion.suggestions.papers import (
    ACME,
    INC,
    SHORT,
    UNIT,
    case_of,
    cases,
    entities,
    id_of,
)
from workspaces import access
from workspaces.models import Role
from workspaces.people.services import member_add

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
QUEUE = "curation_queue"


def form(cast: rows.Cast, case, **more):
    seen = [f"{one}:{revision}" for one, revision in case.expected.items()]
    return {"case": case.key, "kept": case.kept, "seen": seen} | more


def found_in(pattern: str, page: str) -> str:
    match = re.search(pattern, " ".join(page.split()))
    assert match
    return match[1]


def events(cast: rows.Cast) -> list[str]:
    with access.in_workspace(cast.workspace.pk):
        rows_of_all = HistoryEvent.objects.in_workspace(cast.workspace)
        found = rows_of_all.exclude(kind=EventKind.DOCUMENT_ADDED).order_by("sequence")
        return list(found.values_list("kind", flat=True))


# --- looking --------------------------------------------------------------------------------------
def test_one_case_is_shown_with_its_reasons_and_what_a_merge_moves(cast):
    first = cases(cast)[0]

    page = shown(cast.alice, cast, QUEUE)

    assert "1 of 2, 0 decided today" in page
    assert "Are these two the same?" in page
    assert f"{first.percent} % certain" in page
    assert first.sentence in page
    assert all(side.name in page for side in first.entities)
    assert re.search(r"stays\. .*\bmoves?\b", page)


def test_every_quote_opens_its_passage(cast):
    quote = cases(cast)[0].entities[0].quotes[0]

    page = page_of(cast.alice, QUEUE, cast)

    place = f"start={quote.start}&amp;end={quote.end}"
    assert f"/documents/{quote.document_id}/?{place}" in page


def test_the_menu_counts_what_is_open(cast):
    page = shown(cast.alice, cast, "entity_list")

    assert "Curation 2 open" in page


def test_a_reader_sees_the_case_and_who_may_grant_deciding(cast):
    page = shown(cast.bob, cast, QUEUE)

    assert "Only curators of Harbour decide about these. Ask Alice." in page
    assert "Merge" not in page
    assert "Next case" in page


def test_a_reader_goes_on_to_the_next_case(cast):
    first, second = cases(cast)
    page = page_of(cast.bob, QUEUE, cast)

    after = found_in(r'\?after=([^"]+)"', page)
    following = client_of(cast.bob).get(f"{address(QUEUE, cast)}?after={after}")

    assert second.entities[0].name in words(following)
    assert first.entities[0].name not in words(following)


@pytest.mark.parametrize("page", ["case_merge", "case_differ", "case_skip", "cases_above"])
def test_a_reader_decides_nothing(cast, page):
    response = send(cast.bob, cast, page, **form(cast, cases(cast)[0]))

    assert response.status_code == 403
    assert events(cast) == []


@pytest.mark.parametrize("page", ["case_merge", "case_differ", "case_skip", "cases_above"])
def test_a_stranger_finds_nothing(cast, page):
    assert client_of(cast.charlie).get(address(QUEUE, cast)).status_code == 404

    assert send(cast.charlie, cast, page, **form(cast, cases(cast)[0])).status_code == 404


# --- deciding -------------------------------------------------------------------------------------
def test_after_a_merge_the_next_case_comes_with_an_undo(cast):
    first, second = cases(cast)
    gone = next(side for side in first.entities if side.id != first.kept)

    page = followed(cast.alice, cast, "case_merge", **form(cast, first))

    assert "Merged" in page
    assert "Undo" in page
    assert "2 of 2, 1 decided today" in page
    assert all(side.name in page for side in second.entities)
    assert gone.name.lower() not in entities(cast)


def test_another_one_stays_when_it_was_chosen(cast):
    case = case_of(cast, ACME, INC)
    other = next(side for side in case.entities if side.id != case.kept)

    page = shown(cast.alice, cast, QUEUE, case=case.key, kept=other.id)
    followed(cast.alice, cast, "case_merge", **form(cast, case, kept=other.id))

    assert f"“{other.name}” stays." in page
    assert {ACME, INC} & set(entities(cast)) == {other.name.lower()}


def test_what_is_not_the_same_is_remembered_and_shown_when_found_again(cast):
    case = case_of(cast, ACME, INC)

    page = followed(cast.alice, cast, "case_differ", **form(cast, case))

    assert "Found again, but marked as not the same (1)" in page
    assert "Alice marked these as not the same on" in page
    assert {ACME, INC} <= set(entities(cast))
    assert case.key not in {one.key for one in cases(cast)}


def test_what_is_skipped_comes_back_behind_the_others(cast):
    first, second = cases(cast)

    page = followed(cast.alice, cast, "case_skip", **form(cast, first))
    last = followed(cast.alice, cast, "case_skip", **form(cast, second))

    assert "2 of 2, 0 decided today" in page
    assert "2 of 2 left, all of them put off; 0 decided today" in last
    assert "Skipped before" in last
    with access.in_workspace(cast.workspace.pk):
        assert SuggestionSkip.objects.in_workspace(cast.workspace).count() == 2


def test_when_all_is_decided_the_page_says_what_comes_here(cast):
    first, second = cases(cast)
    followed(cast.alice, cast, "case_differ", **form(cast, first))

    page = followed(cast.alice, cast, "case_differ", **form(cast, second))

    assert "All decided" in page
    assert "appear here side by side" in page
    assert "Undo my last" in page


def test_the_last_decision_is_undone_from_the_queue(cast):
    case = cases(cast)[0]
    followed(cast.alice, cast, "case_merge", **form(cast, case))
    event = last_event(cast)

    back = address(QUEUE, cast)
    page = followed(cast.alice, cast, "event_undo", event.pk, next=back)

    assert "Undid:" in page
    assert "1 of 2, 0 decided today" in page
    assert all(side.name in page for side in case.entities)


# --- what cannot be done --------------------------------------------------------------------------
def test_a_second_press_says_that_it_was_done(cast):
    case = cases(cast)[0]
    followed(cast.alice, cast, "case_merge", **form(cast, case))

    page = followed(cast.alice, cast, "case_merge", **form(cast, case))

    assert "That case is no longer open. Alice merged" in page
    assert events(cast) == [EventKind.ENTITIES_MERGED]


@pytest.mark.parametrize("page", ["case_merge", "case_differ", "case_skip"])
def test_who_decided_meanwhile_is_said_and_the_next_case_comes(cast, page):
    bob = member_add(workspace=cast.workspace, user=rows.make_user("Ben"), role=Role.CURATOR).user
    first, second = cases(cast)
    followed(bob, cast, "case_differ", **form(cast, first))

    told = followed(cast.alice, cast, page, **form(cast, first))

    assert "That case is no longer open. Ben marked" in told
    assert all(side.name in told for side in second.entities)
    assert len(events(cast)) == 1


def test_what_was_changed_meanwhile_is_said_and_the_case_decided_again(cast):
    case = case_of(cast, ACME, INC)
    client_of(cast.alice).post(
        address("entity_edit", cast, id_of(cast, ACME)),
        {"field": "description", "description": "Makes lamps."},
    )
    assert len(events(cast)) == 1

    response = send(cast.alice, cast, "case_merge", **form(cast, case))

    assert response.status_code == 412
    assert "Alice" in words(response)
    assert "decide again" in words(response)
    assert len(events(cast)) == 1


@pytest.mark.parametrize("wrong", ["kept", "drop"])
@pytest.mark.parametrize("page", ["case_merge", "case_differ"])
def test_an_entity_that_is_not_of_the_case_is_refused(cast, page, wrong):
    case = case_of(cast, ACME, INC)

    for foreign in (uuid4(), id_of(cast, UNIT)):
        response = send(cast.alice, cast, page, **form(cast, case, **{wrong: foreign}))
        assert response.status_code == 400
        assert "This entity is not part of the case." in words(response)

    assert events(cast) == []


def test_leaving_all_but_one_out_is_refused(cast):
    case = case_of(cast, UNIT, SHORT)

    looked = client_of(cast.alice).get(
        address(QUEUE, cast), {"case": str(case.key), "drop": str(case.entities[0].id)}
    )
    sent = send(cast.alice, cast, "case_merge", **form(cast, case, drop=case.entities[0].id))

    assert (looked.status_code, sent.status_code) == (400, 400)
    assert "A case needs at least two entities." in words(sent)


def test_an_address_that_no_page_gave_shows_the_first_case(cast):
    gone = shown(cast.alice, cast, QUEUE, case=uuid4())
    response = client_of(cast.alice).get(address(QUEUE, cast), {"after": "x~y~z"})

    assert "it no longer exists. This is the next one." in gone
    assert response.status_code == 400
    assert "Are these two the same?" in words(response)
    assert client_of(cast.alice).get(address(QUEUE, cast), {"case": "no-id"}).status_code == 404
    assert "no longer open" in followed(cast.alice, cast, "case_merge")


# --- all of a certainty ---------------------------------------------------------------------------
def test_all_above_a_certainty_are_told_merged_and_undone_at_one_stroke(cast):
    before = entities(cast)
    page = page_of(cast.alice, "cases_above", cast, above=80)
    digest = found_in(r'name="digest" value="(\w+)"', page)
    number = len([case for case in cases(cast) if case.percent >= 80])

    done = followed(cast.alice, cast, "cases_above", above=80, digest=digest)
    event = last_event(cast)
    after = entities(cast)
    followed(cast.alice, cast, "event_undo", event.pk, next=address(QUEUE, cast))

    assert number
    assert f"Merged {number} case" in done
    assert len(after) == len(before) - number
    assert entities(cast) == before


def test_nothing_is_merged_that_was_not_looked_at(cast):
    response = send(cast.alice, cast, "cases_above", above=80, digest="other")
    without = send(cast.alice, cast, "cases_above", above=80)

    assert (response.status_code, without.status_code) == (412, 412)
    assert "Look at the new preview" in words(response)
    assert events(cast) == []


def test_where_nothing_is_that_certain_there_is_no_button(cast):
    page = shown(cast.alice, cast, "cases_above", above=99)

    assert "No open case reaches that certainty." in page
    assert "Merge 0" not in page
    assert "95 % and more" in shown(cast.alice, cast, "cases_above", above="zebra")
