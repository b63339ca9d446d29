"""Questions and answers as the API takes and gives them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import reverse
from rest_framework import serializers

from ingestion.knowledge.spans import SourceSpanSerializer
from retrieval.answering import context_only
from retrieval.answering.options import ResponseType
from retrieval.conversations import queries
from retrieval.conversations.queries import Asked
from retrieval.models import Answer, AnswerState, Outcome
from retrieval.search.api import NoteSerializer, ScopeSerializer, TopicsSerializer
from retrieval.search.modes import ANSWER_MODES, DEFAULT_MODE
from retrieval.search.query import LONGEST_QUESTION
from workspaces.language_models.choice import LONGEST_INSTRUCTIONS


class CheckSerializer(serializers.Serializer[Any]):
    """Whether the passages a sentence cites support it."""

    verdict = serializers.CharField(help_text="supported, unsupported, general or conflict.")
    by = serializers.CharField(help_text="quote, likeness, or the judge model's name.")
    score = serializers.FloatField()


class SentenceSerializer(serializers.Serializer[Any]):
    """A sentence of an answer. ``spans`` are ``[number, start, end]`` in the cited document.

    ``marked`` are ``[start, end]`` offsets in ``text`` of the words that answer the question.
    """

    text = serializers.CharField()
    citations = serializers.ListField(child=serializers.IntegerField())
    spans = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()), default=list
    )
    marked = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()), default=list
    )
    check = CheckSerializer(allow_null=True, default=None)


class CitationSerializer(serializers.Serializer[Any]):
    """A cited passage. ``quote`` equals the document's text from ``start`` to ``end``.

    If the document was deleted for good, the quote is empty and the id is null.
    """

    number = serializers.IntegerField()
    document = serializers.UUIDField(source="document_id", allow_null=True)
    title = serializers.CharField()
    chunk = serializers.UUIDField(source="chunk_id")
    version = serializers.IntegerField(
        source="version_number", help_text="The document version that the offsets refer to."
    )
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    quote = serializers.CharField(trim_whitespace=False)
    spans = serializers.ListField(child=serializers.ListField(child=serializers.IntegerField()))


class NearestSerializer(SourceSpanSerializer):
    """A passage that comes close to a question the documents may not answer."""


class TroubleSerializer(serializers.Serializer[Any]):
    """Why there is no answer."""

    code = serializers.CharField()
    happened = serializers.CharField()
    kept = serializers.CharField()
    next_step = serializers.CharField()


class AnswerSerializer(serializers.Serializer[Any]):
    """An answer with its question."""

    id = serializers.UUIDField(source="answer.pk")
    question_id = serializers.UUIDField(source="question.pk")
    conversation = serializers.UUIDField(source="question.conversation_id", allow_null=True)
    question = serializers.CharField(source="question.text")
    standalone = serializers.CharField(
        source="question.standalone",
        help_text="The question as rewritten from the conversation; empty if unchanged.",
    )
    mode = serializers.CharField(source="question.mode", help_text="The mode requested.")
    mode_used = serializers.CharField(source="answer.mode")
    scope = serializers.DictField(source="question.scope")
    options = serializers.DictField(
        source="answer.options",
        help_text="`response`, `instructions`, `level` and `selection`, if they were chosen.",
    )
    state = serializers.ChoiceField(source="answer.state", choices=AnswerState.choices)
    problem = TroubleSerializer(source="answer.problem", allow_null=True)
    answer = serializers.CharField(source="answer.text")
    outcome = serializers.ChoiceField(
        source="answer.written_outcome",
        choices=Outcome.values,
        allow_null=True,
        help_text="Null until the answer is written.",
    )
    message = serializers.CharField(
        source="answer.message", help_text="What to show if there is no answer; otherwise empty."
    )
    probability = serializers.FloatField(
        source="answer.trace.probability",
        default=None,
        allow_null=True,
        help_text="Probability, 0 to 1, that the documents answer this; null if a model answered.",
    )
    supported = serializers.BooleanField(
        source="answer.is_supported", help_text="True only if the outcome is `answered`."
    )
    sentences = SentenceSerializer(many=True, source="answer.sentences")
    citations = CitationSerializer(many=True)
    entities = serializers.SerializerMethodField(
        help_text="Ids of the entities that the cited passages name, for `graph/view/`."
    )
    nearest = NearestSerializer(many=True, help_text="Given if the outcome is `unsure`.")
    follow_ups = serializers.ListField(
        child=serializers.CharField(), source="answer.follow_ups", help_text="Suggested questions."
    )
    written_by = serializers.CharField(source="answer.written_by")
    trace = serializers.DictField(source="answer.trace")
    events = serializers.SerializerMethodField(help_text="URL of the event stream.")
    created_at = serializers.DateTimeField(source="answer.created_at")
    finished_at = serializers.DateTimeField(source="answer.finished_at", allow_null=True)

    def get_entities(self, asked: Asked) -> list[UUID]:
        if not asked.citations:
            return []
        workspace = asked.answer.workspace
        return queries.entities_cited(workspace=workspace, citations=asked.citations)

    def get_events(self, asked: Asked) -> str:
        return events_address(asked.answer)


class OptionsSerializer(TopicsSerializer):
    """How the answer is wanted. Without a chat model, only `short` changes it."""

    response = serializers.ChoiceField(
        choices=[each.value for each in ResponseType],
        required=False,
        help_text="The form: `report` is written section by section, each with a heading.",
    )
    instructions = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=LONGEST_INSTRUCTIONS,
        help_text="Wishes on form, tone, language and emphasis. They do not change how sources are"
        " cited.",
    )


class QuestionSerializer(OptionsSerializer):
    question = serializers.CharField(max_length=LONGEST_QUESTION)
    mode = serializers.ChoiceField(choices=list(ANSWER_MODES), default=DEFAULT_MODE)
    scope = ScopeSerializer(required=False)
    conversation = serializers.UUIDField(
        required=False, help_text="One of your conversations, to continue it."
    )


class AskSerializer(QuestionSerializer):
    only = serializers.ChoiceField(
        choices=list(context_only.CHOICES),
        required=False,
        help_text="`context`: what an answer would be written from; `prompt`: also the messages a"
        " model would get. No answer is made, nothing is stored.",
    )


class ContextItemSerializer(serializers.Serializer[Any]):
    """An item of a context; ``sources`` are numbers of passages."""

    section = serializers.CharField(help_text="reports, records, summaries, points or passages.")
    label = serializers.CharField(  # type: ignore[assignment]  # the API's word for it
        help_text="By which an answer may cite it; a point has none."
    )
    id = serializers.UUIDField(allow_null=True)
    text = serializers.CharField(trim_whitespace=False)
    tokens = serializers.IntegerField()
    sources = serializers.ListField(child=serializers.IntegerField())


class ContextPassageSerializer(serializers.Serializer[Any]):
    """A passage: ``text`` is the document's text from ``start`` to ``end``."""

    number = serializers.IntegerField()
    chunk = serializers.UUIDField()
    document = serializers.UUIDField()
    title = serializers.CharField()
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    headings = serializers.ListField(child=serializers.CharField())
    page = serializers.IntegerField(allow_null=True)
    text = serializers.CharField(trim_whitespace=False)
    score = serializers.FloatField()
    why = serializers.ListField(child=serializers.CharField())


