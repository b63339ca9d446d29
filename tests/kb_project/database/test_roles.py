"""Tests connect as the role the application has, to a database its owner migrated."""

from __future__ import annotations

import pytest
from django.db import ProgrammingError, connection, transaction

pytestmark = pytest.mark.django_db


def one(query: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchone()[0]


def test_tests_run_as_the_application_role_without_special_rights():
    assert one("select current_user") == "kb_app"
    assert one("select rolsuper or rolbypassrls from pg_roles where rolname = 'kb_app'") is False


def test_the_tables_belong_to_the_owner():
    assert (
        one("select distinct tableowner from pg_tables where schemaname = 'public'") == "kb_owner"
    )


def test_the_application_may_not_make_tables_beside_ours():
    with pytest.raises(ProgrammingError), transaction.atomic():
        one("create table public.stray (id int)")


def test_the_application_owns_nothing():
    owned = (
        "select count(*) from pg_shdepend where deptype = 'o' and classid <> 'pg_class'::regclass"
        " and refobjid = 'kb_app'::regrole and dbid = (select oid from pg_database"
        " where datname = current_database())"
    )

    assert one(owned) == 0
    assert one("select pg_has_role('kb_app', 'kb_owner', 'USAGE')") is False


@pytest.mark.parametrize(
    "statement",
    [
        "create schema kb_some_graph",
        "select ag_catalog.create_graph('kb_some_graph')",
        "select ag_catalog.create_complete_graph('kb_some_graph', 3, 'e', 'v')",
        "select lo_create(0)",
        "select lo_from_bytea(0, 'x')",
    ],
)
def test_the_application_creates_nothing_in_the_database(statement: str):
    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
        one(statement)


def test_public_comes_before_the_graph_catalogue():
    assert one("show search_path") == '"$user", public, ag_catalog'


def test_a_filtered_vector_search_keeps_looking_until_it_has_enough():
    assert one("show hnsw.iterative_scan") == "relaxed_order"
    assert one("show hnsw.ef_search") == "100"
