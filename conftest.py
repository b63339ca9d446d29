"""Fixtures that every test may use, and how tests are shared out among processes."""

from __future__ import annotations

import gc
from importlib import import_module

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

pytest_plugins = ["tests.database_fixtures"]

BROWSER = "tests/browser"
# What takes minutes starts first, so that no process is still at it when the others have ended.
LONGEST = (
    BROWSER,
    "tests/authorization",
    "tests/model_tier",
    "tests/ingestion/pipeline/test_kill",
    "tests/kb_project/management/test_run",
    "tests/kb_project/supervisor",
    "tests/ingestion/lives",
    "tests/retrieval/editions",
    "tests/ingestion/editions",
    "tests/test_migrations",
    "tests/kb_project/database/test_embedded",
)


class ByModule(LoadScopeScheduling):
    """A module's tests share what it sets up, those in a browser the product they look at."""

    def _split_scope(self, nodeid: str) -> str:
        return BROWSER if nodeid.startswith(BROWSER) else nodeid.partition("::")[0]

    def schedule(self) -> None:
        is_first = self.collection is None
        super().schedule()
        if is_first:
            for begin in reversed(LONGEST):
                for scope in [scope for scope in self.workqueue if scope.startswith(begin)]:
                    self.workqueue.move_to_end(scope, last=False)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return ByModule(config, log)


@pytest.hookimpl
def pytest_collection(session: pytest.Session) -> None:
    """Begin at the other end in every second process: then each compiles half of the tests.

    In a fresh checkout, that takes 20 seconds.
    """
    config = session.config
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if config.args == config.getini("testpaths") and int(worker.removeprefix("gw")) % 2:
        for path in sorted(config.rootpath.glob("tests/**/test_*.py"), reverse=True):
            import_module(".".join(path.relative_to(config.rootpath).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Take what was imported and collected out of the garbage collector's sight.

    With twelve thousand tests in memory, every full collection looks at millions of objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
