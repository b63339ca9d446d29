from __future__ import annotations

from django.urls import path

from workspaces.administration import views as administration_views
from workspaces.language_models import views as language_model_views
from workspaces.people import invitation_views, views as people_views
from workspaces.tokens import views as token_views

app_name = "workspaces"

MEMBERS = "w/<workspace:workspace_id>/members/"
INVITATION = "w/<workspace:workspace_id>/invitations/<uuid:invitation_id>/"
SETTINGS = "w/<workspace:workspace_id>/settings/"
MODELS = "w/<workspace:workspace_id>/models/"

urlpatterns = [
    path("", people_views.workspace_list, name="workspace_list"),
    path("workspaces/new/", people_views.workspace_create, name="workspace_create"),
    path("profile/", people_views.profile, name="profile"),
    path("invitations/", invitation_views.invitation_opened, name="invitation_opened"),
    path(
        "invitations/<uuid:space_id>/<str:token>/", invitation_views.invitation, name="invitation"
    ),
    path(SETTINGS, administration_views.workspace_settings, name="workspace_settings"),
    path(f"{SETTINGS}export/", administration_views.export_request, name="export_request"),
    path(
        f"{SETTINGS}export/<uuid:export_id>/",
        administration_views.export_download,
        name="export_download",
    ),
    path(f"{SETTINGS}delete/", administration_views.workspace_delete, name="workspace_delete"),
    path(
        "w/<workspace:workspace_id>/deleted/",
        administration_views.workspace_deleted,
        name="workspace_deleted",
    ),
    path(MEMBERS, people_views.member_list, name="member_list"),
    path(f"{MEMBERS}invite/", people_views.member_invite, name="member_invite"),
    path(f"{MEMBERS}leave/", people_views.member_leave, name="member_leave"),
    path(f"{MEMBERS}<uuid:member_id>/role/", people_views.role_set, name="role_set"),
    path(f"{MEMBERS}<uuid:member_id>/remove/", people_views.member_remove, name="member_remove"),
    path(
        f"{MEMBERS}<uuid:member_id>/owner/",
        people_views.ownership_transfer,
        name="ownership_transfer",
    ),
    path(
        f"{INVITATION}renew/",
        people_views.invitation_renew,
        name="invitation_renew",
    ),
    path(f"{INVITATION}revoke/", people_views.invitation_revoke, name="invitation_revoke"),
    path("w/<workspace:workspace_id>/groups/", people_views.group_list, name="group_list"),
    path(
        "w/<workspace:workspace_id>/groups/<uuid:group_id>/",
        people_views.group_detail,
        name="group_detail",
    ),
    path(
        "w/<workspace:workspace_id>/groups/<uuid:group_id>/delete/",
        people_views.group_delete,
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
    path(f"{MODELS}tune/edit/", language_model_views.tuning_set, name="tuning_set"),
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
