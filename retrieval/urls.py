from __future__ import annotations

from django.urls import include, path

from retrieval.conversations import streaming, views
from retrieval.evaluation import urls

app_name = "retrieval"

urlpatterns = [
    path("", include(urls.urlpatterns)),
    path("w/<workspace:workspace_id>/", views.home, name="home"),
    path("w/<workspace:workspace_id>/ask/", views.ask, name="ask"),
    path("w/<workspace:workspace_id>/ask/starters/", views.starters, name="starters"),
    path(
        "w/<workspace:workspace_id>/ask/choices/<slug:name>/",
        views.scope_choices,
        name="scope_choices",
    ),
    path(
        "w/<workspace:workspace_id>/questions/<uuid:question_id>/",
        views.answer_detail,
        name="answer_detail",
    ),
    path(
        "w/<workspace:workspace_id>/questions/<uuid:question_id>/answer/",
        views.answer_fragment,
        name="answer_fragment",
    ),
    path(
        "w/<workspace:workspace_id>/answers/<uuid:answer_id>/events/",
        streaming.answer_events,
        name="answer_events",
    ),
    path(
        "w/<workspace:workspace_id>/questions/<uuid:question_id>/again/",
        views.question_again,
        name="question_again",
    ),
    path(
        "w/<workspace:workspace_id>/answers/<uuid:answer_id>/stop/",
        views.answer_stop,
        name="answer_stop",
    ),
    path("w/<workspace:workspace_id>/search/", views.search, name="search"),
]
