from __future__ import annotations

from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

DOCS = "/api/v1/docs/"


# --- the schema -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The schema as the command writes it; it fails on any warning."""
    target = tmp_path_factory.mktemp("schema") / "schema.yml"
    call_command("spectacular", file=str(target), validate=True, fail_on_warn=True)
    loaded: dict[str, Any] = yaml.safe_load(target.read_text())
    return loaded


def operations(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        operation["operationId"]: operation
        for methods in schema["paths"].values()
        for operation in methods.values()
    }


def test_every_operation_is_described(schema: dict[str, Any]):
    assert set(operations(schema)) == {
        "claim",
        "claim_delete",
        "claim_edit",
        "claim_list",
        "entity_claims",
        "entity_facts",
        "graph_neighbours",
        "graph_paths",
        "graph_subgraph",
        "graph_view",
        "topic_bridges",
        "relationship_evidence",
        "relationship_list",
        "workspace_list",
        "workspace_create",
        "workspace",
        "token_list",
        "token_create",
        "token_revoke",
        "group",
        "group_change",
        "group_create",
        "group_delete",
        "groups",
        "collection_access",
        "collection_restrict",
        "grant_give",
        "grant_take",
        "audit_list",
        *(f"invitation_{verb}" for verb in ("accept", "create", "decline", "list", "open")),
        *("invitation_renew", "invitation_revoke"),
        "member_edit",
        "member_leave",
        "member_list",
        "member_remove",
        "ownership_transfer",
        "profile",
        "profile_edit",
        "workspace_edit",
        "workspace_delete",
        "workspace_restore",
        "export",
        "export_create",
        "export_download",
        "export_list",
        "graph_export",
        "graph_import",
        "graph_import_list",
        "graph_import_create",
        "graph_import_confirm",
        "graph_import_discard",
        "document_list",
        "document_add",
        "document",
        "document_text",
        "document_retry",
        "document_cancel",
        "documents_retry",
        "document_estimate",
        "document_tree",
        "version_add",
        "version_changes",
        "version_estimate",
        "version_list",
        "version_restore",
        "read_again",
        "read_again_estimate",
        "work_resume",
        "document_edit",
        "document_delete",
        "document_disable",
        "document_enable",
        "document_trash",
        "document_restore",
        "document_losses",
        "documents_trash",
        "collection",
        "collection_create",
        "collection_delete",
        "collection_documents",
        "collection_documents_change",
        "collection_list",
        "collection_rename",
        "trash",
        "trash_restore",
        "trash_empty",
        "passage_problems",
        "passage_retry",
        "decision_list",
        "decision_record",
        "decision_undo",
        "suggestion_list",
        "suggestion_refused",
        "suggestion_accept",
        "suggestion_reject",
        "suggestion_skip",
        "suggestion_accept_above_preview",
        "suggestion_accept_above",
        "workspace_tree",
        "health",
        "health_check",
        "models",
        "models_set",
        "models_test",
        "model_providers",
        "model_cache_clear",
        *("embedding", "embedding_change", "embedding_give_up", "tuning"),
        *(f"tuning_{verb}" for verb in ("set", "start", "cancel", "forget")),
        "prices",
        "prices_set",
        "budget",
        "budget_set",
        "usage",
        "entity_list",
        "entity",
        "entity_create",
        "entity_edit",
        "entity_delete",
        "entity_merge",
        "entity_differ",
        "entity_split",
        "entity_move",
        "relationship",
        "relationship_create",
        "relationship_edit",
        "relationship_delete",
        "history_list",
        "history_event",
        "history_undo",
        "conflict_list",
        "conflict",
        "conflict_decide",
        "conflict_reopen",
        "community_list",
        "community",
        "community_map",
        "community_watched",
        "community_changes",
        "community_watch",
        "community_unwatch",
        "community_seen",
        "report_retry",
        "reports_retry",
        "search",
        "search_by_address",
        "ask",
        "answer",
        "answer_events",
        "answer_stop",
        "question_ask",
        "question_again",
        "scope_choices",
        "reranker",
        "reranker_set",
        "reranker_test",
        "evaluation_run",
        "evaluation_run_comparison",
        "evaluation_run_continue",
        "evaluation_run_delete",
        "evaluation_run_estimate",
        "evaluation_run_list",
        "evaluation_run_results",
        "evaluation_run_start",
        "evaluation_run_stop",
        "question_set",
        "question_set_create",
        "question_set_delete",
        "question_set_export",
        "question_set_import",
        "question_set_list",
        "question_set_rename",
        "set_question_add",
        "set_question_change",
        "set_question_delete",
        "set_question_keep",
        "set_question_list",
        "set_questions_decide",
        "set_questions_make",
    }
    assert all(operation.get("description") for operation in operations(schema).values())


def test_every_operation_says_how_it_may_fail(schema: dict[str, Any]):
    for name, operation in operations(schema).items():
        failures = {
            status: answer for status, answer in operation["responses"].items() if status >= "4"
        }
        assert {"401", "429"} <= set(failures), name
        assert "415" in failures or "requestBody" not in operation, name
        if "412" in failures and name != "suggestion_accept_above":
            assert takes_revisions(schema, operation), name
        for answer in failures.values():
            body = answer["content"]["application/json"]["schema"]
            assert body == {"$ref": "#/components/schemas/Problem"}


def takes_revisions(schema: dict[str, Any], operation: dict[str, Any]) -> bool:
    """Whether a client can say which revisions it saw, in a header or in the body."""
    headers = {one["name"] for one in operation.get("parameters", [])}
    body = operation.get("requestBody", {"content": {}})["content"].get("application/json", {})
    shape = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
    fields = schema["components"]["schemas"].get(shape, {}).get("properties", {})
    return "If-Match" in headers or "expected" in fields


