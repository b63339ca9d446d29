"""Positions in the database."""

from __future__ import annotations

import math

import pytest

from ingestion.models import Chunk, Entity, EntityPosition
from ingestion.stages import layout
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

TEXT = "Ada Lind met Bo Strand.\n\nBo Strand met Cy Reef."
NAMES = {"Ada Lind": "PERSON", "Bo Strand": "PERSON", "Cy Reef": "PERSON"}


def positions(cast: rows.Cast) -> dict[str, tuple[float, float]]:
    with access.in_workspace(cast.workspace.pk):
        found = EntityPosition.objects.in_workspace(cast.workspace).select_related("entity")
        return {one.entity.name: (one.x, one.y) for one in found}


@pytest.fixture
def cast() -> rows.Cast:
    cast = rows.make_cast()
    document = rows.make_document(cast.workspace, "Letters", TEXT, names=NAMES)
    ada, bo, cy = (rows.make_entity(cast.workspace, name) for name in NAMES)
    chunk = rows.chunks_of(document)[0]
    rows.make_relationship(ada, bo, chunk, "met")
    rows.make_relationship(bo, cy, chunk, "met")
    return cast


def test_entities_are_placed_once_and_then_stay(cast: rows.Cast):
    assert layout.renew(cast.workspace.pk) == 3
    before = positions(cast)

    assert layout.renew(cast.workspace.pk) == 0
    assert set(before) == set(NAMES)
    assert positions(cast) == before


def test_an_entity_that_goes_takes_its_place_along_and_a_new_one_gets_one(cast: rows.Cast):
    layout.renew(cast.workspace.pk)
    rows.make_entity(cast.workspace, "Di Fell")
    with access.in_workspace(cast.workspace.pk):
        Entity.objects.in_workspace(cast.workspace).filter(name="Cy Reef").delete()

    layout.renew(cast.workspace.pk)

    assert set(positions(cast)) == {"Ada Lind", "Bo Strand", "Di Fell"}


def test_one_more_goes_beside_its_neighbour_and_as_many_more_place_all_anew(cast: rows.Cast):
    layout.renew(cast.workspace.pk)
    before = positions(cast)
    with access.in_workspace(cast.workspace.pk):
        chunk = Chunk.objects.in_workspace(cast.workspace).first()
        assert chunk
        ada = Entity.objects.in_workspace(cast.workspace).get(name="Ada Lind")
    di = rows.make_entity(cast.workspace, "Di Fell")
    rows.make_relationship(di, ada, chunk, "met")

    assert layout.renew(cast.workspace.pk) == 1

    after = positions(cast)
    assert {name: after[name] for name in before} == before
    assert math.dist(after["Di Fell"], after["Ada Lind"]) < 1
    for name in ("Ed Moor", "Flo Tarn", "Gus Wold"):
        rows.make_entity(cast.workspace, name)
    layout.renew(cast.workspace.pk)
    with access.in_workspace(cast.workspace.pk):
        assert not EntityPosition.objects.in_workspace(cast.workspace).filter(is_approximate=True)


def test_a_workspace_sees_no_positions_of_another(cast: rows.Cast):
    layout.renew(cast.workspace.pk)
    other = rows.make_cast("Elsewhere")

    assert layout.renew(other.workspace.pk) == 0
    assert positions(other) == {}
