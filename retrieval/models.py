"""Questions people asked, their answers with the citations each rests on, and evaluations."""

from __future__ import annotations

from typing import ClassVar, Final

from django.conf import settings
from django.db import models

from ingestion.models import Chunk, Document
from workspaces.models import TenantForeignKey, TenantModel, Workspace
from workspaces.models.people import TenantQuerySet


class Conversation(TenantModel):
    """A series of questions, each understood in the light of those before."""

    title = models.CharField(max_length=200)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "asked_by", "-updated_at"], name="conversation_new"),
        ]

    def __str__(self) -> str:
        return self.title[:60]


class Question(TenantModel):
    """``scope`` is as from ``retrieval.search.scope.Scope.as_json``, ``mode`` what was chosen.

    ``standalone`` is the question as searched for, if understanding it took the conversation before
    it; else ''.
    """

    conversation = TenantForeignKey(Conversation, null=True, blank=True, related_name="questions")
    text = models.TextField()
    standalone = models.TextField(blank=True, default="", db_default="")
    mode = models.CharField(max_length=20)
    scope = models.JSONField(default=dict, blank=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "asked_by", "-created_at"], name="question_newest"),
            models.Index(
                fields=["workspace", "conversation", "created_at"], name="question_in_conversation"
            ),
        ]

    def __str__(self) -> str:
        return self.text[:60]


class AnswerState(models.TextChoices):
    """QUEUED → RUNNING → DONE, FAILED or STOPPED. A new try is a new answer."""

    QUEUED = "queued", "Waiting"
    RUNNING = "running", "Being answered"
    DONE = "done", "Answered"
    FAILED = "failed", "Could not be answered"
    STOPPED = "stopped", "Stopped"


NEXT_STEP: Final = "Try other words, or add a document that covers it."
"""What to do if the documents say nothing."""
NOT_SEARCHED: Final = frozenset({"scope_empty", "nothing_to_search"})
"""Codes of the notes that say why nothing was searched."""


class Outcome(models.TextChoices):
    """The outcome of an answer, with the sentence that states it on pages, in the API and in
    commands.

    UNSURE comes with the nearest passages; NOTHING comes with none.
    """

    ANSWERED = "answered", ""
    UNSURE = "unsure", "Your documents may not answer this. These passages come closest."
    NOTHING = "nothing", "Your documents say nothing about this."


