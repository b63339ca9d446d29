from __future__ import annotations

from django.urls import path

from workspaces import views

app_name = "workspaces"

MODELS = "w/<workspace:workspace_id>/models/"

urlpatterns = [
    path("", views.workspace_list, name="workspace_list"),
    path("workspaces/new/", views.workspace_create, name="workspace_create"),
    path("w/<workspace:workspace_id>/members/", views.member_list, name="member_list"),
    path("w/<workspace:workspace_id>/usage/", views.usage, name="usage"),
    path(MODELS, views.model_settings, name="model_settings"),
    path(f"{MODELS}test/", views.model_test, name="model_test"),
    path(f"{MODELS}clear/", views.model_settings_clear, name="model_settings_clear"),
    path(f"{MODELS}installation/", views.installation_model_use, name="installation_model_use"),
    path(f"{MODELS}prices/", views.prices_set, name="prices_set"),
    path(f"{MODELS}budget/", views.budget_set, name="budget_set"),
    path(f"{MODELS}cache/", views.cache_clear, name="cache_clear"),
    path(f"{MODELS}tune/", views.tuning_start, name="tuning_start"),
    path(f"{MODELS}tune/forget/", views.tuning_forget, name="tuning_forget"),
    path(f"{MODELS}reranker/", views.reranker_set, name="reranker_set"),
    path(f"{MODELS}reranker/test/", views.reranker_test, name="reranker_test"),
    path(f"{MODELS}embedding/", views.embedding_change, name="embedding_change"),
    path(f"{MODELS}embedding/give-up/", views.embedding_give_up, name="embedding_give_up"),
]
