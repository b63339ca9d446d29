"""Queries for a workspace's reranker. Nothing here ever contains a key."""

from __future__ import annotations

from dataclasses import dataclass

from kb_project.llm.ports import Role
from workspaces import ports
from workspaces.language_models.choice import host_of
from workspaces.language_models.queries import state_of
from workspaces.language_models.rerank_choice import RerankChoice, rerank_choice_in
from workspaces.models import ModelSettings, RerankerKind, Workspace


@dataclass(frozen=True, slots=True)
class RerankerState:
    """``model`` is the one in effect, '' if nothing is reranked; ``has_chat`` says whether the chat
    model can be chosen.
    """

    choice: RerankChoice
    model: str
    host: str
    has_key: bool
    key_hint: str
    has_chat: bool

    @property
    def is_on(self) -> bool:
        return bool(self.model)


def reranker_state(*, workspace: Workspace) -> RerankerState:
    row = ports.settings_of(workspace.pk)
    choice = rerank_choice_in(row)
    chat = _chat_model(row)
    in_force = {RerankerKind.ENDPOINT: choice.model, RerankerKind.MODEL: chat}
    return RerankerState(
        choice=choice,
        model=in_force.get(choice.kind, ""),
        host=host_of(choice.endpoint),
        has_key=bool(row and row.rerank_sealed_key),
        key_hint=row.rerank_key_hint if row else "",
        has_chat=bool(chat),
    )


def _chat_model(row: ModelSettings | None) -> str:
    """Return the judge's model, '' without a chat model; the key, which may be unreadable, is not
    needed.
    """
    state = state_of(row)
    judges = (one.model for one in state.roles if one.role is Role.JUDGE)
    return "" if state.tier == "local" else next(judges, "")
