from __future__ import annotations

from django.urls import path

from workspaces.language_models import views as language_model_views
from workspaces.people import groups_views, views as people_views
from workspaces.tokens import views as token_views

app_name = "workspaces"

MODELS = "w/<workspace:workspace_id>/models/"

urlpatterns = [
    path("", people_views.workspace_list, name="workspace_list"),
    path("workspaces/new/", people_views.workspace_create, name="workspace_create"),
    path("w/<workspace:workspace_id>/members/", people_views.member_list, name="member_list"),
    path("w/<workspace:workspace_id>/groups/", groups_views.group_list, name="group_list"),
    path(
        "w/<workspace:workspace_id>/groups/<uuid:group_id>/",
        groups_views.group_detail,
        name="group_detail",
    ),
    path(
        "w/<workspace:workspace_id>/groups/<uuid:group_id>/delete/",
        groups_views.group_delete,
        name="group_delete",
    ),
    path("w/<workspace:workspace_id>/tokens/", token_views.token_list, name="token_list"),
    path(
        "w/<workspace:workspace_id>/tokens/<uuid:token_id>/revoke/",
        token_views.token_revoke,
        name="token_revoke",
    ),
    path("w/<workspace:workspace_id>/usage/", language_model_views.usage, name="usage"),
    path(MODELS, language_model_views.model_settings, name="model_settings"),
    path(f"{MODELS}test/", language_model_views.model_test, name="model_test"),
    path(f"{MODELS}clear/", language_model_views.model_settings_clear, name="model_settings_clear"),
    path(
        f"{MODELS}installation/",
        language_model_views.installation_model_use,
        name="installation_model_use",
    ),
    path(f"{MODELS}prices/", language_model_views.prices_set, name="prices_set"),
    path(f"{MODELS}budget/", language_model_views.budget_set, name="budget_set"),
    path(f"{MODELS}cache/", language_model_views.cache_clear, name="cache_clear"),
    path(f"{MODELS}tune/", language_model_views.tuning_start, name="tuning_start"),
    path(f"{MODELS}tune/forget/", language_model_views.tuning_forget, name="tuning_forget"),
    path(f"{MODELS}reranker/", language_model_views.reranker_set, name="reranker_set"),
    path(f"{MODELS}reranker/test/", language_model_views.reranker_test, name="reranker_test"),
    path(f"{MODELS}embedding/", language_model_views.embedding_change, name="embedding_change"),
    path(
        f"{MODELS}embedding/give-up/",
        language_model_views.embedding_give_up,
        name="embedding_give_up",
    ),
]
