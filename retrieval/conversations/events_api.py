"""API for following an answer."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from kb_project.http.api import READING
from retrieval.conversations import streaming
from workspaces import access
from workspaces.requests import ApiRequest

DESCRIPTION = (
    "Server-sent events, each with its number as id, its kind as event and a JSON object as data:"
    " `state`, `step`, `plan`, `passages`, `text`, `answer` (replaces all text before it),"
    " `follow_ups`, and at the end `done`, `failed` or `stopped`."
)


class WhateverIsAccepted(BaseContentNegotiation):
    """Accept any type: a browser's EventSource accepts only event streams, but problems are
    JSON."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type


class AnswerEventsApi(APIView):
    """The events of an answer in progress."""

    content_negotiation_class = WhateverIsAccepted

    @extend_schema(
        operation_id="answer_events",
        parameters=[
            OpenApiParameter("after", int, description="The last event that is known already."),
            OpenApiParameter("Last-Event-ID", int, OpenApiParameter.HEADER),
        ],
        responses={
            (200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, DESCRIPTION),
            204: OpenApiResponse(description="The last event is known already."),
            **READING,
        },
    )
    def get(self, request: ApiRequest, workspace_id: str, answer_id: UUID) -> HttpResponseBase:
        """Stream an answer's events: all from the first on, then each new one."""
        workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
        after = streaming.after_of(request.headers, request.query_params)
        return streaming.stream_of(
            workspace=workspace, user=request.user, answer_id=answer_id, after=after
        )
