"""What operations that change something share: a reason, and the revisions that the client saw.

Revisions are sent by id, or as the entity tag of ``If-Match``.
"""

from __future__ import annotations

import re
import uuid
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.utils.http import parse_etags
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from ingestion.history import recording
from ingestion.history.recording import REASON_LENGTH, ChangeContext
from kb_project.errors import InputError
from workspaces.api import ApiRequest, WorkspaceAPIView, curating, writing
from workspaces.models import Workspace

TAG: Final = re.compile(r'(?:W/)?"(\d{1,18})"')
ANY: Final = "*"

IF_MATCH: Final = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The ETag you received with the resource. If the resource has changed since,"
    " nothing is changed and the response is 412; 'fields.events' lists what has changed.",
)


class ExpectedField(serializers.DictField):
    """The revisions a client expects, by id."""

    child = serializers.IntegerField(min_value=0)

    def __init__(self) -> None:
        super().__init__(
            required=False,
            help_text="The revisions you received, by id. If any of them has changed since,"
            " nothing is changed and the response is 412.",
        )

    def to_internal_value(self, data: Any) -> dict[uuid.UUID, int]:
        values: dict[str, int] = super().to_internal_value(data)
        try:
            return {uuid.UUID(one): number for one, number in values.items()}
        except ValueError as error:
            raise serializers.ValidationError("Every key must be an id.") from error


def tags_of(workspace: Workspace, subject_id: uuid.UUID) -> dict[str, str]:
    """The headers that give a subject's revision."""
    [revision] = recording.revisions(workspace, [subject_id]).values()
    return {"ETag": f'"{revision}"'}


def expected_of(request: ApiRequest, subject_id: uuid.UUID) -> dict[uuid.UUID, int]:
    """The revision required by ``If-Match``; empty if it is not sent. Raises InputError."""
    tags = parse_etags(request.headers.get("If-Match", ANY))
    if tags == [ANY]:
        return {}
    found = TAG.fullmatch(tags[0]) if len(tags) == 1 else None
    if found is None:
        raise InputError(
            'If-Match must be a single entity tag, for example "12".',
            code="if_match_invalid",
            kept="Nothing was changed.",
            next_step="Send the ETag you received with the resource.",
        )
    return {subject_id: int(found[1])}


VIA: Final = "api"
changing: Final = partial(writing, errors=(400, 409), is_once=True)
correcting: Final = partial(curating, errors=(400, 409), is_once=True)


class ReasonSerializer(serializers.Serializer[Any]):
    """A change, with an optional reason for the history."""

    reason = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=REASON_LENGTH
    )


def change_of(
    view: WorkspaceAPIView, *, seen: UUID | None = None
) -> tuple[ChangeContext, dict[str, Any]]:
    """Return the change with the body's reason and expected revisions, and the body's other fields.

    ``If-Match`` counts for the subject ``seen``.
    """
    wanted = view.body() if view.operation.takes else {}
    expected = wanted.pop("expected", {}) | (expected_of(view.request, seen) if seen else {})
    reason = wanted.pop("reason", "")
    return ChangeContext(view.workspace, view.request.user, reason, VIA, expected), wanted
