from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_tier.tier import Tier, make_tier
from tests.provider import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


@pytest.fixture
def tier(provider: Provider, media: Path, fake_embedder: None) -> Tier:
    return make_tier(provider)
