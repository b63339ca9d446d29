"""URLs of the evaluation pages."""

from __future__ import annotations

from typing import Final

from django.urls import path

from retrieval.evaluation.views import questions, runs, sets

ROOT: Final = "w/<workspace:workspace_id>/evaluation/"
SET: Final = f"{ROOT}sets/<uuid:set_id>/"
QUESTION: Final = f"{SET}questions/<uuid:question_id>/"
RUN: Final = f"{ROOT}runs/<uuid:run_id>/"

urlpatterns = [
    path(ROOT, sets.set_list, name="set_list"),
    path(SET, sets.set_detail, name="set_detail"),
    path(f"{SET}rename/", sets.set_rename, name="set_rename"),
    path(f"{SET}delete/", sets.set_delete, name="set_delete"),
    path(f"{SET}import/", sets.set_import, name="set_import"),
    path(f"{SET}questions.jsonl", sets.set_export, name="set_export"),
    path(f"{SET}estimate/", sets.set_estimate, name="set_estimate"),
    path(f"{SET}make/", sets.questions_make, name="questions_make"),
    path(f"{SET}decide/", questions.questions_decide, name="questions_decide"),
    path(f"{SET}questions/", questions.question_add, name="question_add"),
    path(QUESTION, questions.question_edit, name="question_edit"),
    path(f"{QUESTION}delete/", questions.question_delete, name="question_delete"),
    path(f"{SET}runs/", runs.run_start, name="run_start"),
    path(RUN, runs.run_detail, name="run_detail"),
    path(f"{RUN}stop/", runs.run_stop, name="run_stop"),
    path(f"{RUN}continue/", runs.run_continue, name="run_continue"),
    path(f"{RUN}delete/", runs.run_delete, name="run_delete"),
    path(f"{RUN}results.csv", runs.run_export, {"form": "csv"}, name="run_csv"),
    path(f"{RUN}results.jsonl", runs.run_export, {"form": "jsonl"}, name="run_jsonl"),
    path(f"{RUN}results/<uuid:result_id>/", runs.result_detail, name="result_detail"),
    path(f"{ROOT}keep/<uuid:question_id>/", questions.question_keep, name="question_keep"),
]
