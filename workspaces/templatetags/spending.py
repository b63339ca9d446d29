"""Calls and their cost, in words for the Usage page."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from django import template

from workspaces.usage.queries import money

register = template.Library()

STAGES: Final = {
    "situate": "Placing passages in their document",
    "extract": "Finding entities and facts",
    "resolve": "Telling names apart",
    "describe": "Describing entities",
    "conflicts": "Looking for contradictions",
    "reports": "Writing reports on topics",
    "tree": "Summarising documents",
    "questions": "Asking what topics answer",
    "tune": "Learning from the documents",
    "embed": "Preparing search by meaning",
    "reembed": "Changing the embedding model",
    "test": "Testing the endpoint",
    "plan": "Understanding questions in their conversation",
    "keywords": "Choosing what to look questions up by",
    "search": "Reading topics and following questions up",
    "rerank": "Putting passages in order",
    "answer": "Writing answers",
    "check": "Checking answers",
    "suggest": "Suggesting what to ask next",
    "evaluate": "Evaluating answers",
}
TROUBLES: Final = {
    "reply_invalid": "not in the form asked for",
    "reply_truncated": "broke off before its end",
    "reply_empty": "empty",
    "reply_refused": "the model refused",
    "reply_timeout": "took too long",
    "context_too_long": "the text was too long for the model",
    "prompt_cut": "the server read only part of the text",
    "endpoint_down": "the endpoint did not answer",
    "endpoint_busy": "the endpoint was busy",
    "endpoint_not_a_model": "not a model's answer",
    "key_refused": "the key was refused",
    "access_refused": "the endpoint did not allow the call",
    "model_unknown": "the endpoint has no such model",
    "credit_spent": "the provider's credit is spent",
    "request_refused": "the endpoint refused the request",
    "stopped": "stopped by the reader",
}


@register.filter
def cost(amount: Decimal | float) -> str:
    """
    >>> cost(Decimal("0.0012300")), cost(Decimal(0))
    ('0.0012', '0')
    """
    return money(float(amount))


@register.filter
def work(stage: str) -> str:
    """Describe a stage's work; an unknown stage goes by its name.

    >>> work("answer"), work("new_stage")
    ('Writing answers', 'New stage')
    """
    return STAGES.get(stage, stage.replace("_", " ").capitalize())


@register.filter
def trouble(code: str) -> str:
    """
    >>> trouble("reply_empty"), trouble("something_new")
    ('empty', 'something new')
    """
    return TROUBLES.get(code, code.replace("_", " "))
