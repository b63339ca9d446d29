"""Addresses of the pages of ingestion, below a workspace."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from ingestion.curation.views import (
    decisions,
    entities,
    history,
    merging,
    relationships,
    splitting,
)
from ingestion.documents import lifecycle_views, version_views, views as documents
from ingestion.health import views as health
from ingestion.suggestions import views as suggestions
from ingestion.topics import views as topics

app_name = "ingestion"

versions: list[URLPattern | URLResolver] = [
    path("", version_views.version_add, name="version_add"),
    path("<int:number>/restore/", version_views.version_restore, name="version_restore"),
    path("<int:number>/changes/", version_views.version_changes, name="version_changes"),
    path("<int:number>/progress/", version_views.version_progress, name="version_progress"),
]

document: list[URLPattern | URLResolver] = [
    path("", documents.document_detail, name="document_detail"),
    path("edit/", lifecycle_views.document_edit, name="document_edit"),
    path("disable/", lifecycle_views.document_disable, name="document_disable"),
    path("enable/", lifecycle_views.document_enable, name="document_enable"),
    path("trash/", lifecycle_views.document_trash, name="document_trash"),
    path("restore/", lifecycle_views.document_restore, name="document_restore"),
    path("delete/", lifecycle_views.document_delete, name="document_delete"),
    path("retry/", documents.document_retry, name="document_retry"),
    path("cancel/", documents.document_cancel, name="document_cancel"),
    path("passages/retry/", documents.passages_retry, name="passages_retry"),
    path("pages/<int:number>.png", documents.page_picture, name="page_picture"),
    path("history/", history.document_history, name="document_history"),
    path("versions/", include(versions)),
]

all_documents: list[URLPattern | URLResolver] = [
    path("", documents.document_list, name="document_list"),
    path("upload/", documents.document_upload, name="document_upload"),
    path("estimate/", documents.document_estimate, name="document_estimate"),
    path("trash/", lifecycle_views.documents_trash, name="documents_trash"),
    path("resume/", documents.work_resume, name="work_resume"),
    path("read-again/", documents.read_again, name="read_again"),
    path("retry/", documents.documents_retry, name="documents_retry"),
    path("<uuid:document_id>/", include(document)),
]

trash: list[URLPattern | URLResolver] = [
    path("", lifecycle_views.trash, name="trash"),
    path("restore/", lifecycle_views.trash_restore, name="trash_restore"),
    path("empty/", lifecycle_views.trash_empty, name="trash_empty"),
]

entity: list[URLPattern | URLResolver] = [
    path("", entities.entity_detail, name="entity_detail"),
    path("edit/", entities.entity_edit, name="entity_edit"),
    path("delete/", entities.entity_delete, name="entity_delete"),
    path("merge/", merging.entities_merge, name="entities_merge"),
    path("differ/", merging.entities_differ, name="entities_differ"),
    path("split/", splitting.entity_split, name="entity_split"),
    path("facts/new/", relationships.relationship_create, name="relationship_create"),
    path("history/", history.entity_history, name="entity_history"),
]

fact: list[URLPattern | URLResolver] = [
    path("", relationships.relationship_edit, name="relationship_edit"),
    path("delete/", relationships.relationship_delete, name="relationship_delete"),
]

queue: list[URLPattern | URLResolver] = [
    path("", suggestions.curation_queue, name="curation_queue"),
    path("merge/", suggestions.case_merge, name="case_merge"),
    path("differ/", suggestions.case_differ, name="case_differ"),
    path("skip/", suggestions.case_skip, name="case_skip"),
    path("above/", suggestions.cases_above, name="cases_above"),
]

topic: list[URLPattern | URLResolver] = [
    path("", topics.community_detail, name="community_detail"),
    path("retry/", topics.report_retry, name="report_retry"),
]

workspace: list[URLPattern | URLResolver] = [
    path("documents/", include(all_documents)),
    path("trash/", include(trash)),
    path("entities/", entities.entity_list, name="entity_list"),
    path("entities/new/", entities.entity_create, name="entity_create"),
    path("entities/<uuid:entity_id>/", include(entity)),
    path("facts/<uuid:relationship_id>/", include(fact)),
    path("decisions/", decisions.decision_record, name="decision_record"),
    path("decisions/<uuid:decision_id>/undo/", decisions.decision_undo, name="decision_undo"),
    path("curation/", include(queue)),
    path("history/", history.workspace_history, name="workspace_history"),
    path("history/<uuid:event_id>/", history.event_detail, name="event_detail"),
    path("history/<uuid:event_id>/undo/", history.event_undo, name="event_undo"),
    path("topics/", topics.community_list, name="community_list"),
    path("topics/retry/", topics.reports_retry, name="reports_retry"),
    path("topics/<uuid:community_id>/", include(topic)),
    path("health/", health.health_page, name="health"),
    path("health/check/", health.health_check, name="health_check"),
]

urlpatterns = [path("w/<workspace:workspace_id>/", include(workspace))]
