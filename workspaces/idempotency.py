"""Idempotency: a request with a key is carried out only once, however often it is sent.

A client that got no response sends its request again. With an ``Idempotency-Key`` header it gets
the response to the first one, marked ``Idempotency-Replayed: true``, and nothing is done twice.

``workspaces.api`` puts ``once`` on operations that are declared so.

The operation runs in the request's transaction (never in a view of ``non_atomic_requests``), and
the response is stored in it: both are kept or neither. A failed request stores nothing, so its key
can be used again. Of two simultaneous requests with one key, the second waits for the first, and
gets ``in_progress`` (409) after some seconds. A key reused for another request is refused (409,
``idempotency_key_reused``). Responses are kept for 24 hours, for the user who got them; the next
request with a key deletes older ones, and so does a nightly task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import wraps
from hashlib import sha256
from typing import Any, Final, TypeVar, cast

from django.core.files.uploadedfile import UploadedFile
from django.db import OperationalError, transaction
from django.utils.datastructures import MultiValueDict
from drf_spectacular.utils import OpenApiParameter
from psycopg.errors import LockNotAvailable
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from kb_project.errors import ConflictError, InputError
from kb_project.sql import run_sql
from workspaces import access, sql
from workspaces.models import Capability, StoredReply, User, Workspace

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
LONGEST_KEY: Final = 255
KEPT_HEADERS: Final = ("ETag", "Location")

IDEMPOTENCY_KEY: Final = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description=f"1 to {LONGEST_KEY} visible ASCII characters. Sending the same request with the"
    " same key again within 24 hours returns the first response and changes nothing.",
)

OperationT = TypeVar("OperationT", bound=Callable[..., Response])


class ApiRequest(Request):
    """A request that passed DRF's ``IsAuthenticated``."""

    user: User


def once(operation: OperationT) -> OperationT:
    """Carry out an operation once per key; without a key, each time it is requested."""

    @wraps(operation)
    def carried_out(
        view: Any, request: ApiRequest, workspace_id: str, *args: Any, **kwargs: Any
    ) -> Response:
        def carry_out() -> Response:
            return operation(view, request, workspace_id, *args, **kwargs)

        key = _key(request)
        if key is None:
            return carry_out()
        # Non-members learn nothing about keys; the operation checks further rights itself.
        workspace = access.workspace_with(
            Capability.READ, user=request.user, workspace_id=workspace_id, at_source=True
        )
        return _answer(workspace, request, key, carry_out)

    return cast(OperationT, carried_out)


def forget_old_answers() -> None:
    """Delete old responses in every workspace; call outside a transaction."""
    for workspace in Workspace.objects.order_by("pk"):
        with access.in_workspace(workspace.pk):
            run_sql(sql.FORGET_REPLIES, {"workspace": workspace.pk})


def _answer(
    workspace: Workspace, request: ApiRequest, key: str, carry_out: Callable[[], Response]
) -> Response:
    named = {"workspace": workspace.pk, "user": request.user.pk, "key": key}
    digest = _digest(request)
    claimed = _claim({**named, "digest": digest})
    rows = StoredReply.objects.in_workspace(workspace).filter(user=request.user, key=key)
    if not claimed:
        return _replayed(rows.get(), digest)
    response = carry_out()
    # The operation may have worked in an edition.
    with access.within(workspace.pk):
        rows.update(
            status=response.status_code,
            body=json.loads(JSONRenderer().render(response.data) or b"null"),
            headers={name: response[name] for name in KEPT_HEADERS if name in response},
        )
    return response


def _key(request: ApiRequest) -> str | None:
    """Return the key, None without the header. Raises InputError."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not 0 < len(key) <= LONGEST_KEY or not all("!" <= one <= "~" for one in key):
        raise InputError(
            f"{HEADER} must have 1 to {LONGEST_KEY} visible ASCII characters.",
            code="idempotency_key_invalid",
            kept="Nothing was changed.",
        )
    return key


def _claim(named: dict[str, Any]) -> bool:
    """Claim the key; False if it is taken. Raises ConflictError if its first request is still
    running.
    """
    run_sql(sql.FORGET_REPLIES, named)
    try:
        with transaction.atomic():
            run_sql(sql.WAIT_BRIEFLY)
            claimed = run_sql(sql.CLAIM_KEY, named)
            run_sql(sql.WAIT_AS_EVER)
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise ConflictError(
            "The first request with this key is still running.",
            code="in_progress",
            next_step="Try again in a moment.",
        ) from error
    return bool(claimed)


def _replayed(stored: StoredReply, digest: str) -> Response:
    if stored.digest != digest:
        raise ConflictError(
            f"This {HEADER} was already used for another request.",
            code="idempotency_key_reused",
            kept="Nothing was changed.",
            next_step="Use a new key for each new request.",
        )
    return Response(stored.body, stored.status, headers={**stored.headers, REPLAYED: "true"})


def _digest(request: ApiRequest) -> str:
    """Hash everything that defines the request."""
    digest = sha256(f"{request.method} {request.get_full_path()}\n".encode())
    for part in _parts(request.data):
        digest.update(part)
    return digest.hexdigest()


def _parts(data: Any) -> Iterator[bytes]:
    if not isinstance(data, MultiValueDict):
        yield json.dumps(data, sort_keys=True, default=str).encode()
        return
    for name, values in sorted(data.lists()):
        for value in values:
            # The length prefix keeps a value from passing for the start of another field.
            yield f"\n{len(name)} {name}\0".encode()
            yield from _value(value)


def _value(value: Any) -> Iterator[bytes]:
    if not isinstance(value, UploadedFile):
        text = str(value).encode()
        yield f"{len(text)}\0".encode() + text
        return
    yield f"{value.name}\0{value.size}\0".encode()
    yield from value.chunks()
    value.seek(0)
