from __future__ import annotations

from django.urls import include, path

from retrieval import evaluation_api_urls
from retrieval.api import answers, events, scopes, search

app_name = "retrieval_api"

urlpatterns = [
    path("evaluation/", include(evaluation_api_urls.urlpatterns)),
    path("scope/", scopes.ScopeChoicesApi.as_view(), name="scope"),
    path("search/", search.SearchApi.as_view(), name="search"),
    path("ask/", answers.AskApi.as_view(), name="ask"),
    path("questions/", answers.QuestionsApi.as_view(), name="question_ask"),
    path(
        "questions/<uuid:question_id>/again/",
        answers.QuestionAgainApi.as_view(),
        name="question_again",
    ),
    path("answers/<uuid:answer_id>/", answers.AnswerApi.as_view(), name="answer"),
    path(
        "answers/<uuid:answer_id>/events/", events.AnswerEventsApi.as_view(), name="answer_events"
    ),
    path("answers/<uuid:answer_id>/stop/", answers.AnswerStopApi.as_view(), name="answer_stop"),
]
