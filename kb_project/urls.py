"""The addresses of pages and of the API, and the liveness check for load balancers."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from ingestion import admin as _pages_of_the_admin  # noqa: F401 - registers them
from kb_project.database.outages import DATABASE_AWAY
from kb_project.http.api import DescribedOnce, NothingHere
from kb_project.sql import run_sql
from workspaces.admin import site as admin_site
from workspaces.people import api as people_api, invitation_api


@transaction.non_atomic_requests
@never_cache
@require_GET
def healthz(request: HttpRequest) -> JsonResponse:
    """Say whether this process answers and reaches its database."""
    try:
        run_sql("SELECT 1")
    except DATABASE_AWAY:
        return JsonResponse({"status": "the database does not answer"}, status=503)
    return JsonResponse({"status": "ok"})


@require_GET
def favicon(request: HttpRequest) -> HttpResponse:
    """Lead to the mark what asks for an icon without having read a page."""
    return redirect(static("img/mark.svg"))


api: list[URLPattern | URLResolver] = [
    path("schema/", SpectacularAPIView.as_view(generator_class=DescribedOnce), name="schema"),
    path(
        "docs/",
        SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="api/docs.html"),
        name="api_docs",
    ),
    path("profile/", people_api.ProfileApi.as_view(), name="profile"),
    path("invitations/", invitation_api.InvitationOpenApi.as_view(), name="invitation_open"),
    path(
        "invitations/accept/",
        invitation_api.InvitationAcceptApi.as_view(),
        name="invitation_accept",
    ),
    path(
        "invitations/decline/",
        invitation_api.InvitationDeclineApi.as_view(),
        name="invitation_decline",
    ),
    path("workspaces/", include("workspaces.api_urls")),
    path("workspaces/<workspace:workspace_id>/", include("ingestion.api_urls")),
    path("workspaces/<workspace:workspace_id>/", include("retrieval.api_urls")),
    re_path(r"^.*$", NothingHere.as_view()),
]

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("favicon.ico", favicon, name="favicon"),
    path("admin/", admin_site.urls),
    path("accounts/", include("workspaces.accounts.urls")),
    path("api/v1/", include(api)),
    path("", include("workspaces.urls")),
    path("", include("ingestion.urls")),
    path("", include("retrieval.urls")),
]
