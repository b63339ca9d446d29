"""The model's server goes away in the middle, three times: nothing is lost, no one does anything.

Here it is back once all work has paused; ``benchmarks/outages.py`` has real waits and processes.
"""

from __future__ import annotations

import random

import pytest

from ingestion.models import Chunk
from tests.model_tier.tier import Tier, unaccounted
from tests.provider import Seen
from tests.provider_answers import answer_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

OUTAGES = 3


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("seed", [1, 2])
def test_three_outages_in_the_middle_lose_no_passage(tier: Tier, seed: int):
    chosen = random.Random(seed)
    moments = [chosen.randint(5, 15)]
    begun: list[int] = []

    def answer(seen: Seen) -> str:
        number = tier.provider.count()
        if len(begun) < OUTAGES and number >= moments[-1]:
            begun.append(number)
            moments.append(number + chosen.randint(8, 20))
            tier.provider.script.is_down = True
        return answer_for(seen.text, seen.schema)

    def back() -> None:
        tier.provider.script.is_down = False

    tier.provider.script.on("", answer)
    tier.add_papers(4, paragraphs=40)

    paused = tier.drain_and_sweep(4, before_sweep=back)

    assert len(begun) == OUTAGES
    assert paused >= OUTAGES
    assert tier.documents() == {"ready": 4}
    assert tier.count(Chunk) >= 8
    assert not tier.problems()
    assert not unaccounted(tier)
