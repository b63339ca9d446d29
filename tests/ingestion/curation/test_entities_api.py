from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.models import Entity
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nThe light burns oil that Ada Lind buys from Bo Strand."


@pytest.fixture
def cast() -> rows.Cast:
    cast = rows.make_cast()
    names = {"Ada Lind": "PERSON", "Bo Strand": "PERSON", "light": "FAC"}
    rows.make_document(cast.workspace, "Keepers", TEXT, names=names)
    return cast


def ask(cast: rows.Cast, user, path: str = "") -> Any:
    return client(user).get(address(cast.workspace, f"entities/{path}"))


def entity(cast: rows.Cast, name: str) -> Entity:
    return rows.make_entity(cast.workspace, name)


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_list_entities_the_most_mentioned_first(cast: rows.Cast, who: str):
    body = ask(cast, getattr(cast, who)).json()

    assert [(row["name"], row["mentions"]) for row in body["results"]] == [
        ("Ada Lind", 2),
        ("light", 2),
        ("Bo Strand", 1),
    ]
    assert (body["total"], body["pages"]) == (3, 1)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?q=strand", ["Bo Strand"]),
        ("?type=FAC", ["light"]),
        ("?type=PERSON&q=a", ["Ada Lind", "Bo Strand"]),
        ("?q=nobody", []),
    ],
)
def test_a_filter_narrows_the_list(cast: rows.Cast, query: str, names: list[str]):
    assert [row["name"] for row in ask(cast, cast.bob, query).json()["results"]] == names


def test_an_alias_is_found_once(cast: rows.Cast):
    rows.make_entity(cast.workspace, "Ada Lind", aliases=["A. Lind", "Keeper Lind"])

    assert [row["name"] for row in ask(cast, cast.bob, "?q=lind").json()["results"]] == ["Ada Lind"]


def test_pages_cut_the_list(cast: rows.Cast):
    body = ask(cast, cast.bob, "?page=2&page_size=2").json()

    assert ([row["name"] for row in body["results"]], body["total"]) == (["Bo Strand"], 3)


def test_an_entity_shows_its_facts_with_the_passages_they_rest_on(cast: rows.Cast):
    ada, bo = entity(cast, "Ada Lind"), entity(cast, "Bo Strand")
    with access.in_workspace(cast.workspace.pk):
        document = ada.mentions.first().document
    chunk = rows.chunks_of(document)[1]
    rows.make_relationship(ada, bo, chunk, "buys from")
    rows.make_report(cast.workspace, "The light", [ada, bo], [chunk])

    seen = ask(cast, cast.bob, f"{ada.pk}/").json()

    [fact] = seen["facts"]
    [source] = fact["sources"]
    assert (fact["predicate"], fact["is_outgoing"], fact["other"]["name"]) == (
        "buys from",
        True,
        "Bo Strand",
    )
    assert source["text"] == TEXT[source["start"] : source["end"]]
    assert seen["documents"] == [{"document": str(document.pk), "title": "Keepers", "mentions": 2}]
    assert [topic["title"] for topic in seen["topics"]] == ["The light"]


def test_a_fact_is_seen_from_its_other_end_too(cast: rows.Cast):
    ada, bo = entity(cast, "Ada Lind"), entity(cast, "Bo Strand")
    with access.in_workspace(cast.workspace.pk):
        document = ada.mentions.first().document
    rows.make_relationship(ada, bo, rows.chunks_of(document)[1], "buys from")

    [fact] = ask(cast, cast.bob, f"{bo.pk}/").json()["facts"]

    assert (fact["is_outgoing"], fact["other"]["name"]) == (False, "Ada Lind")


def test_a_description_names_the_spans_it_is_made_of(cast: rows.Cast):
    ada = entity(cast, "Ada Lind")
    with access.in_workspace(cast.workspace.pk):
        mention = ada.mentions.order_by("start").first()
        ada.description = "Ada Lind keeps the light."
        ada.description_sources = [{"chunk": str(mention.chunk_id), "start": 0, "end": 25}]
        ada.save()

    seen = ask(cast, cast.bob, f"{ada.pk}/").json()

    assert [source["text"] for source in seen["sources"]] == [seen["description"]]


def test_an_entity_that_is_not_there_is_not_found(cast: rows.Cast):
    elsewhere = rows.make_workspace("Elsewhere", owner=cast.charlie)
    foreign = rows.make_entity(elsewhere, "Ada Lind")

    for pk in (uuid4(), foreign.pk):
        body = assert_problem(ask(cast, cast.alice, f"{pk}/"), 404, "not_found")
        assert body["happened"] == "There is no such entity in this workspace."


def test_strangers_see_no_entities(cast: rows.Cast):
    for path in ("", f"{entity(cast, 'Ada Lind').pk}/"):
        assert_nothing_there(ask(cast, cast.charlie, path))
        assert_problem(ask(cast, None, path), 401, "not_authenticated")
