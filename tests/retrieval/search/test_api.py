from __future__ import annotations

from typing import Any

import pytest

from kb_project.ports import build_ports
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nThe light burns oil from Strand."


@pytest.fixture
def cast(fake_embedder: None) -> rows.Cast:
    cast = rows.make_cast()
    embedder = build_ports().embedder
    rows.make_document(cast.workspace, "Keepers", TEXT, embedder=embedder, tags=["light"])
    rows.make_document(cast.workspace, "Oil bill", "Oil was bought in May.", embedder=embedder)
    return cast


def post(cast: rows.Cast, user, **body: Any) -> Any:
    return client(user).post(address(cast.workspace, "search/"), body)


def get(cast: rows.Cast, user, query: str) -> Any:
    return client(user).get(address(cast.workspace, f"search/{query}"))


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid", "local", "walk"])
def test_every_mode_gives_hits_in_one_shape(cast: rows.Cast, mode: str):
    rows.make_snapshot(cast.workspace)

    body = post(cast, cast.bob, q="Who keeps the light?", mode=mode, top_k=2).json()

    assert body["mode"] == mode
    assert set(body["trace"]) >= {"mode", "embed_ms", "search_ms"}
    for hit in body["hits"]:
        assert {"document", "title", "chunk", "start", "end", "score", "text", "why"} <= set(hit)


def test_a_hit_is_a_stretch_of_its_documents_text(cast: rows.Cast):
    [hit] = post(cast, cast.alice, q="Strand", mode="lexical").json()["hits"]

    assert hit["title"] == "Keepers"
    assert hit["text"] == TEXT[hit["start"] : hit["end"]]


def test_a_scope_narrows_where_to_look(cast: rows.Cast):
    found = post(cast, cast.bob, q="oil", mode="lexical", scope={"tags": ["light"]}).json()

    assert {hit["title"] for hit in found["hits"]} == {"Keepers"}


def test_an_address_carries_the_same_search(cast: rows.Cast):
    query = "?q=oil&mode=lexical&top_k=1&tags=light,other"

    by_address = get(cast, cast.bob, query).json()
    by_body = post(
        cast, cast.bob, q="oil", mode="lexical", top_k=1, scope={"tags": ["light", "other"]}
    ).json()

    assert by_address["hits"] == by_body["hits"]
    assert len(by_address["hits"]) == 1


def test_what_cannot_be_searched_is_said(cast: rows.Cast):
    body = post(cast, cast.bob, q="oil", mode="lexical", scope={"tags": ["none such"]}).json()

    assert body["hits"] == []
    assert [note["code"] for note in body["notes"]] == ["scope_empty"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "q"),
        ({"q": ""}, "q"),
        ({"q": "oil", "mode": "magic"}, "mode"),
        ({"q": "oil", "top_k": 0}, "top_k"),
        ({"q": "oil", "top_k": 5000}, "top_k"),
        ({"q": "oil", "scope": {"documents": ["x"]}}, "scope"),
    ],
)
def test_what_cannot_be_asked_is_named(cast: rows.Cast, body: dict[str, Any], field: str):
    problem = assert_problem(post(cast, cast.bob, **body), 400, "invalid_input")

    assert set(problem["fields"]) == {field}


def test_a_question_without_a_word_is_refused(cast: rows.Cast):
    assert_problem(post(cast, cast.bob, q="???"), 400, "question_empty")


def test_a_body_that_is_no_json_is_refused(cast: rows.Cast):
    where = address(cast.workspace, "search/")

    response = client(cast.bob).post(where, "{oil", content_type="application/json")

    assert_problem(response, 400, "parse_error")


def test_strangers_find_nothing(cast: rows.Cast):
    assert_nothing_there(post(cast, cast.charlie, q="oil"))
    assert_nothing_there(get(cast, cast.charlie, "?q=oil"))
    assert_problem(post(cast, None, q="oil"), 401, "not_authenticated")
    assert_problem(get(cast, None, "?q=oil"), 401, "not_authenticated")
