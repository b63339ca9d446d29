"""Pages of a workspace's models: their settings, prices, budget, reranker and usage."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from kb_project.errors import InputError, KBError, LimitError
from workspaces import access, limits
from workspaces.language_models import embedding, forms, queries, services, testing
from workspaces.language_models.providers import PROVIDERS
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, is_done, workspace_page
from workspaces.usage import caps, queries as usage_queries


@workspace_page(Capability.READ, "GET", "POST", at_source=True)
def model_settings(request: UserRequest, workspace: Workspace) -> HttpResponse:
    if request.method == "POST":
        return _save(request, workspace)
    return _model_page(request, workspace)


def _save(request: UserRequest, workspace: Workspace) -> HttpResponse:
    access.workspace_for_administering(user=request.user, workspace_id=workspace.pk)
    state = queries.model_state(workspace=workspace)
    form = forms.model_form(state, request.POST)
    if not form.is_valid():
        return _model_page(request, workspace, form=form)
    choice = form.choice(is_local=state.choice.is_local)
    try:
        services.model_settings_save(workspace=workspace, choice=choice, user=request.user)
    except KBError as error:
        return _model_page(request, workspace, form=form, problem=error)
    messages.success(request, "Models saved. Work that was waiting for them continues.")
    return redirect("workspaces:model_settings", workspace.slug)


@transaction.non_atomic_requests
@workspace_page(Capability.ADMINISTER, "POST")
def model_test(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Test the settings of the form, and save them if that is asked for and all models answer; no
    transaction is open while the endpoint answers.
    """
    state = queries.model_state(workspace=workspace)
    form = forms.model_form(state, request.POST)
    is_to_save = "save" in request.POST
    if not form.is_valid():
        return _tested_page(request, workspace, {"form": form, "problem": _invalid(form)})
    test = testing.model_test_and_save if is_to_save else testing.model_test
    choice = form.choice(is_local=state.choice.is_local)
    try:
        tested = test(workspace=workspace, choice=choice, user=request.user)
    except KBError as error:
        return _tested_page(request, workspace, {"form": form, "problem": error})
    if tested.works and is_to_save:
        messages.success(
            request, "Models tested and saved. Work that was waiting for them continues."
        )
        return _redirect(request, "workspaces:model_settings", workspace.slug)
    context = {"form": form, "probe": tested.lines, "is_kept_back": is_to_save}
    return _tested_page(request, workspace, context)


def _invalid(form: Form) -> InputError:
    wrong = [
        f"{form.fields[name].label}: {' '.join(map(str, errors))}"
        for name, errors in form.errors.items()
    ]
    return InputError(" ".join(wrong), kept="Nothing was tested or saved.")


def _redirect(request: UserRequest, name: str, slug: str) -> HttpResponse:
    """Redirect, also for a request of htmx, which would show the page in the panel."""
    if request.htmx:
        return HttpResponseClientRedirect(reverse(name, args=[slug]))
    return redirect(name, slug)


