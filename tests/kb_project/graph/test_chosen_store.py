from __future__ import annotations

import pytest

from kb_project.graph.age_store import AgeGraphStore, has_age
from kb_project.graph.stores import graph_store

pytestmark = pytest.mark.django_db


def test_the_test_database_has_age_and_so_age_answers():
    assert has_age()
    assert isinstance(graph_store(), AgeGraphStore)
