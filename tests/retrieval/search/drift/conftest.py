from __future__ import annotations

import pytest

from tests import rows
from tests.retrieval.search.global_search.reef import Reef


@pytest.fixture
def reef() -> Reef:
    """A light, its keeper, what she drinks, and a road."""
    reef = Reef()
    ada = reef.document("Light", "Ada Lind keeps the Skarrow light.", "Ada Lind", "Skarrow")
    reef.document("Drink", "Ada Lind drinks tea from Assam.", "Ada Lind", "Assam")
    road = reef.document("Road", "The road to the quarry is closed.", "quarry")
    reef.topic("The Skarrow light", {"Ada Lind keeps it.": ["Light"]}, [ada])
    reef.topic("Roads", {"It is closed.": ["Road"]}, [road])
    rows.make_snapshot(reef.workspace)
    return reef
