from __future__ import annotations

from django.urls import path

from ingestion.api import communities, documents, entities, estimates

app_name = "ingestion_api"

urlpatterns = [
    path("documents/", documents.DocumentListApi.as_view(), name="document_list"),
    path("documents/estimate/", estimates.EstimateApi.as_view(), name="document_estimate"),
    path("documents/<uuid:document_id>/", documents.DocumentApi.as_view(), name="document"),
    path(
        "documents/<uuid:document_id>/text/",
        documents.DocumentTextApi.as_view(),
        name="document_text",
    ),
    path(
        "documents/<uuid:document_id>/retry/",
        documents.DocumentRetryApi.as_view(),
        name="document_retry",
    ),
    path(
        "documents/<uuid:document_id>/cancel/",
        documents.DocumentCancelApi.as_view(),
        name="document_cancel",
    ),
    path("entities/", entities.EntityListApi.as_view(), name="entity_list"),
    path("entities/<uuid:entity_id>/", entities.EntityApi.as_view(), name="entity"),
    path("communities/", communities.CommunityListApi.as_view(), name="community_list"),
    path("communities/<uuid:community_id>/", communities.CommunityApi.as_view(), name="community"),
]
