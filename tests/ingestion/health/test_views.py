from __future__ import annotations

from typing import Any

import pytest
from django_q.models import OrmQ

from ingestion.health import services
from ingestion.models import CheckState, ConsistencyCheck, IngestionJob
from kb_project.sql import run_sql
from tests import rows
from tests.ingestion.pages import address, client_of, light, page_of, upload
from tests.rows import Cast, make_cast
from workspaces import access

pytestmark = pytest.mark.django_db

DRIFT: dict[str, Any] = {
    "check": "entities",
    "sentence": "2 entities have wrong counts of relationships.",
    "count": 2,
    "samples": ["b3f053dc-e206-470c-b55d-450bcb3fd6a3"],
    "next_step": "They are counted anew.",
    "is_repairable": True,
}


@pytest.fixture
def cast(media: object, fake_embedder: None) -> Cast:
    made = make_cast()
    light(made)
    return made


def ended(cast: Cast, **values: Any) -> None:
    """A check that has ended."""
    row = services.check_request(workspace=cast.workspace, user=cast.alice)
    with access.in_workspace(cast.workspace.pk):
        run_sql(
            "UPDATE ingestion_consistencycheck SET finished_at = now() WHERE workspace_id = %s",
            [cast.workspace.pk],
        )
        rows = ConsistencyCheck.objects.in_workspace(cast.workspace).filter(pk=row.pk)
        rows.update(state=CheckState.DONE, **values)


def unfinished(cast: Cast) -> list[ConsistencyCheck]:
    with access.in_workspace(cast.workspace.pk):
        rows = ConsistencyCheck.objects.in_workspace(cast.workspace)
        return list(rows.exclude(state=CheckState.DONE))


# --- who may --------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["health", "health_check"])
def test_only_admins_find_it(name: str, cast: Cast):
    method = "get" if name == "health" else "post"

    codes = [
        getattr(client_of(user), method)(address(name, cast)).status_code
        for user in (cast.alice, cast.bob, cast.charlie)
    ]

    assert codes == [200 if name == "health" else 302, 403, 404]


def test_the_menu_leads_there_for_admins_only(cast: Cast):
    link = address("health", cast)

    assert link in page_of(cast.alice, "document_list", cast)
    assert link not in page_of(cast.bob, "document_list", cast)


# --- what it shows --------------------------------------------------------------------------------
def test_before_the_first_check_it_says_so(cast: Cast):
    page = page_of(cast.alice, "health", cast)

    assert "been checked yet" in page
    assert "Check now" in page
    assert "Repair" not in page


def test_a_sound_workspace_is_told_as_such(cast: Cast):
    ended(cast, seconds=0.2)

    page = page_of(cast.alice, "health", cast)

    assert "Everything fits together." in page
    assert "by Alice" in page


def test_what_is_adrift_is_told_with_its_repair(cast: Cast):
    ended(cast, drifts=[DRIFT])

    page = page_of(cast.alice, "health", cast)

    assert "Something is adrift." in page
    assert "2 entities have wrong counts of relationships." in page
    assert "They are counted anew." in page
    assert 'name="repair"' in page


def test_examples_lead_to_their_pages(cast: Cast):
    document = rows.make_document(cast.workspace, "The log", "Ada keeps the light.")
    [chunk] = rows.chunks_of(document)
    samples = [str(document.pk), str(chunk.pk), "a snapshot of another format"]
    ended(cast, drifts=[{**DRIFT, "samples": samples + DRIFT["samples"]}])

    page = page_of(cast.alice, "health", cast)

    link = address("document_detail", cast, document.pk)
    assert f'<a href="{link}"><code>{document.pk}</code></a>' in page
    assert f'<a href="{link}?start=0&amp;end=20"><code>{chunk.pk}</code></a>' in page
    assert "<code>a snapshot of another format</code>" in page
    assert f"<code>{DRIFT['samples'][0]}</code>" in page, "what is gone is named without a link"


def test_what_no_machine_can_mend_is_left_to_people(cast: Cast):
    ended(cast, drifts=[{**DRIFT, "is_repairable": False}])

    page = page_of(cast.alice, "health", cast)

    assert "For a person:" in page
    assert 'name="repair"' not in page


def test_what_was_mended_is_told(cast: Cast):
    ended(
        cast,
        repaired=["1 alias was removed <b>."],
        waiting=[{"sentence": "3 changes waiting."}],
    )

    page = page_of(cast.alice, "health", cast)

    assert "1 alias was removed &lt;b&gt;." in page
    assert "3 changes waiting." in page


def test_work_that_nobody_takes_up_is_told(cast: Cast):
    with access.in_workspace(cast.workspace.pk):
        upload(cast)
    assert "no worker seems to be running" not in page_of(cast.alice, "health", cast)
    with access.in_workspace(cast.workspace.pk):
        run_sql(
            """UPDATE ingestion_ingestionjob SET created_at = now() - interval '1 hour'
                WHERE workspace_id = %s""",
            [cast.workspace.pk],
        )
        assert IngestionJob.objects.in_workspace(cast.workspace).count() == 1

    page = page_of(cast.alice, "health", cast)

    assert "no worker seems to be running" in page
    assert "1 piece of work" in page


# --- asking for one -------------------------------------------------------------------------------
def test_a_check_is_asked_for_and_shown_while_it_waits(cast: Cast):
    OrmQ.objects.all().delete()

    response = client_of(cast.alice).post(address("health_check", cast), follow=True)

    [row] = unfinished(cast)
    assert (row.requested_by, row.repairs, row.is_deep) == (cast.alice, False, True)
    assert OrmQ.objects.filter(key="refreshing").count() == 1
    page = response.content.decode()
    assert "The check starts when the worker is free" in page
    assert 'hx-trigger="every 2s"' in page
    assert "Check now" not in page


def test_a_repair_is_asked_for(cast: Cast):
    client_of(cast.alice).post(address("health_check", cast), {"repair": "yes"})

    [row] = unfinished(cast)
    assert row.repairs


def test_who_asks_twice_gets_one_check(cast: Cast):
    for data in ({}, {}, {"repair": "yes"}):
        client_of(cast.alice).post(address("health_check", cast), data)

    [row] = unfinished(cast)
    assert row.repairs
    assert row.total == 3
