"""The page that says who may see a collection."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from ingestion.documents.collections.queries import collection_get
from ingestion.editions import grants
from kb_project.errors import ConflictError, InputError, KBError, NotFoundError
from workspaces.models import Capability, Workspace
from workspaces.pages import UserRequest, id_in, workspace_page
from workspaces.people import members, queries


@workspace_page(Capability.ADMINISTER, "GET", "POST")
def collection_access(
    request: UserRequest, workspace: Workspace, collection_id: UUID
) -> HttpResponse:
    collection = collection_get(workspace=workspace, collection_id=collection_id)
    problem: KBError | None = None
    if request.method == "POST":
        try:
            _carry_out(request, workspace, collection_id)
        except (InputError, ConflictError, NotFoundError) as error:
            # Somebody else may have removed the grant, the group or the member meanwhile.
            problem = error
        else:
            return redirect("ingestion:collection_access", workspace.slug, collection_id)
    context = {
        "workspace": workspace,
        "section": "documents",
        "collection": collection,
        "grants": grants.grants_of(workspace=workspace, collection=collection),
        "groups": members.groups_of(workspace=workspace),
        "members": [
            one
            for one in queries.members_of(workspace=workspace)
            if not one.may(Capability.ADMINISTER)
        ],
        "problem": problem,
    }
    return render(request, "ingestion/collection_access.html", context)


def _carry_out(request: UserRequest, workspace: Workspace, collection_id: UUID) -> None:
    post, user = request.POST, request.user
    if "restrict" in post:
        collection = grants.collection_restrict(
            workspace=workspace,
            user=user,
            collection_id=collection_id,
            is_restricted=post["restrict"] == "on",
        )
        who = "only those listed here" if collection.is_restricted else "all members"
        messages.success(request, f"From now on, {who} can see {collection.name}.")
    elif "take" in post:
        grants.grant_take(
            workspace=workspace,
            user=user,
            collection_id=collection_id,
            grant_id=_id(post["take"]),
        )
        messages.success(request, "Access removed.")
    else:
        kind, _, chosen = post.get("to", "").partition(":")
        view = grants.grant_give(
            workspace=workspace,
            user=user,
            collection_id=collection_id,
            group_id=_id(chosen) if kind == "group" else None,
            membership_id=_id(chosen) if kind == "member" else None,
            may_edit=post.get("may_edit") == "on",
        )
        messages.success(request, f"{view.name} now has access.")


def _id(given: str) -> UUID:
    if found := id_in(given):
        return found
    raise InputError("Choose one from the list.", kept="Nothing was changed.")
