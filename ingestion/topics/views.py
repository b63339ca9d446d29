"""Pages of topics and their reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from ingestion.knowledge import insights, topics
from ingestion.knowledge.spans import SourceSpan
from ingestion.knowledge.topics import FindingView, TopicView
from ingestion.models.communities import SMALLEST_WRITTEN
from ingestion.topics import digests, presenters, services
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, refusals_shown, workspace_page


@workspace_page(Capability.READ)
def community_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = {"workspace": workspace, "section": "topics"}
    context["level"] = presenters.open_tree(workspace=workspace)
    context |= _page(request, workspace, None)
    level = request.GET.get("level", "")
    context |= presenters.map_context(
        workspace=workspace, level=int(level) if level in ("1", "2") else 0
    )
    context["bridges"] = insights.bridges(workspace=workspace)
    context |= unwritten(workspace)
    return render(request, "ingestion/community_list.html", context)


@workspace_page(Capability.READ)
def community_detail(
    request: UserRequest, workspace: Workspace, community_id: UUID
) -> HttpResponse:
    """Show a topic, with what changed since the member's last visit, and remember the visit."""
    watched = services.watch_of(workspace=workspace, community_id=community_id)
    if watched and watched.has_moved and watched.topic != community_id:
        return redirect("ingestion:community_detail", workspace.slug, watched.topic)
    view = topics.topic_view(workspace=workspace, community_id=community_id)
    context = {"workspace": workspace, "section": "topics", "view": view}
    context["level"] = presenters.open_tree(workspace=workspace, community=view.community)
    above = topics.topics_above(workspace=workspace, community=view.community)
    context["trail"] = topics.topic_nodes(workspace=workspace, communities=above)
    context |= _page(request, workspace, community_id)
    context["insights"] = insights.topic_insights(workspace=workspace, community_id=community_id)
    context |= {"watched": watched, "sends_mail": digests.is_set_up()}
    if watched and not _is_prefetch(request):
        context["changed"] = services.topic_visit(workspace=workspace, watched=watched)
    if view.parts:
        context |= presenters.map_context(workspace=workspace, within=community_id)
    context |= unwritten(workspace, view) | {"summary": numbered(view.summary)}
    return render(request, "ingestion/community_list.html", context)


def _page(request: HttpRequest, workspace: Workspace, parent: UUID | None) -> dict[str, Any]:
    """Build the context of a page of the topics right below one, or of the first level."""
    rows = topics.topics_below(workspace=workspace, parent=parent)
    page = Paginator(rows, presenters.PER_PAGE).get_page(request.GET.get("page", ""))
    nodes = topics.topic_nodes(workspace=workspace, communities=page.object_list)
    return {"page": page, "nodes": nodes}


@workspace_page(Capability.READ)
def topic_tree(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Show more of the tree: a page of the topics below one, or of the first level."""
    page = request.GET.get("page", "")
    level = presenters.tree_level(
        workspace=workspace,
        parent=id_in(request.GET.get("parent", "")),
        page=int(page) if page.isdecimal() and 0 < len(page) < 7 else 1,
        extra=id_in(request.GET.get("extra", "")),
    )
    context = {"workspace": workspace, "level": level}
    return render(request, "ingestion/topics/tree_level.html", context)


def _is_prefetch(request: HttpRequest) -> bool:
    """Whether a browser fetches the page before anyone asked to see it."""
    return "prefetch" in request.headers.get("Sec-Purpose", "")


@workspace_page(Capability.READ, "POST")
def topic_watch(request: UserRequest, workspace: Workspace, community_id: UUID) -> HttpResponse:
    """Watch a topic, choose whether e-mails mention it, or stop watching it."""
    mails = {"on": True, "off": False}.get(request.POST.get("mails", ""))
    with refusals_shown(request):
        if request.POST.get("watch") == "off":
            ended = services.topic_unwatch(workspace=workspace, community_id=community_id)
            messages.success(request, "You no longer watch this topic.")
            if ended.topic is None:
                return redirect("ingestion:community_list", workspace.slug)
        else:
            services.topic_watch(workspace=workspace, community_id=community_id, mails=mails)
            messages.success(request, _WATCHED[mails])
    return redirect("ingestion:community_detail", workspace.slug, community_id)


_WATCHED = {
    None: "You watch this topic. Changes appear here and on the home page.",
    True: "You get an e-mail when this topic changes, at most one a day.",
    False: "E-mails no longer mention this topic.",
}


@csrf_exempt
@never_cache
@require_http_methods(["GET", "POST"])
def topic_mails_stop(request: HttpRequest, token: str) -> HttpResponse:
    """Ask whether to stop e-mails about topics (GET), and stop them (POST).

    Mail programs post here without a page, and the token is proof enough.
    """
    digests.check_token(token)
    if request.method == "POST":
        digests.stop_at(token)
    context = {"is_stopped": request.method == "POST"}
    response = render(request, "ingestion/topics/mails_stop.html", context)
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@workspace_page(Capability.CURATE, "POST")
def report_retry(request: UserRequest, workspace: Workspace, community_id: UUID) -> HttpResponse:
    community = topics.community_get(workspace=workspace, community_id=community_id)
    with refusals_shown(request):
        services.report_retry(workspace=workspace, community=community)
        messages.success(request, "The report is being written again.")
    return redirect("ingestion:community_detail", workspace.slug, community.pk)


@workspace_page(Capability.CURATE, "POST")
def reports_retry(request: UserRequest, workspace: Workspace) -> HttpResponse:
    with refusals_shown(request):
        services.reports_retry(workspace=workspace)
        messages.success(request, "The reports are being written again.")
    return redirect("ingestion:community_list", workspace.slug)


# --- what pages show ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Numbered:
    """A sentence with its sources, each with its number."""

    text: str
    sources: tuple[tuple[int, SourceSpan], ...]


def numbered(views: Sequence[FindingView]) -> list[Numbered]:
    """Number the sources in order of appearance; equal places share a number."""
    numbers: dict[tuple[Any, int, int], int] = {}
    return [
        Numbered(
            view.finding.summary,
            tuple(
                (numbers.setdefault(_place(span), len(numbers) + 1), span) for span in view.sources
            ),
        )
        for view in views
    ]


def _place(span: SourceSpan) -> tuple[Any, int, int]:
    return span.document.pk, span.start, span.end


def unwritten(workspace: Workspace, view: TopicView | None = None) -> dict[str, Any]:
    """Build the context on reports that no model wrote: for one topic, or for all."""
    rows = topics.unwritten_reports(workspace=workspace)
    if view is not None:
        rows = rows.filter(community=view.community)
    return {
        "unwritten": rows.filter(community__is_changed=False).count(),
        "has_model": topics.has_chat_model(workspace=workspace),
        "may_curate": workspace.may_curate,
        "smallest_written": SMALLEST_WRITTEN,
    }
