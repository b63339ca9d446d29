"""What accounts, people, models and the installation itself need."""

from __future__ import annotations

from tests.authorization.operation import ACCOUNT, ADMINISTER, NOTHING, READ, op

PASSWORDS = {"password1": "a lamp on the rocks 9", "password2": "a lamp on the rocks 9"}
MODEL = {"endpoint": "https://models.example.com/v1", "model": "m", "context_window": 8000}
MODEL_FORM = {**MODEL, "concurrency": 2, "gleanings": 0}
PRICES = {"form-TOTAL_FORMS": 0, "form-INITIAL_FORMS": 0}
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
