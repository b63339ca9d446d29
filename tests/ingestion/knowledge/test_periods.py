"""When facts hold: kept with their quote, filtered by date, and replaced by later ones."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from ingestion.explorer import queries as explorer
from ingestion.knowledge.periods import Held, as_of_date, post_of, replaced
from ingestion.models import Evidence
from kb_project.errors import InputError
from tests import rows
from tests.api import address as api_address, assert_nothing_there, assert_problem, client
from tests.ingestion.curated import words
from tests.ingestion.dated import ADA, BRAM, SEAT, resolve_again, state
from tests.ingestion.pages import address, client_of
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


@pytest.fixture
def cast() -> rows.Cast:
    cast = rows.make_cast()
    state(cast.workspace, ADA, BRAM, SEAT)
    return cast


def trust(cast: rows.Cast) -> Any:
    return rows.make_entity(cast.workspace, "Harbour Trust").pk


def facts_api(cast: rows.Cast, user: Any, **query: str) -> Any:
    path = api_address(cast.workspace, f"entities/{trust(cast)}/facts/")
    return client(user).get(path, query)


def facts_page(cast: rows.Cast, user: Any, **query: str) -> Any:
    return client_of(user).get(address("entity_facts", cast, trust(cast)), query)


def test_evidence_keeps_its_period_and_words_when_it_is_resolved_again(cast):
    with access.in_workspace(cast.workspace.pk):
        first = evidence_of(cast, "was director of")
    resolve_again(cast.workspace, [first.document])
    with access.in_workspace(cast.workspace.pk):
        again = evidence_of(cast, "was director of")

    for one in (first, again):
        assert (one.period_start, one.period_end) == ("1902", "1911-05")
        quote = one.chunk.text[one.period_quote_start : one.period_quote_end]
        assert quote == "from 1902 to May 1911"


def evidence_of(cast: rows.Cast, predicate: str) -> Evidence:
    found = Evidence.objects.in_workspace(cast.workspace).select_related("chunk", "document")
    return found.get(predicate=predicate)


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("", {"Ada Lind", "Bram Oost", "Skarrow"}),
        ("1905", {"Ada Lind", "Skarrow"}),
        ("1911", {"Ada Lind", "Bram Oost", "Skarrow"}),
        ("1911-05-31", {"Ada Lind", "Skarrow"}),
        ("1911-06", {"Bram Oost", "Skarrow"}),
        ("2019", {"Bram Oost", "Skarrow"}),
        ("1850", {"Skarrow"}),
    ],
)
def test_facts_as_of_a_date_are_those_that_hold_then_or_have_no_date(cast, as_of, expected):
    found = facts_api(cast, cast.bob, as_of=as_of).json()["results"]
    page = words(facts_page(cast, cast.bob, as_of=as_of))

    assert {one["other"]["name"] for one in found} == expected
    assert f"{len(expected)} fact" in page


def test_a_fact_says_when_it_holds_and_what_replaced_it(cast):
    by_name = {one["other"]["name"]: one for one in facts_api(cast, cast.bob).json()["results"]}
    ada, bram = by_name["Ada Lind"], by_name["Bram Oost"]
    page = words(facts_page(cast, cast.bob))

    assert (ada["period"]["start"], ada["period"]["end"]) == ("1902", "1911-05")
    assert ada["period"]["words"] == "from 1902 to May 1911"
    assert ada["period"]["passage"]["text"] == ADA.text
    assert ada["replaced"]["by"]["name"] == "Bram Oost"
    assert (ada["replaced"]["since"], ada["replaced"]["relationship"]) == (
        "1911-06",
        bram["relationship"],
    )
    assert (bram["period"]["start"], bram["period"]["end"]) == ("1911-06", "")
    assert bram["replaced"] is by_name["Skarrow"]["period"] is None
    assert "1902 to May 1911 Replaced by Bram Oost since June 1911" in page
    assert "since June 1911" in page


def test_only_members_see_facts_as_of_a_date(cast):
    assert facts_api(cast, cast.alice, as_of="1905").status_code == 200
    assert facts_page(cast, cast.alice, as_of="1905").status_code == 200
    assert_nothing_there(facts_api(cast, cast.charlie, as_of="1905"))
    assert facts_page(cast, cast.charlie, as_of="1905").status_code == 404


@pytest.mark.parametrize("value", ["2019-02-30", "2019-13", "yesterday", "19", "2019/05"])
def test_a_date_that_does_not_exist_is_refused_with_the_form_to_use(cast, value):
    assert_problem(facts_api(cast, cast.bob, as_of=value), 400, "invalid_date")
    for page in ("explorer", "explorer_view"):
        response = client_of(cast.bob).get(address(page, cast), {"as_of": value})
        assert (response.status_code, b"2019-05-03" in response.content) == (400, True)
    assert b"2019-05-03" in facts_page(cast, cast.bob, as_of=value).content
    with pytest.raises(InputError, match="is not a date"):
        as_of_date(value)


# --- the explorer ---------------------------------------------------------------------------------
def lines(cast: rows.Cast, found: Any) -> set[frozenset[str]]:
    names = {one["id"]: one["name"] for one in found["nodes"]}
    return {frozenset((names[one["a"]], names[one["b"]])) for one in found["edges"]}


def test_a_picture_as_of_a_date_has_the_relationships_that_hold_then(cast):
    path = api_address(cast.workspace, "graph/view/")
    found = client(cast.bob).get(path, {"as_of": "1905"}).json()
    around = client(cast.bob).get(path, {"as_of": "1905", "entity": trust(cast)}).json()

    assert lines(cast, found) == {
        frozenset(("Ada Lind", "Harbour Trust")),
        frozenset(("Skarrow", "Harbour Trust")),
    }
    assert {one["name"] for one in around["nodes"]} == {"Ada Lind", "Harbour Trust", "Skarrow"}
    assert_nothing_there(client(cast.charlie).get(path, {"as_of": "1905"}))


def test_what_is_added_to_a_picture_keeps_to_the_date(cast):
    where = f"{address('explorer_more', cast)}?as_of=1905"
    bram = rows.make_entity(cast.workspace, "Bram Oost").pk
    skarrow = rows.make_entity(cast.workspace, "Skarrow").pk
    grown = client_of(cast.bob).post(where, {"expand": trust(cast)}).json()
    path = client_of(cast.bob).post(where, {"from": bram, "to": skarrow}).json()
    with access.in_workspace(cast.workspace.pk):
        between = explorer.statements_between(
            workspace=cast.workspace, a=trust(cast), b=bram, as_of="1905"
        )

    assert "Bram Oost" not in {row[1] for row in grown["nodes"]}
    assert path["paths"] == []
    assert between == []


# --- what replaces what ---------------------------------------------------------------------------
A, B, C = (UUID(int=place) for place in (1, 2, 3))


def held(holder: Any, start: str, end: str = "", predicate: str = "was head of") -> Held:
    post = post_of(predicate, holder, C)
    assert post
    return Held(post, holder, holder, start, end)


@pytest.mark.parametrize(
    ("earlier", "later", "is_replaced"),
    [
        (held(A, "1902", "1911"), held(B, "1911"), True),
        (held(A, "1902"), held(B, "1911"), True),
        (held(A, "", "1911"), held(B, "1920"), True),
        (held(A, "1902", "1920"), held(B, "1911"), False),
        (held(A, "1902"), held(B, "1902-05"), False),
        (held(A, "1902"), held(B, "", "1890"), False),
        (held(A, "1902"), held(A, "1911"), False),
        (held(A, "1902"), held(B, "1911", predicate="was mayor of"), False),
    ],
)
def test_a_statement_is_replaced_by_a_later_one_about_the_same_post(earlier, later, is_replaced):
    assert (earlier.relationship in replaced([later, earlier])) == is_replaced
