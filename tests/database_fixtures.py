"""Tests run on a Postgres of their own, as the application's restricted role."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from tests.databases import create_test_database, destroy_test_database, server_for_tests


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
    yield
    with django_db_blocker.unblock():
        destroy_test_database(server, name)
