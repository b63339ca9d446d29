from __future__ import annotations

from django.urls import path

from retrieval import streams, views

app_name = "retrieval"

urlpatterns = [
    path("w/<workspace:workspace_id>/", views.home, name="home"),
    path("w/<workspace:workspace_id>/ask/", views.ask, name="ask"),
    path(
        "w/<workspace:workspace_id>/questions/<uuid:question_id>/",
        views.answer_detail,
        name="answer_detail",
    ),
    path(
        "w/<workspace:workspace_id>/answers/<uuid:answer_id>/events/",
        streams.answer_events,
        name="answer_events",
    ),
    path("w/<workspace:workspace_id>/search/", views.search, name="search"),
]
