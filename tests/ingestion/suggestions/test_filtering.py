from __future__ import annotations

from typing import Any

import pytest

from ingestion.models import Document, Entity, MergeSuggestion
from ingestion.suggestions import cases
from ingestion.suggestions.filtering import REASONS, CaseFilter, kinds_in
from tests import rows
from tests.api import address as api_address, client
from tests.ingestion.pages import address, client_of, page_of
from tests.ingestion.suggestions import papers
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]

FIRMS = frozenset({papers.ACME, papers.INC})
UNITS = frozenset({papers.UNIT, papers.SHORT})


def found(cast: rows.Cast, **wanted: Any) -> set[frozenset[str]]:
    """The cases that match, each by the names of its entities."""
    with access.in_workspace(cast.workspace.pk):
        page = cases.case_queue(workspace=cast.workspace, wanted=CaseFilter(**wanted))
    assert len(page.cases) == page.counts.open
    return {frozenset(papers.keys(case)) for case in page.cases}


def retyped(cast: rows.Cast, name: str, kind: str) -> None:
    with access.in_workspace(cast.workspace.pk):
        Entity.objects.in_workspace(cast.workspace).filter(key=name).update(type=kind)


def test_cases_are_filtered_by_certainty(cast: rows.Cast):
    firms, units = (papers.case_of(cast, *names) for names in (FIRMS, UNITS))
    low, high = sorted((firms.certainty, units.certainty))

    assert low < high
    assert found(cast) == found(cast, certainty=low) == {FIRMS, UNITS}
    assert found(cast, certainty=high) == {FIRMS if firms.certainty == high else UNITS}
    assert found(cast, certainty=1) == set()


def test_cases_are_filtered_by_the_type_of_any_of_their_entities(cast: rows.Cast):
    retyped(cast, papers.SHORT, "place")

    assert found(cast, type="organization") == {FIRMS, UNITS}
    assert found(cast, type="place") == {UNITS}
    assert found(cast, type="spaceship") == set()


def test_cases_are_filtered_by_document(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        papers_of = {
            row.name.removesuffix(".txt"): found(cast, document=row.pk)
            for row in Document.objects.in_workspace(cast.workspace)
        }

    assert papers_of == {"a": {FIRMS}, "b": {FIRMS}, "c": {UNITS}, "d": {UNITS}}


def test_cases_are_filtered_by_a_reason_that_they_show(cast: rows.Cast):
    assert found(cast, kind="name") == {FIRMS}
    assert found(cast, kind="acronym") == {UNITS}
    assert found(cast, kind="no such reason") == set()
    # Equal types count, but no one reads so: nothing would explain such a result.
    assert found(cast, kind="types") == set()


def test_the_page_offers_the_reasons_that_are_shown_in_words(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        offered = kinds_in(cast.workspace)
        suggested = MergeSuggestion.objects.in_workspace(cast.workspace)
        shown = {
            one["kind"]
            for reasons in suggested.values_list("reasons", flat=True)
            for one in reasons
            if one["words"]
        }

    assert {"name", "acronym"} <= {kind for kind, _ in offered} == shown
    assert dict(offered).items() <= REASONS.items()
    page = page_of(cast.alice, "case_list", cast, kind="acronym")
    assert "One name is the other&#x27;s initials</option>" in page
    assert papers.SHORT.upper() in page
    assert "Acme" not in page


def test_the_list_of_cases_leads_to_each_of_them(cast: rows.Cast):
    one = papers.case_of(cast, papers.ACME, papers.INC)

    page = page_of(cast.bob, "case_list", cast)

    assert f"?case={one.key}" in page
    assert "No such case" in page_of(cast.alice, "case_list", cast, type="spaceship")
    assert client_of(cast.charlie).get(address("case_list", cast)).status_code == 404
    lost = client_of(cast.alice).get(address("case_list", cast), {"after": "nowhere"})
    assert lost.status_code == 302


def test_programs_filter_cases_too(cast: rows.Cast):
    retyped(cast, papers.SHORT, "place")
    path = api_address(cast.workspace, "suggestions/")

    def names(**wanted: Any) -> set[frozenset[str]]:
        answer = client(cast.bob).get(path, wanted).json()
        return {
            frozenset(one["name"].lower() for one in case["entities"]) for case in answer["cases"]
        }

    assert names() == {FIRMS, UNITS}
    assert names(type="place") == names(kind="acronym") == {UNITS}
    assert names(type="spaceship") == set()
    assert client(cast.bob).get(path, {"certainty": 2}).status_code == 400
    assert client(cast.charlie).get(path).status_code == 404
