from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ingestion.models import Chunk, DocumentState
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from workspaces import access
from workspaces.language_models import services as language_model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.language_models.services import PriceGiven
from workspaces.models import ModelCall, User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]

FILES = [{"name": "carol.txt", "size": 170_000}, {"name": "bill.pdf", "size": 90_000}]


@pytest.fixture
def cast() -> rows.Cast:
    return rows.make_cast()


def use_model(cast: rows.Cast, *, price: str = "1", cap: str | None = None) -> None:
    """A model that nobody calls here, with its price and what may be spent."""
    with access.in_workspace(cast.workspace.pk):
        language_model_services.model_settings_save(
            workspace=cast.workspace,
            choice=ModelChoice(endpoint="http://127.0.0.1:9/v1", model="tiny"),
        )
        if price:
            given = PriceGiven("tiny", Decimal(price), Decimal(price))
            language_model_services.prices_set(workspace=cast.workspace, prices=[given])
        language_model_services.budget_set(workspace=cast.workspace, cap=cap)


def ask(cast: rows.Cast, user: User | None, **body: Any) -> Any:
    return client(user).post(
        address(cast.workspace, "documents/estimate/"), body or {"files": FILES}, format="json"
    )


def test_files_are_estimated_by_name_and_size(cast: rows.Cast):
    use_model(cast)

    answer = ask(cast, cast.alice).json()

    assert answer["documents"] == 2
    for name in ("passages", "calls", "prompt_tokens", "completion_tokens", "cost", "seconds"):
        assert 0 < answer[name]["low"] <= answer[name]["high"], name
    assert answer["budget_left"] is None
    assert not answer["is_free"]
    assert "Cost:" in " ".join(answer["sentences"])


def test_files_that_are_sent_are_read(cast: rows.Cast):
    use_model(cast)
    told = " ".join(f"On day {day} Ada Lind lit the lamp of Skarrow." for day in range(300))
    terms = "Redistributing the work is easy and needs no leave of anyone. " * 200
    ended = f"{told}\n\n*** END OF THIS PROJECT GUTENBERG EBOOK A LAMP ***\n\n{terms}"
    of = address(cast.workspace, "documents/estimate/")

    bare, whole = (
        client(cast.alice)
        .post(of, {"file": SimpleUploadedFile("lamp.txt", text.encode())}, format="multipart")
        .json()
        for text in (told, ended)
    )

    assert bare["passages"]["low"] == bare["passages"]["high"] > 1
    assert whole["passages"] == bare["passages"]
    listed = client(cast.alice).get(address(cast.workspace, "documents/")).json()
    assert listed["total"] == 0


def test_nothing_is_added_by_asking(cast: rows.Cast):
    ask(cast, cast.alice)

    listed = client(cast.alice).get(address(cast.workspace, "documents/")).json()
    assert listed["total"] == 0


def test_the_local_tier_costs_nothing(cast: rows.Cast):
    answer = ask(cast, cast.alice).json()

    assert answer["is_free"]
    assert answer["cost"] == {"low": 0, "high": 0}
    assert answer["passages"]["low"] > 0
    assert answer["sentences"] == ["Costs nothing: no model is called."]


def test_what_is_left_of_the_budget_stands_against_it(cast: rows.Cast):
    use_model(cast, cap="0.01")

    answer = ask(cast, cast.alice).json()

    assert answer["budget_left"] == 0.01
    assert answer["is_short"]
    assert "Work pauses when it is spent" in answer["sentences"][-1]


def test_without_a_price_the_cost_is_unknown_not_zero(cast: rows.Cast):
    use_model(cast, price="")

    answer = ask(cast, cast.alice).json()

    assert answer["cost"] is None
    assert answer["calls"]["low"] > 0


def test_documents_that_were_cut_are_counted_exactly(cast: rows.Cast):
    use_model(cast)
    document = rows.make_document(cast.workspace, "Log", "Ada rows.\n\nBo sells.\n\nCy sings.")

    answer = ask(cast, cast.alice, documents=[str(document.pk)]).json()

    assert answer["passages"] == {"low": 3, "high": 3}
    assert answer["known"] == 0


def test_passages_of_a_licence_are_not_counted(cast: rows.Cast):
    use_model(cast)
    document = rows.make_document(cast.workspace, "Log", "Ada rows.\n\nBo sells.\n\nAll is free.")
    [*_, last] = rows.chunks_of(document)
    with access.in_workspace(cast.workspace.pk):
        chunks = Chunk.objects.in_workspace(cast.workspace).filter(pk=last.pk)
        chunks.update(regions=[["legal", 0, len(last.text), 0]])

    answer = ask(cast, cast.alice, documents=[str(document.pk)]).json()

    assert answer["passages"] == {"low": 2, "high": 2}


