"""Addresses of the API of retrieval."""

from __future__ import annotations

from typing import Final

from django.urls import include, path

from retrieval.conversations import api
from retrieval.evaluation.api import runs, sets
from retrieval.search import api as search_api

app_name = "retrieval_api"

SET: Final = "sets/<uuid:set_id>/"
RUN: Final = "runs/<uuid:run_id>/"

evaluation = [
    path("sets/", sets.QuestionSetsApi.as_view(), name="question_sets"),
    path(SET, sets.QuestionSetApi.as_view(), name="question_set"),
    path(f"{SET}file/", sets.QuestionSetFileApi.as_view(), name="question_set_file"),
    path(f"{SET}questions/", sets.SetQuestionsApi.as_view(), name="set_questions"),
    path(f"{SET}questions/<uuid:question_id>/", sets.SetQuestionApi.as_view(), name="set_question"),
    path(f"{SET}decisions/", sets.SetDecisionsApi.as_view(), name="set_decisions"),
    path(f"{SET}keep/", sets.SetKeepApi.as_view(), name="set_keep"),
    path(f"{SET}make/", runs.MakeQuestionsApi.as_view(), name="set_make"),
    path(f"{SET}estimate/", runs.RunEstimateApi.as_view(), name="run_estimate"),
    path(f"{SET}runs/", runs.RunsApi.as_view(), name="runs"),
    path(RUN, runs.RunApi.as_view(), name="run"),
    path(f"{RUN}stop/", runs.RunStopApi.as_view(), name="run_stop"),
    path(f"{RUN}continue/", runs.RunContinueApi.as_view(), name="run_continue"),
    path(f"{RUN}results/", runs.RunResultsApi.as_view(), name="run_results"),
    path(f"{RUN}comparison/", runs.RunComparisonApi.as_view(), name="run_comparison"),
]

urlpatterns = [
    path("evaluation/", include(evaluation)),
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
        api.AnswerEventsApi.as_view(),
        name="answer_events",
    ),
    path("answers/<uuid:answer_id>/stop/", api.AnswerStopApi.as_view(), name="answer_stop"),
]
