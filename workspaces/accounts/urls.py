"""The pages of accounts: ours, then allauth's."""

from __future__ import annotations

from allauth.account import views as account_views
from django.db import transaction
from django.urls import include, path

from workspaces.accounts import views

urlpatterns = [
    # Outside of a transaction: an attempt counts at once, and one password at a time is no queue.
    path("login/", transaction.non_atomic_requests(account_views.login), name="account_login"),
    path(
        "reauthenticate/",
        transaction.non_atomic_requests(account_views.reauthenticate),
        name="account_reauthenticate",
    ),
    path("security/", views.security, name="account_security"),
    path("sessions/<int:session_id>/end/", views.session_end, name="account_session_end"),
    path("", include("allauth.urls")),
]
