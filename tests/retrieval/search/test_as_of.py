"""Search and answers as of a date."""

from __future__ import annotations

from typing import Any

import pytest

from ingestion.models import Claim
from kb_project.ports import build_ports
from retrieval.answering import context
from retrieval.answering.citations.labels import Numbering
from retrieval.conversations import asking
from retrieval.models import Answer
from retrieval.search import services
from retrieval.search.modes import MODES
from retrieval.search.results import ModeResult, Shares
from retrieval.search.scope import Scope
from tests import rows
from tests.api import address, assert_nothing_there, assert_problem, client
from tests.ingestion.dated import ADA, BRAM, SEAT, state
from tests.retrieval.pages import address as page_address, client_of
from workspaces import access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fake_embedder")]
QUESTION = "Who was director of Harbour Trust?"


@pytest.fixture
def cast(fake_embedder) -> rows.Cast:
    cast = rows.make_cast()
    state(cast.workspace, ADA, BRAM, SEAT)
    both = f"{ADA.text} {BRAM.text} The trust keeps a boat."
    rows.make_document(cast.workspace, "History", both, embedder=build_ports().embedder)
    rows.make_snapshot(cast.workspace)
    return cast


def titles(cast: rows.Cast, as_of: str, mode: str) -> set[str]:
    found = services.search(
        workspace=cast.workspace, question=QUESTION, mode=mode, top_k=10, scope=Scope(as_of=as_of)
    )
    return {hit.title for hit in found.hits}


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical", "walk", "local", "relations"])
def test_a_passage_of_which_nothing_holds_then_is_left_out(cast, mode):
    before, after = titles(cast, "1905", mode), titles(cast, "2019", mode)

    assert ADA.title not in after
    assert BRAM.title not in before
    assert {ADA.title, "History"} <= before or mode in ("walk", "relations", "local")
    assert ADA.title in before
    assert BRAM.title in after


def test_a_claim_counts_as_a_statement_too(cast):
    with access.in_workspace(cast.workspace.pk):
        ada = rows.make_entity(cast.workspace, "Ada Lind")
        evidence = ada.outgoing.in_workspace(cast.workspace).get().evidence.get()
        Claim.objects.create(
            workspace=cast.workspace, subject=ada, chunk=evidence.chunk,
            document=evidence.document, type="office", status="true", period_start="2010",
            description="Ada is its honorary director.", start=0, end=10,
        )  # fmt: skip

    assert ADA.title in titles(cast, "2019", "hybrid")


def answer(cast: rows.Cast, as_of: str) -> str:
    made = asking.ask(
        workspace=cast.workspace,
        user=cast.bob,
        question=QUESTION,
        mode="hybrid",
        scope=Scope(as_of=as_of),
    )
    with access.in_workspace(cast.workspace.pk):
        made = Answer.objects.in_workspace(cast.workspace).get(pk=made.pk)
    return " ".join(one["text"] for one in made.sentences)


def test_an_answer_does_not_rest_on_sentences_dated_otherwise(cast):
    before, after = answer(cast, "1905"), answer(cast, "2019")

    assert "Bram Oost" not in before
    assert "Ada Lind" not in after


def test_a_model_is_not_shown_sentences_dated_otherwise(cast):
    found = services.search(
        workspace=cast.workspace, question="boat", mode="lexical", top_k=1, scope=Scope()
    )
    shown = context.build(ModeResult([]), Numbering(found.hits, {}), Shares(), 4_000, "1905").text

    assert "Ada Lind was director" in shown
    assert "Bram Oost" not in shown
    assert "[…] The trust keeps a boat." in shown


# --- REST -----------------------------------------------------------------------------------------
def post(cast: rows.Cast, user: Any, as_of: str) -> Any:
    body = {"q": QUESTION, "mode": "lexical", "scope": {"as_of": as_of}}
    return client(user).post(address(cast.workspace, "search/"), body)


def test_the_date_is_a_filter_of_the_api(cast):
    assert "hybrid" in MODES
    for user in (cast.alice, cast.bob):
        found = post(cast, user, "1905").json()["hits"]
        assert BRAM.title not in {hit["title"] for hit in found}
    where = address(cast.workspace, "search/?q=director&mode=lexical&as_of=2019-05-03")
    found = client(cast.bob).get(where).json()["hits"]
    assert ADA.title not in {hit["title"] for hit in found}
    assert_nothing_there(post(cast, cast.charlie, "1905"))


@pytest.mark.parametrize("value", ["2019-02-30", "soon"])
def test_a_date_that_does_not_exist_is_refused(cast, value):
    assert_problem(post(cast, cast.bob, value), 400, "invalid_date")
    body = {"question": QUESTION, "scope": {"as_of": value}}
    asked = client(cast.bob).post(address(cast.workspace, "questions/"), body)
    form = {"question": QUESTION, "as_of": value}
    page = client_of(cast.bob).post(page_address("ask", cast), form)

    assert asked.status_code == 400
    for sentence in (f"“{value}” is not a date.", "Write a year, a month or a day that exists"):
        assert sentence in page.content.decode()
