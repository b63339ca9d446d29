"""``/api/v1/``: the apps' operations, the schema, and its documentation pages."""

from __future__ import annotations

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from kb_project.http.api import NothingHere

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "docs/",
        SpectacularSwaggerSplitView.as_view(url_name="schema", template_name="api/docs.html"),
        name="api_docs",
    ),
    path("workspaces/", include("workspaces.api_urls")),
    path("workspaces/<workspace:workspace_id>/", include("ingestion.api_urls")),
    path("workspaces/<workspace:workspace_id>/", include("retrieval.api_urls")),
    re_path(r"^.*$", NothingHere.as_view()),
]
