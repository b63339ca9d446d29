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

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import partial, wraps
from typing import Any, Final

from django.db import transaction
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from kb_project.http.api import ProblemSerializer
from workspaces import access
from workspaces.idempotency import IDEMPOTENCY_KEY, ApiRequest, once
from workspaces.models import Capability, User, Workspace

Input = type[Serializer[Any]]
Method = Callable[..., HttpResponseBase]
ERRORS: Final = (401, 404)
"""Errors that every operation may give."""


def checked(serializer: Input, data: Any) -> dict[str, Any]:
    """Return the valid data. Raises ValidationError."""
    given = serializer(data=data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


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
        return Response(gives and gives(value).data, status, headers=headers and dict(headers))


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
    An operation that ``is_once`` accepts an idempotency key; one ``of_deleted`` is for the owner of
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
            result = method(view, **address)
            return result if isinstance(result, HttpResponseBase) else view.answer(result)

        operation: Any = once(carried_out) if self.is_once else carried_out
        return self._in_schema()(operation)

    def _gate(self, *, user: User, workspace_id: str) -> Workspace:
        if self.of_deleted:
            return access.deleted_workspace(user=user, workspace_id=workspace_id)
        return access.workspace_with(
            self.needs, user=user, workspace_id=workspace_id, at_source=self.at_source
        )

    def _in_schema(self) -> Callable[[Method], Method]:
        own = (IDEMPOTENCY_KEY,) if self.is_once else ()
        query = () if self.query is None else (self.query,)
        takes = dict.fromkeys(self.media_types, self.takes)
        shown = self.gives if isinstance(self.gives, dict) else self._responses()
        has_input = self.query is not None or self.takes is not None
        invalid = (400,) if has_input else ()
        forbidden = () if self.needs == Capability.READ else (403,)
        failed = dict.fromkeys((*ERRORS, *invalid, *forbidden, *self.errors), ProblemSerializer)
        return extend_schema(
            operation_id=self.operation_id,
            description=self.description,
            parameters=[*query, *self.parameters, *own],
            request=takes or self.takes,
            responses={**shown, **failed},
            filters=False,
        )

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
