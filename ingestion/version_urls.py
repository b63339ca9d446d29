"""Addresses of a document's versions: pages below the document, operations below it in the API."""

from __future__ import annotations

from django.urls import URLPattern, path

from ingestion import version_views
from ingestion.api import versions

pages: list[URLPattern] = [
    path("", version_views.version_add, name="version_add"),
    path("<int:number>/restore/", version_views.version_restore, name="version_restore"),
    path("<int:number>/changes/", version_views.version_changes, name="version_changes"),
    path("<int:number>/progress/", version_views.version_progress, name="version_progress"),
]

operations: list[URLPattern] = [
    path("", versions.VersionListApi.as_view(), name="version_list"),
    path("<int:number>/changes/", versions.VersionChangesApi.as_view(), name="version_changes"),
    path("<int:number>/restore/", versions.VersionRestoreApi.as_view(), name="version_restore"),
]
