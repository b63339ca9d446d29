from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingestion.models import Community, CommunityReport, Finding
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind keeps the light.\n\nThe light burns oil."
GONE = "00000000-0000-4000-8000-000000000000"


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
    assert (root["parts"], inside["id"], inside["title"]) == (1, str(child.pk), None)
    below = ask(cast, getattr(cast, who), f"?parent={report.community_id}").json()
    assert (below["total"], below["pages"], below["results"]) == (1, 1, [inside])


def test_a_list_of_topics_comes_in_pages_with_the_largest_parts_of_each(
    cast: rows.Cast, report: CommunityReport
):
    with access.in_workspace(cast.workspace.pk):
        for size in range(12):
            Community.objects.create(
                workspace=cast.workspace, level=1, size=size, parent=report.community
            )

    [root] = ask(cast, cast.bob, "?page_size=1").json()["results"]
    last = ask(cast, cast.bob, f"?parent={report.community_id}&page_size=5&page=3").json()

    assert (root["parts"], [one["size"] for one in root["children"]]) == (
        12,
        list(range(11, 1, -1)),
    )
    assert (last["total"], [one["size"] for one in last["results"]]) == (12, [1, 0])
    assert_problem(ask(cast, cast.bob, f"?parent={GONE}"), 404, "not_found")


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


# --- reports by a model ---------------------------------------------------------------------------
def by_model(cast: rows.Cast, report: CommunityReport, **values: Any) -> None:
    with access.in_workspace(cast.workspace.pk):
        found = CommunityReport.objects.in_workspace(cast.workspace).filter(pk=report.pk)
        found.update(**values)


def retry(cast: rows.Cast, user, report: CommunityReport) -> Any:
    path = f"communities/{report.community_id}/retry/"
    return client(user).post(address(cast.workspace, path))


def test_a_report_by_a_model_says_what_it_rests_on(cast: rows.Cast, report: CommunityReport):
    ada = rows.make_entity(cast.workspace, "Ada Lind")
    with access.in_workspace(cast.workspace.pk):
        Finding.objects.in_workspace(cast.workspace).filter(ordinal=0).update(
            references=[{"kind": "entity", "id": str(ada.pk)}, {"kind": "entity", "id": GONE}],
            explanation="She lights it.",
        )
    by_model(cast, report, written_by="some-model", rejected={"invented": 2}, substituted=1)

    seen = ask(cast, cast.bob, f"{report.community_id}/").json()

    assert (seen["written_by"], seen["problem"], seen["rejected"]) == (
        "some-model",
        None,
        {"invented": 2},
    )
    assert seen["substituted"] == 1
    first = seen["findings"][0]
    assert first["explanation"] == "She lights it."
    assert first["references"] == [{"kind": "entity", "id": str(ada.pk), "name": "Ada Lind"}]


def test_a_report_no_model_wrote_says_why_and_can_be_asked_for_again(
    cast: rows.Cast, report: CommunityReport
):
    problem = {"code": "reply_empty", "happened": "Nothing.", "kept": "All.", "next_step": "Retry."}
    by_model(cast, report, problem=problem)
    assert ask(cast, cast.bob, f"{report.community_id}/").json()["problem"] == problem

    answer = retry(cast, cast.alice, report)

    assert (answer.status_code, answer.json()) == (202, {"community": str(report.community_id)})
    assert ask(cast, cast.bob, f"{report.community_id}/").json()["is_waiting"]


def test_all_reports_no_model_wrote_can_be_asked_for_at_once(
    cast: rows.Cast, report: CommunityReport
):
    path = address(cast.workspace, "communities/retry/")
    assert_problem(client(cast.alice).post(path), 409, "nothing_to_retry")
    by_model(cast, report, problem={"code": "reply_empty"})

    assert client(cast.alice).post(path).json() == {"reports": 1}
    assert_problem(client(cast.bob).post(path), 403, "forbidden")
    assert_nothing_there(client(cast.charlie).post(path))


def test_only_curators_ask_for_reports(cast: rows.Cast, report: CommunityReport):
    assert_problem(retry(cast, cast.bob, report), 403, "forbidden")
    assert_nothing_there(retry(cast, cast.charlie, report))
    assert_problem(retry(cast, cast.alice, report), 409, "nothing_to_retry")