def test_what_writes_may_be_forbidden(schema: dict[str, Any]):
    writing = {"document_add", "document_retry", "document_cancel"}
    writing |= {"passage_retry", "report_retry", "reports_retry", "documents_retry"}
    writing |= {"document_estimate", "work_resume", "decision_record", "decision_undo"}
    writing |= {"read_again", "version_add", "version_estimate", "version_restore"}
    writing |= {"health", "health_check", "documents_trash", "trash_restore", "trash_empty"}
    writing |= {f"document_{verb}" for verb in ("edit", "delete", "disable", "enable")}
    writing |= {"document_trash", "document_restore", "collection_documents_change"}
    writing |= {f"collection_{verb}" for verb in ("create", "rename", "delete")}
    writing |= {"models_set", "models_test", "prices_set", "budget_set"} | {
        *("model_cache_clear", "embedding_change", "embedding_give_up"),
        *(f"tuning_{verb}" for verb in ("set", "start", "cancel", "forget")),
    }
    writing |= {"reranker_set", "reranker_test", "answer_stop", "question_ask", "question_again"}
    writing |= {f"evaluation_run_{verb}" for verb in ("start", "stop", "continue", "delete")}
    writing |= {f"question_set_{verb}" for verb in ("create", "delete", "import", "rename")}
    writing |= {f"set_question_{verb}" for verb in ("add", "change", "delete", "keep")}
    writing |= {f"entity_{verb}" for verb in ("create", "edit", "delete", "merge", "differ")}
    writing |= {"entity_split", "entity_move", "history_undo", "export", "read_again_estimate"}
    writing |= {f"relationship_{verb}" for verb in ("create", "edit", "delete")}
    writing |= {f"suggestion_{verb}" for verb in ("accept", "reject", "skip", "accept_above")}
    # A token may not do what its person may.
    writing |= {f"token_{verb}" for verb in ("list", "create", "revoke")}
    writing |= {"evaluation_run_estimate", "set_questions_decide", "set_questions_make"}
    writing |= {"member_edit", "member_remove", "ownership_transfer", "question_set_export"}
    writing |= {f"invitation_{verb}" for verb in ("list", "create", "renew", "revoke")}
    writing |= {f"invitation_{verb}" for verb in ("open", "accept", "decline")}
    writing |= {f"workspace_{verb}" for verb in ("edit", "delete", "restore")}
    writing |= {"group", "groups", "group_create", "group_change", "group_delete"}
    writing |= {"collection_access", "collection_restrict", "grant_give", "grant_take"} | {
        *("audit_list", "member_leave", "graph_export", "graph_import")
    }
    writing |= {f"graph_import_{verb}" for verb in ("list", "create", "confirm", "discard")}
    writing |= {"claim_edit", "claim_delete", "workspace_create", "profile", "profile_edit"} | {
        *("conflict_decide", "conflict_reopen")
    }
    writing |= {f"export_{verb}" for verb in ("list", "create", "download")}

    forbidding = {name for name, one in operations(schema).items() if "403" in one["responses"]}
    assert forbidding == writing


def test_operations_are_grouped_by_what_they_are_about(schema: dict[str, Any]):
    tags = {name: one["tags"] for name, one in operations(schema).items()}

    assert tags["document_text"] == ["documents"]
    assert tags["workspace_create"] == ["workspaces"]
    assert {tag for group in tags.values() for tag in group} == {
        "workspaces",
        "members",
        "invitations",
        "profile",
        "exports",
        "graph",
        "claims",
        "conflicts",
        "groups",
        "audit",
        "restore",
        "documents",
        "collections",
        "entities",
        "communities",
        "decisions",
        "relationships",
        "history",
        "suggestions",
        "tree",
        "trash",
        "models",
        "embedding",
        "tuning",
        "prices",
        "budget",
        "usage",
        "search",
        "ask",
        "answers",
        "questions",
        "scope",
        "reranker",
        "evaluation",
        "health",
        "tokens",
    }


def test_shapes_are_named_after_what_they_describe(schema: dict[str, Any]):
    shapes = set(schema["components"]["schemas"])

    assert {"Problem", "Document", "DocumentListOutput", "Hit", "Answer", "Community"} <= shapes
    assert not {"Output", "Input"} & shapes


def test_both_ways_to_sign_in_are_named(schema: dict[str, Any]):
    assert set(schema["components"]["securitySchemes"]) == {"tokenAuth", "cookieAuth"}


@pytest.mark.django_db
def test_the_schema_is_served_to_anybody():
    response = Client().get("/api/v1/schema/")

    assert response.status_code == 200
    assert "/api/v1/workspaces/" in yaml.safe_load(response.content)["paths"]


@pytest.mark.django_db
def test_it_is_made_once_a_process(monkeypatch: pytest.MonkeyPatch):
    first = Client().get("/api/v1/schema/").content
    monkeypatch.setattr(SchemaGenerator, "parse", lambda *_: pytest.fail("It is made again."))

    assert Client().get("/api/v1/schema/").content == first


# --- the page that shows it -----------------------------------------------------------------------
@pytest.mark.django_db
def test_the_page_of_the_api_loads_everything_from_us():
    response = Client().get(DOCS)

    page = response.content.decode()
    assert response.status_code == 200
    assert "http://" not in page
    assert "https://" not in page
    assert "<style" not in page
    assert "script src=" in page
    policy = response.headers["Content-Security-Policy"]
    assert "unsafe" not in policy


@pytest.mark.django_db
def test_its_script_is_a_file_of_its_own():
    response = Client().get(f"{DOCS}?script=")

    assert response.headers["Content-Type"].startswith("application/javascript")
    assert b"SwaggerUIBundle" in response.content
