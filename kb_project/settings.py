"""Settings, in the order a request meets them. Every environment value is read here."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from kb_project.database.config import database_settings
from kb_project.env import (
    env_bool,
    env_int,
    env_list,
    env_money,
    env_path,
    env_str,
    env_web_address,
    is_loopback,
)

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env_path("CONCORDANCE_DATA_DIR", BASE_DIR / "var")
DEBUG = env_bool("DEBUG", default=False)
# Let debuggers and profilers of the same account into these processes, and a crash leave a core.
ALLOW_DEBUGGERS = env_bool("ALLOW_DEBUGGERS", default=False)


def _secret_key() -> str:
    """Return the key from the environment, or one created at the first start and stored with the
    data.
    """
    given = env_str("SECRET_KEY")
    if given:
        return given
    path = DATA_DIR / "secret_key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
    return path.read_text().strip()


SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS = env_list("SECRET_KEY_FALLBACKS")

# --- the request: hosts, transport, middleware ---------------------------------------------------
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")
BEHIND_TLS = env_bool("BEHIND_TLS", default=False)
# Where people reach the server, for links in e-mails; else the host of the request.
PUBLIC_ADDRESS = env_web_address("PUBLIC_ADDRESS")
# Where the server listens; the demo account's known password is for this machine alone.
HOST = env_str("HOST", "127.0.0.1")
# Addresses and networks of reverse proxies, whose X-Forwarded-For is believed.
TRUSTED_PROXIES = env_list("TRUSTED_PROXIES")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
SECURE_HSTS_SECONDS = 31_536_000 if BEHIND_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = env_bool("HSTS_SUBDOMAINS", default=BEHIND_TLS)
SECURE_HSTS_PRELOAD = env_bool("HSTS_PRELOAD", default=False)
SECURE_SSL_REDIRECT = BEHIND_TLS
# Load balancers ask without TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SESSION_ENGINE = "kb_project.http.sessions"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "kb_project.logs.RequestLogMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "workspaces.accounts.sign_in.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "workspaces.tokens.middleware.ApiSignInMiddleware",
    "workspaces.request_limits.RateLimitMiddleware",
    "workspaces.people.profiles.ProfileMiddleware",
    "kb_project.http.problems.ProblemMiddleware",
    "workspaces.access.forget_hidden",
    "kb_project.http.limits.RefusalMiddleware",
]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# Requests a minute, by kind, of each person, token, and address that is not signed in
# (workspaces.request_limits).
RATES = {
    "reading": env_int("RATE_READING", 1200, minimum=1),
    "writing": env_int("RATE_WRITING", 600, minimum=1),
    "asking": env_int("RATE_ASKING", 120, minimum=1),
    "uploads": env_int("RATE_UPLOADS", 3000, minimum=1),
    "model_tests": env_int("RATE_MODEL_TESTS", 10, minimum=1),
    "anonymous": env_int("RATE_ANONYMOUS", 300, minimum=1),
}
# What one server process accepts at a time, and how fast it must arrive.
MOST_CONNECTIONS = env_int("MOST_CONNECTIONS", 1000, minimum=10)
MOST_REQUESTS = env_int("MOST_REQUESTS", 500, minimum=10)
HEADER_SECONDS = env_int("HEADER_SECONDS", 15, minimum=1)
BODY_SECONDS = env_int("BODY_SECONDS", 3600, minimum=1)
BODY_BYTES_A_SECOND = env_int("BODY_BYTES_A_SECOND", 4096, minimum=1)
# Answers that one person follows at a time, in all tabs and programs.
STREAMS_A_PERSON = env_int("STREAMS_A_PERSON", 10, minimum=1)

# --- the applications ----------------------------------------------------------------------------
INSTALLED_APPS = [
    "kb_project",
    "workspaces",
    "ingestion",
    "retrieval",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "django_htmx",
    "django_q",
    "django_structlog",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]
ROOT_URLCONF = "kb_project.urls"
ASGI_APPLICATION = "kb_project.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- people --------------------------------------------------------------------------------------
AUTH_USER_MODEL = "workspaces.User"
# One only: a second one would hash a wrong password once more, and the time would tell.
AUTHENTICATION_BACKENDS = ["workspaces.accounts.sign_in.EmailBackend"]
# The second one for restored accounts, whose hashes are sealed when they sign in.
PASSWORD_HASHERS = [
    "kb_project.keys.SealedPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
EMAIL_HOST = env_str("EMAIL_HOST", "localhost")
EMAIL_PORT = env_int("EMAIL_PORT", 25, minimum=1)
EMAIL_HOST_USER = env_str("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env_str("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = env_bool("EMAIL_USE_TLS", default=False)
EMAIL_USE_SSL = env_bool("EMAIL_USE_SSL", default=False)
EMAIL_TIMEOUT = 15
CONSOLE_MAIL = "django.core.mail.backends.console.EmailBackend"
EMAIL_BACKEND = env_str(
    "EMAIL_BACKEND",
    "django.core.mail.backends.smtp.EmailBackend" if env_str("EMAIL_HOST") else CONSOLE_MAIL,
)
DEFAULT_FROM_EMAIL = env_str("DEFAULT_FROM_EMAIL", "Concordance <concordance@localhost>")

# Who may create an account: anyone (open), people with an invitation, or with an address in
# SIGN_UP_DOMAINS (domain). People of the OpenID Connect provider may, unless OIDC_SIGN_UP is false.
SIGN_UP = env_str("SIGN_UP", "open")
SIGN_UP_DOMAINS = [domain.lower() for domain in env_list("SIGN_UP_DOMAINS")]
ACCOUNT_ADAPTER = "workspaces.accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
# Mail on the console reaches nobody.
ACCOUNT_EMAIL_VERIFICATION = env_str(
    "ACCOUNT_EMAIL_VERIFICATION", "none" if EMAIL_BACKEND == CONSOLE_MAIL else "mandatory"
)
ACCOUNT_EMAIL_NOTIFICATIONS = EMAIL_BACKEND != CONSOLE_MAIL
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
ACCOUNT_LOGIN_ON_PASSWORD_RESET = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
# Seconds that a reset link works.
PASSWORD_RESET_TIMEOUT = 3600
ACCOUNT_MAX_EMAIL_ADDRESSES = 5
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_FORMS = {
    "signup": "workspaces.accounts.forms.SignUpForm",
    "change_password": "workspaces.accounts.forms.ChangePasswordForm",
    "set_password": "workspaces.accounts.forms.SetPasswordForm",
    "reset_password": "workspaces.accounts.forms.ResetPasswordForm",
    "reset_password_from_key": "workspaces.accounts.forms.ResetPasswordKeyForm",
}
# allauth counts in Django's cache, which each process has for itself. workspaces.accounts counts
# in Postgres instead.
ACCOUNT_RATE_LIMITS = False
MFA_RATE_LIMITS = False
MFA_ADAPTER = "workspaces.accounts.adapter.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
# Passkeys need TLS, except on this machine itself.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not BEHIND_TLS
MFA_TOTP_ISSUER = "Concordance"
# An account of the console's mail has no other way to confirm its address.
MFA_ALLOW_UNVERIFIED_EMAIL = ACCOUNT_EMAIL_VERIFICATION != "mandatory"
MFA_FORMS = {
    "authenticate": "workspaces.accounts.forms.CodeForm",
    "reauthenticate": "workspaces.accounts.forms.ConfirmCodeForm",
    "add_webauthn": "workspaces.accounts.forms.AddPasskeyForm",
}
USERSESSIONS_ADAPTER = "workspaces.accounts.adapter.SessionsAdapter"

# Sign-in with an OpenID Connect provider; off without an issuer.
OIDC_ISSUER = env_web_address("OIDC_ISSUER")
OIDC_NAME = env_str("OIDC_NAME", "single sign-on")
OIDC_SIGN_UP = env_bool("OIDC_SIGN_UP", default=True)
SOCIALACCOUNT_ADAPTER = "workspaces.accounts.adapter.ProviderAdapter"
SOCIALACCOUNT_FORMS = {"signup": "workspaces.accounts.forms.ProviderSignUpForm"}
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = "oidc"
_OIDC_APP = {
    "provider_id": "oidc",
    "name": OIDC_NAME,
    "client_id": env_str("OIDC_CLIENT_ID"),
    "secret": env_str("OIDC_CLIENT_SECRET"),
    "settings": {"server_url": OIDC_ISSUER},
}
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {
    "openid_connect": {"APPS": [_OIDC_APP] if OIDC_ISSUER else [], "OAUTH_PKCE_ENABLED": True}
}

LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
INVITATION_DAYS = 7
# How long a deleted workspace can be restored, and an export downloaded.
WORKSPACE_DELETION_DAYS = env_int("WORKSPACE_DELETION_DAYS", 14, minimum=1)
EXPORT_DAYS = 7
EXPORT_ROOT = DATA_DIR / "exports"

# --- pages and files -----------------------------------------------------------------------------
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "workspaces.people.views.navigation",
            ],
        },
    },
]
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
MEDIA_ROOT = DATA_DIR / "media"
WHITENOISE_USE_FINDERS = True
STORAGES: dict[str, Any] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
DATA_UPLOAD_MAX_NUMBER_FILES = 200
FILE_UPLOAD_PERMISSIONS = 0o640
LANGUAGE_CODE = "en"
# The languages of pages. A person chooses one in their profile.
LANGUAGES = [("en", "English")]
FORMAT_MODULE_PATH = "kb_project.formats"
TIME_ZONE = env_str("TIME_ZONE", "UTC")
USE_TZ = True

# --- the database --------------------------------------------------------------------------------
DATABASES = database_settings(DATA_DIR)
# W021: whether browsers list a domain as TLS only is for its owner to decide (HSTS_PRELOAD).
SILENCED_SYSTEM_CHECKS = ["models.W035", "security.W021"]

# --- the queue -----------------------------------------------------------------------------------
# A queue entry only wakes a worker. `retry` must exceed `timeout`, or a task is handed out twice
# (check kb.E002). `name` signs entries, so lanes share it; `worker --lane` chooses the queue.
Q_CLUSTER = {
    "name": "concordance",
    "cluster_name": "main",
    "orm": "default",
    "broker_class": "kb_project.jobs.cluster.Queue",
    "workers": env_int("CONCORDANCE_WORKERS", 1, minimum=1),
    "timeout": 6 * 3600,
    "retry": 7 * 3600,
    "max_attempts": 1,
    "ack_failures": True,
    "poll": 0.2,
    "queue_limit": 4,
    "save_limit": -1,
    "catch_up": False,
    "label": "Queue",
}
LEASE_SECONDS = env_int("LEASE_SECONDS", 120, minimum=10)
# How long a lane works for one workspace while another one waits.
TURN_SECONDS = env_int("TURN_SECONDS", 1, minimum=0)

# --- ingestion -----------------------------------------------------------------------------------
MAX_UPLOAD_BYTES = env_int("MAX_UPLOAD_MB", 200, minimum=1) * 1024 * 1024
# Quotas (workspaces.limits); 0: no limit. Of a workspace:
MAX_STORED_BYTES = env_int("MAX_STORED_MB", 51_200, minimum=0) * 1024 * 1024
MAX_DOCUMENTS = env_int("MAX_DOCUMENTS", 100_000, minimum=0)
MAX_QUESTIONS_OF_WORKSPACE = env_int("MAX_QUESTIONS_OF_WORKSPACE", 500, minimum=0)
# Of a person, in a workspace, and over all:
MAX_QUESTIONS_OF_PERSON = env_int("MAX_QUESTIONS_OF_PERSON", 100, minimum=0)
MAX_WORKSPACES_OF_PERSON = env_int("MAX_WORKSPACES_OF_PERSON", 50, minimum=0)
# All files of one request, and at least one of them.
UPLOAD_REQUEST_BYTES = max(
    env_int("UPLOAD_REQUEST_MB", 1000, minimum=1) * 1024 * 1024, MAX_UPLOAD_BYTES
)
# How long items in the trash can be restored.
TRASH_DAYS = env_int("TRASH_DAYS", 30, minimum=1)
PARSE_SECONDS = env_int("PARSE_SECONDS", 60, minimum=1)
PARSE_MEMORY_BYTES = env_int("PARSE_MEMORY_MB", 1536, minimum=256) * 1024 * 1024
# Read documents where the kernel cannot keep their readers from sockets, programs and processes.
ALLOW_UNCONFINED_PARSING = env_bool("ALLOW_UNCONFINED_PARSING", default=False)
CHUNK_STRATEGY = env_str("CHUNK_STRATEGY", "tokens")
CHUNK_TOKENS = env_int("CHUNK_TOKENS", 800, minimum=20)
CHUNK_OVERLAP = env_int("CHUNK_OVERLAP", 100, minimum=0)
EMBEDDER = env_str("EMBEDDER", "local")
# More share the work on one text badly.
EMBEDDER_THREADS = env_int("EMBEDDER_THREADS", min(4, os.cpu_count() or 1), minimum=0)
# The installation's model, for workspaces without one of their own: none of them, those that
# `manage.py allowmodel` listed, or all.
MODEL_ENDPOINT = env_web_address("MODEL_ENDPOINT")
MODEL_KEY = env_str("MODEL_KEY")
MODEL_NAME = env_str("MODEL_NAME")
MODEL_FOR = env_str("MODEL_FOR", "listed")
MODEL_WORK = env_str("MODEL_WORK", "all")
MODEL_CONTEXT_WINDOW = env_int("MODEL_CONTEXT_WINDOW", 0, minimum=0)
MODEL_CONCURRENCY = env_int("MODEL_CONCURRENCY", 0, minimum=0)
# Its prices, and what it may cost in a month: MODEL=IN/OUT or MODEL=IN/OUT/CACHED.
MODEL_PRICES = env_list("MODEL_PRICES")
MODEL_CAP_WORKSPACE = env_money("MODEL_CAP_WORKSPACE")
MODEL_CAP_PERSON = env_money("MODEL_CAP_PERSON")
MODEL_CAP_TOTAL = env_money("MODEL_CAP_TOTAL")
# Private hosts, and networks, where workspaces may have models of their own.
MODEL_HOSTS_ALLOWED = env_list("MODEL_HOSTS_ALLOWED")
DEMO_EMAIL = env_str("DEMO_EMAIL", "demo@concordance.local")
# Published, so for this machine alone: elsewhere `loaddemo` makes up another one.
PUBLISHED_DEMO_PASSWORD = "concordance-demo"  # noqa: S105
DEMO_PASSWORD = env_str("DEMO_PASSWORD", PUBLISHED_DEMO_PASSWORD)
if DEMO_PASSWORD == PUBLISHED_DEMO_PASSWORD and not is_loopback(HOST):
    DEMO_PASSWORD = ""
# Made by benchmarks/make_demo_vectors.py.
DEMO_VECTORS = BASE_DIR / "ingestion" / "demo" / "vectors.npz"

# --- retrieval -----------------------------------------------------------------------------------
TOP_K = env_int("TOP_K", 8, minimum=1)
# How many answers a worker retrieves for in parallel, and how many it has models write.
ANSWERERS = env_int("CONCORDANCE_ANSWERERS", 4, minimum=1)

# --- the API -------------------------------------------------------------------------------------
# Whether programs may sign in with a person's e-mail address and password, by HTTP Basic.
API_PASSWORDS = env_bool("API_PASSWORDS", default=False)
REST_FRAMEWORK = {
    # The first one shapes the 401: it must be one that sends a challenge.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "workspaces.tokens.authentication.TokenAuthentication",
        "workspaces.tokens.authentication.PasswordAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "kb_project.http.api.NestedNames",
    "EXCEPTION_HANDLER": "kb_project.http.problems.api_exception_handler",
    "DEFAULT_PARSER_CLASSES": [
        "kb_project.http.api_requests.BoundedJSONParser",
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Concordance",
    "DESCRIPTION": "Documents in, checked citations out.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v[0-9]+",
    "SERVE_INCLUDE_SCHEMA": False,
    "AUTHENTICATION_WHITELIST": [
        "workspaces.tokens.authentication.TokenAuthentication",
        *(["workspaces.tokens.authentication.PasswordAuthentication"] if API_PASSWORDS else []),
        "rest_framework.authentication.SessionAuthentication",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    # Names in the schema for fields of one name with different choices.
    "ENUM_NAME_OVERRIDES": {
        "AnswerState": "retrieval.models.AnswerState",
        "DocumentState": "ingestion.models.DocumentState",
        "ImportState": "ingestion.models.ImportState",
        "AnswerMode": "retrieval.search.modes.ANSWER_MODES",
        "RunProgress": "retrieval.models.RunProgress",
        "RunKind": "retrieval.models.RunKind",
        "RerankerKind": "workspaces.models.RerankerKind",
        "MemberRole": "workspaces.models.Role",
        "NameVerdict": "ingestion.models.Verdict",
        "ConflictVerdict": "ingestion.models.ConflictVerdict",
    },
}

# --- logs ----------------------------------------------------------------------------------------
LOG_LEVEL = env_str("LOG_LEVEL", "INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"lines": {"()": "kb_project.logs.formatter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "lines"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        name: {"level": LOG_LEVEL}
        for name in ("kb_project", "workspaces", "ingestion", "retrieval", "django_structlog")
    },
}
