from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from ingestion.knowledge import topics
from ingestion.pipeline import recovery
from ingestion.stages import reports
from kb_project.llm import policy
from kb_project.llm.policy import Breaker
from tests.model_tier.tier import Tier, make_tier
from tests.provider import Provider


@pytest.fixture
def hurried(quick_retries: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are tried again at once, and pauses end with the next sweep."""
    monkeypatch.setattr(policy, "Breaker", partial(Breaker, rest=0.02))
    monkeypatch.setattr(recovery, "SECONDS_OF_PAUSE", 0.0)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


def write_every_topic(patch: pytest.MonkeyPatch) -> None:
    """The papers are short and so are their topics: a model writes about all of them."""
    patch.setattr(reports, "SMALLEST_WRITTEN", 1)
    patch.setattr(topics, "SMALLEST_WRITTEN", 1)


@pytest.fixture(autouse=True)
def every_topic_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    write_every_topic(monkeypatch)


@pytest.fixture
def tier(provider: Provider, media: Path, fake_embedder: None) -> Tier:
    return make_tier(provider)
