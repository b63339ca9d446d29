"""Questions people asked and the answers they got, with the citations each rests on."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from ingestion.models import Chunk, Document
from workspaces.models import TenantModel


class Question(TenantModel):
    """``scope`` is what ``retrieval.search.scope.Scope.as_json`` writes."""

    text = models.TextField()
    mode = models.CharField(max_length=20)
    scope = models.JSONField(default=dict, blank=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "asked_by", "-created_at"], name="question_newest"),
        ]

    def __str__(self) -> str:
        return self.text[:60]


class Answer(TenantModel):
    """``sentences`` is ``[{"text", "citations": [1, …]}, …]``; ``trace`` says how it was found.

    ``nearest`` lists passages near an unanswered question: ``[{"chunk", "document", "start",
    "end", "score"}, …]``.
    """

    question = models.ForeignKey(
        Question,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="answers",
        db_index=False,
    )
    is_supported = models.BooleanField()
    sentences = models.JSONField(default=list)
    nearest = models.JSONField(default=list)
    trace = models.JSONField(default=dict)
    written_by = models.CharField(max_length=40, default="extractive")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["workspace", "question"], name="answer_of_question")]

    def __str__(self) -> str:
        return f"answer to {self.question_id}"


class Citation(TenantModel):
    """A numbered span an answer rests on: ``quote`` equals the document's text there."""

    answer = models.ForeignKey(
        Answer,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="citations",
        db_index=False,
    )
    number = models.PositiveSmallIntegerField()
    document = models.ForeignKey(
        Document, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    chunk = models.ForeignKey(
        Chunk, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+", db_index=False
    )
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    quote = models.TextField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "answer", "number"], name="citation_number_once"
            ),
        ]
        indexes = [models.Index(fields=["workspace", "chunk"], name="citation_of_chunk")]

    def __str__(self) -> str:
        return f"[{self.number}]"
