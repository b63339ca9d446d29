"""URLs of the evaluation API."""

from __future__ import annotations

from typing import Final

from django.urls import path

from retrieval.evaluation.api import runs, sets

SET: Final = "sets/<uuid:set_id>/"
RUN: Final = "runs/<uuid:run_id>/"

urlpatterns = [
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
