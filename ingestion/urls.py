from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from ingestion import (
    curation_urls,
    decision_views,
    health_views,
    life_urls,
    passage_views,
    rereading_views,
    version_urls,
    views,
)

app_name = "ingestion"

documents: list[URLPattern | URLResolver] = [
    path("", views.document_list, name="document_list"),
    path("upload/", views.document_upload, name="document_upload"),
    path("estimate/", views.document_estimate, name="document_estimate"),
    *life_urls.document_pages,
    path("resume/", views.work_resume, name="work_resume"),
    path("read-again/", rereading_views.read_again, name="read_again"),
    path("retry/", views.documents_retry, name="documents_retry"),
    path("<uuid:document_id>/", views.document_detail, name="document_detail"),
    path("<uuid:document_id>/retry/", views.document_retry, name="document_retry"),
    path("<uuid:document_id>/cancel/", views.document_cancel, name="document_cancel"),
    path("<uuid:document_id>/passages/retry/", passage_views.passages_retry, name="passages_retry"),
    path("<uuid:document_id>/pages/<int:number>.png", views.page_picture, name="page_picture"),
    path("<uuid:document_id>/versions/", include(version_urls.pages)),
]

urlpatterns = [
    path("w/<workspace:workspace_id>/documents/", include(documents)),
    path("w/<workspace:workspace_id>/trash/", include(life_urls.trash_pages)),
    path(
        "w/<workspace:workspace_id>/decisions/",
        decision_views.decision_record,
        name="decision_record",
    ),
    path(
        "w/<workspace:workspace_id>/decisions/<uuid:decision_id>/undo/",
        decision_views.decision_undo,
        name="decision_undo",
    ),
    path("w/<workspace:workspace_id>/entities/", views.entity_list, name="entity_list"),
    path("w/<workspace:workspace_id>/", include(curation_urls.urlpatterns)),
    path("w/<workspace:workspace_id>/health/", health_views.health_page, name="health"),
    path(
        "w/<workspace:workspace_id>/health/check/",
        health_views.health_check,
        name="health_check",
    ),
    path("w/<workspace:workspace_id>/topics/", views.community_list, name="community_list"),
    path("w/<workspace:workspace_id>/topics/retry/", views.reports_retry, name="reports_retry"),
    path(
        "w/<workspace:workspace_id>/topics/<uuid:community_id>/",
        views.community_detail,
        name="community_detail",
    ),
    path(
        "w/<workspace:workspace_id>/topics/<uuid:community_id>/retry/",
        views.report_retry,
        name="report_retry",
    ),
]
