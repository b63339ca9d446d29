"""Every page and every operation of the API, one a line, with what it needs.

A line is ``op("METHOD url-name", NEED)``. The need is written here by hand and never read from the
code. It may add ``sends``, the fields of a body that passes validation (a form on pages, JSON in
the API), ``files``, ``query``, the objects an address is ``at`` (otherwise ``WHERE`` of world.py),
and the status it ``answers`` to those who may, where that is neither 2xx nor a redirect. ``$name``
stands for the id of an object in world.py. An operation whose need depends on its object has a line
for each kind of object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Need(Enum):
    """What an operation asks of its caller. The first three are the exceptions to capabilities."""

    NOTHING = "no account"
    ACCOUNT = "an account"
    STAFF = "an account that operates the installation"
    READ = "read"
    EDIT = "edit"
    CURATE = "curate"
    ADMINISTER = "administer"
    OWN = "own"


@dataclass(frozen=True)
class Op:
    method: str
    url: str
    needs: Need
    sends: Any = None
    files: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    query: str = ""
    at: Mapping[str, Any] = field(default_factory=dict)
    answers: int | None = None

    @property
    def name(self) -> str:
        return f"{self.method} {self.url}"

    @property
    def is_api(self) -> bool:
        return self.url.partition(":")[0].endswith("_api") or self.url in ("schema", "api_docs")

    @property
    def is_in_workspace(self) -> bool:
        return self.needs not in (Need.NOTHING, Need.ACCOUNT, Need.STAFF)

    def __str__(self) -> str:
        given = {**self.at, "query": self.query} if self.at or self.query else ""
        return f"{self.name} {given}".strip()


def op(name: str, needs: Need, **more: Any) -> Op:
    method, url = name.split()
    return Op(method, url, needs, **more)


NOTHING, ACCOUNT, STAFF = Need.NOTHING, Need.ACCOUNT, Need.STAFF
READ, EDIT, CURATE = Need.READ, Need.EDIT, Need.CURATE
ADMINISTER, OWN = Need.ADMINISTER, Need.OWN

TEXT = {"file": ("new.txt", b"Fresh oil for the lamp.")}
TEXTS = {"files": TEXT["file"]}
QUESTIONS = {"file": ("q.jsonl", b'{"question": "Who rows?", "evidence": [{"doc": "The log"}]}')}
PASSWORDS = {"password1": "a lamp on the rocks 9", "password2": "a lamp on the rocks 9"}
MODEL = {"endpoint": "https://models.example.com/v1", "model": "m", "context_window": 8000}
MODEL_FORM = {**MODEL, "concurrency": 2, "gleanings": 0}
PRICES = {"form-TOTAL_FORMS": 0, "form-INITIAL_FORMS": 0}
PAIR = {"case": "$case", "with": ["$inc"], "kept": "$acme", "entity": ["$acme", "$inc"]}
MOVED = {"ids": ["$document"], "collection": "$collection"}
TRASHED = {"document_id": "trashed"}
DISABLED = {"document_id": "disabled"}
WAITING = {"document_id": "waiting"}
FAILED = {"document_id": "failed"}
VERSIONED = {"document_id": "versioned", "number": 1}
OF_ENTITIES = {"event_id": "entity_event"}
CHOICES = {"name": "tags"}
KEY = {"uidb36": "1", "key": "none"}

ACCOUNTS = [
    op("GET account_login", NOTHING),
    op("POST account_login", NOTHING, sends={"login": "nobody@example.com", "password": "x"}),
    op("GET account_signup", NOTHING),
    op("POST account_signup", NOTHING, sends={"email": "new@example.com", **PASSWORDS}),
    op("GET account_logout", NOTHING),
    op("POST account_logout", NOTHING),
    op("GET account_inactive", NOTHING),
    op("GET account_reset_password", NOTHING),
    op("POST account_reset_password", NOTHING, sends={"email": "nobody@example.com"}),
    op("GET account_reset_password_done", NOTHING),
    op("GET account_reset_password_from_key", NOTHING, at=KEY),
    op("POST account_reset_password_from_key", NOTHING, at=KEY),
    op("GET account_reset_password_from_key_done", NOTHING),
    op("GET account_confirm_email", NOTHING, at={"key": "none"}),
    op("POST account_confirm_email", NOTHING, at={"key": "none"}, answers=404),
    op("GET account_email_verification_sent", NOTHING),
    op("GET account_confirm_login_code", NOTHING),
    op("POST account_confirm_login_code", NOTHING),
    op("GET account_reauthenticate", ACCOUNT),
    op("POST account_reauthenticate", ACCOUNT, sends={"password": "x"}),
    op("GET account_email", ACCOUNT),
    op("POST account_email", ACCOUNT, sends={"action_add": "", "email": "two@example.com"}),
    op("GET account_change_password", ACCOUNT),
    op("POST account_change_password", ACCOUNT, sends={"oldpassword": "x", **PASSWORDS}),
    op("GET account_set_password", ACCOUNT),
    op("POST account_set_password", ACCOUNT, sends=PASSWORDS),
]

INSTALLATION = [
    op("GET healthz", NOTHING),
    op("GET schema", NOTHING),
    op("GET api_docs", NOTHING),
    op("GET admin:login", NOTHING),
    op("POST admin:login", NOTHING),
    op("GET admin:logout", NOTHING),
]

PEOPLE = [
    op("GET workspaces:workspace_list", ACCOUNT),
    op("GET workspaces:workspace_create", ACCOUNT),
    op("POST workspaces:workspace_create", ACCOUNT, sends={"name": "Elsewhere"}),
    op("GET workspaces:member_list", READ),
    op("GET workspaces_api:workspace_list", ACCOUNT),
    op("POST workspaces_api:workspace_list", ACCOUNT, sends={"name": "Elsewhere"}),
    op("GET workspaces_api:workspace", READ),
]

MODELS = [
    op("GET workspaces:usage", READ),
    op("GET workspaces:model_settings", READ),
    op("POST workspaces:model_settings", ADMINISTER, sends=MODEL_FORM),
    op("POST workspaces:model_test", ADMINISTER),
    op("POST workspaces:model_settings_clear", ADMINISTER),
    op("POST workspaces:installation_model_use", ADMINISTER),
    op("POST workspaces:prices_set", ADMINISTER, sends=PRICES),
    op("POST workspaces:budget_set", ADMINISTER, sends={"cap": "5"}),
    op("POST workspaces:cache_clear", ADMINISTER),
    op("POST workspaces:tuning_start", ADMINISTER),
    op("POST workspaces:tuning_forget", ADMINISTER),
    op("POST workspaces:reranker_set", ADMINISTER, sends={"reranker": "off"}),
    op("POST workspaces:reranker_test", ADMINISTER),
    op("POST workspaces:embedding_change", ADMINISTER, sends={"provider": "local"}),
    op("POST workspaces:embedding_give_up", ADMINISTER),
    op("GET workspaces_api:models", READ),
    op("PUT workspaces_api:models", ADMINISTER, sends=MODEL),
    op("POST workspaces_api:models_test", ADMINISTER, answers=409),
    op("GET workspaces_api:reranker", READ),
    op("PUT workspaces_api:reranker", ADMINISTER, sends={"kind": "off"}),
    op("POST workspaces_api:reranker_test", ADMINISTER, answers=409),
    op("GET workspaces_api:prices", READ),
    op("PUT workspaces_api:prices", ADMINISTER, sends=[]),
    op("GET workspaces_api:budget", READ),
    op("PUT workspaces_api:budget", ADMINISTER, sends={"cap": 5}),
    op("GET workspaces_api:usage", READ),
]

DOCUMENTS = [
    op("GET ingestion:document_list", READ),
    op("POST ingestion:document_upload", EDIT, files=TEXTS),
    op("POST ingestion:document_estimate", EDIT, sends={"files": '[["a.txt",12]]'}),
    op("POST ingestion:documents_trash", EDIT, sends={"ids": ["$document"]}),
    op("POST ingestion:work_resume", EDIT),
    op("POST ingestion:read_again", EDIT),
    op("POST ingestion:documents_retry", EDIT),
    op("GET ingestion:document_detail", READ),
    op("POST ingestion:document_edit", EDIT, sends={"title": "A new title"}),
    op("POST ingestion:document_disable", EDIT),
    op("POST ingestion:document_enable", EDIT, at=DISABLED),
    op("POST ingestion:document_trash", EDIT),
    op("POST ingestion:document_restore", EDIT, at=TRASHED),
    op("GET ingestion:document_delete", EDIT),
    op("POST ingestion:document_delete", EDIT),
    op("POST ingestion:document_retry", EDIT, at=FAILED),
    op("POST ingestion:document_cancel", EDIT, at=WAITING),
    op("POST ingestion:passages_retry", EDIT),
    op("GET ingestion:page_picture", READ, answers=404),
    op("GET ingestion:document_history", READ),
    op("POST ingestion:version_add", EDIT, files=TEXT),
    op("POST ingestion:version_restore", EDIT, at=VERSIONED),
    op("GET ingestion:version_changes", READ),
    op("GET ingestion:version_progress", READ),
    op("GET ingestion:trash", READ),
    op("POST ingestion:trash_restore", EDIT, sends={"ids": ["$trashed"]}),
    op("GET ingestion:trash_empty", EDIT),
    op("POST ingestion:trash_empty", EDIT),
    op("GET ingestion_api:document_list", READ),
    op("POST ingestion_api:document_list", EDIT, files=TEXT),
    op("POST ingestion_api:documents_retry", EDIT),
    op("POST ingestion_api:work_resume", EDIT),
    op("POST ingestion_api:document_estimate", EDIT, sends={"documents": ["$document"]}),
    op("GET ingestion_api:read_again", EDIT),
    op("POST ingestion_api:read_again", EDIT, sends={"documents": ["$document"]}),
    op("POST ingestion_api:documents_trash", EDIT, sends={"ids": ["$document"]}),
    op("GET ingestion_api:document", READ),
    op("PATCH ingestion_api:document", EDIT, sends={"title": "A new title"}),
    op("DELETE ingestion_api:document", EDIT),
    op("DELETE ingestion_api:document", EDIT, query="for_good=true"),
    op("GET ingestion_api:document_losses", READ),
    op("POST ingestion_api:document_disable", EDIT),
    op("POST ingestion_api:document_enable", EDIT, at=DISABLED),
    op("POST ingestion_api:document_trash", EDIT),
    op("POST ingestion_api:document_restore", EDIT, at=TRASHED),
    op("GET ingestion_api:document_text", READ, at=VERSIONED),
    op("GET ingestion_api:document_tree", READ),
    op("GET ingestion_api:version_list", READ),
    op("POST ingestion_api:version_list", EDIT, files=TEXT),
    op("GET ingestion_api:version_changes", READ),
    op("POST ingestion_api:version_restore", EDIT, at=VERSIONED),
    op("POST ingestion_api:document_retry", EDIT, at=FAILED),
    op("POST ingestion_api:document_cancel", EDIT, at=WAITING),
    op("GET ingestion_api:passage_problems", READ),
    op("POST ingestion_api:passage_retry", EDIT, answers=409),
    op("GET ingestion:collection_list", READ),
    op("POST ingestion:collection_create", EDIT, sends={"name": "Letters"}),
    op("GET ingestion:collection_detail", READ),
    op("POST ingestion:collection_rename", EDIT, sends={"name": "Letters"}),
    op("GET ingestion:collection_delete", EDIT),
    op("POST ingestion:collection_delete", EDIT),
    op("POST ingestion:documents_move", EDIT, sends=MOVED),
    op("GET ingestion_api:collection_list", READ),
    op("POST ingestion_api:collection_list", EDIT, sends={"name": "Letters"}),
    op("GET ingestion_api:collection", READ),
    op("PATCH ingestion_api:collection", EDIT, sends={"name": "Letters"}),
    op("DELETE ingestion_api:collection", EDIT),
    op("GET ingestion_api:collection_documents", READ),
    op("PATCH ingestion_api:collection_documents", EDIT, sends={"add": ["$document"]}),
    op("GET ingestion_api:trash", READ),
    op("DELETE ingestion_api:trash", EDIT),
    op("POST ingestion_api:trash_restore", EDIT, sends={"ids": ["$trashed"]}),
    op("GET ingestion_api:workspace_tree", READ),
]

ENTITY = {"name": "Bo Strand", "type": "person"}
LINK = {"source": "$acme", "target": "$unit", "description": "Sells lamps."}
CURATION = [
    op("GET ingestion:entity_list", READ),
    op("GET ingestion:entity_create", CURATE),
    op("POST ingestion:entity_create", CURATE, sends=ENTITY),
    op("GET ingestion:entity_detail", READ),
    op("POST ingestion:entity_edit", CURATE, sends={"description": "Keeps the light."}),
    op("GET ingestion:entity_delete", CURATE),
    op("POST ingestion:entity_delete", CURATE),
    op("GET ingestion:entities_merge", CURATE),
    op("POST ingestion:entities_merge", CURATE, sends={"with": ["$inc"]}),
    op("POST ingestion:entities_differ", CURATE, sends={"with": ["$inc"]}),
    op("GET ingestion:entity_split", CURATE),
    op("POST ingestion:entity_split", CURATE, sends={"name": "Ada II", "document": ["$paper"]}),
    op("GET ingestion:relationship_create", CURATE),
    op("POST ingestion:relationship_create", CURATE, sends=LINK | {"target": "$unit"}),
    op("GET ingestion:entity_history", READ),
    op("GET ingestion:relationship_edit", CURATE),
    op("POST ingestion:relationship_edit", CURATE, sends={"description": "Employs her."}),
    op("GET ingestion:relationship_delete", CURATE),
    op("POST ingestion:relationship_delete", CURATE),
    op("POST ingestion:decision_record", CURATE, sends={"left": "$acme", "right": "$unit"}),
    op("POST ingestion:decision_undo", CURATE),
    op("GET ingestion:curation_queue", READ),
    op("POST ingestion:case_merge", CURATE, sends=PAIR),
    op("POST ingestion:case_differ", CURATE, sends=PAIR),
    op("POST ingestion:case_skip", CURATE, sends=PAIR),
    op("GET ingestion:cases_above", CURATE),
    op("POST ingestion:cases_above", CURATE, sends={"above": "90"}, answers=412),
    op("GET ingestion:workspace_history", READ),
    op("GET ingestion:event_detail", READ),
    op("POST ingestion:event_undo", EDIT),
    op("POST ingestion:event_undo", CURATE, at=OF_ENTITIES),
    op("GET ingestion:community_list", READ),
    op("POST ingestion:reports_retry", CURATE),
    op("GET ingestion:community_detail", READ),
    op("POST ingestion:report_retry", CURATE),
    op("GET ingestion:health", ADMINISTER),
    op("POST ingestion:health_check", ADMINISTER),
    op("GET ingestion_api:entity_list", READ),
    op("POST ingestion_api:entity_list", CURATE, sends=ENTITY),
    op("POST ingestion_api:entity_merge", CURATE, sends={"kept": "$acme", "others": ["$inc"]}),
    op("POST ingestion_api:entity_differ", CURATE, sends={"entities": ["$acme", "$unit"]}),
    op("GET ingestion_api:entity", READ),
    op("PATCH ingestion_api:entity", CURATE, sends={"description": "Keeps the light."}),
    op("DELETE ingestion_api:entity", CURATE),
    op("POST ingestion_api:entity_split", CURATE, sends={"name": "B", "documents": ["$paper"]}),
    op("POST ingestion_api:entity_move", CURATE, sends={"target": "$inc", "documents": ["$paper"]}),
    op("POST ingestion_api:relationship_list", CURATE, sends=LINK),
    op("GET ingestion_api:relationship", READ),
    op("PATCH ingestion_api:relationship", CURATE, sends={"description": "Employs her."}),
    op("DELETE ingestion_api:relationship", CURATE),
    op("GET ingestion_api:decision_list", READ),
    op("POST ingestion_api:decision_list", CURATE, sends={"left": "$acme", "right": "$unit"}),
    op("POST ingestion_api:decision_undo", CURATE),
    op("GET ingestion_api:suggestion_list", READ),
    op("GET ingestion_api:suggestion_refused", READ),
    op(
        "POST ingestion_api:suggestion_accept",
        CURATE,
        sends={"entities": ["$acme", "$inc"], "kept": "$acme"},
    ),
    op("POST ingestion_api:suggestion_reject", CURATE, sends={"entities": ["$acme", "$inc"]}),
    op("POST ingestion_api:suggestion_skip", CURATE, sends={"case": "$case"}),
    op("GET ingestion_api:suggestion_accept_above", READ, query="threshold=0.9"),
    op("POST ingestion_api:suggestion_accept_above", CURATE, sends={"threshold": 0.5}),
    op("GET ingestion_api:community_list", READ),
    op("POST ingestion_api:reports_retry", CURATE, answers=409),
    op("GET ingestion_api:community", READ),
    op("POST ingestion_api:report_retry", CURATE, answers=409),
    op("GET ingestion_api:history_list", READ),
    op("GET ingestion_api:history_event", READ),
    op("POST ingestion_api:history_undo", EDIT),
    op("POST ingestion_api:history_undo", CURATE, at=OF_ENTITIES),
    op("GET ingestion_api:health", ADMINISTER),
    op("POST ingestion_api:health", ADMINISTER),
]

QUESTION = {"question": "Who keeps the light?"}
RUN = {"modes": ["lexical"], "ks": [5]}
QUESTIONS_AND_ANSWERS = [
    op("GET retrieval:home", READ),
    op("GET retrieval:ask", READ),
    op("POST retrieval:ask", READ, sends=QUESTION),
    op("GET retrieval:starters", READ),
    op("GET retrieval:scope_choices", READ, at=CHOICES),
    op("GET retrieval:answer_detail", READ),
    op("GET retrieval:answer_fragment", READ),
    op("GET retrieval:answer_events", READ),
    op("POST retrieval:question_again", READ),
    op("POST retrieval:answer_stop", READ),
    op("POST retrieval:answer_stop", ADMINISTER, at={"answer_id": "answer_of_the_owner"}),
    op("GET retrieval:search", READ, query="q=light&mode=lexical"),
    op("GET retrieval_api:scope", READ),
    op("GET retrieval_api:search", READ, query="q=light&mode=lexical"),
    op("POST retrieval_api:search", READ, sends={"q": "light", "mode": "lexical"}),
    op("POST retrieval_api:ask", READ, sends={**QUESTION, "mode": "lexical"}),
    op("POST retrieval_api:question_ask", READ, sends=QUESTION),
    op("POST retrieval_api:question_again", READ),
    op("GET retrieval_api:answer", READ),
    op("GET retrieval_api:answer_events", READ),
    op("POST retrieval_api:answer_stop", READ),
    op("POST retrieval_api:answer_stop", ADMINISTER, at={"answer_id": "answer_of_the_owner"}),
]

WITH_EVIDENCE = {"question": "Who rows?", "evidence": [{"doc": "The log"}]}
GOING_ON = {"run_id": "run_going_on"}
IN_SET = {"question_id": "set_question"}
EVALUATION = [
    op("GET retrieval:set_list", READ),
    op("POST retrieval:set_list", EDIT, sends={"name": "Boats"}),
    op("GET retrieval:set_detail", READ),
    op("POST retrieval:set_rename", EDIT, sends={"name": "Boats"}),
    op("POST retrieval:set_delete", EDIT),
    op("POST retrieval:set_import", EDIT, files=QUESTIONS),
    op("GET retrieval:set_export", READ),
    op("GET retrieval:set_estimate", EDIT, query="modes=lexical"),
    op("POST retrieval:questions_make", EDIT, sends={"number": 2}),
    op("POST retrieval:questions_decide", EDIT, sends={"questions": ["$set_question"]}),
    op("POST retrieval:question_add", EDIT, sends={"text": "Who rows?", "evidence": "The log"}),
    op("GET retrieval:question_edit", EDIT, at=IN_SET),
    op(
        "POST retrieval:question_edit",
        EDIT,
        at=IN_SET,
        sends={"text": "Who rows?", "evidence": "The log"},
    ),
    op("POST retrieval:question_delete", EDIT, at=IN_SET),
    op("POST retrieval:run_start", EDIT, sends=RUN),
    op("GET retrieval:run_detail", READ),
    op("POST retrieval:run_stop", EDIT, at=GOING_ON),
    op("POST retrieval:run_continue", EDIT),
    op("POST retrieval:run_delete", EDIT),
    op("GET retrieval:run_csv", READ),
    op("GET retrieval:run_jsonl", READ),
    op("GET retrieval:result_detail", READ),
    op("GET retrieval:question_keep", EDIT),
    op("POST retrieval:question_keep", EDIT, sends={"set": "$set"}),
    op("GET retrieval_api:question_sets", READ),
    op("POST retrieval_api:question_sets", EDIT, sends={"name": "Boats"}),
    op("GET retrieval_api:question_set", READ),
    op("PATCH retrieval_api:question_set", EDIT, sends={"name": "Boats"}),
    op("DELETE retrieval_api:question_set", EDIT),
    op("GET retrieval_api:question_set_file", READ),
    op("POST retrieval_api:question_set_file", EDIT, files=QUESTIONS),
    op("GET retrieval_api:set_questions", READ),
    op("POST retrieval_api:set_questions", EDIT, sends=WITH_EVIDENCE),
    op("PUT retrieval_api:set_question", EDIT, at=IN_SET, sends=WITH_EVIDENCE),
    op("DELETE retrieval_api:set_question", EDIT, at=IN_SET),
    op(
        "POST retrieval_api:set_decisions",
        EDIT,
        sends={"questions": ["$set_question"], "accept": True},
    ),
    op("POST retrieval_api:set_keep", EDIT, sends={"question": "$question"}),
    op("POST retrieval_api:set_make", EDIT, sends={"number": 2}),
    op("POST retrieval_api:run_estimate", EDIT, sends=RUN),
    op("GET retrieval_api:runs", READ),
    op("POST retrieval_api:runs", EDIT, sends=RUN),
    op("GET retrieval_api:run", READ),
    op("DELETE retrieval_api:run", EDIT),
    op("POST retrieval_api:run_stop", EDIT, at=GOING_ON),
    op("POST retrieval_api:run_continue", EDIT),
    op("GET retrieval_api:run_results", READ),
    op("GET retrieval_api:run_comparison", READ),
]

TABLE = [
    *ACCOUNTS,
    *INSTALLATION,
    *PEOPLE,
    *MODELS,
    *DOCUMENTS,
    *CURATION,
    *QUESTIONS_AND_ANSWERS,
    *EVALUATION,
]

NAMESPACES = {"admin": STAFF}
"""Namespaces of pages that are not ours: what those without a line of their own need."""
