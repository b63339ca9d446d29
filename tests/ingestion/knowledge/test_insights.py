"""Who and what stands out: on pages and by the API, with the reasons."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from ingestion.knowledge import insights
from ingestion.models import Document, LoneDocument
from ingestion.stages import structure
from tests import rows
from tests.api import address as api_address, assert_nothing_there, client
from tests.ingestion.pages import client_of, page_of
from tests.ingestion.structures import Structure, make_structure
from workspaces import access

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def made(cast: rows.Cast) -> Structure:
    found = make_structure(cast.workspace)
    structure.renew(cast.workspace.pk)
    rows.make_snapshot(cast.workspace)
    return found


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


# --- topics ---------------------------------------------------------------------------------------
def test_the_page_of_a_topic_says_who_stands_out_and_why(cast: rows.Cast, made: Structure):
    page = words_of(page_of(cast.bob, "community_detail", cast, made.oil.community_id))

    assert "Most central" in page
    assert "3 facts within the topic, in 3 passages of 2 documents" in page
    assert "Facts stated in 3 passages of 2 documents" in page
    assert "Part of all 3 facts between this topic and The light" in page


def test_people_come_first_each_with_a_passage_about_the_topic(cast: rows.Cast, made: Structure):
    with access.in_workspace(cast.workspace.pk):
        found = insights.topic_insights(
            workspace=cast.workspace, community_id=made.oil.community_id
        )

    assert [one.entity.name for one in found.documented] == [
        "Di Fell",
        "Ada Lind",
        "Cy Reef",
        "Oil Works",
    ]
    for one in found.documented:
        assert one.quote is not None
        assert one.entity.name in one.quote.text


def test_the_list_of_topics_says_what_joins_them(cast: rows.Cast, made: Structure):
    page = words_of(page_of(cast.bob, "community_list", cast))

    assert "What joins topics" in page
    assert "Part of all 3 facts between The light and The oil" in page


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_programs_get_the_same_of_a_topic(cast: rows.Cast, made: Structure, who: str):
    ask = client(getattr(cast, who)).get

    topic = ask(api_address(cast.workspace, f"communities/{made.oil.community_id}/")).json()
    joins = ask(api_address(cast.workspace, "communities/bridges/")).json()

    assert [one["entity"]["name"] for one in topic["central"]] == [
        "Cy Reef",
        "Di Fell",
        "Oil Works",
    ]
    assert topic["documented"][0]["quote"]["title"]
    [bridge] = topic["bridges"]
    assert joins == {"results": [bridge]}
    assert (bridge["facts"], bridge["of_facts"]) == (3, 3)
    assert (bridge["own"]["title"], bridge["other"]["title"]) == ("The light", "The oil")


def test_strangers_get_no_bridges(cast: rows.Cast, made: Structure):
    answer = client(cast.charlie).get(api_address(cast.workspace, "communities/bridges/"))

    assert_nothing_there(answer)


def test_more_rows_take_no_more_queries(
    cast: rows.Cast, made: Structure, django_assert_num_queries
):
    with access.in_workspace(cast.workspace.pk), django_assert_num_queries(5):
        found = insights.topic_insights(
            workspace=cast.workspace, community_id=made.oil.community_id
        )
        assert [one.quote.document.title for one in found.documented if one.quote]


# --- entities -------------------------------------------------------------------------------------
def test_the_page_of_an_entity_says_what_it_joins_and_where_it_is_central(
    cast: rows.Cast, made: Structure
):
    ada = made.entities["Ada Lind"]

    page = words_of(page_of(cast.bob, "entity_detail", cast, ada.pk))
    answer = client(cast.bob).get(api_address(cast.workspace, f"entities/{ada.pk}/")).json()

    assert "The most central entity of The light ." in page
    assert "Part of all 3 facts that join The light and The oil" in page
    assert answer["central_in"] == str(made.light.community_id)
    assert [one["other"]["title"] for one in answer["bridges"]] == ["The oil"]


def test_the_page_of_an_entity_that_joins_nothing_says_nothing_of_it(
    cast: rows.Cast, made: Structure
):
    page = words_of(page_of(cast.bob, "entity_detail", cast, made.entities["Oil Works"].pk))

    assert "Among the most central of The oil ." in page
    assert "that join" not in page


# --- documents ------------------------------------------------------------------------------------
def test_documents_that_stand_alone_are_counted_and_listed_with_their_reason(
    cast: rows.Cast, made: Structure
):
    lone = made.documents["ALONE"]

    every = words_of(page_of(cast.bob, "document_list", cast))
    only = page_of(cast.bob, "document_list", cast, alone="1")
    page = words_of(page_of(cast.bob, "document_detail", cast, lone.pk))
    linked = words_of(page_of(cast.bob, "document_detail", cast, made.documents["OIL"].pk))

    assert "1 stands alone" in every
    assert f"document-{lone.pk}" in only
    assert f"document-{made.documents['OIL'].pk}" not in only
    assert "it mentions 1 entity, and no other document mentions it" in page
    assert "tands alone" not in linked


def test_programs_list_documents_that_stand_alone(cast: rows.Cast, made: Structure):
    ask = client(cast.bob).get

    found = ask(api_address(cast.workspace, "documents/?alone=true")).json()
    lone = ask(api_address(cast.workspace, f"documents/{made.documents['ALONE'].pk}/")).json()
    linked = ask(api_address(cast.workspace, f"documents/{made.documents['OIL'].pk}/")).json()

    assert [one["title"] for one in found["results"]] == ["Alone"]
    assert (lone["mentions_alone"], linked["mentions_alone"]) == (1, None)


@pytest.mark.parametrize(
    "change", [{"trashed_at": "2026-01-01T00:00Z"}, {"state": "attention"}, {"state": "working"}]
)
def test_a_document_in_the_trash_or_not_wholly_read_does_not_stand_alone(
    cast: rows.Cast, made: Structure, change: dict[str, str]
):
    with access.in_workspace(cast.workspace.pk):
        lone = Document.objects.in_workspace(cast.workspace).filter(title="Alone")
        lone.update(**change)

        assert not insights.lone_documents(cast.workspace).exists()
        assert LoneDocument.objects.in_workspace(cast.workspace).exists()


# --- searches -------------------------------------------------------------------------------------
def test_a_search_says_who_its_passages_state_most_about(cast: rows.Cast, made: Structure):
    query = {"q": "Oil Works Cy Reef Di Fell", "mode": "lexical"}
    page = client_of(cast.bob).get(reverse("retrieval:search", args=[cast.workspace.slug]), query)
    answer = client(cast.bob).get(api_address(cast.workspace, "search/"), query).json()

    words = words_of(page.content.decode())
    assert "Most is said about" in words
    assert "Facts stated in 3 passages of 3 documents" in words
    names = [one["entity"]["name"] for one in answer["known"]]
    assert names == ["Ada Lind", "Cy Reef", "Di Fell", "Bo Strand", "Oil Works"]
    assert all(one["passages"] >= 2 for one in answer["known"])
    assert all(one["quote"]["text"] for one in answer["known"])


def test_a_search_without_repeated_statements_says_nothing_of_them(
    cast: rows.Cast, made: Structure
):
    query = {"q": "paints", "mode": "lexical"}
    page = client_of(cast.bob).get(reverse("retrieval:search", args=[cast.workspace.slug]), query)

    assert "Most is said about" not in page.content.decode()
