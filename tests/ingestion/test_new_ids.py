"""Ids that follow from a workspace, and those that say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

from ingestion.models.communities import other_topics_id
from ingestion.post_restore import new_ids
from ingestion.resolution.keys import entity_id, link_id, relationship_id
from ingestion.stages.reports.saving import report_id
from ingestion.stages.tree.growth import node_id

OLD, NEW = UUID(int=1), UUID(int=2)
Tables = dict[str, list[dict[str, Any]]]


def ids_of(**tables: list[dict[str, Any]]) -> dict[str, str]:
    def rows(table: str) -> Iterator[dict[str, Any]]:
        yield from tables.get(table.removeprefix("ingestion_"), [])

    return new_ids(rows, OLD, NEW)


def entity(key: str, sense: int = 0, id_: UUID | None = None) -> dict[str, Any]:
    return {"id": str(id_ or entity_id(OLD, key, sense)), "key": key, "sense": sense}


def test_an_entity_gets_the_id_that_a_later_run_looks_for():
    ids = ids_of(entity=[entity("ada lind"), entity("mercury", 2)])

    assert ids[str(entity_id(OLD, "ada lind"))] == str(entity_id(NEW, "ada lind"))
    assert ids[str(entity_id(OLD, "mercury", 2))] == str(entity_id(NEW, "mercury", 2))


def test_so_does_one_whose_id_does_not_follow():
    by_chance = uuid4()

    ids = ids_of(entity=[entity("ada lind", id_=by_chance)])

    assert ids[str(by_chance)] == str(entity_id(NEW, "ada lind"))


def test_a_relationship_follows_its_ends():
    ada, bo = entity("ada lind"), entity("bo strand", 1)
    link = relationship_id(OLD, "ada lind", "bo strand", (0, 1))

    ids = ids_of(
        entity=[ada, bo],
        relationship=[{"id": str(link), "source_id": ada["id"], "target_id": bo["id"]}],
    )

    assert ids[str(link)] == str(relationship_id(NEW, "ada lind", "bo strand", (0, 1)))


def test_what_was_decided_of_is_found_again_when_it_comes_back():
    ids = ids_of(
        entityruling=[{"key": "gone", "sense": 0}],
        mentionplacement=[{"key": "split", "target_key": "off", "target_sense": 3}],
        resolutiondecision=[
            {
                "left_key": "left",
                "left_sense": 1,
                "sense": 2,
                "right_key": "right",
                "right_sense": 0,
            }
        ],
        relationshipruling=[
            {"source_key": "a", "source_sense": 0, "target_key": "b", "target_sense": 1}
        ],
    )

    refs = [("gone", 0), ("split", 0), ("off", 3), ("left", 1), ("left", 2), ("right", 0)]
    refs += [("a", 0), ("b", 1)]
    for ref in refs:
        assert ids[str(entity_id(OLD, *ref))] == str(entity_id(NEW, *ref))
    link = link_id(OLD, ("a", 0), ("b", 1))
    assert ids[str(link)] == str(link_id(NEW, ("a", 0), ("b", 1)))


def test_the_topic_of_everything_else_is_that_of_the_new_workspace():
    ids = ids_of()

    old, new = other_topics_id(OLD), other_topics_id(NEW)
    assert ids == {str(old): str(new), str(report_id(old)): str(report_id(new))}


def test_summaries_of_all_documents_move_and_those_of_one_stay():
    document, own, shared = uuid4(), uuid4(), node_id(OLD, "digest")

    ids = ids_of(
        summarynode=[
            {"id": str(shared), "document_id": None, "digest": "digest"},
            {"id": str(own), "document_id": str(document), "digest": "digest"},
        ]
    )

    assert ids[str(shared)] == str(node_id(NEW, "digest"))
    assert str(own) not in ids
