"""Models that reason first: everything works, or says which limit to raise."""

from __future__ import annotations

import pytest

from ingestion.models import ChunkExtraction, CommunityReport
from retrieval.conversations import asking
from retrieval.models import Answer, AnswerState
from tests.model_tier.tier import Tier, unaccounted
from workspaces.language_models import testing
from workspaces.models import ModelCall

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.mark.parametrize("tokens", [600, 1_500, 4_000])
def test_a_model_that_reasons_is_tested_reads_reports_answers_and_judges(tier: Tier, tokens: int):
    tier.provider.script.thinks = tokens
    tier.provider.script.on("NO_ANSWER", "Ada Lind looked after the lamp of Skarrow [1].")

    tested = testing.model_test(workspace=tier.workspace)
    tier.add_papers(1)
    tier.drain()
    answer = asking.ask(
        workspace=tier.workspace, user=None, question="Who kept the light of Skarrow?", mode="mix"
    )

    assert tested.works
    assert all(line.is_good for line in tested.lines)
    assert tier.documents() == {"ready": 1}
    assert not tier.problems()
    assert not unaccounted(tier)
    assert {report.written_by for report in tier.rows(CommunityReport)} == {tier.provider.model}
    assert answer.state == AnswerState.DONE
    done = {call.stage for call in tier.calls(ModelCall.State.DONE)}
    assert {"situate", "extract", "reports", "answer", "check"} <= done


def test_reasoning_beyond_the_window_says_which_limit_to_raise(tier: Tier):
    tier.choose(context_window=4_000)
    tier.provider.script.thinks = 4_000

    tier.add_papers(1, paragraphs=2)
    tier.drain()

    assert tier.documents() == {"ready": 1}
    assert not unaccounted(tier)
    [said] = {one.problem["next_step"] for one in tier.rows(ChunkExtraction) if one.problem}
    assert "Raise the model's context window or this role's limit" in said
    assert not tier.count(Answer)
