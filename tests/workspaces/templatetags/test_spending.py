from __future__ import annotations

import doctest
from decimal import Decimal

import pytest
from django.template import engines

from workspaces import money
from workspaces.templatetags import spending


@pytest.mark.parametrize("module", [money, spending])
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
