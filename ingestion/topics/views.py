"""Pages of topics, their reports, the tree beside them, and their map.

A workspace may have tens of thousands of topics, and a level or a topic thousands of them: only the
way to the topic on the page is open, and each level begins with its largest topics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final
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
from ingestion.knowledge.topics import (
    FindingView,
    TopicNode,
    TopicView,
    topic_nodes,
    topics_above,
    topics_below,
)
from ingestion.models import Community
from ingestion.models.communities import SMALLEST_WRITTEN
from ingestion.topics import digests, map as topic_maps, services
from ingestion.topics.map import Drawing, MapLink, MapTopic, TopicMap
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, refusals_shown, workspace_page

# --- what they show -------------------------------------------------------------------------------
# --- the tree -------------------------------------------------------------------------------------
PER_PAGE: Final = 24
"""Topics of a level shown at a time, in the tree and on the page beside it."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A topic in the tree; ``below`` are its sub-topics if they are shown."""

    node: TopicNode
    below: Level | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """Topics right below ``parent``, or of the first level; ``left`` counts those on later pages.

    ``extra`` is on a later page but shown here, since it is open.
    """

    branches: tuple[Branch, ...]
    parent: UUID | None
    page: int = 1
    left: int = 0
    extra: UUID | None = None

    @property
    def following(self) -> int:
        return self.page + 1


def open_tree(*, workspace: Workspace, community: Community | None = None) -> Level:
    """The first level, open down to a topic and its sub-topics; closed without one."""
    path = [*topics_above(workspace=workspace, community=community), community] if community else []
    return _opened(workspace, None, path)


def tree_level(
    *, workspace: Workspace, parent: UUID | None, page: int = 1, extra: UUID | None = None
) -> Level:
    """A page of a level with everything below it closed; ``extra`` is shown already."""
    rows = topics_below(workspace=workspace, parent=parent)
    total = rows.count()
    first = (page - 1) * PER_PAGE
    nodes = topic_nodes(workspace=workspace, communities=rows[first : first + PER_PAGE])
    branches = tuple(Branch(node) for node in nodes if node.community.pk != extra)
    return Level(branches, parent, page, max(0, total - first - PER_PAGE), extra)


def _opened(workspace: Workspace, parent: UUID | None, path: Sequence[Community]) -> Level:
    level = tree_level(workspace=workspace, parent=parent)
    if not path:
        return level
    below = _opened(workspace, path[0].pk, path[1:])
    branches = [
        Branch(one.node, below if below.branches else None)
        if one.node.community.pk == path[0].pk
        else one
        for one in level.branches
    ]
    if path[0].pk in {one.node.community.pk for one in branches}:
        return Level(tuple(branches), parent, left=level.left)
    [node] = topic_nodes(workspace=workspace, communities=path[:1])
    branches.append(Branch(node, below if below.branches else None))
    return Level(tuple(branches), parent, left=level.left - 1, extra=path[0].pk)


# --- the map --------------------------------------------------------------------------------------
CONNECTED: Final = 3
"""Connected topics that a row names."""
THICKEST: Final = 7
LEVELS: Final = ("Broadest topics", "Sub-topics", "Their sub-topics")


@dataclass(frozen=True, slots=True)
class Row:
    """A topic with those it is connected with most, each with the number of relationships."""

    topic: MapTopic
    connected: tuple[tuple[MapTopic, int], ...]


