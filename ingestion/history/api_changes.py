"""Requests that change something: body, reason, preconditions, possible answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from rest_framework import serializers

from ingestion.history.recording import REASON_LENGTH, ChangeContext
from kb_project.http.api import WRITING, ProblemSerializer
from workspaces.models import Workspace
from workspaces.requests import ApiRequest

VIA: Final = "api"
CHANGING: Final[dict[int, Any]] = {
    **WRITING,
    400: ProblemSerializer,
    409: ProblemSerializer,
    412: ProblemSerializer,
}


class ReasonSerializer(serializers.Serializer[Any]):
    """The part of a body that gives the reason."""

    reason = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=REASON_LENGTH
    )


def body_of(serializer: type[serializers.Serializer[Any]], request: ApiRequest) -> dict[str, Any]:
    given = serializer(data=request.data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def change_of(
    request: ApiRequest,
    workspace: Workspace,
    wanted: dict[str, Any],
    *,
    seen: Mapping[UUID, int] | None = None,
) -> ChangeContext:
    """Take reason and expected revisions out of ``wanted``; ``seen`` overrides the latter."""
    expected = {**wanted.pop("expected", {}), **(seen or {})}
    return ChangeContext(workspace, request.user, wanted.pop("reason", ""), VIA, expected)
