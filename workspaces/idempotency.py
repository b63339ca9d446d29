"""Idempotency: a request with a key is carried out only once, however often it is sent.

A client that got no response sends its request again. With an ``Idempotency-Key`` header it gets
the response to the first one, marked ``Idempotency-Replayed: true``, and nothing is done twice.

``workspaces.api`` puts ``once`` on operations that are declared so.

The operation runs in the request's transaction, and the response is stored in it: both are kept or
neither. A failed request stores nothing, so its key can be used again. Of two simultaneous requests
with one key, the second waits for the first, and gets ``in_progress`` (409) after some seconds. A
key reused for another request is refused (409, ``idempotency_key_reused``). Responses are kept for
24 hours, for the user who got them; the next request with a key deletes older ones, and so does a
nightly task.

An operation that waits for a model (``has_own_transactions``) claims its key in a transaction
before it, so the second request gets ``in_progress`` at once. A claim whose process died is free
after ten minutes. A response with document text is not stored, only its ``id``: it is read
``again`` with what the user may see by then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial, wraps
from hashlib import sha256
from typing import Any, Final, TypeVar, cast
from uuid import uuid4

from django.core.files.uploadedfile import UploadedFile
from django.db import OperationalError, transaction
from django.db.models import QuerySet
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


def once(operation: OperationT, again: Callable[..., Response] | None = None) -> OperationT:
    """Carry out an operation once per key; without a key, each time it is requested.

    ``again`` returns the response to a repeated request from the ``id`` in the first response.
    """

    @wraps(operation)
    def carried_out(
        view: Any, request: ApiRequest, workspace_id: str, *args: Any, **kwargs: Any
    ) -> Response:
        key = _key(request)
        if key is None:
            return operation(view, request, workspace_id, *args, **kwargs)
        is_apart = getattr(view, "has_own_transactions", False)
        with transaction.atomic() if is_apart else nullcontext():
            # Non-members learn nothing about keys; the operation checks further rights itself.
            workspace = access.workspace_with(
                Capability.READ, user=request.user, workspace_id=workspace_id, at_source=True
            )
            claimed, digest = uuid4(), _digest(request)
            named = {"workspace": workspace.pk, "user": request.user.pk, "key": key}
            if not _claim({**named, "id": claimed, "digest": digest}):
                stored = StoredReply.objects.in_workspace(workspace).get(user=request.user, key=key)
                _check_done(stored, digest)
                return _replayed(stored, again and partial(again, view, request, workspace_id))
        rows = StoredReply.objects.in_workspace(workspace).filter(pk=claimed)
        try:
            response = operation(view, request, workspace_id, *args, **kwargs)
        except BaseException:
            if is_apart:
                with access.in_workspace(workspace.pk):
                    rows.delete()
            raise
        # The operation may have worked in an edition.
        with access.within(workspace.pk):
            _store(rows, response, is_read_again=again is not None)
        return response

    return cast(OperationT, carried_out)


def forget_old_answers() -> None:
    """Delete old responses in every workspace; call outside a transaction."""
    for workspace in Workspace.objects.order_by("pk"):
        with access.in_workspace(workspace.pk):
            run_sql(sql.FORGET_REPLIES, {"workspace": workspace.pk})


def _store(rows: QuerySet[StoredReply], response: Response, *, is_read_again: bool) -> None:
    body = response.data
    if is_read_again:
        if "id" not in body:  # it made nothing: what it shows may be asked for again
            rows.delete()
            return
        body = {"id": body["id"]}
    rows.update(
        status=response.status_code,
        body=json.loads(JSONRenderer().render(body) or b"null"),
        headers={name: response[name] for name in KEPT_HEADERS if name in response},
    )


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


def refuse_key(request: ApiRequest) -> None:
    """Raise InputError if the request has a key: its operation would be carried out each time."""
    if HEADER in request.headers:
        raise InputError(
            f"This operation does not take an {HEADER}.",
            code="idempotency_key_not_taken",
            kept="Nothing was changed.",
            next_step="Send the request without it, and look whether it was carried out before"
            " you repeat it.",
        )


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
        raise _in_progress() from error
    return bool(claimed)


def _in_progress() -> ConflictError:
    return ConflictError(
        "The first request with this key is still running.",
        code="in_progress",
        next_step="Try again in a moment.",
    )


def _check_done(stored: StoredReply, digest: str) -> None:
    """Raise ConflictError if the key is another request's, or its request is still running."""
    if stored.digest != digest:
        raise ConflictError(
            f"This {HEADER} was already used for another request.",
            code="idempotency_key_reused",
            kept="Nothing was changed.",
            next_step="Use a new key for each new request.",
        )
    if stored.status is None:
        raise _in_progress()


def _replayed(stored: StoredReply, again: Callable[..., Response] | None) -> Response:
    body: Any = stored.body
    if again:
        body = again(body["id"]).data
    return Response(body, stored.status, headers={**stored.headers, REPLAYED: "true"})


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
