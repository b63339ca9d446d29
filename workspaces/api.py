"""The base of the API: an operation's gate, body, answer and schema.

A view is a ``WorkspaceAPIView``. Its methods are operations, decorated with the capability they
need, and with their serializers::

    class BudgetApi(WorkspaceAPIView):
        @administering("budget_set", takes=InputSerializer, gives=BudgetSerializer)
        def put(self) -> object:
            services.budget_set(workspace=self.workspace, cap=self.body()["cap"])
            return queries.spending_of(workspace=self.workspace)

A method gets the parts of the address after ``workspace_id``, and returns what the serializer
shows, or a response.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import partial, wraps
from typing import Any, Final

from django.db import transaction
from django.http import QueryDict
from django.http.response import HttpResponseBase
from django.utils.datastructures import MultiValueDict
from django.utils.decorators import method_decorator
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, ListField, ListSerializer, Serializer
from rest_framework.views import APIView

from kb_project.http.api import ProblemSerializer
from workspaces import access
from workspaces.idempotency import IDEMPOTENCY_KEY, ApiRequest, once, refuse_key
from workspaces.models import Capability, User, Workspace

Input = type[Serializer[Any]]
Method = Callable[..., HttpResponseBase]
ERRORS: Final = (400, 401, 404, 429)
"""Errors that every operation may give."""
PART: Final = re.compile(r"(\.|\[\d+\]).*", re.DOTALL)
"""What follows a field's name in a form: "scope.tags" is a field of a field, "tags[0]" an item."""


