"""What minutes tell by the labels of their lines: who was there, who was not, who led, who wrote,
what was decided."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import regex

from kb_project.sql import run_sql
from kb_project.text.words import lazy_pattern
from retrieval.answering import sql
from retrieval.answering.candidates import Candidate, candidates
from retrieval.search.query import ScoredChunk
from retrieval.search.results import hydrate

MOST_PASSAGES: Final = 40
"""Passages of minutes that are read."""
MOST_TOLD: Final = 20

_LABELLED: Final = tuple(
    (lazy_pattern(asked, regex.IGNORECASE), label)
    for asked, label in (
        (
            r"\bwho\b.{1,30}(?:\b(?:missing|absent|away|apologi)|(?:\bnot|n['’]t)"
            r" (?:there|present|come|attend|make it))",
            r"apologies|apols|absent|absentees|regrets|excused|not present",
        ),
        (
            r"\bwho\b(?!.*(?:\bnot\b|n['’]t)).{1,30}\b(?:attend|there|present|came|joined|took part"
            r"|in the room)",
            r"present|attend(?:ees|ed|ing|ance)|in attendance|participants|there|those present",
        ),
        (
            r"\bwho\b.{1,20}\b(?:wrote|took|kept|typed|prepared|recorded)\b.{1,20}"
            r"\b(?:minutes|notes)\b",
            r"minutes|notes|minuted|recorded|prepared|taken by|secretary|scribe"
            r"|(?:minute|note)[ -]?taker",
        ),
        (
            r"\bwho\b.{1,10}\b(?:chaired|led|presided|was in the chair|was chair(?:ing)?)\b",
            r"chair(?:ed|ing|person|man|woman)?|in the chair|presiding|moderator|facilitator",
        ),
        (
            r"\b(?:decided?|decisions?|agreed?|resolved?)\b",
            r"decision|decided|agreed|resolved|resolution|outcome|conclusion",
        ),
    )
)


def label_for(question: str) -> str:
    """Return the labels of minutes that say what the question asks for in other words, as a
    pattern; '' if it asks for none.

    >>> label_for("Who was missing at the meeting?").partition("|")[0]
    'apologies'
    """
    return next((label for asked, label in _LABELLED if asked.search(question)), "")


def has_label(text: str, label: str) -> bool:
    """
    >>> missing = label_for("Who was missing at the meeting?")
    >>> has_label("Apologies: Bram", missing), has_label("Present: Ada, Bram", missing)
    (True, False)
    """
    begins = rf"\W*(?:{label})\b[^:.\n]{{0,20}}:"
    return bool(label) and regex.match(begins, text, regex.IGNORECASE) is not None


def told(workspace_id: UUID, document_id: UUID, question: str) -> list[Candidate]:
    """Return all that a document has behind the label which the question asks for, with the lists
    below it. Call in a transaction."""
    label = label_for(question)
    if not label:
        return []
    pattern = rf"({label})[^:.\n]{{0,20}}:"
    values = {"workspace": workspace_id, "documents": [document_id], "pattern": pattern}
    rows = run_sql(sql.PASSAGES_AT, values | {"most": MOST_PASSAGES})
    found = candidates(hydrate(workspace_id, [ScoredChunk(id_, 1.0) for (id_,) in rows]))
    labelled = [one for one in found if has_label(one.said, label)]
    lists = {one.introduces for one in labelled if one.introduces}
    kept = [one for one in found if one in labelled or one.group in lists]
    return kept[:MOST_TOLD]
