from __future__ import annotations

from django.urls import path

from workspaces.administration import api as administration_api
from workspaces.language_models import api, spending_api
from workspaces.people import api as people_api, invitation_api
from workspaces.tokens import api as token_api

app_name = "workspaces_api"

MEMBER = "<workspace:workspace_id>/members/<uuid:member_id>/"
EXPORTS = "<workspace:workspace_id>/exports/"
INVITATIONS = "<workspace:workspace_id>/invitations/"

urlpatterns = [
    path("", people_api.WorkspaceListApi.as_view(), name="workspace_list"),
    path("<workspace:workspace_id>/groups/", people_api.GroupListApi.as_view(), name="groups"),
    path(
        "<workspace:workspace_id>/groups/<uuid:group_id>/",
        people_api.GroupApi.as_view(),
        name="group",
    ),
    path("<workspace:workspace_id>/", administration_api.WorkspaceApi.as_view(), name="workspace"),
    path(
        "<workspace:workspace_id>/restore/",
        administration_api.WorkspaceRestoreApi.as_view(),
        name="workspace_restore",
    ),
    path(EXPORTS, administration_api.ExportListApi.as_view(), name="exports"),
    path(f"{EXPORTS}<uuid:export_id>/", administration_api.ExportApi.as_view(), name="export"),
    path(
        f"{EXPORTS}<uuid:export_id>/file/",
        administration_api.ExportFileApi.as_view(),
        name="export_file",
    ),
    path("<workspace:workspace_id>/members/", people_api.MemberListApi.as_view(), name="members"),
    path(MEMBER, people_api.MemberApi.as_view(), name="member"),
    path(f"{MEMBER}owner/", people_api.OwnershipApi.as_view(), name="ownership"),
    path(
        "<workspace:workspace_id>/members/me/",
        people_api.MembershipApi.as_view(),
        name="membership",
    ),
    path(INVITATIONS, invitation_api.InvitationListApi.as_view(), name="invitations"),
    path(
        f"{INVITATIONS}<uuid:invitation_id>/",
        invitation_api.InvitationApi.as_view(),
        name="invitation",
    ),
    path(
        f"{INVITATIONS}<uuid:invitation_id>/renew/",
        invitation_api.InvitationRenewApi.as_view(),
        name="invitation_renew",
    ),
    path("<workspace:workspace_id>/models/", api.ModelsApi.as_view(), name="models"),
    path("<workspace:workspace_id>/models/test/", api.ModelTestApi.as_view(), name="models_test"),
    path(
        "<workspace:workspace_id>/models/providers/",
        api.ProvidersApi.as_view(),
        name="model_providers",
    ),
    path(
        "<workspace:workspace_id>/models/cache/",
        api.ModelCacheApi.as_view(),
        name="model_cache",
    ),
    path(
        "<workspace:workspace_id>/embedding/",
        api.EmbeddingApi.as_view(),
        name="embedding",
    ),
    path("<workspace:workspace_id>/reranker/", api.RerankerApi.as_view(), name="reranker"),
    path(
        "<workspace:workspace_id>/reranker/test/",
        api.RerankerTestApi.as_view(),
        name="reranker_test",
    ),
    path("<workspace:workspace_id>/prices/", spending_api.PricesApi.as_view(), name="prices"),
    path("<workspace:workspace_id>/budget/", spending_api.BudgetApi.as_view(), name="budget"),
    path("<workspace:workspace_id>/usage/", spending_api.UsageApi.as_view(), name="usage"),
    path("<workspace:workspace_id>/tokens/", token_api.TokenListApi.as_view(), name="tokens"),
    path(
        "<workspace:workspace_id>/tokens/<uuid:token_id>/",
        token_api.TokenApi.as_view(),
        name="token",
    ),
]