def checked(serializer: Input, data: Any) -> dict[str, Any]:
    """Return the valid data. Raises ValidationError, also for a field the serializer lacks."""
    given = serializer(data=data)
    refuse_unknown_fields(given, data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def refuse_unknown_fields(given: BaseSerializer[Any], data: Any) -> None:
    """Raise ValidationError for a field that the serializer lacks, at any depth: without its
    misspelled filter, a question would be answered from more than it names.
    """
    if errors := _unknown_fields(given, data):
        raise ValidationError(errors)


def _unknown_fields(field: Any, data: Any) -> dict[str, Any]:
    inside: dict[str, Any]
    if isinstance(field, ListSerializer | ListField) and isinstance(data, list):
        inside = {str(place): _unknown_fields(field.child, one) for place, one in enumerate(data)}
    elif isinstance(field, Serializer) and isinstance(data, Mapping):
        fields = {name: one for name, one in field.fields.items() if not one.read_only}
        inside = {name: _unknown_fields(one, one.get_value(data)) for name, one in fields.items()}
        names = (PART.sub("", name) for name in data) if isinstance(data, MultiValueDict) else data
        inside |= _missing("field", names, fields)
    else:
        return {}
    return {name: errors for name, errors in inside.items() if errors}


def _missing(kind: str, given: Iterable[str], known: Iterable[str]) -> dict[str, list[str]]:
    """Return an error for each given name that is not known."""
    listed = ", ".join(f"'{name}'" for name in sorted(known))
    there_are = f"There are: {listed}." if listed else "There are none here."
    # JSON may hold half a character, which no response can.
    shown = [name[:60].encode(errors="replace").decode() for name in given if name not in known]
    return {name: [f"There is no {kind} '{name}'. {there_are}"] for name in shown}


class WorkspaceAPIView(APIView):
    """A view of the API in a workspace. An operation sets its attributes."""

    request: ApiRequest
    workspace: Workspace
    operation: Operation

    def body(self) -> dict[str, Any]:
        """Return the body's valid fields. Raises ValidationError."""
        return checked(self.operation.takes, self.request.data)

    def query(self) -> dict[str, Any]:
        """Return the valid query parameters. Raises ValidationError."""
        return checked(self.operation.query, self.request.query_params)

    def answer(self, value: object, headers: Mapping[str, str] | None = None) -> Response:
        """Return the operation's response, with the value as its serializer shows it."""
        gives, status = self.operation.gives, self.operation.status
        if isinstance(gives, ListSerializer):
            child: Any = type(gives.child)
            gives = partial(child, many=True)
        shown = gives and gives(value, context={"workspace": self.workspace}).data
        return Response(shown, status, headers=headers and dict(headers))


@method_decorator(transaction.non_atomic_requests, name="dispatch")
class WaitingAPIView(WorkspaceAPIView):
    """A view whose operations wait for a model: no transaction stays open meanwhile."""

    has_own_transactions = True


@dataclass(frozen=True)
class Operation:
    """Decorates a method of a ``WorkspaceAPIView``: passes the gate, shows the result, and
    describes both in the schema.

    ``takes`` and ``gives`` are serializers of the body and of the response with ``status``.
    ``gives`` may also be a dictionary of responses for the schema; the method then returns one of
    them. ``previews`` is a serializer of the response, with status 200, to a request for a preview.
    An operation that ``is_once`` accepts an idempotency key, see ``workspaces.idempotency``, also
    for ``again``; all others that write refuse one. One ``of_deleted`` is for the owner of
    a deleted workspace. ``at_source``: see ``workspaces.access.workspace_with``.
    """

    needs: Capability
    operation_id: str
    _: KW_ONLY
    query: Any = None
    takes: Any = None
    media_types: tuple[str, ...] = ()
    gives: Any = None
    previews: Any = None
    status: int = 200
    errors: tuple[int, ...] = ()
    parameters: tuple[OpenApiParameter, ...] = ()
    is_once: bool = False
    again: Callable[..., Response] | None = None
    at_source: bool | None = None
    of_deleted: bool = False
    description: str | None = None

    def __call__(self, method: Callable[..., object]) -> Method:
        @wraps(method)
        def carried_out(
            view: WorkspaceAPIView, request: ApiRequest, workspace_id: str, **address: Any
        ) -> Any:
            view.operation = self
            is_open = transaction.get_connection().in_atomic_block
            with nullcontext() if is_open else transaction.atomic():
                view.workspace = self._gate(user=request.user, workspace_id=workspace_id)
            self._refuse_unknown_parameters(request.query_params)
            if not self.is_once and method.__name__ != "get":
                refuse_key(request)
            result = method(view, **address)
            return result if isinstance(result, HttpResponseBase) else view.answer(result)

        operation: Any = once(carried_out, self.again) if self.is_once else carried_out
        return self._in_schema()(operation)

    def _gate(self, *, user: User, workspace_id: str) -> Workspace:
        if self.of_deleted:
            return access.deleted_workspace(user=user, workspace_id=workspace_id)
        return access.workspace_with(
            self.needs, user=user, workspace_id=workspace_id, at_source=self.at_source
        )

    def _refuse_unknown_parameters(self, given: QueryDict) -> None:
        if not given:
            return
        known = {one.name for one in self.parameters if one.location == OpenApiParameter.QUERY}
        if self.query is not None:
            known |= set(self.query().fields)
        if errors := _missing("parameter", given, known):
            raise ValidationError(errors)

    def _in_schema(self) -> Callable[[Method], Method]:
        own = (IDEMPOTENCY_KEY,) if self.is_once else ()
        query = () if self.query is None else (self.query,)
        takes = dict.fromkeys(self.media_types, self.takes)
        shown = self.gives if isinstance(self.gives, dict) else self._responses()
        unreadable = (415,) if self.takes is not None else ()
        forbidden = () if self.needs == Capability.READ else (403,)
        changed = (412,) if self._takes_revisions() else ()
        statuses = (*ERRORS, *unreadable, *forbidden, *changed, *self.errors)
        failed = dict.fromkeys(statuses, ProblemSerializer)
        return extend_schema(
            operation_id=self.operation_id,
            description=self.description,
            parameters=[*query, *self.parameters, *own],
            request=takes or self.takes,
            responses={**shown, **failed},
            filters=False,
        )

    def _takes_revisions(self) -> bool:
        """Whether a client can say which revisions it saw, in a header or in the body."""
        in_body = getattr(self.takes, "_declared_fields", {})
        return "expected" in in_body or any(one.name == "If-Match" for one in self.parameters)

    def _responses(self) -> dict[int, Any]:
        if self.previews is None:
            return {self.status: self.gives}
        if self.status != 200:
            return {self.status: self.gives, 200: self.previews}
        names = (one.__name__.removesuffix("Serializer") for one in (self.gives, self.previews))
        either = PolymorphicProxySerializer(
            component_name="Or".join(names),
            serializers=[self.gives, self.previews],
            resource_type_field_name=None,
        )
        return {200: either}


reading: Final = partial(Operation, Capability.READ)
writing: Final = partial(Operation, Capability.EDIT)
curating: Final = partial(Operation, Capability.CURATE)
administering: Final = partial(Operation, Capability.ADMINISTER)
owning: Final = partial(Operation, Capability.OWN)
