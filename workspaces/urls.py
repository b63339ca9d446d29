from __future__ import annotations

from django.urls import path

from workspaces import views

app_name = "workspaces"

urlpatterns = [
    path("", views.workspace_list, name="workspace_list"),
    path("workspaces/new/", views.workspace_create, name="workspace_create"),
    path("w/<workspace:workspace_id>/members/", views.member_list, name="member_list"),
]
