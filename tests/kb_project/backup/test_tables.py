"""What a backup holds: every table of the project, or a reason why not."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import models

from kb_project.backup import tables
from kb_project.backup.tables import LEFT_OUT, contents, models_in_order

pytestmark = pytest.mark.django_db


def every_model() -> list[type[models.Model]]:
    found = apps.get_models(include_auto_created=True)
    return [model for model in found if not model._meta.proxy]


def names() -> set[str]:
    known = contents()
    held = (known.people, known.workspaces, *known.installation, *known.tenants)
    return {table.name for table in held}


def test_every_table_is_in_the_archive_or_has_a_reason_not_to_be():
    forgotten = {
        model._meta.label_lower
        for model in every_model()
        if model._meta.db_table not in names() and model._meta.label_lower not in LEFT_OUT
    }

    assert forgotten == set()


def test_no_reason_is_given_for_what_is_not_there_or_is_held():
    known = {model._meta.label_lower: model._meta.db_table for model in every_model()}

    assert set(LEFT_OUT) - set(known) == set()
    assert {label for label in LEFT_OUT if known[label] in names()} == set()
    assert all(LEFT_OUT.values())


def test_every_table_of_a_workspace_is_held_by_workspace():
    tenants = {table.name for table in contents().tenants}

    assert {
        "workspaces_membership",
        "workspaces_modelsettings",
        "workspaces_cachedreply",
        "workspaces_modelcall",
        "ingestion_chunkembedding",
        "ingestion_chunkextraction",
        "ingestion_historyevent",
        "ingestion_entityruling",
        "ingestion_shelvedchunk",
        "retrieval_citation",
        "retrieval_evaluationresult",
    } <= tenants
    assert not tenants & {"workspaces_user", "workspaces_workspace", "account_emailaddress"}


def test_a_table_comes_after_those_it_refers_to():
    ordered = models_in_order()
    places = {model: place for place, model in enumerate(ordered)}

    early = [
        (model.__name__, field.name)
        for model in ordered
        for field in model._meta.local_concrete_fields
        if field.remote_field is not None
        and field.remote_field.model in places
        and places[field.remote_field.model] > places[model]
    ]

    assert early == []


def test_what_gets_new_numbers_is_named_by_nobody_but_people():
    numbered = {
        model
        for model in models_in_order()
        if isinstance(model._meta.pk, models.AutoField) and model is not get_user_model()
    }

    namers = [
        (model.__name__, field.name)
        for model in models_in_order()
        for field in model._meta.local_concrete_fields
        if field.remote_field is not None and field.remote_field.model in numbered
    ]

    assert namers == []


def test_every_binary_column_is_known_for_a_secret():
    known = contents()

    binary = {
        column.name
        for table in (*known.installation, *known.tenants)
        for column in table.columns
        if column.kind == "bytea"
    }

    assert binary
    assert binary <= tables.SECRETS


def test_every_lease_is_known_for_one():
    until = {
        column.name
        for table in contents().tenants
        for column in table.columns
        if column.name.startswith("lease") and column.name.endswith("until")
    }

    assert until == tables.LEASES


def test_the_columns_are_those_of_the_database():
    [vectors] = [table for table in contents().tenants if table.name == "ingestion_chunkembedding"]
    [documents] = [table for table in contents().tenants if table.name == "ingestion_document"]
    columns = {column.name: column for column in documents.columns}

    assert [column.kind for column in vectors.columns] == [
        "uuid",
        "uuid",
        "character varying",
        "halfvec",
        "integer",
    ]
    assert columns["title"].length == 500
    assert columns["title"].is_required
    assert columns["tags"].is_array
    assert columns["added_by_id"].is_person
    assert not columns["added_by_id"].is_required
