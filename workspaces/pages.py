"""What pages of a workspace share: checks before the view, ids in addresses, refused changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Concatenate, ParamSpec
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from kb_project.errors import ConflictError, InputError, KBError
from workspaces import access
from workspaces.models import Capability, User, Workspace


class UserRequest(HttpRequest):
    """A request that passed ``login_required``."""

    user: User
    htmx: HtmxDetails


P = ParamSpec("P")
View = Callable[Concatenate[UserRequest, Workspace, P], HttpResponseBase]
Page = Callable[..., HttpResponseBase]


def id_in(text: str) -> UUID | None:
    """Return the id that a form or an address holds, if it is one.

    >>> id_in("00000000-0000-0000-0000-000000000007"), id_in("seven")
    (UUID('00000000-0000-0000-0000-000000000007'), None)
    """
    try:
        return UUID(text)
    except ValueError:
        return None


def is_done(request: HttpRequest, change: Callable[[], object], success: str = "") -> bool:
    """Make the change, and show ``success`` or why it failed on the next page."""
    try:
        change()
    except KBError as error:
        messages.error(request, error.sentence)
        return False
    if success:
        messages.success(request, success)
    return True


def workspace_page(
    capability: Capability, *methods: str, at_source: bool | None = None
) -> Callable[[View[P]], Page]:
    """Turn a function of request and workspace into a page: sign-in, allowed methods, the gate.

    The view gets the Workspace in place of the address's ``workspace_id``. Without ``methods``,
    only GET is allowed. In a page of ``non_atomic_requests`` the gate has a transaction of its own:
    the workspace's rows are closed again when the view starts. ``at_source``: see
    ``workspaces.access.workspace_with``.
    """
    allowed = list(methods or ("GET",))

    def page_of(view: View[P]) -> Page:
        @login_required
        @require_http_methods(allowed)
        @wraps(view)
        def page(
            request: UserRequest, workspace_id: str, *args: P.args, **kwargs: P.kwargs
        ) -> HttpResponseBase:
            is_open = transaction.get_connection().in_atomic_block
            try:
                with nullcontext() if is_open else transaction.atomic():
                    workspace = access.workspace_with(
                        capability,
                        user=request.user,
                        workspace_id=workspace_id,
                        at_source=at_source,
                    )
            except access.DeletedError:
                if request.method != "GET" or request.htmx:
                    raise
                return redirect("workspaces:workspace_deleted", workspace_id)
            return view(request, workspace, *args, **kwargs)

        return page

    return page_of


@contextmanager
def refusals_shown(request: HttpRequest) -> Iterator[None]:
    """Show why a change was refused as a message on the next page."""
    try:
        yield
    except (ConflictError, InputError) as error:
        messages.warning(request, error.sentence)
