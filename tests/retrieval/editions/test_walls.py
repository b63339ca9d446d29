"""Random grants: each search and each answer is as if the hidden documents did not exist."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, LiteralString, NamedTuple
from uuid import uuid4
from zipfile import ZipFile

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import NoReverseMatch, get_resolver, reverse

from ingestion.documents import lifecycle
from ingestion.editions import services as editions
from ingestion.history.recording import ChangeContext
from ingestion.models import (
    Chunk,
    CollectionGrant,
    Document,
    Entity,
    Evidence,
    Finding,
    Mention,
    MergeSuggestion,
    Relationship,
)
from ingestion.suggestions.cases import case_counts
from kb_project.graph.ports import GraphEdge, GraphStore
from kb_project.graph.table_store import TableGraphStore
from kb_project.ports import graph_store
from retrieval.conversations import asking, queries
from retrieval.search import modes, services
from tests import rows
from tests.ingestion import state
from tests.ingestion.once import Kept, once_a_module
from workspaces import access
from workspaces.administration.services import export_make, export_request, path_of
from workspaces.models import Capability, Membership, User, Workspace
from workspaces.models.people import TenantQuerySet

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("media", "fake_embedder"),
]

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
DIGITS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|csrf\S+|nonce\S+", re.IGNORECASE)
"""Ids and tokens, which differ between any two responses."""
QUESTIONS = ("Who sells oil to Ada Lind?", "What is said about Skarrow?", "Dora Quist")


class Dealt(NamedTuple):
    workspace: Workspace
    hidden: set[str]
    elsewhere: Workspace


def dealt(seed: int) -> Dealt:
    """A workspace with random restrictions and grants, the titles that Bob may not see, and
    another workspace of his.
    """
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
    return Dealt(workspace, hidden, overlapping())


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


# --- the locks ------------------------------------------------------------------------------------
# Tables of every schema, graphs included, that row-level security holds.
GUARDED: LiteralString = """
SELECT c.oid::regclass::text FROM pg_class AS c
 WHERE c.relrowsecurity AND c.relkind IN ('r', 'p') ORDER BY 1
"""


@contextmanager
def without_the_door(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every query through the managers ask for all rows: policies alone hold."""
    with patch.context() as patched:
        patched.setattr(TenantQuerySet, "in_workspace", lambda rows, _workspace: rows.all())
        yield


