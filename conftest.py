"""Fixtures that every test may use, and how tests are shared out among processes."""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

pytest_plugins = ["tests.database_fixtures"]

BROWSER = "tests/browser"


class ByModule(LoadScopeScheduling):
    """A module's tests share what it sets up, those in a browser the product they look at."""

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER if nodeid.startswith(BROWSER) else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return ByModule(config, log)
