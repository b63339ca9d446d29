"""Addresses where people look at entities and facts, change them, and take changes back."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from ingestion.curation_views import (
    entities,
    history,
    merging,
    queue,
    relationships,
    splitting,
)

entity = [
    path("", entities.entity_detail, name="entity_detail"),
    path("edit/", entities.entity_edit, name="entity_edit"),
    path("delete/", entities.entity_delete, name="entity_delete"),
    path("merge/", merging.entities_merge, name="entities_merge"),
    path("differ/", merging.entities_differ, name="entities_differ"),
    path("split/", splitting.entity_split, name="entity_split"),
    path("facts/new/", relationships.relationship_create, name="relationship_create"),
    path("history/", history.entity_history, name="entity_history"),
]

cases = [
    path("", queue.curation_queue, name="curation_queue"),
    path("merge/", queue.case_merge, name="case_merge"),
    path("differ/", queue.case_differ, name="case_differ"),
    path("skip/", queue.case_skip, name="case_skip"),
    path("above/", queue.cases_above, name="cases_above"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("curation/", include(cases)),
    path("entities/new/", entities.entity_create, name="entity_create"),
    path("entities/<uuid:entity_id>/", include(entity)),
    path(
        "facts/<uuid:relationship_id>/",
        relationships.relationship_edit,
        name="relationship_edit",
    ),
    path(
        "facts/<uuid:relationship_id>/delete/",
        relationships.relationship_delete,
        name="relationship_delete",
    ),
    path(
        "documents/<uuid:document_id>/history/", history.document_history, name="document_history"
    ),
    path("history/", history.workspace_history, name="workspace_history"),
    path("history/<uuid:event_id>/", history.event_detail, name="event_detail"),
    path("history/<uuid:event_id>/undo/", history.event_undo, name="event_undo"),
]
