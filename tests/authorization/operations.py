"""Every page and every operation of the API, one a line, with what it needs."""

from __future__ import annotations

from tests.authorization.of_ingestion import CURATION, DOCUMENTS
from tests.authorization.of_retrieval import EVALUATION, QUESTIONS_AND_ANSWERS
from tests.authorization.of_workspaces import ACCOUNTS, INSTALLATION, MODELS, PEOPLE
from tests.authorization.operation import STAFF

TABLE = [
    *ACCOUNTS,
    *INSTALLATION,
    *PEOPLE,
    *MODELS,
    *DOCUMENTS,
    *CURATION,
    *QUESTIONS_AND_ANSWERS,
    *EVALUATION,
]

NAMESPACES = {"admin": STAFF}
"""Namespaces of pages that are not ours: what those without a line of their own need."""