def test_answers_that_are_known_cost_nothing(cast: rows.Cast):
    use_model(cast)
    document = rows.make_document(cast.workspace, "Log", "Ada rows.\n\nBo sells.")
    with access.in_workspace(cast.workspace.pk):
        ModelCall.objects.bulk_create(
            ModelCall(
                workspace=cast.workspace,
                key="0" * 64,
                stage=stage,
                role=stage,
                model="tiny",
                document_id=document.pk,
                chunk_id=chunk.pk,
                state=ModelCall.State.DONE,
            )
            for chunk in rows.chunks_of(document)
            for stage in ("extract", "situate")
        )

    answer = ask(cast, cast.alice, documents=[str(document.pk)]).json()

    assert answer["known"] == 4
    assert answer["is_free"]
    assert answer["sentences"] == ["Costs nothing: every answer is in the cache."]


def test_answers_of_another_model_are_not_known(cast: rows.Cast):
    use_model(cast)
    document = rows.make_document(cast.workspace, "Log", "Ada rows.")
    [chunk] = rows.chunks_of(document)
    with access.in_workspace(cast.workspace.pk):
        ModelCall.objects.create(
            workspace=cast.workspace,
            stage="extract",
            role="extract",
            model="another",
            document_id=document.pk,
            chunk_id=chunk.pk,
            state=ModelCall.State.DONE,
        )

    assert ask(cast, cast.alice, documents=[str(document.pk)]).json()["known"] == 0


def test_the_workspace_learns_from_its_own_calls(cast: rows.Cast):
    use_model(cast)
    before = ask(cast, cast.alice).json()
    with access.in_workspace(cast.workspace.pk):
        ModelCall.objects.bulk_create(
            ModelCall(
                workspace=cast.workspace,
                stage="extract",
                role="extract",
                model="tiny",
                prompt_tokens=900,
                completion_tokens=10,
                seconds=0.1,
                state=ModelCall.State.DONE,
            )
            for _ in range(30)
        )

    after = ask(cast, cast.alice).json()

    assert after["completion_tokens"]["high"] < before["completion_tokens"]["high"]
    assert after["seconds"]["high"] < before["seconds"]["high"] / 10


def test_documents_of_another_workspace_are_not_counted(cast: rows.Cast):
    use_model(cast)
    other = rows.make_document(rows.make_workspace("Other"), "Log", "Ada rows.")

    answer = ask(cast, cast.alice, documents=[str(other.pk), str(uuid.uuid4())]).json()

    assert (answer["documents"], answer["known"]) == (0, 0)


@pytest.mark.parametrize(
    "body",
    [
        {"files": []},
        {"files": FILES, "documents": [str(uuid.uuid4())]},
        {"files": [{"name": "a.txt", "size": -1}]},
        {"files": [{"name": "a.txt", "size": 2**60}]},
        {"files": [{"name": "a.txt"}]},
        {"files": "all of them"},
        {"documents": ["this one"]},
    ],
)
def test_what_names_no_files_is_refused(cast: rows.Cast, body: dict[str, Any]):
    assert_problem(ask(cast, cast.alice, **body), 400, "invalid_input")


def test_only_editors_ask_what_adding_costs(cast: rows.Cast):
    assert_problem(ask(cast, cast.bob), 403, "forbidden")
    assert_nothing_there(ask(cast, cast.charlie))
    assert_problem(ask(cast, None), 401, "not_authenticated")


# --- all at once ----------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["documents/retry/", "documents/resume/"])
def test_only_editors_take_work_up_again(cast: rows.Cast, path: str):
    def act(user: User | None) -> Any:
        return client(user).post(address(cast.workspace, path))

    assert act(cast.alice).status_code == 202
    assert_problem(act(cast.bob), 403, "forbidden")
    assert_nothing_there(act(cast.charlie))
    assert_problem(act(None), 401, "not_authenticated")


def test_a_document_says_what_it_took(cast: rows.Cast):
    document = rows.make_document(cast.workspace, "Log", "Ada rows.")
    with access.in_workspace(cast.workspace.pk):
        ModelCall.objects.create(
            workspace=cast.workspace,
            stage="extract",
            role="extract",
            document_id=document.pk,
            prompt_tokens=90,
            completion_tokens=10,
            cost=Decimal("0.5"),
            state=ModelCall.State.DONE,
        )

    shown = client(cast.bob).get(address(cast.workspace, f"documents/{document.pk}/")).json()

    assert shown["state"] == DocumentState.READY
    assert (shown["usage"]["calls"], shown["usage"]["cost"]) == (1, 0.5)
