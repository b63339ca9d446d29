"""Two workers that build a snapshot at once: one after the other, and the last one stays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from ingestion.models import WalkSnapshot
from ingestion.stages import snapshot
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("fake_embedder"),
]


def renew(workspace: Workspace) -> None:
    try:
        snapshot.renew(workspace.pk)
    finally:
        connection.close()


def test_builders_side_by_side_never_take_the_same_number():
    workspace = rows.make_workspace()
    rows.make_document(workspace, "Keepers", "Ada Lind keeps the light.")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(renew, workspace) for _ in range(12)]:
            done.result()

    with access.in_workspace(workspace.pk):
        [last] = WalkSnapshot.objects.in_workspace(workspace)
    assert last.number == 12
