"""Whether the documents answer a question that nobody has asked yet.

Passages are found by words alone, and then read as they would be for the answer.
"""

from __future__ import annotations

from typing import Final

from kb_project.errors import InputError
from retrieval.answering import extractive
from retrieval.search import lexical, rewrite_rules
from retrieval.search.hits import hydrate
from retrieval.search.query import Query, QuestionVector, clean_question
from retrieval.search.scope_names import named_in
from workspaces import access

PASSAGES: Final = 8


def is_answerable(query: Query, question: str) -> bool:
    """Whether it names somebody or something known, stands by itself, and passages in the query's
    scope hold what it asks for. Call outside transactions."""
    try:
        question = clean_question(question)
    except InputError:
        return False
    candidate = Query(
        query.workspace_id,
        question,
        PASSAGES,
        QuestionVector(query.vector.embedder, question),
        query.documents,
        exclude=query.exclude,
    )
    with access.in_workspace(query.workspace_id):
        names = {one.entity_id for one in named_in(query.workspace_id, question)}
    if not names or names & set(query.exclude) or rewrite_rules.leans_on(question, has_name=True):
        return False
    parts = extractive.prepared(candidate)
    with access.in_workspace(query.workspace_id):
        hits = hydrate(query.workspace_id, lexical.search(candidate))
        return extractive.is_answered(extractive.extract(candidate, hits, parts))
