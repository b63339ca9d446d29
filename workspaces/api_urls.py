from __future__ import annotations

from django.urls import path

from workspaces import api

app_name = "workspaces_api"

urlpatterns = [
    path("", api.WorkspaceListApi.as_view(), name="workspace_list"),
    path("<workspace:workspace_id>/", api.WorkspaceApi.as_view(), name="workspace"),
]
