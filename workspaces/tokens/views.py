"""The page of a workspace's API tokens: list, create, revoke."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from kb_project.errors import KBError
from workspaces.models import ApiToken, Capability, Workspace
from workspaces.models.tokens import LONGEST_NAME
from workspaces.pages import UserRequest, workspace_page
from workspaces.tokens import services

LIFETIMES: Final = [
    ("7", "In a week"),
    ("30", "In a month"),
    (str(services.DEFAULT_DAYS), "In three months"),
    ("365", "In a year"),
    ("", "Never"),
]


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=LONGEST_NAME, label="Name", help_text="The program that will use it."
    )
    may = forms.MultipleChoiceField(required=False, choices=Capability.choices)
    days = forms.TypedChoiceField(
        required=False, choices=LIFETIMES, coerce=int, empty_value=None, label="Expires"
    )


@never_cache
@workspace_page(Capability.READ, "GET", "POST", at_source=True)
def token_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """List tokens; after a POST, show a new token's text, this once."""
    context: dict[str, Any] = {}
    form = TokenForm(request.POST or None, initial={"days": str(services.DEFAULT_DAYS)})
    if request.method == "POST" and form.is_valid():
        try:
            context["made"], context["text"] = services.token_create(
                workspace=workspace,
                member=request.user,
                name=form.cleaned_data["name"],
                capabilities=form.cleaned_data["may"],
                days=form.cleaned_data["days"],
                by=request.user,
            )
        except KBError as error:
            context["problem"] = error
        else:
            form = TokenForm(initial=form.initial)
    own = services.tokens_of(workspace=workspace, user=request.user)
    held = workspace.membership.capabilities if workspace.membership else []
    context |= {
        "workspace": workspace,
        "section": "tokens",
        "form": form,
        # Every token may read.
        "more": [(one.value, one.label) for one in list(Capability)[1:] if one.value in held],
        "live": [token for token in own if token.is_live],
        "ended": [token for token in own if not token.is_live],
        "of_others": _of_others(request, workspace),
    }
    return render(request, "workspaces/token_list.html", context)


def _of_others(request: UserRequest, workspace: Workspace) -> list[ApiToken]:
    """Return the live tokens of other members, for an admin."""
    if not workspace.may(Capability.ADMINISTER):
        return []
    tokens = services.tokens_in(workspace=workspace)
    return [one for one in tokens if one.is_live and one.membership.user_id != request.user.pk]


@workspace_page(Capability.READ, "POST", at_source=True)
def token_revoke(request: UserRequest, workspace: Workspace, token_id: UUID) -> HttpResponse:
    token = services.token_revoke(workspace=workspace, user=request.user, token_id=token_id)
    messages.success(request, f"The token “{token.name}” was revoked. It works no longer.")
    return redirect("workspaces:token_list", workspace.slug)
