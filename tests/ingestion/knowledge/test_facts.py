from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion.knowledge import facts
from ingestion.knowledge.facts import FactFilter
from ingestion.models import Entity, Relationship
from tests import rows
from tests.api import address as api_address, assert_nothing_there, client
from tests.ingestion.curated import link, named, shown, words
from tests.ingestion.curation.conftest import make_graph_cast
from tests.ingestion.once import Once, once_a_module
from tests.ingestion.pages import address, client_of
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]
MANY = 5_000
TYPES = ("person", "place", "organization", "event")


graph_made = once_a_module(make_graph_cast)


@pytest.fixture
def cast(graph_made: Once[rows.Cast], media: Path) -> rows.Cast:
    return graph_made.for_a_test(media)


def make_hub(cast: rows.Cast, number: int) -> Entity:
    """An entity with many facts, weaker and weaker."""
    workspace = cast.workspace
    others = [
        Entity(
            workspace=workspace, key=f"other {place}", name=f"Other {place}",
            type=TYPES[place % len(TYPES)], description="Long words of a neighbour. " * 8,
        )
        for place in range(number)
    ]  # fmt: skip
    with access.in_workspace(workspace.pk):
        hub = Entity.objects.create(workspace=workspace, key="hub", name="Hub", type="concept")
        Entity.objects.bulk_create(others, batch_size=1000)
        Relationship.objects.bulk_create(
            [
                Relationship(
                    workspace=workspace, source=hub if place % 2 else other,
                    target=other if place % 2 else hub, weight=number - place, is_made=True,
                    description=f"Knows number {place}.", written_by="person",
                )
                for place, other in enumerate(others)
            ],
            batch_size=1000,
        )  # fmt: skip
    return hub


def names(cast: rows.Cast, entity: Entity, **wanted: str) -> set[str]:
    with access.in_workspace(cast.workspace.pk):
        found = facts.fact_rows(cast.workspace, entity, FactFilter(**wanted))
        return {one.other.name for one in facts.facts_of(cast.workspace, entity, found[:])}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, {"Skarrow", "Olaf Brekke", "Miss Lind"}),
        ({"type": "place"}, {"Skarrow"}),
        ({"text": "olaf"}, {"Olaf Brekke"}),
        ({"text": "keeps the LIGHT"}, {"Skarrow"}),
        ({"text": "nothing of the sort"}, set()),
        ({"kind": "stated"}, {"Skarrow", "Olaf Brekke", "Miss Lind"}),
        ({"kind": "together"}, set()),
        ({"kind": "made"}, set()),
    ],
)
def test_facts_are_filtered_by_what_they_say_and_lead_to(cast, wanted, expected):
    assert names(cast, named(cast, "ada lind"), **wanted) == expected


def test_the_first_look_has_some_of_every_type(cast):
    hub = make_hub(cast, 40)

    with access.in_workspace(cast.workspace.pk):
        types = facts.fact_types(cast.workspace, hub)
        groups = facts.fact_groups(cast.workspace, hub, types, 12)

    assert {(one.type, one.total, len(one.facts), one.more) for one in groups} == {
        (name, 10, 3, 7) for name in TYPES
    }


def test_neighbours_are_the_strongest_and_know_who_is_linked(cast):
    with access.in_workspace(cast.workspace.pk):
        around = facts.neighbourhood(cast.workspace, named(cast, "ada lind"), 12)

    assert {one.entity.name for one in around.neighbours} == {"Skarrow", "Olaf Brekke", "Miss Lind"}
    pair = {named(cast, "miss lind").pk, named(cast, "skarrow").pk}
    assert [set(one) for one in around.between] == [pair]


# --- pages ----------------------------------------------------------------------------------------
def test_a_page_of_thousands_of_facts_is_small_and_says_how_many(cast):
    hub = make_hub(cast, MANY)

    response = client_of(cast.alice).get(address("entity_detail", cast, hub.pk))

    page = response.content.decode()
    assert len(response.content) < 300_000
    assert "Show all 5000 facts" in page
    assert "3 of 1250" in page
    assert "Knows number 0." in page
    assert page.count("<circle") == 13


def test_more_facts_cost_no_more_queries(cast):
    def queries(entity: Entity) -> int:
        browser = client_of(cast.alice)
        browser.get(address("entity_detail", cast, entity.pk))
        with CaptureQueriesContext(connection) as caught:
            for page in ("entity_detail", "entity_facts"):
                assert browser.get(address(page, cast, entity.pk)).status_code == 200
        return len(caught)

    few = queries(named(cast, "olaf brekke"))

    assert queries(make_hub(cast, 200)) <= few + 2


def test_all_facts_are_on_pages_with_their_true_number(cast):
    hub = make_hub(cast, 50)

    first = shown(cast.bob, cast, "entity_facts", hub.pk)
    third = client_of(cast.bob).get(address("entity_facts", cast, hub.pk), {"page": "3"})
    last = words(third)
    people = shown(cast.bob, cast, "entity_facts", hub.pk, type="person", q="Other 4")

    assert "50 facts, strongest first" in first
    assert "Page 1 of 3" in first
    assert "Other 49" in last
    assert "Edit" not in last
    assert "4 facts, strongest first" in people


def test_a_search_without_facts_says_so(cast):
    page = shown(cast.bob, cast, "entity_facts", named(cast, "ada lind").pk, q="no such words")

    assert "No such fact" in page


def test_the_passages_of_a_fact_have_a_page(cast):
    one = link(cast, "ada lind", "skarrow")

    page = shown(cast.bob, cast, "fact_passages", one.pk)

    assert "Ada Lind and Skarrow" in page
    assert "log" in page
    for person, pk in ((cast.charlie, one.pk), (cast.alice, uuid.uuid4())):
        response = client_of(person).get(address("fact_passages", cast, pk))
        assert response.status_code == 404


def test_an_entity_page_says_why_it_matters_and_draws_its_neighbours(cast):
    ada = named(cast, "ada lind")

    response = client_of(cast.bob).get(address("entity_detail", cast, ada.pk))

    page = " ".join(response.content.decode().split())
    assert "Mentioned in 3 of 4 documents." in page
    assert page.count("<circle") == 4
    assert "As a list" in page


# --- the API --------------------------------------------------------------------------------------
def test_members_page_through_facts_and_strangers_find_nothing(cast):
    hub = make_hub(cast, 70)
    path = api_address(cast.workspace, f"entities/{hub.pk}/facts/")

    for person in (cast.alice, cast.bob):
        body = client(person).get(path, {"page_size": 30, "page": 3}).json()
        assert (body["total"], body["pages"], len(body["results"])) == (70, 3, 10)
    narrowed = client(cast.bob).get(path, {"type": "event", "kind": "made", "q": "number 3"}).json()
    assert {one["other"]["type"] for one in narrowed["results"]} == {"event"}
    assert_nothing_there(client(cast.charlie).get(path))
    assert client(cast.bob).get(path, {"kind": "rumour"}).status_code == 400
    whole = client(cast.bob).get(api_address(cast.workspace, f"entities/{hub.pk}/")).json()
    assert (whole["facts_total"], len(whole["facts"]), whole["claims_total"]) == (70, 60, 0)
