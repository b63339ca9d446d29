"""Paths: how two things are connected, for the search and for the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ingestion.models import Document, Entity, Relationship
from kb_project.ports import build_ports
from kb_project.sql import run_sql
from retrieval.search import services
from retrieval.search.results import RecordKind
from retrieval.search.scope import Scope
from retrieval.search.services import SearchResult
from tests import rows
from tests.retrieval.answering import asked
from tests.rows import Cast
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db

TEXT = (
    "Ada Lind trained Bo Strand.\n\nBo Strand sells oil to Cy Falk.\n\n"
    "Cy Falk owns the Gull.\n\nDi Holm keeps bees. 沈立群在杭州。"
)
KINDS = dict.fromkeys(
    ("Ada Lind", "Bo Strand", "Cy Falk", "Gull", "Di Holm", "沈立群", "杭州"), "person"
)
STEPS = TEXT.split("\n\n")[:3]


@dataclass(frozen=True)
class World:
    cast: Cast
    document: Document

    @property
    def workspace(self) -> Workspace:
        return self.cast.workspace

    def entity(self, name: str) -> Entity:
        return rows.make_entity(self.workspace, name)


@pytest.fixture
def world() -> World:
    """Ada – Bo – Cy – Gull and 沈立群 – 杭州; Di is related to nobody."""
    cast = rows.make_cast()
    document = rows.make_document(
        cast.workspace, "Trade", TEXT, embedder=build_ports().embedder, names=KINDS
    )
    chunks = rows.chunks_of(document)
    for place, (source, verb, target) in enumerate(
        (
            ("Ada Lind", "trained", "Bo Strand"),
            ("Bo Strand", "sells oil to", "Cy Falk"),
            ("Cy Falk", "owns", "Gull"),
            ("沈立群", "在", "杭州"),
        )
    ):
        one, other = (rows.make_entity(cast.workspace, name) for name in (source, target))
        rows.make_relationship(one, other, chunks[place], verb)
    rows.make_snapshot(cast.workspace)
    return World(cast, document)


def search(world: World, question: str, mode: str = "paths", **more: Any) -> SearchResult:
    return services.search(workspace=world.workspace, question=question, mode=mode, top_k=8, **more)


def codes(found: SearchResult) -> list[str]:
    return [note.code for note in found.notes]


def answer(world: World, question: str, **how: Any) -> Any:
    return asked.run(asked.queue(world.cast, question, **({"mode": "auto"} | how)))


def texts(answered: Any) -> list[str]:
    return [row["text"] for row in answered.sentences]


def test_the_passages_of_a_path_come_in_the_order_of_its_steps(world: World):
    found = search(world, "How is Ada Lind connected to the Gull?")

    assert [hit.text for hit in found.hits] == STEPS
    assert [hit.why[0] for hit in found.hits] == [
        "Connects “Ada Lind” and “Bo Strand”",
        "Connects “Bo Strand” and “Cy Falk”",
        "Connects “Cy Falk” and “Gull”",
    ]


def test_a_model_gets_each_step_as_a_record_with_its_passage(world: World):
    found = search(world, "How is Ada Lind connected to the Gull?")

    assert [record.title for record in found.found.records] == [
        "Ada Lind – trained – Bo Strand",
        "Bo Strand – sells oil to – Cy Falk",
        "Cy Falk – owns – Gull",
    ]
    assert {record.kind for record in found.found.records} == {RecordKind.RELATIONSHIP}
    assert [record.sources[0] for record in found.found.records] == [
        hit.chunk_id for hit in found.hits
    ]


@pytest.mark.parametrize(
    "question", ["Ada Lind, and then Bo Strand?", "Did Ada Lind pay Bo Strand?"]
)
def test_chosen_by_hand_it_connects_the_first_two_names(world: World, question: str):
    assert [hit.text for hit in search(world, question).hits] == STEPS[:1]


def test_with_one_name_it_says_so_and_searches_passages(world: World):
    found = search(world, "Who is Ada Lind?")

    assert codes(found) == ["paths_need_two"]
    assert found.hits


def test_auto_looks_for_paths_only_if_both_are_known(world: World):
    assert search(world, "How is Ada Lind connected to Cy Falk?", "auto").mode.name == "paths"
    assert search(world, "How is Ada Lind connected to the moon?", "auto").mode.name != "paths"


def test_documents_out_of_scope_support_no_step(world: World):
    other = rows.make_document(
        world.workspace, "Bees", "Di Holm keeps bees.", embedder=build_ports().embedder
    )
    found = search(
        world, "How is Ada Lind connected to Cy Falk?", scope=Scope(documents=(other.pk,))
    )

    assert "not_connected" in codes(found)
    assert found.found.connection is not None
    assert found.found.connection.shared_documents == ()


def test_a_path_through_an_excluded_entity_is_no_path(world: World):
    bo = world.entity("Bo Strand").pk
    found = search(world, "How is Ada Lind connected to Cy Falk?", scope=Scope(exclude=(bo,)))

    assert "not_connected" in codes(found)


def test_an_entity_merged_away_since_the_index_was_built_is_no_error(world: World):
    with access.in_workspace(world.workspace.pk):
        run_sql(
            "DELETE FROM ingestion_entity WHERE workspace_id = %s AND name = 'Di Holm'",
            [world.workspace.pk],
        )

    assert search(world, "How is Di Holm connected to Ada Lind?").found.connection is None


# --- answers --------------------------------------------------------------------------------------


def test_without_a_model_each_step_is_a_quote_with_its_citation(world: World):
    answered = answer(world, "How is Ada Lind connected to the Gull?")

    lead, *steps = answered.sentences
    assert answered.mode == "paths"
    assert lead["text"] == (
        "Ada Lind and Gull are connected in 3 steps, through Bo Strand and Cy Falk."
    )
    assert [one["text"] for one in steps] == STEPS
    assert all(one["check"]["verdict"] == "supported" for one in answered.sentences)
    cited = {one.number: one for one in citations(answered)}
    assert [cited[one["citations"][0]].quote for one in steps] == STEPS
    assert len(lead["citations"]) == 3


def citations(answered: Any) -> list[Any]:
    with access.in_workspace(answered.workspace_id):
        return list(answered.citations.all())


def test_a_direct_connection_is_called_so(world: World):
    assert texts(answer(world, "What links Bo Strand and Ada Lind?")) == [
        "Bo Strand and Ada Lind are directly connected.",
        "Ada Lind trained Bo Strand.",
    ]


def test_a_chinese_question_is_answered_in_chinese(world: World):
    assert texts(answer(world, "沈立群和杭州有什么关系？"))[0] == "沈立群与杭州直接相关。"


def test_without_a_connection_it_says_how_far_it_looked_and_what_the_two_share(world: World):
    answered = answer(world, "How is Ada Lind connected to Di Holm?")

    assert texts(answered) == [
        "No connection between Ada Lind and Di Holm was found within 3 steps.",
        "Both are named in “Trade”.",
    ]
    assert citations(answered) == []


def test_a_relationship_that_a_person_made_counts_without_a_quote(world: World):
    with access.in_workspace(world.workspace.pk):
        Relationship.objects.create(
            workspace=world.workspace,
            source=world.entity("Di Holm"),
            target=world.entity("Ada Lind"),
            description="Di is Ada's aunt.",
            weight=1,
            is_made=True,
        )

    answered = answer(world, "How is Ada Lind connected to Di Holm?")

    assert texts(answered)[-1] == ("Ada Lind – Di Holm: Di is Ada's aunt. (added by a person)")
    assert [one["check"] for one in answered.sentences] == [None, None]


def test_a_path_of_another_workspace_is_never_used(world: World):
    other = rows.make_workspace("Quay")
    rows.make_document(
        other, "Quay", "Ada Lind met Di Holm.", names={"Ada Lind": "person", "Di Holm": "person"}
    )
    chunk = chunk_of(other)
    rows.make_relationship(
        rows.make_entity(other, "Ada Lind"), rows.make_entity(other, "Di Holm"), chunk, "met"
    )

    assert "not_connected" in codes(search(world, "How is Ada Lind connected to Di Holm?"))


def chunk_of(workspace: Workspace) -> Any:
    with access.in_workspace(workspace.pk):
        document = Document.objects.in_workspace(workspace).get()
    return rows.chunks_of(document)[0]
