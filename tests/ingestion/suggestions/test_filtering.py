from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingestion.models import Document
from ingestion.suggestions import cases
from ingestion.suggestions.filtering import CaseFilter
from tests import rows
from tests.api import address as api_address, client
from tests.ingestion.pages import address, client_of, page_of
from tests.ingestion.suggestions import papers
from workspaces import access

pytestmark = [pytest.mark.usefixtures("fake_embedder"), pytest.mark.django_db]


@pytest.fixture
def cast(media: Path) -> rows.Cast:
    return papers.make_cast()


def number(cast: rows.Cast, **wanted: Any) -> int:
    with access.in_workspace(cast.workspace.pk):
        found = cases.case_queue(workspace=cast.workspace, wanted=CaseFilter(**wanted))
    assert len(found.cases) == found.counts.open
    return found.counts.open


def test_cases_are_filtered_by_certainty_type_and_reason(cast):
    everything = number(cast)

    assert everything >= 1
    assert number(cast, certainty=0) == everything
    assert number(cast, certainty=1) < everything or everything == number(cast, certainty=1)
    assert number(cast, type="organization") == everything
    assert number(cast, type="spaceship") == 0
    assert number(cast, kind="no such reason") == 0


def test_cases_are_filtered_by_document(cast):
    with access.in_workspace(cast.workspace.pk):
        found = Document.objects.in_workspace(cast.workspace)
        papers_of = {row.name: number(cast, document=row.pk) for row in found}

    assert max(papers_of.values()) >= 1


def test_the_list_of_cases_leads_to_each_of_them(cast):
    one = papers.case_of(cast, papers.ACME, papers.INC)

    page = page_of(cast.bob, "case_list", cast)

    assert f"?case={one.key}" in page
    assert "No such case" in page_of(cast.alice, "case_list", cast, type="spaceship")
    assert client_of(cast.charlie).get(address("case_list", cast)).status_code == 404
    lost = client_of(cast.alice).get(address("case_list", cast), {"after": "nowhere"})
    assert lost.status_code == 302


def test_programs_filter_cases_too(cast):
    path = api_address(cast.workspace, "suggestions/")

    assert client(cast.bob).get(path, {"type": "spaceship"}).json()["cases"] == []
    assert client(cast.bob).get(path, {"type": "organization"}).json()["cases"]
    assert client(cast.bob).get(path, {"certainty": 2}).status_code == 400
