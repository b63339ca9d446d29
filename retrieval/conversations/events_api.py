"""API for following an answer."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from retrieval.conversations import streaming
from workspaces.api import WorkspaceAPIView, reading

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


class AnswerEventsApi(WorkspaceAPIView):
    """The events of an answer in progress."""

    content_negotiation_class = WhateverIsAccepted

    @reading(
        "answer_events",
        gives={
            (200, "text/event-stream"): OpenApiResponse(OpenApiTypes.STR, DESCRIPTION),
            204: OpenApiResponse(description="The last event is known already."),
        },
        parameters=(
            OpenApiParameter("after", int, description="The last event that is known already."),
            OpenApiParameter("Last-Event-ID", int, OpenApiParameter.HEADER),
        ),
    )
    def get(self, answer_id: UUID) -> object:
        """Stream an answer's events: all from the first on, then each new one."""
        after = streaming.after_of(self.request.headers, self.request.query_params)
        return streaming.stream_of(
            workspace=self.workspace, user=self.request.user, answer_id=answer_id, after=after
        )
