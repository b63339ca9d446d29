from __future__ import annotations

from django.urls import path

from workspaces.language_models import api
from workspaces.people import api as people_api, groups_api
from workspaces.tokens import api as token_api

app_name = "workspaces_api"

urlpatterns = [
    path("", people_api.WorkspaceListApi.as_view(), name="workspace_list"),
    path("<workspace:workspace_id>/", people_api.WorkspaceApi.as_view(), name="workspace"),
    path("<workspace:workspace_id>/groups/", groups_api.GroupListApi.as_view(), name="groups"),
    path(
        "<workspace:workspace_id>/groups/<uuid:group_id>/",
        groups_api.GroupApi.as_view(),
        name="group",
    ),
    path("<workspace:workspace_id>/models/", api.ModelsApi.as_view(), name="models"),
    path("<workspace:workspace_id>/models/test/", api.ModelTestApi.as_view(), name="models_test"),
    path("<workspace:workspace_id>/reranker/", api.RerankerApi.as_view(), name="reranker"),
    path(
        "<workspace:workspace_id>/reranker/test/",
        api.RerankerTestApi.as_view(),
        name="reranker_test",
    ),
    path("<workspace:workspace_id>/prices/", api.PricesApi.as_view(), name="prices"),
    path("<workspace:workspace_id>/budget/", api.BudgetApi.as_view(), name="budget"),
    path("<workspace:workspace_id>/usage/", api.UsageApi.as_view(), name="usage"),
    path("<workspace:workspace_id>/tokens/", token_api.TokenListApi.as_view(), name="tokens"),
    path(
        "<workspace:workspace_id>/tokens/<uuid:token_id>/",
        token_api.TokenApi.as_view(),
        name="token",
    ),
]
