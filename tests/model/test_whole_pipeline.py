"""The pipeline and a question end to end with a real server and a real model.

The model is tiny and was never taught to answer: most of what it says is nonsense. What is tested
is that nonsense breaks nothing, and that nothing of it is kept which the documents do not bear out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import settings as project
from django.test import Client
from django.urls import reverse

from ingestion.documents import outcomes, services
from ingestion.models import (
    Chunk,
    ChunkExtraction,
    Claim,
    Document,
    Evidence,
    Fragment,
    IngestionJob,
    JobKind,
    Mention,
    RunState,
    SummaryNode,
)
from ingestion.pipeline import inline, runner
from kb_project.errors import ReplyError
from kb_project.llm.ports import Role
from retrieval.conversations import asking
from retrieval.models import Answer, AnswerEvent, AnswerState, Citation
from tests import rows
from tests.model.server import BASE, CONTEXT, INSTRUCT, model_server
from workspaces import access
from workspaces.language_models import services as model_services
from workspaces.language_models.choice import ModelChoice
from workspaces.models import ModelCall, Workspace

pytestmark = [pytest.mark.model, pytest.mark.django_db(transaction=True)]

DEMO = Path(project.BASE_DIR) / "ingestion" / "demo" / "documents"
FILES = ("Skarrow Light log 2023-2024.txt", "Deep Shelf digitisation plan.md")
QUESTION = "Who keeps the light of Skarrow?"
# Room for an answer, and little of it: a base model says whatever it says until it is stopped.
OUTPUT = {Role.EXTRACT: 320, Role.SUMMARISE: 200, Role.ANSWER: 120}
SHORTEST = 100
STATED = {ModelCall.State.DONE, ModelCall.State.FAILED}


@pytest.fixture(scope="module", params=[BASE, INSTRUCT])
def served(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A model's name and the address of its server."""
    with model_server(request.param, Path(project.BASE_DIR) / "var" / "models") as address:
        yield request.param, address


@pytest.fixture
def cast(media: Path, served: tuple[str, str]) -> rows.Cast:
    model, endpoint = served
    cast = rows.make_cast()
    model_services.model_settings_save(
        workspace=cast.workspace,
        choice=ModelChoice(
            endpoint=endpoint,
            model=model,
            limits={
                role.value: {"max_output": OUTPUT.get(role, SHORTEST), "timeout": 240}
                for role in Role
            },
            concurrency=1,
            context_window=CONTEXT,
            gleanings=0,
            wants_claims=True,
        ),
    )
    return cast


def test_whatever_a_real_model_says_nothing_breaks_and_nothing_false_is_kept(
    cast: rows.Cast, served: tuple[str, str]
):
    model, _ = served
    documents = [add(cast, name) for name in FILES]
    inline.drain(cast.workspace.pk)

    assert_every_job_ended_well(cast.workspace)
    assert_every_passage_is_read_or_listed(cast, documents)
    assert_every_fact_has_its_quote(cast.workspace)
    assert_summaries_stand_on_the_documents(cast.workspace, model)
    made = assert_the_ledger_has_every_call(cast.workspace, model)

    assert_a_question_ends_well(cast)
    assert_the_ledger_has_every_call(cast.workspace, model)
    assert_nothing_is_asked_twice(cast.workspace, documents[0], made)


def add(cast: rows.Cast, name: str) -> Document:
    with (DEMO / name).open("rb") as file, access.in_workspace(cast.workspace.pk):
        return services.document_upload(workspace=cast.workspace, file=file, name=name).document


def calls(workspace: Workspace) -> list[ModelCall]:
    with access.in_workspace(workspace.pk):
        return list(ModelCall.objects.in_workspace(workspace).order_by("created_at"))


def assert_every_job_ended_well(workspace: Workspace) -> None:
    with access.in_workspace(workspace.pk):
        jobs = IngestionJob.objects.in_workspace(workspace)
        ended = [(job.kind, job.state, job.problem) for job in jobs]
    assert {kind for kind, _, _ in ended} == {JobKind.DOCUMENT, JobKind.WORKSPACE}
    assert [one for one in ended if one[1] != RunState.DONE] == []


