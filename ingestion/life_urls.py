"""Addresses of what becomes of documents: pages and operations of the API."""

from __future__ import annotations

from django.urls import URLPattern, path

from ingestion import life_views
from ingestion.api import document_life as api

document_pages: list[URLPattern] = [
    path("trash/", life_views.documents_trash, name="documents_trash"),
    path("<uuid:document_id>/edit/", life_views.document_edit, name="document_edit"),
    path("<uuid:document_id>/disable/", life_views.document_disable, name="document_disable"),
    path("<uuid:document_id>/enable/", life_views.document_enable, name="document_enable"),
    path("<uuid:document_id>/trash/", life_views.document_trash, name="document_trash"),
    path("<uuid:document_id>/restore/", life_views.document_restore, name="document_restore"),
    path("<uuid:document_id>/delete/", life_views.document_delete, name="document_delete"),
]
trash_pages: list[URLPattern] = [
    path("", life_views.trash, name="trash"),
    path("restore/", life_views.trash_restore, name="trash_restore"),
    path("empty/", life_views.trash_empty, name="trash_empty"),
]

operations: list[URLPattern] = [
    path("documents/trash/", api.DocumentsTrashApi.as_view(), name="documents_trash"),
    path("documents/<uuid:document_id>/", api.LivingDocumentApi.as_view(), name="document"),
    path(
        "documents/<uuid:document_id>/losses/",
        api.DocumentLossesApi.as_view(),
        name="document_losses",
    ),
    path(
        "documents/<uuid:document_id>/disable/",
        api.DocumentDisableApi.as_view(),
        name="document_disable",
    ),
    path(
        "documents/<uuid:document_id>/enable/",
        api.DocumentEnableApi.as_view(),
        name="document_enable",
    ),
    path(
        "documents/<uuid:document_id>/trash/",
        api.DocumentTrashApi.as_view(),
        name="document_trash",
    ),
    path(
        "documents/<uuid:document_id>/restore/",
        api.DocumentRestoreApi.as_view(),
        name="document_restore",
    ),
    path("trash/", api.TrashApi.as_view(), name="trash"),
    path("trash/restore/", api.TrashRestoreApi.as_view(), name="trash_restore"),
]
