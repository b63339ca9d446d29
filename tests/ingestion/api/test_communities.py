from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.models import Community, CommunityReport
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nThe light burns oil."


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


@pytest.fixture
def report(cast: rows.Cast) -> CommunityReport:
    document = rows.make_document(cast.workspace, "Keepers", TEXT, names={"Ada Lind": "PERSON"})
    ada = rows.make_entity(cast.workspace, "Ada Lind")
    return rows.make_report(cast.workspace, "The light", [ada], rows.chunks_of(document))


def ask(cast: rows.Cast, user, path: str = "") -> Any:
    return client(user).get(address(cast.workspace, f"communities/{path}"))


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_members_see_the_tree_of_topics(cast: rows.Cast, report: CommunityReport, who: str):
    with access.in_workspace(cast.workspace.pk):
        child = Community.objects.create(
            workspace=cast.workspace, level=1, size=1, parent=report.community
        )

    body = ask(cast, getattr(cast, who)).json()

    [root] = body["results"]
    assert (body["total"], root["title"], root["level"], root["size"]) == (1, "The light", 0, 1)
    [inside] = root["children"]
    assert (inside["id"], inside["title"], inside["children"]) == (str(child.pk), None, [])


def test_a_topic_shows_its_findings_with_their_passages(cast: rows.Cast, report: CommunityReport):
    seen = ask(cast, cast.bob, f"{report.community_id}/").json()

    assert (seen["title"], seen["rating"], seen["written_by"]) == ("The light", 5.0, "extractive")
    assert [entity["name"] for entity in seen["entities"]] == ["Ada Lind"]
    sources = [source for finding in seen["findings"] for source in finding["sources"]]
    assert len(sources) == 2
    assert all(TEXT[source["start"] : source["end"]] == source["text"] for source in sources)
    assert (seen["parent"], seen["children"]) == (None, [])


def test_a_topic_without_a_report_is_there_all_the_same(cast: rows.Cast):
    with access.in_workspace(cast.workspace.pk):
        bare = Community.objects.create(workspace=cast.workspace, level=0, size=3)

    seen = ask(cast, cast.bob, f"{bare.pk}/").json()

    assert (seen["title"], seen["findings"], seen["size"]) == (None, [], 3)


def test_a_topic_that_is_not_there_is_not_found(cast: rows.Cast):
    assert_problem(ask(cast, cast.alice, f"{uuid4()}/"), 404, "not_found")


def test_strangers_see_no_topics(cast: rows.Cast, report: CommunityReport):
    for path in ("", f"{report.community_id}/"):
        assert_nothing_there(ask(cast, cast.charlie, path))
        assert_problem(ask(cast, None, path), 401, "not_authenticated")
