"""Positions in the database."""

from __future__ import annotations

import pytest

from ingestion.models import Entity, EntityPosition
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


def test_a_workspace_sees_no_positions_of_another(cast: rows.Cast):
    layout.renew(cast.workspace.pk)
    other = rows.make_cast("Elsewhere")

    assert layout.renew(other.workspace.pk) == 0
    assert positions(other) == {}
