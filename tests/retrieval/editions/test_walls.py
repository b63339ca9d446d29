"""Random grants: each search and each answer is as if the hidden documents did not exist."""

from __future__ import annotations

import random

import pytest
from django.db import transaction
from django.test import Client
from django.urls import NoReverseMatch, get_resolver, reverse

from ingestion.documents import lifecycle
from ingestion.editions import services as editions
from ingestion.history.recording import ChangeContext
from ingestion.models import CollectionGrant, Document
from retrieval.search import modes, services
from tests import rows
from tests.ingestion import state
from workspaces import access
from workspaces.models import Capability, Membership, Workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media")]

MARKS = {
    "Log": "Torvald",
    "Ledger": "Quibell",
    "Lease": "Zambrano",
    "Verdict": "Ostrander",
    "Letter": "Wexcombe",
    "Log copy": "Harrowgate",
}
"""A name that only the document of this title has."""
TEXTS = {
    "Log": "Ada Lind keeps the light of Skarrow.\n\nBo Strand sells oil to Ada Lind.",
    "Ledger": "Bo Strand sells oil in Wick.\n\nCora Vane buys oil from Bo Strand in Wick.",
    "Lease": "Cora Vane rents the house of Skarrow from Ada Lind.",
    "Verdict": "Ada Lind owes Dora Quist money. Dora Quist sues Ada Lind in Wick.",
    "Letter": "Edda Moe writes to Bo Strand from Wick about the light of Skarrow.",
    "Log copy": "Ada Lind keeps the light of Skarrow.\n\nDora Quist sells oil to Ada Lind.",
}
TEXTS = {
    title: f"{text}\n\nMr {MARKS[title]} saw the light of Skarrow." for title, text in TEXTS.items()
}
QUESTIONS = ("Who sells oil to Ada Lind?", "What is said about Skarrow?", "Dora Quist")


def dealt(seed: int) -> tuple[Workspace, set[str]]:
    """A workspace with random restrictions and grants, and the titles that Bob may not see."""
    dice = random.Random(seed)
    cast = rows.make_cast(f"Harbour {seed}")
    state.read(cast.workspace, TEXTS)
    workspace = cast.workspace
    collections = [rows.make_collection(workspace, name) for name in ("Court", "Sea", "Open")]
    with access.in_workspace(workspace.pk):
        bob = Membership.objects.in_workspace(workspace).get(user=cast.bob)
        closed = [one for one in collections if dice.random() < 0.7] or collections[:1]
        granted = [one for one in closed[1:] if dice.random() < 0.5]
        for one in closed:
            one.is_restricted = True
            one.save()
        for one in granted:
            CollectionGrant.objects.create(workspace=workspace, collection=one, membership=bob)
        chosen = {title: dice.choice([None, *collections]) for title in TEXTS}
        # Something is hidden, and something is not.
        chosen |= {dice.choice(list(TEXTS)[:3]): closed[0], "Letter": None}
        for title, collection in chosen.items():
            rows_of = Document.objects.in_workspace(workspace).filter(title=title)
            rows_of.update(collection=collection)
        hidden = {title for title, one in chosen.items() if one in closed and one not in granted}
    editions.sync(workspace.pk)
    for edition in Workspace.objects.filter(source=workspace):
        state.settled(edition)
    return workspace, hidden


def never_added(workspace: Workspace, titles: set[str]) -> None:
    """Bring a workspace to what it would be without these documents."""
    with access.in_workspace(workspace.pk):
        gone = list(Document.objects.in_workspace(workspace).filter(title__in=titles))
    if gone:
        lifecycle.documents_delete(change=ChangeContext(workspace, None), documents=gone)
    state.settled(workspace)


def read_by_bob(workspace: Workspace) -> Workspace:
    bob = rows.make_user("Bob")
    with transaction.atomic():
        return access.workspace_with(Capability.READ, user=bob, workspace_id=workspace.slug)


def found(workspace: Workspace, question: str, mode: str) -> list[tuple[str, int, int, float]]:
    result = services.search(workspace=workspace, question=question, mode=mode, top_k=8)
    rows = [(hit.title, hit.start, hit.end, round(hit.score, 5)) for hit in result.hits]
    # Of equal scores, ids decide.
    return sorted(rows, key=lambda row: (-row[3], row))


def lists() -> list[str]:
    """Every page and every operation of the API that needs only the workspace's address."""
    return [
        f"{app}:{name}"
        for app in ("ingestion", "retrieval", "ingestion_api", "retrieval_api", "workspaces_api")
        for name in get_resolver().namespace_dict[app][1].reverse_dict
        if isinstance(name, str)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_whoever_may_not_see_documents_finds_as_if_they_did_not_exist(seed: int):
    workspace, hidden = dealt(seed)
    edition = read_by_bob(workspace)
    asked = [(question, mode) for question in QUESTIONS for mode in modes.MODES]
    graph, answers = state.graph(edition), [found(edition, *each) for each in asked]

    never_added(workspace, hidden)

    assert graph == state.graph(workspace)
    for each, answer in zip(asked, answers, strict=True):
        assert answer == found(workspace, *each), each


@pytest.mark.parametrize("seed", [1, 2])
def test_no_list_shows_a_word_that_only_hidden_documents_have(seed: int):
    workspace, hidden = dealt(seed)
    client = Client()
    client.force_login(rows.make_user("Bob"))
    told = {MARKS[title] for title in hidden} | (hidden - {"Log"})
    assert told
    shown = 0

    for name in lists():
        try:
            address = reverse(name, args=[workspace.slug])
        except NoReverseMatch:
            continue
        for query in ("", "?q=Skarrow"):
            response = client.get(address + query)
            if response.status_code != 200 or response.streaming:
                continue
            shown += 1
            body = response.content.decode()
            assert not {word for word in told if word in body}, (name, query)
    assert shown > 20
