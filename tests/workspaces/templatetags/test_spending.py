from __future__ import annotations

import doctest
import re
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings
from django.template import engines

from workspaces.templatetags import spending
from workspaces.usage import queries

APPS = ("ingestion", "kb_project/llm", "retrieval")
STAGE_NAMED = re.compile(r"(?<!\w)About\(\s*\"(\w+)\"|^STAGE(?:: Final)? = \"(\w+)\"", re.MULTILINE)


def stages_in_the_ledger() -> set[str]:
    """Every stage that the source makes calls for."""
    sources = (path for app in APPS for path in (Path(settings.BASE_DIR) / app).rglob("*.py"))
    texts = (path.read_text(encoding="utf-8") for path in sources)
    return {a or b for text in texts if "About(" in text for a, b in STAGE_NAMED.findall(text)}


@pytest.mark.parametrize("module", [queries, spending])
def test_the_examples_hold(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("words", "values", "shown"),
    [
        ("{{ amount|cost }}", {"amount": Decimal("0.0001500000")}, "0.00015"),
        ("{{ amount|cost }}", {"amount": Decimal("1200")}, "1,200.00"),
        ("{{ stage|work }}", {"stage": "situate"}, "Placing passages in their document"),
        ("{{ stage|work }}", {"stage": "new_stage"}, "New stage"),
        ("{{ code|trouble }}", {"code": "key_refused"}, "the key was refused"),
        ("{{ code|trouble }}", {"code": ""}, ""),
    ],
)
def test_a_template_speaks_in_words(words: str, values: dict[str, object], shown: str):
    template = engines["django"].from_string("{% load spending %}" + words)

    assert template.render(values) == shown


def test_every_stage_that_asks_a_model_has_words_for_people():
    stages = stages_in_the_ledger()

    assert {"extract", "plan", "keywords", "search", "answer", "check", "suggest"} <= stages
    assert stages | {"rerank"} <= spending.STAGES.keys()


def test_no_two_stages_are_called_alike():
    assert len(set(spending.STAGES.values())) == len(spending.STAGES)
