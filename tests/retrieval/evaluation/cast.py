"""A small workspace to evaluate: three documents, questions about them, Alice, Bob and Charlie."""

from __future__ import annotations

from typing import Any

from kb_project.ports import embedder_named
from retrieval.evaluation import sets
from retrieval.models import QuestionSet, SetQuestion
from tests import rows
from tests.rows import Cast
from workspaces.models import Workspace

KEEPERS = "Ada Lind keeps the Skarrow light. She was born in Orran in 1841."
OIL = "The lamp burns whale oil.\n\nThe boat brings the oil on Fridays."
ROADS = "The quarry road is closed in winter."
DOCUMENTS = {"Keepers": KEEPERS, "Oil": OIL, "Roads": ROADS}
QUESTIONS: tuple[tuple[str, object, str], ...] = (
    ("Who keeps the Skarrow light?", ["Keepers"], "Ada Lind keeps the Skarrow light."),
    (
        "When does the boat bring the oil?",
        [{"doc": "Oil", "chunk": 1}],
        "The boat brings the oil on Fridays.",
    ),
    ("When is the quarry road closed?", ["Roads"], ""),
)


def make_read_workspace(name: str = "Harbour") -> Cast:
    """With words, vectors of the fake embedder, and names."""
    cast = rows.make_cast(name)
    embedder = embedder_named("fake", threads=1)
    for title, text in DOCUMENTS.items():
        names = {"Ada Lind": "PERSON", "Orran": "PLACE"} if title == "Keepers" else {}
        rows.make_document(cast.workspace, title, text, names=names, embedder=embedder)
    rows.make_snapshot(cast.workspace)
    return cast


def make_set(workspace: Workspace, name: str = "Basics") -> QuestionSet:
    """With the questions of ``QUESTIONS``."""
    made = sets.set_create(workspace=workspace, user=None, name=name)
    for text, evidence, answer in QUESTIONS:
        add(workspace, made, text, evidence, answer)
    return made


def add(
    workspace: Workspace, question_set: QuestionSet, text: str, evidence: Any, answer: str = ""
) -> SetQuestion:
    return sets.question_add(
        workspace=workspace,
        question_set=question_set,
        text=text,
        evidence_given=evidence,
        answer=answer,
    )
