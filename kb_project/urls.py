from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from kb_project.http.liveness import healthz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.account.urls")),
    path("api/v1/", include("kb_project.api_urls")),
    path("", include("workspaces.urls")),
    path("", include("ingestion.urls")),
    path("", include("retrieval.urls")),
]
