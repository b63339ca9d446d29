from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from ingestion.models import Entity
from kb_project.http import paging
from kb_project.http.api import LARGEST_PAGE, PAGE_SIZE, PageInput, page_of
from tests.rows import Cast, make_cast, make_entity, make_workspace
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast(monkeypatch: pytest.MonkeyPatch) -> Cast:
    """A workspace of seven entities, of which pages count four."""
    monkeypatch.setattr(paging.LongPaginator, "most", 4)
    cast = make_cast()
    for name in ("Ada", "Bea", "Cid", "Dan", "Eve", "Fay", "Gus"):
        make_entity(cast.workspace, name)
    return cast


def page(cast: Cast, number: str) -> tuple[list[str], int, bool, bool]:
    """The names on a page of two, its number, whether another follows, whether more are left."""
    with access.in_workspace(cast.workspace.pk):
        rows = Entity.objects.in_workspace(cast.workspace).order_by("name")
        found = paging.long_page(rows, number, 2)
        pages = found.paginator
        assert isinstance(pages, paging.LongPaginator)
        return [one.name for one in found], found.number, found.has_next(), pages.has_more


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("", (["Ada", "Bea"], 1, True, True)),
        ("2", (["Cid", "Dan"], 2, True, True)),
        ("3", (["Eve", "Fay"], 3, True, True)),
        ("4", (["Gus"], 4, False, False)),
        ("99", (["Gus"], 4, False, False)),
        ("0", (["Ada", "Bea"], 1, True, True)),
        ("two", (["Ada", "Bea"], 1, True, True)),
    ],
)
def test_every_page_of_a_list_that_is_not_counted_to_its_end_can_be_reached(
    cast: Cast, number: str, shown: tuple[list[str], int, bool, bool]
):
    assert page(cast, number) == shown


def test_a_page_says_that_there_are_more_than_were_counted(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("ingestion.curation.list_views.ENTITIES_PER_PAGE", 2)

    browser = Client()
    browser.force_login(cast.bob)
    address = reverse("ingestion:entity_list", args=[cast.workspace.slug])
    shown = browser.get(address).content.decode()

    assert "Page 1 of more than 2" in " ".join(shown.split())


# --- over REST ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("page", "size", "names"),
    [(1, 2, ["A", "B"]), (2, 2, ["C"]), (3, 2, []), (1, 100, ["A", "B", "C"])],
)
def test_a_page_is_cut_out_of_a_list(page: int, size: int, names: list[str]):
    for name in "ABC":
        make_workspace(name)

    found = page_of(Workspace.objects.order_by("name"), page=page, page_size=size)

    assert [workspace.name for workspace in found.results] == names
    assert (found.total, found.pages) == (3, -(-3 // size))


def test_an_empty_list_has_no_pages():
    found = page_of(Workspace.objects.all(), page=1, page_size=10)

    assert found.of([]) == {"total": 0, "page": 1, "page_size": 10, "pages": 0, "results": []}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, {"page": 1, "page_size": PAGE_SIZE}),
        ({"page": "3", "page_size": "7"}, {"page": 3, "page_size": 7}),
        ({"page_size": str(LARGEST_PAGE)}, {"page": 1, "page_size": LARGEST_PAGE}),
    ],
)
def test_a_page_is_asked_for_by_number(query: dict[str, str], expected: dict[str, int]):
    given = PageInput(data=query)

    assert given.is_valid()
    assert given.validated_data == expected


@pytest.mark.parametrize(
    "query", [{"page": "0"}, {"page": "x"}, {"page_size": str(LARGEST_PAGE + 1)}, {"page": "-1"}]
)
def test_a_page_that_cannot_be_is_refused(query: dict[str, str]):
    assert not PageInput(data=query).is_valid()
