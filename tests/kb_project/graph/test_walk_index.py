from __future__ import annotations

import io
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from kb_project.errors import UnavailableError
from kb_project.graph.compact import packed
from kb_project.graph.walk_index import NO_ENTITY, ChunkRow, WalkIndex
from tests.kb_project.graph.walks import AliasRow, EntityRow, MentionRow, build


def chunk_id(number: int) -> UUID:
    return UUID(int=1000 + number)


def entity_id(number: int) -> UUID:
    return UUID(int=2000 + number)


def make_index(**changes) -> WalkIndex:
    rows: dict[str, Any] = {
        "chunks": [ChunkRow(chunk_id(0), "straw hat"), ChunkRow(chunk_id(1), "isaac schwartz")],
        "entities": [
            EntityRow(entity_id(0), "isaac schwartz"),
            EntityRow(entity_id(1), "russian", is_generic=True),
        ],
        "mentions": [
            MentionRow(chunk_id(0), entity_id(0), 1),
            MentionRow(chunk_id(0), entity_id(1), 3),
            MentionRow(chunk_id(1), entity_id(0), 2),
            MentionRow(chunk_id(1), entity_id(1), 1),
        ],
    }
    return build(**(rows | changes))


def test_every_step_spreads_all_of_its_weight():
    index = make_index()

    assert np.allclose(np.asarray(index.to_entities.sum(axis=0)), 1)
    assert np.allclose(np.asarray(index.to_chunks.sum(axis=0)), 1)


def test_a_title_that_no_text_mentions_gets_a_node_of_its_own():
    index = make_index()

    place = index.entities_by_key["straw hat"][0]
    assert index.entity_ids[place] == NO_ENTITY
    assert index.to_chunks[0, place] == pytest.approx(1)


def test_an_entity_leads_to_the_document_it_names():
    index = make_index()

    schwartz = index.entities_by_key["isaac schwartz"][0]
    assert index.entity_ids[schwartz] == entity_id(0)
    assert index.to_chunks[1, schwartz] > 0.9


def test_a_title_may_be_an_alias_of_an_entity():
    index = make_index(aliases=[AliasRow("straw hat", entity_id(0))])

    assert NO_ENTITY not in index.entity_ids
    assert index.entities_by_key["straw hat"] == index.entities_by_key["isaac schwartz"]


def test_generic_entities_are_worth_less():
    index = make_index()

    generic = index.entities_by_key["russian"][0]
    named = index.entities_by_key["isaac schwartz"][0]
    assert index.salience[generic] == pytest.approx(0.2 * index.salience[named])


def test_rows_of_unknown_chunks_and_entities_are_left_out():
    index = make_index(
        mentions=[
            MentionRow(chunk_id(9), entity_id(0), 1),
            MentionRow(chunk_id(0), entity_id(9), 1),
        ],
        aliases=[AliasRow("ghost", entity_id(9)), AliasRow("", entity_id(0))],
    )

    assert "ghost" not in index.entities_by_key
    assert index.to_entities.nnz == 2  # what the titles name


def test_homonyms_share_a_key():
    entities = [EntityRow(entity_id(0), "lothair"), EntityRow(entity_id(1), "lothair")]

    index = make_index(entities=entities)

    assert len(index.entities_by_key["lothair"]) == 2


@pytest.mark.parametrize("changes", [{}, {"chunks": [], "entities": [], "mentions": []}])
def test_an_index_survives_storage(changes):
    index = make_index(**changes)

    stored = WalkIndex.from_bytes(index.to_bytes())

    assert stored.chunk_ids == index.chunk_ids
    assert stored.entity_ids == index.entity_ids
    assert stored.entities_by_key == index.entities_by_key
    assert np.array_equal(stored.salience, index.salience)
    assert np.array_equal(stored.is_common, index.is_common)
    assert (stored.to_chunks != index.to_chunks).nnz == 0
    assert (stored.to_entities != index.to_entities).nnz == 0


def of_the_format_before(index: WalkIndex) -> bytes:
    buffer = io.BytesIO()
    names = [(key, place) for key, places in index.entities_by_key.items() for place in places]
    matrices = {
        f"{name}.{part}": getattr(getattr(index, name), part)
        for name in ("to_entities", "to_chunks")
        for part in ("data", "indices", "indptr")
    }
    np.savez(
        buffer,
        format=np.array(1),
        chunk_ids=np.frombuffer(packed(index.chunk_ids), np.uint8),
        entity_ids=np.frombuffer(packed(index.entity_ids), np.uint8),
        salience=index.salience,
        is_common=index.is_common,
        name_keys=np.frombuffer("\n".join(key for key, _ in names).encode(), np.uint8),
        name_entities=np.array([place for _, place in names], np.int32),
        **matrices,
    )
    return buffer.getvalue()


@pytest.mark.parametrize("changes", [{}, {"chunks": [], "entities": [], "mentions": []}])
def test_a_snapshot_of_the_format_before_is_read_as_if_it_were_new(changes):
    index = make_index(**changes)

    assert WalkIndex.from_bytes(of_the_format_before(index)).to_bytes() == index.to_bytes()


def test_a_document_without_a_name_names_nothing():
    index = make_index(chunks=[ChunkRow(chunk_id(0), ""), ChunkRow(chunk_id(1), "")])

    assert NO_ENTITY not in index.entity_ids


def other_format() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, format=np.array(999))
    return buffer.getvalue()


@pytest.mark.parametrize("payload", [b"", b"not a snapshot", b"PK\x03\x04 torn", other_format()])
def test_what_is_no_snapshot_of_this_version_is_refused(payload):
    with pytest.raises(UnavailableError) as caught:
        WalkIndex.from_bytes(payload)

    assert caught.value.code == "snapshot_outdated"


def test_a_snapshot_never_holds_pickled_objects():
    with np.load(io.BytesIO(make_index().to_bytes()), allow_pickle=False) as stored:
        assert all(stored[name].dtype != object for name in stored.files)
