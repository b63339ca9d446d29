"""What the pages of retrieval show, put together from rows."""

from __future__ import annotations

from retrieval.shown.answers import (
    EMPTY_SCOPE,
    EXTRACTIVE,
    ShownAnswer,
    cited_of,
    shown_answer,
    shown_citation,
)
from retrieval.shown.boxes import AskBox, ask_box, ask_next
from retrieval.shown.explain import explained
from retrieval.shown.modes import ModeGroup, mode_groups
from retrieval.shown.pages import Home, answer_part, ask_page, home, question_page
from retrieval.shown.passages import (
    AFTER,
    BEFORE,
    SNIPPET,
    Passage,
    ShownHit,
    passage_of,
    shortfall,
    shown_hits,
    snippet_of,
    telling_span,
)
from retrieval.shown.progress import Progress, progress_of
from retrieval.shown.scopes import found_choices, scope_panel

__all__ = [
    "AFTER",
    "BEFORE",
    "EMPTY_SCOPE",
    "EXTRACTIVE",
    "SNIPPET",
    "AskBox",
    "Home",
    "ModeGroup",
    "Passage",
    "Progress",
    "ShownAnswer",
    "ShownHit",
    "answer_part",
    "ask_box",
    "ask_next",
    "ask_page",
    "cited_of",
    "explained",
    "found_choices",
    "home",
    "mode_groups",
    "passage_of",
    "progress_of",
    "question_page",
    "scope_panel",
    "shortfall",
    "shown_answer",
    "shown_citation",
    "shown_hits",
    "snippet_of",
    "telling_span",
]
