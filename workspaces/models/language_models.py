"""The language models of a workspace: their settings, prices, budget, replies, calls
and indexes.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from workspaces.models.people import TenantForeignKey, TenantModel


class RerankerKind(models.TextChoices):
    OFF = "off", "Off"
    ENDPOINT = "endpoint", "An endpoint"
    MODEL = "model", "The chat model"


class ModelSettings(TenantModel):
    """A workspace's chat models. Without an ``endpoint`` it uses the installation's, if there is
    one and ``is_local`` does not forbid it, and the local tier otherwise.

    ``sealed_key`` is the endpoint's key, encrypted; it is never shown again, ``key_hint`` is its
    end. ``model`` serves every role that ``role_models`` names no model for; that is ``{role:
    model}``, ``limits`` is ``{role: {"max_output", "timeout"}}``, and ``parameters`` is what a
    role's requests to an endpoint of its own say besides, roles as in
    ``kb_project.llm.ports.Role``. ``support`` is what the endpoint was found to support:
    ``{"schema", "json", "stream", …}``. ``tuning`` was learned from the documents: ``{"domain",
    "language", "examples", "types", "persona", "report_rating", "report_language"}``.
    ``allows_general`` lets answers add general knowledge, marked as
    such; ``wants_judge`` has a model compare each sentence of an answer with what it cites;
    with ``local_extraction`` passages are read without the model, as on the local tier;
    ``instructions`` go into the prompt of every answer.
    ``may_use_installation`` is the operator's permission to use the installation's model.
    ``reranker`` reorders a search's passages; ``rerank_*`` configure the kind ``endpoint``, which
    has its own key.
    """

    endpoint = models.CharField(max_length=500, blank=True)
    sealed_key = models.BinaryField(default=b"", blank=True)
    key_hint = models.CharField(max_length=8, blank=True)
    is_local = models.BooleanField(default=False, db_default=False)
    may_use_installation = models.BooleanField(default=False, db_default=False)
    model = models.CharField(max_length=120, blank=True, default="", db_default="")
    role_models = models.JSONField(default=dict, blank=True)
    limits = models.JSONField(default=dict, blank=True)
    parameters = models.JSONField(default=dict, blank=True)
    concurrency = models.PositiveSmallIntegerField(default=8)
    context_window = models.PositiveIntegerField(default=16_000, help_text="Tokens.")
    support = models.JSONField(default=dict, blank=True)
    gleanings = models.PositiveSmallIntegerField(default=1)
    wants_claims = models.BooleanField(default=False)
    allows_general = models.BooleanField(default=False, db_default=False)
    wants_judge = models.BooleanField(default=True, db_default=True)
    local_extraction = models.BooleanField(default=False, db_default=False)
    instructions = models.TextField(default="", db_default="", blank=True)
    entity_types = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    tuning = models.JSONField(default=dict, blank=True)
    reranker = models.CharField(
        max_length=8,
        choices=RerankerKind.choices,
        default=RerankerKind.OFF,
        db_default=RerankerKind.OFF,
    )
    rerank_endpoint = models.CharField(max_length=500, blank=True, default="", db_default="")
    rerank_sealed_key = models.BinaryField(default=b"", db_default=b"", blank=True)
    rerank_key_hint = models.CharField(max_length=8, blank=True, default="", db_default="")
    rerank_model = models.CharField(max_length=120, blank=True, default="", db_default="")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace"], name="model_settings_once"),
        ]

    def __str__(self) -> str:
        return self.endpoint or "local tier"


class ModelPrice(TenantModel):
    """The price of a model per million tokens, in the currency of the workspace's budget."""

    model = models.CharField(max_length=120)
    prompt = models.DecimalField(max_digits=12, decimal_places=4)
    cached_prompt = models.DecimalField(max_digits=12, decimal_places=4)
    completion = models.DecimalField(max_digits=12, decimal_places=4)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "model"], name="model_price_once"),
        ]

    def __str__(self) -> str:
        return self.model


