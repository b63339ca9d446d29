"""Addresses of the pages of ingestion, below a workspace."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from ingestion import tuning
from ingestion.audit import views as audit
from ingestion.curation import fact_views, history_views, list_views, views
from ingestion.documents import views as documents
from ingestion.documents.collections import views as collections
from ingestion.editions import views as editions
from ingestion.exchange import views as exchange
from ingestion.explorer import views as explorer
from ingestion.health import views as health
from ingestion.suggestions import views as suggestions
from ingestion.topics import views as topics

app_name = "ingestion"

versions: list[URLPattern | URLResolver] = [
    path("", documents.version_add, name="version_add"),
    path("estimate/", documents.version_estimate, name="version_estimate"),
    path("<int:number>/restore/", documents.version_restore, name="version_restore"),
    path("<int:number>/changes/", documents.version_changes, name="version_changes"),
    path("<int:number>/progress/", documents.version_progress, name="version_progress"),
]

document: list[URLPattern | URLResolver] = [
    path("", documents.document_detail, name="document_detail"),
    path("edit/", documents.document_edit, name="document_edit"),
    path("disable/", documents.document_disable, name="document_disable"),
    path("enable/", documents.document_enable, name="document_enable"),
    path("trash/", documents.document_trash, name="document_trash"),
    path("restore/", documents.document_restore, name="document_restore"),
    path("delete/", documents.document_delete, name="document_delete"),
    path("retry/", documents.document_retry, name="document_retry"),
    path("cancel/", documents.document_cancel, name="document_cancel"),
    path("passages/retry/", documents.passages_retry, name="passages_retry"),
    path("pages/<int:number>.png", documents.page_picture, name="page_picture"),
    path("history/", history_views.document_history, name="document_history"),
    path("versions/", include(versions)),
]

collection: list[URLPattern | URLResolver] = [
    path("", collections.collection_detail, name="collection_detail"),
    path("rename/", collections.collection_rename, name="collection_rename"),
    path("delete/", collections.collection_delete, name="collection_delete"),
]

all_collections: list[URLPattern | URLResolver] = [
    path("", collections.collection_list, name="collection_list"),
    path("new/", collections.collection_create, name="collection_create"),
    path("<uuid:collection_id>/", include(collection)),
]

all_documents: list[URLPattern | URLResolver] = [
    path("", documents.document_list, name="document_list"),
    path("upload/", documents.document_upload, name="document_upload"),
    path("estimate/", documents.document_estimate, name="document_estimate"),
    path("trash/", documents.documents_trash, name="documents_trash"),
    path("move/", collections.documents_move, name="documents_move"),
    path("collections/", include(all_collections)),
    path("resume/", documents.work_resume, name="work_resume"),
    path("read-again/", documents.read_again, name="read_again"),
    path("retry/", documents.documents_retry, name="documents_retry"),
    path("<uuid:document_id>/", include(document)),
]

trash: list[URLPattern | URLResolver] = [
    path("", documents.trash, name="trash"),
    path("restore/", documents.trash_restore, name="trash_restore"),
    path("empty/", documents.trash_empty, name="trash_empty"),
]

entity: list[URLPattern | URLResolver] = [
    path("", views.entity_detail, name="entity_detail"),
    path("edit/", views.entity_edit, name="entity_edit"),
    path("delete/", views.entity_delete, name="entity_delete"),
    path("resume/", views.change_resume, name="change_resume"),
    path("merge/", views.entities_merge, name="entities_merge"),
    path("differ/", views.entities_differ, name="entities_differ"),
    path("split/", views.entity_split, name="entity_split"),
    path("facts/", fact_views.entity_facts, name="entity_facts"),
    path("claims/", fact_views.entity_claims, name="entity_claims"),
    path("facts/new/", views.relationship_create, name="relationship_create"),
    path("history/", history_views.entity_history, name="entity_history"),
]

fact: list[URLPattern | URLResolver] = [
    path("", views.relationship_edit, name="relationship_edit"),
    path("passages/", fact_views.fact_passages, name="fact_passages"),
    path("delete/", views.relationship_delete, name="relationship_delete"),
]

claim: list[URLPattern | URLResolver] = [
    path("", fact_views.claim_edit, name="claim_edit"),
    path("delete/", fact_views.claim_delete, name="claim_delete"),
]

queue: list[URLPattern | URLResolver] = [
    path("", suggestions.curation_queue, name="curation_queue"),
    path("cases/", suggestions.case_list, name="case_list"),
    path("merge/", suggestions.case_merge, name="case_merge"),
    path("differ/", suggestions.case_differ, name="case_differ"),
    path("skip/", suggestions.case_skip, name="case_skip"),
    path("above/", suggestions.cases_above, name="cases_above"),
]

conflict: list[URLPattern | URLResolver] = [
    path("", fact_views.conflict_detail, name="conflict_detail"),
    path("decide/", fact_views.conflict_decide, name="conflict_decide"),
    path("reopen/", fact_views.conflict_reopen, name="conflict_reopen"),
]

topic: list[URLPattern | URLResolver] = [
    path("", topics.community_detail, name="community_detail"),
    path("retry/", topics.report_retry, name="report_retry"),
    path("watch/", topics.topic_watch, name="topic_watch"),
]

graph: list[URLPattern | URLResolver] = [
    path("", explorer.explorer, name="explorer"),
    path("view/", explorer.explorer_view, name="explorer_view"),
    path("more/", explorer.explorer_more, name="explorer_more"),
    path("search/", explorer.explorer_search, name="explorer_search"),
    path("entities/<uuid:entity_id>/", explorer.explorer_entity, name="explorer_entity"),
    path(
        "entities/<uuid:entity_id>/<uuid:other_id>/",
        explorer.explorer_between,
        name="explorer_between",
    ),
    path("transfer/", exchange.graph_transfer, name="graph_transfer"),
    path("export/", exchange.graph_export, name="graph_export"),
    path("imports/", exchange.graph_imports, name="graph_imports"),
    path("imports/<uuid:import_id>/", exchange.graph_import, name="graph_import"),
    path(
        "imports/<uuid:import_id>/discard/",
        exchange.graph_import_discard,
        name="graph_import_discard",
    ),
]

workspace: list[URLPattern | URLResolver] = [
    path("documents/", include(all_documents)),
    path(
        "collections/<uuid:collection_id>/access/",
        editions.collection_access,
        name="collection_access",
    ),
    path("trash/", include(trash)),
    path("entities/", list_views.entity_list, name="entity_list"),
    path("entities/bulk/", list_views.entities_bulk, name="entities_bulk"),
    path("entities/new/", views.entity_create, name="entity_create"),
    path("entities/<uuid:entity_id>/", include(entity)),
    path("facts/<uuid:relationship_id>/", include(fact)),
    path("claims/<uuid:claim_id>/", include(claim)),
    path("decisions/", history_views.decision_record, name="decision_record"),
    path("decisions/<uuid:decision_id>/undo/", history_views.decision_undo, name="decision_undo"),
    path("curation/", include(queue)),
    path("conflicts/", fact_views.conflict_list, name="conflict_list"),
    path("conflicts/<uuid:conflict_id>/", include(conflict)),
    path("history/", history_views.workspace_history, name="workspace_history"),
    path("history/<uuid:event_id>/", history_views.event_detail, name="event_detail"),
    path("history/<uuid:event_id>/undo/", history_views.event_undo, name="event_undo"),
    path("topics/", topics.community_list, name="community_list"),
    path("topics/tree/", topics.topic_tree, name="topic_tree"),
    path("topics/retry/", topics.reports_retry, name="reports_retry"),
    path("topics/<uuid:community_id>/", include(topic)),
    path("graph/", include(graph)),
    path("audit/", audit.audit_list, name="audit_list"),
    path("audit/entries.csv", audit.audit_export, name="audit_export"),
    path("health/", health.health_page, name="health"),
    path("health/check/", health.health_check, name="health_check"),
    path("models/tune/cancel/", tuning.tuning_cancel, name="tuning_cancel"),
]

urlpatterns = [
    path("w/<workspace:workspace_id>/", include(workspace)),
    path("watched/stop/<str:token>/", topics.topic_mails_stop, name="topic_mails_stop"),
]
