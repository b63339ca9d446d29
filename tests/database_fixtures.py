"""Tests run on a Postgres of their own, as the application's restricted role."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import TransactionTestCase
from pytest_django import DjangoDbBlocker

from tests.databases import (
    create_test_database,
    destroy_test_database,
    empty_tables,
    forget_rows,
    server_for_tests,
)


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """One database per test process, migrated by its owner."""
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    with django_db_blocker.unblock():
        server = server_for_tests()
        name = create_test_database(server, worker)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _test: empty_tables())
        yield
    with django_db_blocker.unblock():
        destroy_test_database(server, name)


@pytest.fixture(scope="module")
def rows_of_the_module(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Rows that a module's fixtures make after this one are kept until its last test is over.

    Every test of the module sees them; what tests change is undone as ever.
    """
    with django_db_blocker.unblock():
        yield
        empty_tables()
        forget_rows()
