"""What questions, answers, searches and evaluations need."""

from __future__ import annotations

from tests.authorization.operation import ADMINISTER, EDIT, READ, op

QUESTIONS = {"file": ("q.jsonl", b'{"question": "Who rows?", "evidence": [{"doc": "The log"}]}')}
CHOICES = {"name": "tags"}

QUESTION = {"question": "Who keeps the light?"}
RUN = {"modes": ["lexical"], "ks": [5]}
QUESTIONS_AND_ANSWERS = [
    op("GET retrieval:home", READ),
    op("GET retrieval:ask", READ),
    op("POST retrieval:ask", READ, sends=QUESTION),
    op("GET retrieval:starters", READ),
    op("GET retrieval:scope_choices", READ, at=CHOICES),
    op("GET retrieval:answer_detail", READ),
    op("GET retrieval:answer_fragment", READ),
    op("GET retrieval:conversation_download", READ),
    op("GET retrieval:answer_events", READ),
    op("POST retrieval:question_again", READ),
    op("POST retrieval:answer_stop", READ),
    op("POST retrieval:answer_stop", ADMINISTER, at={"answer_id": "answer_of_the_owner"}),
    op("GET retrieval:search", READ, query="q=light&mode=lexical"),
    op("GET retrieval_api:scope", READ),
    op("GET retrieval_api:search", READ, query="q=light&mode=lexical"),
    op("POST retrieval_api:search", READ, sends={"q": "light", "mode": "lexical"}),
    op("POST retrieval_api:ask", READ, sends={**QUESTION, "mode": "lexical"}),
    op("POST retrieval_api:question_ask", READ, sends=QUESTION),
    op("POST retrieval_api:question_again", READ),
    op("GET retrieval_api:answer", READ),
    op("GET retrieval_api:answer_events", READ),
    op("POST retrieval_api:answer_stop", READ),
    op("POST retrieval_api:answer_stop", ADMINISTER, at={"answer_id": "answer_of_the_owner"}),
]

WITH_EVIDENCE = {"question": "Who rows?", "evidence": [{"doc": "The log"}]}
GOING_ON = {"run_id": "run_going_on"}
IN_SET = {"question_id": "set_question"}
EVALUATION = [
    op("GET retrieval:set_list", READ),
    op("POST retrieval:set_list", EDIT, sends={"name": "Boats"}),
    op("GET retrieval:set_detail", READ),
    op("POST retrieval:set_rename", EDIT, sends={"name": "Boats"}),
    op("POST retrieval:set_delete", EDIT),
    op("POST retrieval:set_import", EDIT, files=QUESTIONS),
    op("GET retrieval:set_export", READ),
    op("GET retrieval:set_estimate", EDIT, query="modes=lexical"),
    op("POST retrieval:questions_make", EDIT, sends={"number": 2}),
    op("POST retrieval:questions_decide", EDIT, sends={"questions": ["$set_question"]}),
    op("POST retrieval:question_add", EDIT, sends={"text": "Who rows?", "evidence": "The log"}),
    op("GET retrieval:question_edit", EDIT, at=IN_SET),
    op(
        "POST retrieval:question_edit",
        EDIT,
        at=IN_SET,
        sends={"text": "Who rows?", "evidence": "The log"},
    ),
    op("POST retrieval:question_delete", EDIT, at=IN_SET),
    op("POST retrieval:run_start", EDIT, sends=RUN),
    op("GET retrieval:run_detail", READ),
    op("POST retrieval:run_stop", EDIT, at=GOING_ON),
    op("POST retrieval:run_continue", EDIT),
    op("POST retrieval:run_delete", EDIT),
    op("GET retrieval:run_csv", READ),
    op("GET retrieval:run_jsonl", READ),
    op("GET retrieval:result_detail", READ),
    op("GET retrieval:question_keep", EDIT),
    op("POST retrieval:question_keep", EDIT, sends={"set": "$set"}),
    op("GET retrieval_api:question_sets", READ),
    op("POST retrieval_api:question_sets", EDIT, sends={"name": "Boats"}),
    op("GET retrieval_api:question_set", READ),
    op("PATCH retrieval_api:question_set", EDIT, sends={"name": "Boats"}),
    op("DELETE retrieval_api:question_set", EDIT),
    op("GET retrieval_api:question_set_file", READ),
    op("POST retrieval_api:question_set_file", EDIT, files=QUESTIONS),
    op("GET retrieval_api:set_questions", READ),
    op("POST retrieval_api:set_questions", EDIT, sends=WITH_EVIDENCE),
    op("PUT retrieval_api:set_question", EDIT, at=IN_SET, sends=WITH_EVIDENCE),
    op("DELETE retrieval_api:set_question", EDIT, at=IN_SET),
    op(
        "POST retrieval_api:set_decisions",
        EDIT,
        sends={"questions": ["$set_question"], "accept": True},
    ),
    op("POST retrieval_api:set_keep", EDIT, sends={"question": "$question"}),
    op("POST retrieval_api:set_make", EDIT, sends={"number": 2}),
    op("POST retrieval_api:run_estimate", EDIT, sends=RUN),
    op("GET retrieval_api:runs", READ),
    op("POST retrieval_api:runs", EDIT, sends=RUN),
    op("GET retrieval_api:run", READ),
    op("DELETE retrieval_api:run", EDIT),
    op("POST retrieval_api:run_stop", EDIT, at=GOING_ON),
    op("POST retrieval_api:run_continue", EDIT),
    op("GET retrieval_api:run_results", READ),
    op("GET retrieval_api:run_comparison", READ),
]
