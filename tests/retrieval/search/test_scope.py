from __future__ import annotations

from datetime import date
from uuid import uuid4

import pytest

from kb_project.errors import InputError
from retrieval.search.scope import MOST_VALUES, Scope, document_ids
from tests import rows
from workspaces import access


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
