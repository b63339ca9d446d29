"""Pages about a workspace's models: which they are, what they may cost, what they did."""

from __future__ import annotations

from typing import Any, Protocol

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kb_project.errors import KBError
from workspaces import access, forms, selectors, services
from workspaces.models import Capability, Workspace
from workspaces.requests import UserRequest


@login_required
@require_http_methods(["GET", "POST"])
def model_settings(request: UserRequest, workspace_id: str) -> HttpResponse:
    if request.method == "POST":
        return _save(request, workspace_id)
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    return model_page(request, workspace)


def _save(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    state = selectors.model_state(workspace=workspace)
    form = forms.model_form(state, request.POST)
    if not form.is_valid():
        return model_page(request, workspace, form=form)
    choice = form.choice(is_local=state.choice.is_local)
    try:
        services.model_settings_save(workspace=workspace, choice=choice)
    except KBError as error:
        return model_page(request, workspace, form=form, problem=error)
    messages.success(request, "Models saved. Work that was waiting for them continues.")
    return redirect("workspaces:model_settings", workspace.slug)


@transaction.non_atomic_requests
@login_required
@require_POST
def model_test(request: UserRequest, workspace_id: str) -> HttpResponse:
    """One real call of each kind; no transaction is open while the endpoint answers."""
    return tested_page(request, workspace_id, services.model_test)


class Trial(Protocol):
    def __call__(self, *, workspace: Workspace) -> list[services.TestLine]: ...


def tested_page(request: UserRequest, workspace_id: str, test: Trial) -> HttpResponse:
    """What a test found, by itself or in the page; for a view without a transaction of its own."""
    with transaction.atomic():
        workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    context: dict[str, Any] = {"workspace": workspace}
    try:
        context["probe"] = test(workspace=workspace)
    except KBError as error:
        context["problem"] = error
    if request.htmx:
        return render(request, "workspaces/model_test.html", context)
    with transaction.atomic():
        access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
        return model_page(request, workspace, tested=context)


@login_required
@require_POST
def model_settings_clear(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    services.model_settings_clear(workspace=workspace)
    messages.success(request, "This workspace works on the local tier again.")
    return redirect("workspaces:model_settings", workspace.slug)


@login_required
@require_POST
def installation_model_use(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    services.installation_model_use(workspace=workspace)
    messages.success(request, "This workspace works with the installation's model.")
    return redirect("workspaces:model_settings", workspace.slug)


@login_required
@require_POST
def prices_set(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    lines = forms.price_forms([], [], request.POST)
    if not lines.is_valid():
        return model_page(request, workspace, prices=lines)
    given = [price for line in lines if (price := line.given())]
    try:
        services.prices_set(workspace=workspace, prices=given)
    except KBError as error:
        return model_page(request, workspace, prices=lines, problem=error)
    messages.success(request, "Prices saved. They apply from the next call.")
    return redirect("workspaces:model_settings", workspace.slug)


@login_required
@require_POST
def budget_set(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    form = forms.BudgetForm(request.POST)
    if not form.is_valid():
        return model_page(request, workspace, budget=form)
    services.budget_set(workspace=workspace, cap=form.cleaned_data["cap"])
    messages.success(request, "Budget saved. Work that was waiting for it continues.")
    return redirect("workspaces:model_settings", workspace.slug)


@login_required
@require_POST
def cache_clear(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    try:
        removed = services.cache_clear(workspace=workspace, role=request.POST.get("role", ""))
    except KBError as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, f"{removed} kept replies were forgotten.")
    return redirect("workspaces:model_settings", workspace.slug)


@login_required
@require_POST
def tuning_start(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    try:
        services.tuning_start(workspace=workspace)
    except KBError as error:
        messages.error(request, error.sentence)
    else:
        messages.success(
            request, "The model reads a sample of the documents. What it learns appears here."
        )
    return redirect("workspaces:model_settings", workspace.slug)


@login_required
@require_POST
def tuning_forget(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    services.tuning_forget(workspace=workspace)
    messages.success(request, "What was learned from the documents was deleted.")
    return redirect("workspaces:model_settings", workspace.slug)


@transaction.non_atomic_requests
@login_required
@require_POST
def embedding_change(request: UserRequest, workspace_id: str) -> HttpResponse:
    """Asks the new model once; no transaction is open while it answers."""
    with transaction.atomic():
        workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    model = request.POST.get("model", "")
    provider = request.POST.get("provider", "endpoint")
    try:
        services.embedding_change(workspace=workspace, provider=provider, model=model)
    except KBError as error:
        messages.error(request, error.sentence)
    else:
        messages.success(
            request,
            "A second index is being built. The current one stays in use until it is complete.",
        )
    return redirect("workspaces:model_settings", workspace.slug)


@login_required
@require_POST
def embedding_give_up(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_administering(user=request.user, workspace_id=workspace_id)
    try:
        services.embedding_give_up(workspace=workspace)
    except KBError as error:
        messages.warning(request, error.sentence)
    return redirect("workspaces:model_settings", workspace.slug)


@login_required
@require_GET
def usage(request: UserRequest, workspace_id: str) -> HttpResponse:
    workspace = access.workspace_for_reading(user=request.user, workspace_id=workspace_id)
    state = selectors.model_state(workspace=workspace)
    context = {
        "workspace": workspace,
        "section": "usage",
        "state": state,
        "total": selectors.usage_total(workspace=workspace),
        "spending": selectors.spending_of(workspace=workspace),
        "unpriced": selectors.unpriced(workspace=workspace, models=state.models),
        "by_stage": selectors.usage_by(workspace=workspace, by="stage"),
        "by_model": selectors.usage_by(workspace=workspace, by="model"),
        "by_day": selectors.usage_by(workspace=workspace, by="day", most=14),
        "by_document": selectors.usage_by(workspace=workspace, by="document", most=10),
        "calls": selectors.last_calls(workspace=workspace),
        "can_set": _can_set(workspace),
    }
    return render(request, "workspaces/usage.html", context)


def _can_set(workspace: Workspace) -> bool:
    return workspace.membership is not None and workspace.membership.may(Capability.ADMINISTER)


def model_page(request: UserRequest, workspace: Workspace, **given: Any) -> HttpResponse:
    """The page Models; a form that was sent takes the place of a fresh one."""
    state = selectors.model_state(workspace=workspace)
    spending = selectors.spending_of(workspace=workspace)
    prices = selectors.prices_in(workspace=workspace)
    reranker = selectors.reranker_state(workspace=workspace)
    context = {
        "workspace": workspace,
        "section": "models",
        "state": state,
        "embedding": selectors.embedding_state(workspace=workspace),
        "spending": spending,
        "unpriced": selectors.unpriced(workspace=workspace, models=state.models),
        "prices_now": prices,
        "roles": forms.ROLE_TITLES.items(),
        "can_set": _can_set(workspace),
        "reranker": reranker,
    }
    if context["can_set"]:
        context |= {
            "rerank_form": forms.rerank_form(reranker),
            "form": forms.model_form(state),
            "prices": forms.price_forms(prices, state.models),
            "budget": forms.budget_form(spending),
        }
    return render(request, "workspaces/model_settings.html", context | given)