@dataclass(frozen=True, slots=True)
class Circle:
    """A topic as drawn, in whole units of the drawing; ``lines`` are its title's, with their y."""

    row: Row
    x: int
    y: int
    radius: int
    lines: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Line:
    x1: int
    y1: int
    x2: int
    y2: int
    thickness: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing for paper of one width."""

    name: str
    width: int
    height: int
    circles: tuple[Circle, ...]
    lines: tuple[Line, ...]


def map_context(
    *,
    workspace: Workspace,
    level: int = 0,
    within: UUID | None = None,
) -> dict[str, Any]:
    """Build the context of the map; empty if it would show fewer than two topics."""
    found = topic_maps.topic_map(workspace=workspace, level=level, within=within)
    if len(found.topics) < 2 and not level:
        return {}
    rows = rows_of(found)
    return {
        "map": found,
        "map_rows": rows,
        "map_pictures": [
            _picture("wide", rows, found, topic_maps.WIDE),
            _picture("narrow", rows, found, topic_maps.NARROW),
        ],
        "map_levels": levels_of(found) if within is None else [],
    }


def levels_of(found: TopicMap) -> list[tuple[int, str]]:
    """The levels to choose from, if there are several."""
    numbers = range(min(found.levels, len(LEVELS)))
    return [(number, LEVELS[number]) for number in numbers] if found.levels > 1 else []


def rows_of(found: TopicMap) -> list[Row]:
    known = {topic.id: topic for topic in found.topics}
    connected: defaultdict[UUID, list[tuple[MapTopic, int]]] = defaultdict(list)
    for link in found.links:
        connected[link.a].append((known[link.b], link.relationships))
        connected[link.b].append((known[link.a], link.relationships))
    return [Row(topic, tuple(connected[topic.id][:CONNECTED])) for topic in found.topics]


def _picture(name: str, rows: Sequence[Row], found: TopicMap, width: int) -> Picture:
    drawing = topic_maps.drawing(found.topics, width)
    return Picture(
        name,
        drawing.width,
        drawing.height,
        tuple(
            Circle(
                row,
                round(box.x),
                round(box.y),
                round(box.radius),
                tuple(
                    (text, round(box.y + box.radius + topic_maps.LINE_HEIGHT * (number + 0.8)))
                    for number, text in enumerate(box.lines)
                ),
            )
            for row, box in zip(rows, drawing.boxes, strict=True)
        ),
        tuple(_lines(found.topics, topic_maps.drawn(found.links), drawing)),
    )


def _lines(shown: Sequence[MapTopic], links: Sequence[MapLink], drawing: Drawing) -> list[Line]:
    boxes = {topic.id: box for topic, box in zip(shown, drawing.boxes, strict=True)}
    strongest = max((link.weight for link in links), default=0) or 1
    return [
        Line(
            round(boxes[link.a].x),
            round(boxes[link.a].y),
            round(boxes[link.b].x),
            round(boxes[link.b].y),
            1 + round((THICKEST - 1) * sqrt(link.weight / strongest)),
        )
        for link in links
    ]


# --- the pages ------------------------------------------------------------------------------------
@workspace_page(Capability.READ)
def community_list(request: UserRequest, workspace: Workspace) -> HttpResponse:
    context = {"workspace": workspace, "section": "topics"}
    context["level"] = open_tree(workspace=workspace)
    context |= _page(request, workspace, None)
    level = request.GET.get("level", "")
    context |= map_context(workspace=workspace, level=int(level) if level in ("1", "2") else 0)
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
    context["level"] = open_tree(workspace=workspace, community=view.community)
    above = topics.topics_above(workspace=workspace, community=view.community)
    context["trail"] = topics.topic_nodes(workspace=workspace, communities=above)
    context |= _page(request, workspace, community_id)
    context["insights"] = insights.topic_insights(workspace=workspace, community_id=community_id)
    context |= {"watched": watched, "sends_mail": digests.is_set_up()}
    if watched and not _is_prefetch(request):
        context["changed"] = services.topic_visit(workspace=workspace, watched=watched)
    if view.parts:
        context |= map_context(workspace=workspace, within=community_id)
    context |= unwritten(workspace, view) | {"summary": numbered(view.summary)}
    return render(request, "ingestion/community_list.html", context)


def _page(request: HttpRequest, workspace: Workspace, parent: UUID | None) -> dict[str, Any]:
    """Build the context of a page of the topics right below one, or of the first level."""
    rows = topics.topics_below(workspace=workspace, parent=parent)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page", ""))
    nodes = topics.topic_nodes(workspace=workspace, communities=page.object_list)
    return {"page": page, "nodes": nodes}


@workspace_page(Capability.READ)
def topic_tree(request: UserRequest, workspace: Workspace) -> HttpResponse:
    """Show more of the tree: a page of the topics below one, or of the first level."""
    page = request.GET.get("page", "")
    level = tree_level(
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
