from __future__ import annotations

from datetime import date

import pytest

from kb_project.errors import InputError
from retrieval.search import scope_choices
from tests import rows
from workspaces import access
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    workspace = rows.make_workspace()
    logs = rows.make_collection(workspace, "Logs")
    rows.make_collection(workspace, "Empty")
    make = rows.make_document
    make(workspace, "A", "Ada.", collection=logs, tags=["tide", "oil"], dated=date(2024, 5, 1))
    make(workspace, "B", "Bram.", collection=logs, tags=["tide"], media_type="application/pdf")
    make(workspace, "C", "Cora.", dated=date(2023, 1, 2))
    other = rows.make_workspace("Elsewhere")
    make(other, "D", "Dora.", tags=["secret"], dated=date(1999, 1, 1))
    rows.make_collection(other, "Secret")
    return workspace


def chosen(workspace: Workspace) -> scope_choices.ScopeChoices:
    with access.in_workspace(workspace.pk):
        return scope_choices.scope_choices(workspace=workspace)


def test_every_filter_says_how_many_documents_it_leaves(workspace):
    found = chosen(workspace)

    assert [(one.value, one.documents) for one in found.tags] == [("tide", 2), ("oil", 1)]
    assert [(one.value, one.documents) for one in found.collections] == [("Logs", 2), ("Empty", 0)]
    assert [(one.value, one.documents) for one in found.media_types] == [
        ("text/plain", 2),
        ("application/pdf", 1),
    ]
    assert (found.dated_from, found.dated_to) == (date(2023, 1, 2), date(2024, 5, 1))


def test_an_empty_workspace_offers_nothing():
    assert chosen(rows.make_workspace("New")) == scope_choices.ScopeChoices((), (), (), None, None)


def test_choices_cost_five_queries(workspace, django_assert_num_queries):
    with access.in_workspace(workspace.pk), django_assert_num_queries(5):
        scope_choices.scope_choices(workspace=workspace)


def test_a_name_means_whom_the_documents_name_most(workspace):
    ada = rows.make_entity(workspace, "Ada Lind", aliases=["A. Lind"])

    with access.in_workspace(workspace.pk):
        assert scope_choices.entity_named(workspace=workspace, name="the a. lind").pk == ada.pk


@pytest.mark.parametrize("name", ["", "Nobody", "\0", "x" * 10_000])
def test_an_unknown_name_is_said(workspace, name):
    with access.in_workspace(workspace.pk), pytest.raises(InputError) as refused:
        scope_choices.entity_named(workspace=workspace, name=name)

    assert len(refused.value.happened) < 120


def test_an_unknown_collection_is_said(workspace):
    with access.in_workspace(workspace.pk), pytest.raises(InputError):
        scope_choices.collection_named(workspace=workspace, name="Secret")
