from __future__ import annotations

from django.urls import include, path

from retrieval.conversations import api, events_api
from retrieval.evaluation import api_urls
from retrieval.search import api as search_api

app_name = "retrieval_api"

urlpatterns = [
    path("evaluation/", include(api_urls.urlpatterns)),
    path("scope/", search_api.ScopeChoicesApi.as_view(), name="scope"),
    path("search/", search_api.SearchApi.as_view(), name="search"),
    path("ask/", api.AskApi.as_view(), name="ask"),
    path("questions/", api.QuestionsApi.as_view(), name="question_ask"),
    path(
        "questions/<uuid:question_id>/again/",
        api.QuestionAgainApi.as_view(),
        name="question_again",
    ),
    path("answers/<uuid:answer_id>/", api.AnswerApi.as_view(), name="answer"),
    path(
        "answers/<uuid:answer_id>/events/",
        events_api.AnswerEventsApi.as_view(),
        name="answer_events",
    ),
    path("answers/<uuid:answer_id>/stop/", api.AnswerStopApi.as_view(), name="answer_stop"),
]
