from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.models import Document
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.stages.tree.texts import make_document, run

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def log(cast: rows.Cast) -> Document:
    document = make_document(cast.workspace, "Log", 5)
    make_document(cast.workspace, "Note", 1)
    run(cast.workspace)
    return document


def ask(cast: rows.Cast, user: Any, path: str) -> Any:
    return client(user).get(address(cast.workspace, path))


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_see_what_a_document_s_summary_stands_on(cast: rows.Cast, log: Document, who: str):
    body = ask(cast, getattr(cast, who), f"documents/{log.pk}/tree/").json()

    [root] = body["results"]
    assert (body["root_id"], body["layers"], body["failed"]) == (root["id"], 1, 0)
    assert [child["kind"] for child in root["children"]] == ["passage"] * 5
    assert {child["document"] for child in root["children"]} == {str(log.pk)}
    assert root["written_by"] == "extractive"
    assert " ".join(source["text"] for source in root["sources"]) == root["text"]


def test_the_tree_of_the_workspace_stands_on_documents(cast: rows.Cast, log: Document):
    body = ask(cast, cast.bob, "tree/").json()

    [root] = body["results"]
    assert sorted((child["kind"], child["title"]) for child in root["children"]) == [
        ("node", "Log"),
        ("passage", "Note"),
    ]


def test_a_document_of_one_passage_has_no_tree(cast: rows.Cast):
    note = make_document(cast.workspace, "Note", 1)
    run(cast.workspace)

    body = ask(cast, cast.bob, f"documents/{note.pk}/tree/").json()

    paging = {"total": 0, "page": 1, "page_size": 25, "pages": 0, "results": []}
    assert body == {"root_id": None, "layers": 0, "failed": 0, "built_at": None} | paging
    assert ask(cast, cast.bob, "tree/").json() == body


def test_a_tree_comes_in_pages_from_the_root_down(cast: rows.Cast):
    log = make_document(cast.workspace, "Log", 40)
    run(cast.workspace)

    pages = [
        ask(cast, cast.bob, f"documents/{log.pk}/tree/?page_size=2&page={number}").json()
        for number in (1, 2)
    ]

    whole = ask(cast, cast.bob, f"documents/{log.pk}/tree/").json()
    assert len(whole["results"]) == whole["total"] > 3
    assert [one["results"] for one in pages] == [whole["results"][:2], whole["results"][2:4]]
    assert pages[1]["root_id"] == whole["results"][0]["id"]


def test_a_document_that_is_not_there_is_not_found(cast: rows.Cast):
    assert_problem(ask(cast, cast.alice, f"documents/{uuid4()}/tree/"), 404, "not_found")


def test_strangers_see_no_trees(cast: rows.Cast, log: Document):
    for path in (f"documents/{log.pk}/tree/", "tree/"):
        assert_nothing_there(ask(cast, cast.charlie, path))
        assert_problem(ask(cast, None, path), 401, "not_authenticated")


def test_a_document_of_another_workspace_is_not_found(cast: rows.Cast, log: Document):
    other = rows.make_cast("Elsewhere")

    assert_problem(ask(other, other.alice, f"documents/{log.pk}/tree/"), 404, "not_found")
