from __future__ import annotations

from django.urls import path

from retrieval import api

app_name = "retrieval_api"

urlpatterns = [
    path("search/", api.SearchApi.as_view(), name="search"),
    path("ask/", api.AskApi.as_view(), name="ask"),
    path("answers/<uuid:answer_id>/", api.AnswerApi.as_view(), name="answer"),
]
