"""kill -9 on the model tier: nothing that was answered is asked again."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import pytest

from kb_project.env import child_environment
from tests.data_folders import make_migrated, new_root
from tests.ingestion.pipeline.test_kill import House
from tests.patience import wait_until
from tests.provider import Provider, Seen
from tests.provider_answers import answer_for

pytestmark = pytest.mark.slow

CONCURRENCY = 8  # the default of a workspace
DONE_TWICE: LiteralString = """
SELECT key, count(*) FROM workspaces_modelcall
 WHERE state = 'done' GROUP BY key HAVING count(*) > 1
"""
DONE: LiteralString = "SELECT count(*) FROM workspaces_modelcall WHERE state = 'done'"
UNREAD: LiteralString = """
SELECT count(*) FROM ingestion_chunk AS c
  LEFT JOIN ingestion_chunkextraction AS x
    ON x.workspace_id = c.workspace_id AND x.chunk_id = c.id
 WHERE x.chunk_id IS NULL
"""


class ModelHouse(House):
    """The same house, with a model for every workspace of the installation."""

    def __init__(self, folder: Path, provider: Provider) -> None:
        super().__init__(folder)
        self.provider = provider

    def _environment(self) -> dict[str, str]:
        return child_environment(
            CONCORDANCE_DATA_DIR=str(self.data),
            EMBEDDER="fake",
            MODEL_ENDPOINT=self.provider.url,
            MODEL_NAME=self.provider.model,
            MODEL_KEY=self.provider.key,
            MODEL_FOR="all",
        )


def unhurried(seen: Seen) -> str:
    """The usual answer after a moment, so that there is a middle to be killed in."""
    time.sleep(0.1)
    return answer_for(seen.text, seen.schema)


@pytest.fixture
def house() -> Iterator[ModelHouse]:
    folder = new_root("kb model kill ")
    with Provider() as provider:
        provider.script.on(".", unhurried)
        made = ModelHouse(folder, provider)
        try:
            make_migrated(made.data)
            yield made
        finally:
            made.end()
            shutil.rmtree(folder, ignore_errors=True)


def test_workers_killed_on_the_way_ask_nothing_twice(house: ModelHouse):
    house.ingest()

    kills = 0
    for answered in (3, 15):
        house.start_workers()
        wait_until(lambda answered=answered: house.query(DONE)[0][0] >= answered)
        house.kill_workers()
        kills += 1
    house.start_workers()
    wait_until(house.is_done)

    assert house.query(DONE_TWICE) == []
    assert house.query(UNREAD) == [(0,)]
    asked = Counter(json.dumps(seen.body, sort_keys=True) for seen in house.provider.requests)
    # Only what was under way when a worker died may be asked again: as many calls, and as many
    # replies that had come and were not stored yet.
    assert sum(number - 1 for number in asked.values()) <= kills * 2 * CONCURRENCY
