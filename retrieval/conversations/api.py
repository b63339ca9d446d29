"""API for asking questions, reading answers and following them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from retrieval.answering.options import OPTIONS, AnswerOptions
from retrieval.conversations import asking, queries, streaming
from retrieval.conversations.serializers import (
    AnswerSerializer,
    AskSerializer,
    ContextSerializer,
    OptionsSerializer,
    QuestionSerializer,
    QueuedSerializer,
)
from retrieval.search.modes import ANSWER_MODES
from retrieval.search.scope import Scope
from workspaces import access
from workspaces.api import ApiRequest, WaitingAPIView, WorkspaceAPIView, reading


def _wanted(view: WorkspaceAPIView) -> dict[str, Any]:
    body = view.body()
    return {
        "workspace": view.workspace,
        "user": view.request.user,
        "question": body["question"],
        "mode": body["mode"],
        "scope": Scope.from_json(body.get("scope")),
        "options": AnswerOptions.from_json(body),
        "conversation_id": body.get("conversation"),
    }


def _asked_before(
    view: WorkspaceAPIView, request: ApiRequest, workspace_id: str, answer_id: str
) -> Any:
    return AnswerApi.get(view, request, workspace_id, answer_id=answer_id)


class AskApi(WaitingAPIView):
    """Ask a question and wait for the answer."""

    @reading(
        "ask",
        takes=AskSerializer,
        gives=AnswerSerializer,
        previews=ContextSerializer,
        status=201,
        errors=(409, 503),
        is_once=True,
        again=_asked_before,
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
        is_once=True,
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

    class InputSerializer(OptionsSerializer):
        mode = serializers.ChoiceField(choices=list(ANSWER_MODES), required=False)

    @reading(
        "question_again",
        takes=InputSerializer,
        gives=QueuedSerializer,
        status=202,
        errors=(403, 409),
        is_once=True,
    )
    def post(self, question_id: UUID) -> object:
        """Answer a question again, optionally in another mode or form. What is not given stays as
        it was for the newest answer."""
        return asking.answer_again(
            workspace=self.workspace,
            user=self.request.user,
            question_id=question_id,
            mode=self.body().get("mode", ""),
            options={name: self.body()[name] for name in OPTIONS if name in self.body()},
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