@transaction.non_atomic_requests
@workspace_page(Capability.ADMINISTER, "POST")
def reranker_test(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Test the reranker of the form, and save it if that is asked for and it works; no transaction
    is open while it answers.
    """
    form = forms.rerank_form(queries.reranker_state(workspace=workspace), request.POST)
    is_to_save = "save" in request.POST
    context: dict[str, Any] = {"rerank_form": form}
    if not form.is_valid():
        return _tested_page(request, workspace, context | {"problem": _invalid(form)})
    test = testing.reranker_test_and_save if is_to_save else testing.reranker_test
    try:
        tested = test(workspace=workspace, choice=form.choice(), user=request.user)
    except KBError as error:
        return _tested_page(request, workspace, context | {"problem": error})
    if tested.works and is_to_save:
        messages.success(request, "Reranking saved. It applies from the next question.")
        return _redirect(request, "workspaces:model_settings", workspace.slug)
    return _tested_page(
        request, workspace, context | {"probe": tested.lines, "is_kept_back": is_to_save}
    )


def _tested_page(
    request: UserRequest, workspace: Workspace, context: dict[str, Any]
) -> HttpResponse:
    """Render a test's result, alone or in the page; for views without a transaction."""
    context["workspace"] = workspace
    problem = context.get("problem")
    # htmx would not show the panel of a response that is an error.
    if isinstance(problem, LimitError) and not request.htmx:
        raise problem
    if request.htmx:
        return render(request, "workspaces/model_test.html", context)
    # The panel appears under the form that was sent.
    [name] = context.keys() & {"form", "rerank_form"}
    with transaction.atomic():
        access.workspace_for_administering(user=request.user, workspace_id=workspace.pk)
        return _model_page(request, workspace, tested={name: context}, **{name: context[name]})


@workspace_page(Capability.ADMINISTER, "POST")
def model_settings_clear(request: UserRequest, workspace: Workspace) -> HttpResponse:
    services.model_settings_clear(workspace=workspace, user=request.user)
    messages.success(request, "This workspace works on the local tier again.")
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def installation_model_use(request: UserRequest, workspace: Workspace) -> HttpResponse:
    services.installation_model_use(workspace=workspace, user=request.user)
    messages.success(request, "This workspace works with the installation's model.")
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def prices_set(request: UserRequest, workspace: Workspace) -> HttpResponse:
    lines = forms.price_forms([], [], request.POST)
    if not lines.is_valid():
        return _model_page(request, workspace, prices=lines)
    given = [price for line in lines if (price := line.given())]
    try:
        services.prices_set(workspace=workspace, prices=given, user=request.user)
    except KBError as error:
        return _model_page(request, workspace, prices=lines, problem=error)
    messages.success(request, "Prices saved. They apply from the next call.")
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def budget_set(request: UserRequest, workspace: Workspace) -> HttpResponse:
    form = forms.BudgetForm(request.POST)
    if not form.is_valid():
        return _model_page(request, workspace, budget=form)
    services.budget_set(workspace=workspace, cap=form.cleaned_data["cap"], user=request.user)
    messages.success(request, "Budget saved. Work that was waiting for it continues.")
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def cache_clear(request: UserRequest, workspace: Workspace) -> HttpResponse:
    try:
        removed = services.cache_clear(workspace=workspace, role=request.POST.get("role", ""))
    except KBError as error:
        messages.error(request, error.sentence)
    else:
        messages.success(request, f"{removed} kept replies were forgotten.")
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def tuning_start(request: UserRequest, workspace: Workspace) -> HttpResponse:
    is_done(
        request,
        partial(services.tuning_start, workspace=workspace),
        "The model reads a sample of the documents. What it learns appears here.",
    )
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def tuning_set(request: UserRequest, workspace: Workspace) -> HttpResponse:
    form = forms.tuning_form(queries.model_state(workspace=workspace), request.POST)
    if not form.is_valid():
        return _model_page(request, workspace, tuning_form=form)
    services.tuning_set(workspace=workspace, changes=form.cleaned_data)
    messages.success(request, "Saved. Prompts use it from now on.")
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def tuning_forget(request: UserRequest, workspace: Workspace) -> HttpResponse:
    services.tuning_forget(workspace=workspace)
    messages.success(request, "What was learned from the documents was deleted.")
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def reranker_set(request: UserRequest, workspace: Workspace) -> HttpResponse:
    form = forms.rerank_form(queries.reranker_state(workspace=workspace), request.POST)
    if not form.is_valid():
        return _model_page(request, workspace, rerank_form=form)
    try:
        services.reranker_set(workspace=workspace, choice=form.choice(), user=request.user)
    except KBError as error:
        return _model_page(request, workspace, rerank_form=form, problem=error)
    messages.success(request, "Reranking saved. It applies from the next question.")
    return redirect("workspaces:model_settings", workspace.slug)


@transaction.non_atomic_requests
@workspace_page(Capability.ADMINISTER, "POST")
def embedding_change(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Start a new embedding index; no transaction is open while the new model answers a
    test call.
    """
    model = request.POST.get("model", "")
    provider = request.POST.get("provider", "endpoint")
    try:
        testing.check_rate(workspace=workspace, user=request.user)
        embedding.embedding_change(
            workspace=workspace, provider=provider, model=model, user=request.user
        )
    except KBError as error:
        messages.error(request, error.sentence)
    else:
        messages.success(
            request,
            "A second index is being built. The current one stays in use until it is complete.",
        )
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.ADMINISTER, "POST")
def embedding_give_up(request: UserRequest, workspace: Workspace) -> HttpResponse:
    try:
        embedding.embedding_give_up(workspace=workspace)
    except KBError as error:
        messages.warning(request, error.sentence)
    return redirect("workspaces:model_settings", workspace.slug)


@workspace_page(Capability.READ, at_source=True)
def usage(request: UserRequest, workspace: Workspace) -> HttpResponse:
    state = queries.model_state(workspace=workspace)
    context = {
        "workspace": workspace,
        "section": "usage",
        "state": state,
        "total": usage_queries.usage_total(workspace=workspace),
        "spending": usage_queries.spending_of(workspace=workspace),
        "unpriced": usage_queries.unpriced(
            workspace=workspace,
            models=state.models,
            is_installation=state.tier == "installation",
        ),
        "by_stage": usage_queries.usage_by(workspace=workspace, by="stage"),
        "by_model": usage_queries.usage_by(workspace=workspace, by="model"),
        "by_day": usage_queries.usage_by(workspace=workspace, by="day", most=14),
        "by_document": usage_queries.usage_by(workspace=workspace, by="document", most=10),
        "calls": usage_queries.last_calls(workspace=workspace),
        "quotas": limits.quotas_of(workspace=workspace, user=request.user),
        "caps": _caps(request, workspace, state),
        "can_set": _can_set(workspace),
    }
    return render(request, "workspaces/usage.html", context)


def _caps(
    request: UserRequest, workspace: Workspace, state: queries.ModelState
) -> list[caps.CapUse]:
    """Return the operator's limits where they apply."""
    if state.tier != "installation":
        return []
    return caps.caps_of(workspace=workspace, viewer=request.user)


def _can_set(workspace: Workspace) -> bool:
    return workspace.may(Capability.ADMINISTER)


def _model_page(request: UserRequest, workspace: Workspace, **given: Any) -> HttpResponse:
    """Render the Models page; submitted forms in ``given`` replace fresh ones."""
    state = queries.model_state(workspace=workspace)
    spending = usage_queries.spending_of(workspace=workspace)
    prices = usage_queries.prices_in(workspace=workspace)
    reranker = queries.reranker_state(workspace=workspace)
    context = {
        "workspace": workspace,
        "section": "models",
        "state": state,
        "embedding": queries.embedding_state(workspace=workspace),
        "spending": spending,
        "unpriced": usage_queries.unpriced(
            workspace=workspace,
            models=state.models,
            is_installation=state.tier == "installation",
        ),
        "prices_now": prices,
        "caps": _caps(request, workspace, state),
        "roles": forms.ROLE_TITLES.items(),
        "can_set": _can_set(workspace),
        "reranker": reranker,
    }
    if context["can_set"]:
        suggestions = queries.suggestions(
            state=state, slug=request.GET.get("provider", ""), priced={one.model for one in prices}
        )
        context |= {
            "rerank_form": forms.rerank_form(reranker),
            "form": forms.model_form(state, provider=suggestions.picked),
            "providers": [(one.slug, one.name) for one in PROVIDERS],
            "suggestions": suggestions,
            "prices": forms.price_forms(prices, state.models, listed=suggestions.prices),
            "tuning_form": forms.tuning_form(state),
            "budget": forms.budget_form(spending),
        }
    return render(request, "workspaces/model_settings.html", context | given)
