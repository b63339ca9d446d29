"""Addresses of the pages of retrieval."""

from __future__ import annotations

from typing import Final

from django.urls import include, path

from retrieval.conversations import streaming, views
from retrieval.evaluation.views import runs as evaluation_runs, sets as evaluation_sets

app_name = "retrieval"

SET: Final = "sets/<uuid:set_id>/"
QUESTION: Final = f"{SET}questions/<uuid:question_id>/"
RUN: Final = "runs/<uuid:run_id>/"

evaluation = [
    path("", evaluation_sets.set_list, name="set_list"),
    path(SET, evaluation_sets.set_detail, name="set_detail"),
    path(f"{SET}rename/", evaluation_sets.set_rename, name="set_rename"),
    path(f"{SET}delete/", evaluation_sets.set_delete, name="set_delete"),
    path(f"{SET}import/", evaluation_sets.set_import, name="set_import"),
    path(f"{SET}questions.jsonl", evaluation_sets.set_export, name="set_export"),
    path(f"{SET}estimate/", evaluation_sets.set_estimate, name="set_estimate"),
    path(f"{SET}make/", evaluation_sets.questions_make, name="questions_make"),
    path(f"{SET}decide/", evaluation_sets.questions_decide, name="questions_decide"),
    path(f"{SET}questions/", evaluation_sets.question_add, name="question_add"),
    path(QUESTION, evaluation_sets.question_edit, name="question_edit"),
    path(f"{QUESTION}delete/", evaluation_sets.question_delete, name="question_delete"),
    path(f"{SET}runs/", evaluation_runs.run_start, name="run_start"),
    path(RUN, evaluation_runs.run_detail, name="run_detail"),
    path(f"{RUN}stop/", evaluation_runs.run_stop, name="run_stop"),
    path(f"{RUN}continue/", evaluation_runs.run_continue, name="run_continue"),
    path(f"{RUN}delete/", evaluation_runs.run_delete, name="run_delete"),
    path(f"{RUN}results.csv", evaluation_runs.run_export, {"form": "csv"}, name="run_csv"),
    path(f"{RUN}results.jsonl", evaluation_runs.run_export, {"form": "jsonl"}, name="run_jsonl"),
    path(f"{RUN}results/<uuid:result_id>/", evaluation_runs.result_detail, name="result_detail"),
    path("keep/<uuid:question_id>/", evaluation_sets.question_keep, name="question_keep"),
]

urlpatterns = [
    path("w/<workspace:workspace_id>/evaluation/", include(evaluation)),
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
        "w/<workspace:workspace_id>/questions/<uuid:question_id>/conversation.txt",
        views.conversation_download,
        name="conversation_download",
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
