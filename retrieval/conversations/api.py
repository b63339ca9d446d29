"""API for asking questions, reading answers and following them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from retrieval.answering import context_only
from retrieval.conversations import asking, queries, streaming
from retrieval.conversations.queries import Asked
from retrieval.models import Answer, AnswerState, Outcome
from retrieval.search.api import DEFAULT_MODE, NoteSerializer, ScopeSerializer
from retrieval.search.modes import ANSWER_MODES
from retrieval.search.query import LONGEST_QUESTION
from retrieval.search.scope import Scope
from workspaces import access
from workspaces.api import WaitingAPIView, WorkspaceAPIView, reading


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


class NearestSerializer(serializers.Serializer[Any]):
    """A passage that comes close to a question the documents may not answer."""

    document = serializers.UUIDField(source="document.pk")
    title = serializers.CharField(source="document.title")
    chunk = serializers.UUIDField(source="chunk_id")
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    text = serializers.CharField(trim_whitespace=False)


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
    state = serializers.ChoiceField(source="answer.state", choices=AnswerState.choices)
    problem = TroubleSerializer(source="answer.problem", allow_null=True)
    answer = serializers.SerializerMethodField()
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

    def get_answer(self, asked: Asked) -> str:
        return " ".join(sentence["text"] for sentence in asked.answer.sentences)

    def get_entities(self, asked: Asked) -> list[UUID]:
        if not asked.citations:
            return []
        workspace = asked.answer.workspace
        return queries.entities_cited(workspace=workspace, citations=asked.citations)

    def get_events(self, asked: Asked) -> str:
        return events_address(asked.answer)


class QuestionSerializer(serializers.Serializer[Any]):
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


def _wanted(view: WorkspaceAPIView) -> dict[str, Any]:
    body = view.body()
    return {
        "workspace": view.workspace,
        "user": view.request.user,
        "question": body["question"],
        "mode": body["mode"],
        "scope": Scope.from_json(body.get("scope")),
        "conversation_id": body.get("conversation"),
    }


class AskApi(WaitingAPIView):
    """Ask a question and wait for the answer."""

    @reading(
        "ask",
        takes=AskSerializer,
        gives=AnswerSerializer,
        previews=ContextSerializer,
        status=201,
        errors=(409,),
    )
    def post(self) -> object:
        """Ask a question and wait for the answer. It can be read again later by its id.

        With `only`, return what it would be written from.
        """
        if only := self.body().get("only"):
            context = asking.context_for(**_wanted(self), only=only)
            return Response(ContextSerializer(context).data)
        answer = asking.ask(**_wanted(self))
        with access.in_workspace(self.workspace.pk):
            asked = queries.asked(workspace=self.workspace, question_id=answer.question_id)
            return self.answer(asked)


class QuestionsApi(WorkspaceAPIView):
    """Ask without waiting: a worker makes the answer."""

    @reading(
        "question_ask",
        takes=QuestionSerializer,
        gives=QueuedSerializer,
        status=202,
        errors=(403, 409),
    )
    def post(self) -> object:
        """Ask a question without waiting. Follow the answer's events, or read the answer later."""
        return asking.question_ask(**_wanted(self))


class AnswerApi(WorkspaceAPIView):
    """An answer, in progress or finished."""

    @reading("answer", gives=AnswerSerializer)
    def get(self, answer_id: UUID) -> object:
        """Return an answer."""
        answer = queries.answer_of(workspace=self.workspace, answer_id=answer_id)
        return queries.asked(
            workspace=self.workspace, question_id=answer.question_id, answer_id=answer_id
        )


class AnswerStopApi(WorkspaceAPIView):
    """Stop an answer in progress."""

    @reading("answer_stop", gives=QueuedSerializer, status=202, errors=(403,))
    def post(self, answer_id: UUID) -> object:
        """Stop an answer in progress, including its model call. What has been written is kept."""
        return asking.answer_stop(
            workspace=self.workspace, user=self.request.user, answer_id=answer_id
        )


class QuestionAgainApi(WorkspaceAPIView):
    """Ask a question again."""

    class InputSerializer(serializers.Serializer[Any]):
        mode = serializers.ChoiceField(choices=list(ANSWER_MODES), required=False)

    @reading(
        "question_again",
        takes=InputSerializer,
        gives=QueuedSerializer,
        status=202,
        errors=(403, 409),
    )
    def post(self, question_id: UUID) -> object:
        """Answer a question again, optionally in another mode."""
        return asking.answer_again(
            workspace=self.workspace,
            user=self.request.user,
            question_id=question_id,
            mode=self.body().get("mode", ""),
        )


EVENTS_DESCRIPTION = (
    "Server-sent events. `id` is the event's number, `data` a JSON object, and `event` its kind:"
    " `state`, `step`, `plan`, `passages`, `text`, `answer` (replaces all text before it),"
    " `follow_ups`, and finally `done`, `failed` or `stopped`."
)


class AnyAccepted(BaseContentNegotiation):
    """Accept any type: a browser's EventSource accepts only event streams, but problems are
    JSON."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type


class AnswerEventsApi(WorkspaceAPIView):
    """The events of an answer in progress."""

    content_negotiation_class = AnyAccepted

    @reading(
        "answer_events",
        gives={
            (200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, EVENTS_DESCRIPTION),
            204: OpenApiResponse(description="There are no more events."),
        },
        parameters=(
            OpenApiParameter("after", int, description="Number of the last event you received."),
            OpenApiParameter("Last-Event-ID", int, OpenApiParameter.HEADER),
        ),
    )
    def get(self, answer_id: UUID) -> object:
        """Stream an answer's events: those so far, then each new one."""
        after = streaming.after_of(self.request.headers, self.request.query_params)
        return streaming.stream_of(
            workspace=self.workspace, user=self.request.user, answer_id=answer_id, after=after
        )
