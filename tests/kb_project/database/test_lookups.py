from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from ingestion.models import Entity, Relationship
from tests import rows
from workspaces import access

pytestmark = pytest.mark.django_db

MORE_THAN_PARAMETERS = 70_000


def test_rows_are_found_among_more_values_than_a_statement_has_parameters():
    workspace = rows.make_workspace()
    ada, bo = (rows.make_entity(workspace, name) for name in ("Ada Lind", "Bo Strand"))
    many: list[UUID] = [*(uuid4() for _ in range(MORE_THAN_PARAMETERS)), ada.pk]

    with access.in_workspace(workspace.pk):
        entities = Entity.objects.in_workspace(workspace)
        assert entities.filter(pk__among=many).get() == ada
        assert entities.exclude(pk__among=many).get() == bo
        assert entities.filter(key__among={"bo strand", "cy"}).get() == bo
        assert not entities.filter(pk__among=[]).exists()


def test_a_reference_is_compared_by_its_id():
    workspace = rows.make_workspace()
    ada, bo = (rows.make_entity(workspace, name) for name in ("Ada Lind", "Bo Strand"))
    with access.in_workspace(workspace.pk):
        link = Relationship.objects.create(workspace=workspace, source=ada, target=bo)
        links = Relationship.objects.in_workspace(workspace)

        assert links.filter(source__among=[ada.pk]).get() == link
        assert not links.filter(target__among=[ada.pk]).exists()