class ModelBudget(TenantModel):
    """A workspace's limit on model spending; without a ``cap``, no limit.

    ``spent`` counts calls in progress at their maximum cost, so that the cap holds however many
    workers call at once.
    """

    cap = models.DecimalField(max_digits=14, decimal_places=6, null=True, blank=True)
    spent = models.DecimalField(max_digits=18, decimal_places=10, default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace"], name="model_budget_once"),
        ]

    def __str__(self) -> str:
        return f"{self.spent} of {self.cap}"


class CachedReply(TenantModel):
    """A model's reply, keyed by model, parameters, prompt version and input.

    Only complete replies are stored: never one that was cut off or did not fit its schema.
    """

    key = models.CharField(max_length=64, help_text="SHA-256 of everything that shaped it.")
    role = models.CharField(max_length=12)
    prompt = models.CharField(max_length=60)
    model = models.CharField(max_length=120)
    text = models.TextField()
    prompt_tokens = models.PositiveIntegerField()
    completion_tokens = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "key"], name="cached_reply_once"),
        ]

    def __str__(self) -> str:
        return self.prompt


class ModelCall(TenantModel):
    """The ledger: one row per call. It outlives the documents and questions of the calls.

    An ``OPEN`` call counts at its maximum cost; a call left open by a crash keeps that, since it is
    unknown whether the provider charged for it. ``CACHED`` calls cost nothing. ``is_installation``
    calls were made with the installation's model, under the limit of the person ``payer``.
    """

    class State(models.TextChoices):
        OPEN = "open", "Under way"
        DONE = "done", "Answered"
        CACHED = "cached", "Answered from the cache"
        FAILED = "failed", "Failed"

    key = models.CharField(max_length=64)
    stage = models.CharField(max_length=20)
    role = models.CharField(max_length=12)
    prompt = models.CharField(max_length=60)
    prompt_version = models.CharField(max_length=12)
    model = models.CharField(max_length=120)
    document_id = models.UUIDField(null=True)
    chunk_id = models.UUIDField(null=True)
    question_id = models.UUIDField(null=True)
    state = models.CharField(max_length=8, choices=State.choices)
    code = models.CharField(max_length=60, blank=True, help_text="Of the error, when it failed.")
    prompt_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=18, decimal_places=10, default=0)
    seconds = models.FloatField(default=0)
    is_installation = models.BooleanField(default=False, db_default=False)
    # No constraint: the ledger outlives the account.
    payer = TenantForeignKey(settings.AUTH_USER_MODEL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "-created_at"], name="model_call_newest"),
            models.Index(fields=["workspace", "document_id"], name="model_call_document"),
            models.Index(
                fields=["workspace", "question_id"],
                condition=models.Q(question_id__isnull=False),
                name="model_call_question",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stage} {self.model} {self.state}"


class InstallationSpending(models.Model):
    """What the installation's model cost in a month, open calls at their maximum cost.

    ``kind`` and ``subject`` are a workspace and its id, a person and theirs, or all of them. It is
    no tenant's row: a person's and the installation's sums run across workspaces.
    """

    month = models.DateField()
    kind = models.CharField(max_length=10)
    subject = models.CharField(max_length=36, blank=True)
    spent = models.DecimalField(max_digits=18, decimal_places=10, default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["month", "kind", "subject"], name="installation_spending_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.spent} in {self.month:%Y-%m}"


class IndexState(models.TextChoices):
    """States of an embedding index.

    ::

        BUILDING ─▶ ACTIVE ─▶ RETIRED
           └──────────────────▶ RETIRED   (given up)
    """

    BUILDING = "building", "Being made"
    ACTIVE = "active", "In use"
    RETIRED = "retired", "No longer used"


class EmbeddingIndex(TenantModel):
    """The model that makes a workspace's vectors; without a row, the one in the settings.

    ``provider`` is local, endpoint, or installation for a model at the installation's endpoint.

    A change builds a second index beside the first, and swaps them once it is complete.
    """

    provider = models.CharField(max_length=12, default="endpoint")
    endpoint = models.CharField(max_length=500, blank=True)
    sealed_key = models.BinaryField(default=b"", blank=True)
    model = models.CharField(max_length=120, blank=True)
    dimension = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=80)
    state = models.CharField(max_length=10, choices=IndexState.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "state"],
                condition=~models.Q(state="retired"),
                name="embedding_index_one_of_a_state",
            ),
        ]

    def __str__(self) -> str:
        return self.fingerprint