class MessageSerializer(serializers.Serializer[Any]):
    """A message, as chat models take it."""

    role = serializers.CharField()
    content = serializers.CharField(trim_whitespace=False)


class ContextSerializer(serializers.Serializer[Any]):
    """What an answer would be written from."""

    plan = serializers.DictField(help_text="As in an answer's trace.")
    text = serializers.CharField(trim_whitespace=False)
    tokens = serializers.IntegerField()
    items = ContextItemSerializer(many=True)
    passages = ContextPassageSerializer(many=True)
    messages = MessageSerializer(
        many=True, help_text="Empty unless asked for, and if no model would be asked."
    )
    notes = NoteSerializer(many=True)


class QueuedSerializer(serializers.Serializer[Any]):
    """An answer in progress. Follow it at ``events``, read it at ``answers/<id>/``."""

    id = serializers.UUIDField(source="pk")
    question_id = serializers.UUIDField()
    conversation = serializers.UUIDField(source="question.conversation_id", allow_null=True)
    state = serializers.ChoiceField(choices=AnswerState.choices)
    events = serializers.SerializerMethodField()

    def get_events(self, answer: Answer) -> str:
        return events_address(answer)


def events_address(answer: Answer) -> str:
    return reverse("retrieval_api:answer_events", args=[answer.workspace_id, answer.pk])