class Answer(TenantModel):
    """One try at answering a question: a job, its events, and what came of it.

    ``outcome`` is an ``Outcome`` once the answer is written; ``is_supported`` is true only for
    ANSWERED. ``sentences`` is ``[{"text", "citations": [1, …], "spans": [[number, start, end], …],
    "marked": [[start, end], …], "check": {"verdict", "by", "score"}}, …]``, where ``marked`` are
    the words of ``text`` that answer; ``nearest`` lists passages near an unanswered question:
    ``[{"chunk", "document", "version", "start", "end", "score"}, …]``; ``trace`` says how it was
    found, in figures and ids. ``mode`` is the one used if the question left the choice open;
    ``options`` are as from ``retrieval.answering.options.AnswerOptions.as_json``.
    ``problem`` is ``{"code", "happened", "kept", "next_step"}``. A worker holds ``lease_until``
    while it works. A running answer with a trace is written, and only its follow-up questions are
    still to come. ``cache_key`` identifies question, scope, models and the state of the documents.
    """

    question = TenantForeignKey(Question, related_name="answers")
    state = models.CharField(
        max_length=10,
        choices=AnswerState.choices,
        default=AnswerState.DONE,
        db_default=AnswerState.DONE,
    )
    mode = models.CharField(max_length=20, blank=True, default="", db_default="")
    options = models.JSONField(default=dict, db_default={}, blank=True)
    outcome = models.CharField(max_length=16, default=Outcome.ANSWERED, db_default=Outcome.ANSWERED)
    is_supported = models.BooleanField(default=False)
    sentences = models.JSONField(default=list)
    nearest = models.JSONField(default=list)
    trace = models.JSONField(default=dict)
    follow_ups = models.JSONField(default=list, db_default=[])
    problem = models.JSONField(null=True, blank=True)
    written_by = models.CharField(max_length=120, default="extractive")
    cache_key = models.CharField(max_length=64, blank=True, default="", db_default="")
    wants_stop = models.BooleanField(default=False, db_default=False)
    worker = models.CharField(max_length=100, blank=True, default="", db_default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    WRITTEN: ClassVar = ~models.Q(trace={})

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "question"], name="answer_of_question"),
            models.Index(
                fields=["workspace", "cache_key", "-created_at"],
                name="answer_cached",
                condition=models.Q(state="done") & ~models.Q(cache_key=""),
            ),
            models.Index(
                fields=["workspace", "state"],
                name="answer_unfinished",
                condition=models.Q(state__in=["queued", "running"]),
            ),
        ]

    def __str__(self) -> str:
        return f"answer to {self.question_id}"

    @property
    def is_finished(self) -> bool:
        return self.state not in (AnswerState.QUEUED, AnswerState.RUNNING)

    @property
    def is_written(self) -> bool:
        return bool(self.trace)

    @property
    def text(self) -> str:
        return " ".join(str(sentence["text"]) for sentence in self.sentences)

    @property
    def written_outcome(self) -> str | None:
        """None until the answer is written, and if it failed or was stopped before that."""
        return self.outcome if self.is_written else None

    @property
    def message(self) -> str:
        """What to say if there is no answer, or why nothing was searched; else ''."""
        if not self.is_written or self.outcome == Outcome.ANSWERED:
            return ""
        notes = self.trace.get("notes", [])
        why = (str(one["sentence"]) for one in notes if one["code"] in NOT_SEARCHED)
        return next(why, str(Outcome(self.outcome).label))


class AnswerEvent(models.Model):
    """An event in making an answer, in order; replayed to anyone who follows later.

    ``kind`` and ``payload`` are described in ``retrieval.search.reporting``.
    """

    pk = models.CompositePrimaryKey("workspace_id", "answer_id", "sequence")
    workspace = models.ForeignKey(
        Workspace, on_delete=models.DO_NOTHING, related_name="+", db_index=False
    )
    answer = TenantForeignKey(Answer, related_name="events")
    sequence = models.PositiveIntegerField()
    kind = models.CharField(max_length=20)
    payload = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TenantQuerySet.as_manager()

    class Meta:
        ordering = ["sequence"]

    def __str__(self) -> str:
        return f"{self.sequence} {self.kind}"


class Citation(TenantModel):
    """A passage an answer rests on, with the same number wherever it is shown.

    ``start`` to ``end`` is the span it is first cited for, ``quote`` the document's text there;
    ``spans`` are all spans, ``[[start, end], …]``. Offsets are in the document's version
    ``version_number``, whatever version is live now. Deleting a document permanently deletes the
    quote too: then ``source_deleted_at`` says when, and the number stays.
    """

    answer = TenantForeignKey(Answer, related_name="citations")
    number = models.PositiveSmallIntegerField()
    document = TenantForeignKey(Document, null=True)
    source_deleted_at = models.DateTimeField(null=True, blank=True)
    chunk = TenantForeignKey(Chunk)
    version_number = models.PositiveIntegerField(default=1, db_default=1)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    quote = models.TextField()
    spans = models.JSONField(default=list, db_default=[])

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "answer", "number"], name="citation_number_once"
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "chunk"], name="citation_of_chunk"),
            models.Index(fields=["workspace", "document"], name="citation_of_document"),
        ]

    def __str__(self) -> str:
        return f"[{self.number}]"

    @property
    def title(self) -> str:
        """The document's title, or that it was deleted."""
        if self.document is not None:
            return self.document.title
        when = f" on {self.source_deleted_at:%-d %B %Y}" if self.source_deleted_at else ""
        return f"A document that was deleted{when}"


