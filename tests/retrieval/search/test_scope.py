from __future__ import annotations

from datetime import date
from uuid import uuid4

import pytest

from kb_project.errors import InputError
from retrieval.search import scope
from retrieval.search.scope import MOST_VALUES, Scope, document_ids
from tests import rows
from workspaces import access
from workspaces.models import Workspace


def test_a_scope_survives_the_way_through_json():
    scope = Scope(
        documents=(uuid4(),),
        collections=(uuid4(), uuid4()),
        tags=("tide",),
        media_types=("application/pdf",),
        dated_from=date(2024, 5, 1),
        dated_to=date(2024, 6, 1),
    )

    assert Scope.from_json(scope.as_json()) == scope


def test_an_empty_scope_is_written_as_nothing():
    assert Scope().as_json() == {}
    assert Scope.from_json(None).is_open
    assert Scope.from_json({"tags": [], "dated_from": ""}).is_open


@pytest.mark.parametrize(
    "values",
    [
        {"author": ["Ada"]},
        {"documents": ["not an id"]},
        {"documents": "0edc54c2-cc3a-48b3-87b1-fc8a9b53c037"},
        {"tags": [7]},
        {"tags": ["a\0b"]},
        {"tags": ["\ud800"]},
        {"tags": ["x"] * (MOST_VALUES + 1)},
        {"dated_from": "May"},
        {"dated_from": 2024},
        {"dated_from": "2024-06-01", "dated_to": "2024-05-01"},
    ],
)
def test_a_filter_that_cannot_be_used_is_refused(values):
    with pytest.raises(InputError) as refused:
        Scope.from_json(values)

    assert refused.value.code == "invalid_scope"


@pytest.fixture
def shelf():
    cast = rows.make_cast()
    logs = rows.make_collection(cast.workspace, "Logs")
    text = "The light burns."
    make = rows.make_document
    return (
        cast.workspace,
        {
            "log": make(
                cast.workspace, "log", text, collection=logs, tags=["tide"], dated=date(2024, 5, 1)
            ),
            "plan": make(
                cast.workspace, "plan", text, tags=["tide", "oil"], dated=date(2025, 1, 1)
            ),
            "scan": make(cast.workspace, "scan", text, media_type="application/pdf"),
        },
        logs,
    )


@pytest.mark.django_db
def test_each_filter_leaves_the_documents_that_pass_it(shelf):
    workspace, documents, logs = shelf

    def titles(scope):
        with access.in_workspace(workspace.pk):
            found = document_ids(workspace.pk, scope) or ()
        return {title for title, document in documents.items() if document.pk in found}

    assert titles(Scope(documents=(documents["plan"].pk,))) == {"plan"}
    assert titles(Scope(collections=(logs.pk,))) == {"log"}
    assert titles(Scope(tags=("tide",))) == {"log", "plan"}
    assert titles(Scope(tags=("oil", "nothing"))) == {"plan"}
    assert titles(Scope(media_types=("application/pdf",))) == {"scan"}
    assert titles(Scope(dated_from=date(2024, 5, 1))) == {"log", "plan"}
    assert titles(Scope(dated_to=date(2024, 5, 1))) == {"log"}
    assert titles(Scope(tags=("tide",), dated_from=date(2024, 6, 1))) == {"plan"}
    assert titles(Scope(collections=(logs.pk,), tags=("oil",))) == set()


@pytest.mark.django_db
def test_the_whole_workspace_needs_no_query(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert document_ids(uuid4(), Scope()) is None


@pytest.mark.django_db
def test_a_document_of_another_workspace_is_never_in_scope(shelf):
    _, documents, _ = shelf
    stranger = rows.make_workspace("Elsewhere")

    with access.in_workspace(stranger.pk):
        found = document_ids(stranger.pk, Scope(documents=(documents["log"].pk,)))

    assert found == ()


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


def chosen(workspace: Workspace) -> scope.ScopeChoices:
    with access.in_workspace(workspace.pk):
        return scope.scope_choices(workspace=workspace)


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
    assert chosen(rows.make_workspace("New")) == scope.ScopeChoices((), (), (), None, None)


def test_choices_cost_five_queries(workspace, django_assert_num_queries):
    with access.in_workspace(workspace.pk), django_assert_num_queries(5):
        scope.scope_choices(workspace=workspace)


def test_a_name_means_whom_the_documents_name_most(workspace):
    ada = rows.make_entity(workspace, "Ada Lind", aliases=["A. Lind"])

    with access.in_workspace(workspace.pk):
        assert scope.entity_named(workspace=workspace, name="the a. lind").pk == ada.pk


@pytest.mark.parametrize("name", ["", "Nobody", "\0", "x" * 10_000])
def test_an_unknown_name_is_said(workspace, name):
    with access.in_workspace(workspace.pk), pytest.raises(InputError) as refused:
        scope.entity_named(workspace=workspace, name=name)

    assert len(refused.value.happened) < 120


def test_an_unknown_collection_is_said(workspace):
    with access.in_workspace(workspace.pk), pytest.raises(InputError):
        scope.collection_named(workspace=workspace, name="Secret")
