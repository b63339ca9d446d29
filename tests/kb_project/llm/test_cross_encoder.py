from __future__ import annotations

import numpy as np
import pytest

from kb_project.llm.cross_encoder import E5CrossEncoder
from kb_project.llm.e5 import E5
from kb_project.llm.ports import Told
from kb_project.ports import Ports, build_ports

POLICY = [
    Told("Travel policy", "Taxis", "Plan your journey early.", said)
    for said in (
        "Taxi fares are paid back when no bus or train runs.",
        "Train tickets are booked by the office.",
        "The policy was agreed in March.",
        "Meals abroad are paid by a daily rate.",
    )
]


@pytest.fixture(scope="module")
def model() -> E5CrossEncoder:
    return E5CrossEncoder(E5(1), 1)


def test_the_statement_that_answers_in_other_words_scores_highest(model):
    scores = model.scores("my train was cancelled, do I get the money for the cab back?", POLICY)

    assert scores.argmax() == 0


def test_what_nothing_answers_scores_below_zero(model):
    assert model.scores("who repairs the coffee machine?", POLICY).max() < 0


def test_a_statement_scores_alone_as_among_others(model):
    together = model.scores("who books my ticket?", POLICY)

    alone = [model.scores("who books my ticket?", [one])[0] for one in POLICY]
    assert np.allclose(alone, together, atol=0.05)


def test_no_statements_have_no_scores(model):
    assert model.scores("who books my ticket?", []).shape == (0,)


@pytest.mark.parametrize("text", ["", "a\0b", "\ud800", "word " * 900, "朱元璋是皇帝。"])
def test_strange_text_still_gets_a_score(model, text):
    told = Told(text, text, text, text)

    assert np.isfinite(model.scores(text, [told, *POLICY])).all()


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "cross_encoder.npz"
    path.write_bytes(b"GGUF and more")

    with pytest.raises(ValueError, match="pickle"):
        E5CrossEncoder(E5(1), path=path)


@pytest.mark.django_db
def test_only_the_built_in_model_reads_statements(settings, fake_embedder):
    without: Ports = build_ports()
    settings.EMBEDDER = "local"
    build_ports.cache_clear()

    assert without.cross_encoder is None
    assert build_ports().cross_encoder is not None