# --- evaluation: question sets that a workspace measures itself by, and the runs over them --------


class QuestionSet(TenantModel):
    """A named list of questions to measure with."""

    name = models.CharField(max_length=120)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="question_set_once"),
        ]

    def __str__(self) -> str:
        return self.name


class SetQuestion(TenantModel):
    """A question, what a good answer says, and where the documents say it.

    ``evidence`` is ``[{"document": id or title, "chunk": ordinal or null, "quote": text or ""},
    …]``. A question made from the documents counts once a person has accepted it.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        ACCEPTED = "accepted", "Accepted"
        REJECTED = "rejected", "Rejected"

    question_set = TenantForeignKey(QuestionSet, related_name="questions")
    ordinal = models.PositiveIntegerField()
    text = models.TextField()
    answer = models.TextField(blank=True)
    evidence = models.JSONField(default=list)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACCEPTED)
    origin = models.CharField(max_length=20, default="person", help_text="person, file, documents")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["ordinal"]
        indexes = [models.Index(fields=["workspace", "question_set"], name="question_of_set")]

    def __str__(self) -> str:
        return self.text[:60]


class RunProgress(models.TextChoices):
    QUEUED = "queued", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    STOPPED = "stopped", "Stopped"


class RunKind(models.TextChoices):
    MEASURE = "measure", "Measuring"
    MAKE = "make", "Making questions"


class EvaluationRun(TenantModel):
    """A set's questions put to several modes at one state of the documents.

    QUEUED → RUNNING → DONE, FAILED or STOPPED; back to QUEUED if someone continues a run that
    failed, stopped or has failed questions: existing results are kept. ``summary`` is ``{mode:
    {metric: value}}``; ``modes`` and ``ks`` are what was requested; ``answers`` says whether
    answers were judged too, or only passages. ``conditions`` is what may differ between runs:
    ``{"documents", "passages", "embedder", "answers_by"}``. A run of kind MAKE makes questions from
    the documents: ``conditions["chunks"]`` are the passages, of which the first ``done`` are
    finished. ``lease_until`` is set while ``worker`` works.
    """

    kind = models.CharField(
        max_length=10, choices=RunKind.choices, default=RunKind.MEASURE, db_default=RunKind.MEASURE
    )
    question_set = TenantForeignKey(QuestionSet, related_name="runs")
    modes = models.JSONField(default=list)
    ks = models.JSONField(default=list)
    answers = models.BooleanField(default=False)
    judged_by = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=10, choices=RunProgress.choices, default=RunProgress.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    wants_stop = models.BooleanField(default=False)
    worker = models.CharField(max_length=100, blank=True, default="", db_default="")
    lease_until = models.DateTimeField(null=True, blank=True)
    conditions = models.JSONField(default=dict, db_default={})
    summary = models.JSONField(default=dict)
    problem = models.JSONField(null=True, blank=True)
    corpus = models.CharField(max_length=64, blank=True, help_text="State of the documents.")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["workspace", "question_set", "-created_at"], name="run_of_set_newest"
            ),
            models.Index(
                fields=["workspace", "state"],
                name="run_unfinished",
                condition=models.Q(state__in=["queued", "running"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.question_set_id} at {self.created_at:%Y-%m-%d %H:%M}"


class EvaluationResult(TenantModel):
    """One question in one mode of one run: its metrics, and what they were measured on."""

    run = TenantForeignKey(EvaluationRun, related_name="results")
    question = TenantForeignKey(SetQuestion, related_name="results")
    mode = models.CharField(max_length=20)
    metrics = models.JSONField(default=dict)
    answer = models.TextField(blank=True)
    passages = models.JSONField(default=list)
    claims = models.JSONField(
        default=dict, help_text="Claims of both answers and what each entails."
    )
    problem = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "run", "question", "mode"], name="result_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.mode} of {self.question_id}"