def assert_every_passage_is_read_or_listed(cast: rows.Cast, documents: list[Document]) -> None:
    """And the document's page says which were not, and how many facts were rejected."""
    workspace = cast.workspace
    with access.in_workspace(workspace.pk):
        extractions = ChunkExtraction.objects.in_workspace(workspace)
        read = set(extractions.values_list("chunk_id", flat=True))
        assert read == set(Chunk.objects.in_workspace(workspace).values_list("pk", flat=True))
        unread = extractions.filter(problem__isnull=False)
        assert all(one.problem and one.problem["happened"] for one in unread)
    for document in documents:
        page = page_of(cast, document)
        with access.in_workspace(workspace.pk):
            rejected = outcomes.rejections_of(workspace=workspace, document=document)
            missing = unread.filter(chunk__document=document, chunk__workspace=workspace).exists()
        for counted in rejected.items():
            assert outcomes.rejection_sentence(*counted) in page
        assert ("could not be read by the model" in page) == missing


def page_of(cast: rows.Cast, document: Document) -> str:
    browser = Client()
    browser.force_login(cast.bob)
    address = reverse("ingestion:document_detail", args=[cast.workspace.slug, document.pk])
    response = browser.get(address)
    assert response.status_code == 200
    return response.content.decode()


def assert_every_fact_has_its_quote(workspace: Workspace) -> None:
    """Mentions, evidence, fragments and claims all lie inside their chunk."""
    with access.in_workspace(workspace.pk):
        for model in (Mention, Evidence, Fragment, Claim):
            for fact in model.objects.in_workspace(workspace).select_related("chunk"):
                chunk = fact.chunk
                assert chunk.start <= fact.start < fact.end <= chunk.end
                assert chunk.text[fact.start - chunk.start : fact.end - chunk.start].strip()


def assert_summaries_stand_on_the_documents(workspace: Workspace, model: str) -> None:
    """A summary is signed; one that no model wrote is made of quotes."""
    with access.in_workspace(workspace.pk):
        for node in SummaryNode.objects.in_workspace(workspace):
            assert node.text.strip()
            assert node.written_by in {model, "extractive"}


def assert_the_ledger_has_every_call(workspace: Workspace, model: str) -> set[str]:
    """Every call is closed and counted; returns the keys of those that were answered."""
    made = calls(workspace)
    assert made
    assert {call.state for call in made} <= {*STATED, ModelCall.State.CACHED}
    assert all(call.model == model and call.stage and call.prompt for call in made)
    answered = [call for call in made if call.state == ModelCall.State.DONE]
    assert all(call.prompt_tokens and call.completion_tokens for call in answered)
    assert all(call.code for call in made if call.state == ModelCall.State.FAILED)
    return {call.key for call in answered}


def assert_a_question_ends_well(cast: rows.Cast) -> None:
    """Answered or not: its passages are there, and what it cites are places in them."""
    # A base model goes on until it is cut off, and that is no answer.
    with suppress(ReplyError):
        asking.ask(workspace=cast.workspace, user=cast.alice, question=QUESTION, mode="hybrid")
    with access.in_workspace(cast.workspace.pk):
        [answer] = Answer.objects.in_workspace(cast.workspace)
        assert answer.state in {AnswerState.DONE, AnswerState.FAILED}
        assert answer.question.text == QUESTION
        kinds = {one.kind for one in AnswerEvent.objects.in_workspace(cast.workspace)}
        assert "passages" in kinds
        assert (answer.problem is None) == (answer.state == AnswerState.DONE)
        for one in Citation.objects.in_workspace(cast.workspace).select_related("chunk"):
            inside = one.chunk.text[one.start - one.chunk.start : one.end - one.chunk.start]
            assert inside == one.quote
        for sentence in answer.sentences:
            is_supported = (sentence["check"] or {}).get("verdict") in {"supported", "conflict"}
            assert answer.is_supported or not is_supported


def assert_nothing_is_asked_twice(workspace: Workspace, document: Document, made: set[str]) -> None:
    """A refresh asks nothing at all; a document read anew, only what got no answer before."""
    before = Counter(call.state for call in calls(workspace))
    runner.request_refresh(workspace.pk)
    inline.drain(workspace.pk)
    assert Counter(call.state for call in calls(workspace)) == before

    started = len(calls(workspace))
    read_anew(document)
    inline.drain(workspace.pk)
    again = [call for call in calls(workspace)[started:] if call.state in STATED]
    assert [call.stage for call in again if call.key in made] == []


def read_anew(document: Document) -> None:
    with access.in_workspace(document.workspace_id):
        job = IngestionJob.objects.in_workspace(document.workspace_id).filter(document=document)
        last = job.latest("created_at")
        new = IngestionJob.objects.create(
            workspace=document.workspace,
            kind=JobKind.DOCUMENT,
            document=document,
            version_id=last.version_id,
        )
        runner.plan_stages(new)
