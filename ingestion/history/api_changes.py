"""Operations that change something: sent with a reason and with what the client saw."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from uuid import UUID

from rest_framework import serializers

from ingestion.history.preconditions import expected_of
from ingestion.history.recording import REASON_LENGTH, ChangeContext
from workspaces.api import WorkspaceAPIView, curating, writing

VIA: Final = "api"
changing: Final = partial(writing, errors=(400, 409, 412), is_once=True)
correcting: Final = partial(curating, errors=(400, 409, 412), is_once=True)


class ReasonSerializer(serializers.Serializer[Any]):
    """The part of a body that gives the reason."""

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
