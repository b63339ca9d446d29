"""The pages where money is spoken of: what an upload will cost, a pause, what a document took."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ingestion.models import Document, DocumentState, IngestionJob, RunState
from kb_project.errors import BudgetError, RefusedError
from tests.ingestion import pages
from tests.ingestion.pages import address, client_of, light, page_of, stop
from tests.rows import Cast, make_cast
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.language_models.services import PriceGiven
from workspaces.models import ModelCall

pytestmark = pytest.mark.django_db

SPENT = BudgetError(
    "The budget of this workspace is spent.",
    kept="Everything done is kept.",
    next_step="Raise it to go on.",
)
REFUSED = RefusedError("The endpoint refuses the key.", next_step="Enter another.")


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture(autouse=True)
def media(settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


def upload(cast: Cast, name: str = "lease.txt", content: bytes = b"A lease.") -> Document:
    with access.in_workspace(cast.workspace.pk):
        return pages.upload(cast, name, content)


def use_model(cast: Cast, *, cap: str | None = None) -> None:
    with access.in_workspace(cast.workspace.pk):
        choice = ModelChoice(endpoint="http://127.0.0.1:9/v1", model="tiny")
        language_model_services.model_settings_save(workspace=cast.workspace, choice=choice)
        price = PriceGiven("tiny", Decimal(1), Decimal(1))
        language_model_services.prices_set(workspace=cast.workspace, prices=[price])
        language_model_services.budget_set(workspace=cast.workspace, cap=cap)


def pause(cast: Cast, document: Document, error: BudgetError | RefusedError = SPENT) -> None:
    problem = {
        "code": error.code,
        "happened": error.happened,
        "kept": error.kept,
        "next_step": error.next_step,
    }
    with access.in_workspace(cast.workspace.pk):
        jobs = IngestionJob.objects.in_workspace(cast.workspace).filter(document=document)
        jobs.update(state=RunState.PAUSED, problem=problem)
        Document.objects.in_workspace(cast.workspace).filter(pk=document.pk).update(
            state=DocumentState.PAUSED
        )


def state_of(cast: Cast, document: Document) -> str:
    with access.in_workspace(cast.workspace.pk):
        return Document.objects.in_workspace(cast.workspace).get(pk=document.pk).state


# --- before an upload -----------------------------------------------------------------------------
def estimate(cast: Cast, user, files: object = (("carol.txt", 170_000),)):
    return client_of(user).post(address("document_estimate", cast), {"files": json.dumps(files)})


def test_without_a_model_the_page_says_that_nothing_is_paid(cast):
    page = page_of(cast.alice, "document_list", cast)

    assert "Reading is free" in page
    assert "data-estimate" not in page


def test_with_a_model_files_are_priced_before_they_are_added(cast):
    use_model(cast)

    page = page_of(cast.alice, "document_list", cast)

    assert f'data-estimate="{address("document_estimate", cast)}"' in page
    assert "the cost before any file is added" in page


def test_an_estimate_says_cost_and_offers_to_go_on_or_not(cast):
    use_model(cast, cap="0.001")

    page = estimate(cast, cast.alice).content.decode()

    for words in ("1 file chosen", "Cost:", "will not be enough", "data-send", "data-discard"):
        assert words in page


def test_files_that_are_sent_are_read_and_the_others_count_by_size(cast):
    use_model(cast)
    told = " ".join(f"On day {day} Ada Lind lit the lamp." for day in range(300)).encode()
    sent = {"files": "[]", "file": SimpleUploadedFile("lamp.txt", told)}
    client = client_of(cast.alice)

    read = client.post(address("document_estimate", cast), sent).content.decode()
    both = client.post(
        address("document_estimate", cast),
        {"files": '[["a.txt",170000]]', "file": SimpleUploadedFile("lamp.txt", told)},
    ).content.decode()

    assert re.search(r"To read: \d+ passages", read)
    assert "1 file chosen" in read
    assert re.search(r"To read: \d+ to \d+ passages", both)
    assert "2 files chosen" in both


@pytest.mark.parametrize("files", [None, {"a": 1}, [["a.txt"]], [["a.txt", -3]], [["a.txt", "x"]]])
def test_an_estimate_of_nonsense_is_refused(cast, files: object):
    assert estimate(cast, cast.alice, files).status_code == 400


def test_only_editors_see_an_estimate(cast):
    assert estimate(cast, cast.bob).status_code == 403
    assert estimate(cast, cast.charlie).status_code == 404


# --- a pause --------------------------------------------------------------------------------------
def test_a_pause_says_what_happened_what_is_kept_and_what_to_do(cast):
    document = upload(cast)
    pause(cast, document)

    page = page_of(cast.alice, "document_list", cast)

    for words in (
        "Work is paused. The budget of this workspace is spent.",
        "Everything done is kept.",
        "1 document waits.",
        "Raise it to go on.",
        "Continue",
        "?state=paused",
    ):
        assert words in page


def test_the_owner_is_led_to_where_it_is_mended(cast):
    pause(cast, upload(cast))
    of_budget = page_of(cast.alice, "document_list", cast)
    pause(cast, upload(cast, "other.txt", b"Another."), REFUSED)
    of_key = page_of(cast.alice, "document_list", cast)

    assert "Raise the budget" in of_budget
    assert "The endpoint refuses the key." in of_key
    assert ">Models</a>" in of_key


def test_a_reader_sees_the_pause_and_no_button(cast):
    pause(cast, upload(cast))

    page = page_of(cast.bob, "document_list", cast)

    assert "Work is paused." in page
    assert address("work_resume", cast) not in page
    assert "Raise the budget" not in page


def test_the_list_narrows_to_what_is_paused(cast):
    pause(cast, upload(cast))
    light(cast)

    page = page_of(cast.alice, "document_list", cast, state="paused")

    assert "lease.txt" in page
    assert "The light" not in page


def test_the_reason_of_a_pause_stands_above_the_list_once(cast):
    for number in range(3):
        pause(cast, upload(cast, f"{number}.txt", b"%d" % number))

    page = page_of(cast.alice, "document_list", cast)

    assert page.count(SPENT.happened) == 1
    assert "3 documents wait." in page


def test_an_editor_lets_work_go_on(cast):
    document = upload(cast)
    pause(cast, document)

    response = client_of(cast.alice).post(address("work_resume", cast))

    assert response.status_code == 302
    assert state_of(cast, document) == DocumentState.QUEUED


def test_nobody_else_lets_work_go_on(cast):
    document = upload(cast)
    pause(cast, document)

    assert client_of(cast.bob).post(address("work_resume", cast)).status_code == 403
    assert client_of(cast.charlie).post(address("work_resume", cast)).status_code == 404
    assert state_of(cast, document) == DocumentState.PAUSED


def test_a_paused_document_says_why_on_its_own_page(cast):
    document = upload(cast)
    pause(cast, document)

    page = page_of(cast.alice, "document_detail", cast, document.pk)

    assert SPENT.happened in page
    assert "Continue" in page


def test_everything_that_stopped_is_retried_at_once(cast):
    stopped = [upload(cast, f"{number}.txt", b"%d" % number) for number in range(2)]
    for document in stopped:
        stop(cast, document)
    assert "Retry all 2" in page_of(cast.alice, "document_list", cast)

    client_of(cast.alice).post(address("documents_retry", cast))

    assert {state_of(cast, document) for document in stopped} == {DocumentState.QUEUED}


# --- what a document took -------------------------------------------------------------------------
def test_a_document_page_says_what_it_took_and_what_was_free(cast):
    document = light(cast)
    states = [ModelCall.State.DONE, ModelCall.State.DONE, ModelCall.State.CACHED]
    with access.in_workspace(cast.workspace.pk):
        for state in states:
            ModelCall.objects.create(
                workspace=cast.workspace,
                stage="extract",
                role="extract",
                document_id=document.pk,
                prompt_tokens=600,
                completion_tokens=17,
                cost=Decimal(0) if state == ModelCall.State.CACHED else Decimal("0.25"),
                state=state,
            )

    page = page_of(cast.bob, "document_detail", cast, document.pk)

    assert "Reading it took 2 calls and 1,234 tokens, at a cost of 0.50." in page
    assert "1 of 3 answers came from the cache" in page


def test_a_document_no_model_was_asked_about_says_nothing_of_cost(cast):
    assert "Reading it took" not in page_of(cast.bob, "document_detail", cast, light(cast).pk)