@contextmanager
def without_policies(_patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Switch row-level security off: what queries ask for alone holds."""
    with connection.cursor() as cursor:
        cursor.execute(GUARDED)
        tables = [name for (name,) in cursor.fetchall()]

    def switch(word: str) -> None:
        with transaction.atomic(), rows.as_owner(), connection.cursor() as cursor:
            for table in tables:
                cursor.execute(f"ALTER TABLE {table} {word} ROW LEVEL SECURITY")

    switch("DISABLE")
    try:
        yield
    finally:
        switch("ENABLE")


@contextmanager
def with_both(_patch: pytest.MonkeyPatch) -> Iterator[None]:
    yield


LOCKS = {"both": with_both, "policies": without_the_door, "door": without_policies}
"""By the lock that holds."""


# --- what a person may read -----------------------------------------------------------------------
def graph_reads(workspace: Workspace, store: GraphStore) -> dict[str, Any]:
    """What every reading method of the graph says, by names instead of ids."""
    with access.in_workspace(workspace.pk):
        whole = store.everything(workspace.pk)
        names = {node.id: node.name for node in whole.nodes}
        ids = sorted(names, key=lambda one: names[one])
        pairs = list(itertools.combinations(ids, 2))

        def edges(several: Iterable[GraphEdge]) -> list[tuple[str, str, float]]:
            rows = [(names[one.source], names[one.target], round(one.weight, 5)) for one in several]
            return sorted(rows)

        return {
            "counts": store.counts(workspace.pk),
            "nodes": sorted(names.values()),
            "edges": edges(whole.edges),
            "neighbours": {
                names[one]: sorted(
                    (each.node.name, round(each.edge.weight, 5))
                    for each in store.neighbours(workspace.pk, one)
                )
                for one in ids
            },
            "paths": {
                (names[a], names[b]): sorted(
                    [node.name for node in path.nodes] for path in store.paths(workspace.pk, a, b)
                )
                for a, b in pairs
            },
            "shared": {
                (names[a], names[b]): sorted(
                    one.name for one in store.shared_neighbours(workspace.pk, a, b)
                )
                for a, b in pairs
            },
            "around": edges(store.subgraph(workspace.pk, ids[:2]).edges),
        }


def suggested(workspace: Workspace, user: User) -> list[Any]:
    with access.in_workspace(workspace.pk):
        counts = case_counts(workspace=workspace, user=user)
        rows = MergeSuggestion.objects.in_workspace(workspace)
        pairs = rows.values_list("left__name", "right__name")
        return [counts, sorted(sorted(pair) for pair in pairs)]


def answered(workspace: Workspace, user: User, question: str) -> list[Any]:
    """An answer of the local tier: its sentences, citations and nearest passages."""
    answer = asking.ask(workspace=workspace, user=user, question=question, mode="hybrid")
    shown = queries.answer_view(workspace=workspace, answer=answer)
    # Once each: joins of the ORM compare ids alone and leave the workspace to the policies, so
    # that without these a citation meets its document in the edition and in the workspace.
    cited = sorted({(one["number"], one["title"], one["quote"]) for one in shown["citations"]})
    near = [(one["title"], one["text"]) for one in shown["nearest"]]
    return [shown["answer"], shown["outcome"], cited, sorted(near)]


def counted(workspace: Workspace) -> dict[str, int]:
    """How many rows of each kind a list shows."""
    with access.in_workspace(workspace.pk):
        return {
            kind.__name__: kind.objects.in_workspace(workspace).count()
            for kind in (Document, Chunk, Entity, Relationship, Mention, Evidence, Finding)
        }


def readings(workspace: Workspace, user: User) -> dict[str, Any]:
    """Everything that a person reads, without ids."""
    stores: dict[str, GraphStore] = {"tables": TableGraphStore(), "here": graph_store()}
    return {
        **{
            f"{mode}: {question}": found(workspace, question, mode)
            for question in QUESTIONS
            for mode in modes.MODES
        },
        **{f"graph in {name}": graph_reads(workspace, store) for name, store in stores.items()},
        "suggestions": suggested(workspace, user),
        **{f"answer to {each}": answered(workspace, user, each) for each in QUESTIONS},
        "counts": counted(workspace),
    }


def overlapping() -> Workspace:
    """Another workspace of Bob's with documents of the same titles, names and words."""
    bob = rows.make_user("Bob")
    workspace = rows.make_workspace("Elsewhere", owner=bob)
    texts = {"Log": "Ada Lind keeps the light of Skarrow.", "Memo": "Bo Strand sells oil in Wick."}
    state.read(workspace, texts)
    return workspace


dealt_once = once_a_module(partial(dealt, 1), Kept)


@pytest.fixture
def world(dealt_once: Kept[Dealt], media: Path) -> Dealt:
    return dealt_once.for_a_test(media)


def test_whoever_may_not_see_documents_reads_as_if_they_did_not_exist(
    world: Dealt, monkeypatch: pytest.MonkeyPatch
):
    assert_reads_as_if_hidden_were_not_there(world, monkeypatch)


def test_the_same_with_other_documents_hidden(monkeypatch: pytest.MonkeyPatch):
    assert_reads_as_if_hidden_were_not_there(dealt(0), monkeypatch)


def assert_reads_as_if_hidden_were_not_there(world: Dealt, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, hidden, _ = world
    bob, edition = rows.make_user("Bob"), read_by_bob(workspace)
    graph = state.graph(edition)
    read = {}
    for lock, held in LOCKS.items():
        with held(monkeypatch):
            read[lock] = readings(edition, bob)

    never_added(workspace, hidden)

    expected = readings(workspace, bob)
    assert graph == state.graph(workspace)
    for lock, reading in read.items():
        for what, shown in expected.items():
            assert reading[what] == shown, (lock, what)


def test_no_page_shows_a_word_that_was_not_granted(world: Dealt, monkeypatch: pytest.MonkeyPatch):
    workspace, hidden, elsewhere = world
    client = Client()
    client.force_login(rows.make_user("Bob"))
    # In a workspace of his own he may read its audit page too.
    ungranted = {workspace: {MARKS[title] for title in hidden}, elsewhere: set(MARKS.values())}
    ungranted[workspace] |= hidden - {"Log"}

    for lock, held in LOCKS.items():
        with held(monkeypatch):
            shown = sum(
                pages_without(client, place, words, lock) for place, words in ungranted.items()
            )
        assert shown > 40, lock


def pages_without(client: Client, place: Workspace, words: set[str], lock: str) -> int:
    """How many pages of a workspace there are; none may show any of the words."""
    assert words
    shown = 0
    for name in lists():
        try:
            address = reverse(name, args=[place.slug])
        except NoReverseMatch:
            continue
        for query in ("", "?q=Skarrow") if lock == "both" else ("?q=Skarrow",):
            response = client.get(address + query)
            if response.streaming:
                continue
            shown += response.status_code == 200
            body = response.content.decode()
            assert not {word for word in words if word in body}, (lock, name, query)
    return shown


def test_a_hidden_document_is_refused_in_the_words_of_one_that_does_not_exist(world: Dealt):
    workspace, hidden, _ = world
    client = Client()
    client.force_login(rows.make_user("Bob"))
    with access.in_workspace(workspace.pk):
        one = Document.objects.in_workspace(workspace).filter(title__in=hidden)[0]
        name = Entity.objects.in_workspace(workspace).filter(name__contains=MARKS[one.title])[0]
    compared = 0

    for pattern, pk in (("document_detail", one.pk), ("entity_detail", name.pk)):
        for app in ("ingestion", "ingestion_api"):
            try:
                refused, unknown = (
                    client.get(reverse(f"{app}:{pattern}", args=[workspace.slug, each]))
                    for each in (pk, uuid4())
                )
            except NoReverseMatch:
                continue
            compared += 1
            assert (refused.status_code, unknown.status_code) == (404, 404)
            told = [DIGITS.sub("", response.content.decode()) for response in (refused, unknown)]
            assert told[0] == told[1]
    assert compared >= 2


def test_an_export_holds_nothing_of_another_workspace(
    world: Dealt, monkeypatch: pytest.MonkeyPatch
):
    elsewhere = world.elsewhere

    for lock in ("both", "door"):
        with LOCKS[lock](monkeypatch):
            row = export_request(workspace=elsewhere, user=rows.make_user("Bob"))
            export_make(elsewhere.pk, row.pk)
        with ZipFile(path_of(elsewhere.pk, row.pk)) as archive:
            parts = [archive.read(name) for name in archive.namelist()]
        whole = b"".join(parts).decode(errors="replace")
        assert "Skarrow" in whole, lock
        assert not {mark for mark in MARKS.values() if mark in whole}, lock
