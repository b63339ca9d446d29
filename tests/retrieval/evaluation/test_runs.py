from __future__ import annotations

import pytest

from kb_project.errors import BudgetError, ConflictError, InputError, ReplyError
from kb_project.jobs.notify import Call
from kb_project.llm import halting
from kb_project.llm.halting import Halt
from retrieval.evaluation import control, measuring, queries, runs, sets
from retrieval.evaluation.control import Order
from retrieval.evaluation.measuring import Plan
from retrieval.evaluation.metrics import METRICS
from retrieval.models import EvaluationResult, EvaluationRun, RunProgress, SetQuestion
from tests import rows
from tests.retrieval.evaluation import cast
from workspaces import access

pytestmark = pytest.mark.django_db
PLAN = Plan(("lexical", "dense"), (1, 5))


@pytest.fixture
def people(fake_embedder):
    return cast.make_read_workspace()


@pytest.fixture
def made(people):
    return cast.make_set(people.workspace)


def start(people, made, *, plan=PLAN, answers=False, worker="") -> EvaluationRun:
    return control.run_start(
        workspace=people.workspace,
        order=Order(people.alice, worker),
        question_set=made,
        plan=plan,
        answers=answers,
    )


def do(run: EvaluationRun) -> EvaluationRun:
    """Work on the run as a worker does, and look at what became of it."""
    runs.run_evaluation(run.workspace_id, run.pk)
    return fresh(run)


def fresh(run: EvaluationRun) -> EvaluationRun:
    with access.in_workspace(run.workspace_id):
        run.refresh_from_db()
    return run


def problem_of(row: EvaluationRun | EvaluationResult) -> dict[str, str]:
    assert row.problem
    return dict(row.problem)


def results(run: EvaluationRun) -> list[EvaluationResult]:
    with access.in_workspace(run.workspace_id):
        return list(queries.results_of(workspace=run.workspace, run=run))


@pytest.fixture
def failing(monkeypatch):
    """Make measuring fail where the test says so."""
    real = measuring.measure

    def fail(should_fail, error):
        def measure(measured, question, mode, vector):
            if should_fail(question, mode):
                raise error
            return real(measured, question, mode, vector)

        monkeypatch.setattr(runs, "measure", measure)

    return fail


def test_every_accepted_question_is_put_to_every_mode(people, made):
    run = start(people, made)
    assert (run.state, run.total) == (RunProgress.QUEUED, 6)

    do(run)

    assert (run.state, run.done, run.total) == (RunProgress.DONE, 6, 6)
    assert run.finished_at is not None
    assert run.requested_by == people.alice
    assert {(row.question.text, row.mode) for row in results(run)} == {
        (text, mode) for text, *_ in cast.QUESTIONS for mode in PLAN.modes
    }
    first = results(run)[0].metrics
    assert {"perfect@1", "recall@5", "ndcg@5", "mrr", "search_ms", "embed_ms"} <= set(first)
    assert run.summary["lexical"]["perfect@5"] == 1.0
    assert run.summary["lexical"]["questions"] == 3
    assert "search_ms_p95" in run.summary["dense"]


def test_a_result_says_which_passages_were_found_and_which_cover_evidence(people, made):
    run = do(start(people, made, plan=Plan(("lexical",), (5,))))

    passages = results(run)[1].passages
    assert passages[0]["covers"] == [0]
    assert set(passages[0]) == {"document", "chunk", "covers"}


def test_questions_that_are_only_proposed_are_not_asked(people, made):
    sets.questions_propose(
        workspace=people.workspace,
        question_set=made,
        found=[sets.Written("Made up?", ({"document": "x", "chunk": None, "quote": ""},))],
    )

    assert do(start(people, made)).done == 6


def test_answers_are_judged_by_words_and_vectors_where_there_is_no_model(people, made):
    run = do(start(people, made, plan=Plan(("lexical",), (5,)), answers=True))

    assert run.judged_by == "words and vectors"
    by_text = {row.question.text: row for row in results(run)}
    known = by_text["When does the boat bring the oil?"]
    assert set(METRICS) <= set(known.metrics)
    assert known.metrics["recall"] == known.metrics["faithfulness"] == 1.0
    assert known.claims["expected"] == ["The boat brings the oil on Fridays."]
    assert "Fridays" in known.answer
    unknown = by_text["When is the quarry road closed?"]
    assert not set(METRICS) & set(unknown.metrics)
    assert unknown.metrics["answered"] == 1.0
    assert run.summary["lexical"]["claim_recall"] == 1.0


def test_what_the_run_was_made_under_is_kept(people, made):
    run = do(start(people, made))

    assert (run.conditions["documents"], run.conditions["passages"]) == (3, 4)
    assert run.conditions["embedder"]
    assert len(run.conditions["questions"]) == 3
    assert len(run.corpus) == 32


def test_evidence_whose_document_has_gone_counts_as_not_found(people, made):
    with access.in_workspace(people.workspace.pk):
        question = queries.questions_of(workspace=people.workspace, question_set=made)[0]
        question.evidence = [{"document": "Nowhere", "chunk": None, "quote": ""}]
        question.save()

    run = do(start(people, made))

    assert results(run)[0].metrics["recall@5"] == 0.0


def test_what_fails_for_one_question_is_told_there_and_left_out_of_the_means(people, made, failing):
    failing(
        lambda question, mode: question.text.startswith("Who") and mode == "dense",
        ReplyError("The answer was cut off.", code="reply_truncated"),
    )

    run = do(start(people, made))

    assert run.state == RunProgress.DONE
    [failed] = [row for row in results(run) if row.problem]
    assert (failed.mode, problem_of(failed)["code"]) == ("dense", "reply_truncated")
    assert (run.summary["dense"]["questions"], run.summary["lexical"]["questions"]) == (2, 3)


def test_a_spent_budget_ends_the_run_with_everything_kept_and_it_can_go_on(people, made, failing):
    failing(
        lambda question, mode: question.text.startswith("When is"),
        BudgetError("The budget is spent.", next_step="Raise it."),
    )
    run = do(start(people, made))

    assert (run.state, run.done) == (RunProgress.FAILED, 4)
    assert problem_of(run)["code"] == "budget_spent"
    assert problem_of(run)["next_step"] == "Raise it."
    assert run.summary["lexical"]["questions"] == 2
    before = {row.pk for row in results(run)}

    failing(lambda question, mode: False, None)
    control.run_continue(workspace=people.workspace, run=run, order=Order(people.alice))
    do(run)

    assert (run.state, run.done, run.problem) == (RunProgress.DONE, 6, None)
    assert before < {row.pk for row in results(run)}


def test_a_run_stops_between_questions_and_goes_on_later(people, made, monkeypatch):
    run = start(people, made)
    real = measuring.measure

    def measure(*args):
        found = real(*args)
        with access.in_workspace(run.workspace_id):
            rows = EvaluationRun.objects.in_workspace(run.workspace_id).filter(pk=run.pk)
            rows.update(wants_stop=True)
        return found

    monkeypatch.setattr(runs, "measure", measure)
    monkeypatch.setattr(runs, "SECONDS_BETWEEN_SIGNS", 0)
    do(run)
    assert (run.state, run.done) == (RunProgress.STOPPED, 1)

    monkeypatch.setattr(runs, "measure", real)
    control.run_continue(workspace=people.workspace, run=run, order=Order())
    assert do(run).state == RunProgress.DONE
    assert run.done == len(results(run)) == 6


def test_what_is_halted_by_its_worker_stops_at_once(people, made):
    run = start(people, made)
    halt = Halt()
    halt.set()

    with halting.halted_by(halt):
        do(run)

    assert (run.state, run.done) == (RunProgress.STOPPED, 0)


def test_a_run_whose_worker_died_waits_for_the_next_and_goes_on_where_it_was(people, made):
    run = do(start(people, made))
    dead = "elsewhere:1:1"
    with access.in_workspace(run.workspace_id):
        results(run)[-1].delete()
        rows_ = EvaluationRun.objects.in_workspace(run.workspace_id).filter(pk=run.pk)
        rows_.update(state=RunProgress.RUNNING, worker=dead, problem=None)

    runs.QUEUE.interrupt(Call(runs.KIND, run.workspace_id, run.pk), dead)

    assert fresh(run).state == RunProgress.QUEUED
    assert do(run).state == RunProgress.DONE
    assert (run.done, len(results(run))) == (6, 6)


def test_a_run_that_brings_its_workers_down_is_left_alone_in_the_end(people, made):
    run = start(people, made, worker="elsewhere:1:1")
    call = Call(runs.KIND, run.workspace_id, run.pk)

    for _ in range(runs.MOST_INTERRUPTIONS + 1):
        runs.QUEUE.interrupt(call, "elsewhere:1:1")
        runs.QUEUE.claim(call, "elsewhere:1:1")

    assert fresh(run).state == RunProgress.FAILED
    assert problem_of(run)["code"] == "interrupted"


def test_a_run_that_was_to_stop_when_its_worker_died_has_ended(people, made):
    run = start(people, made, worker="elsewhere:1:1")
    control.run_stop(workspace=people.workspace, run=run)

    runs.QUEUE.interrupt(Call(runs.KIND, run.workspace_id, run.pk), "elsewhere:1:1")

    assert fresh(run).state == RunProgress.STOPPED
    assert fresh(run).finished_at is not None


def test_a_run_that_waits_is_stopped_without_a_worker(people, made):
    run = start(people, made)

    control.run_stop(workspace=people.workspace, run=run)

    assert run.state == RunProgress.STOPPED
    assert do(run).state == RunProgress.STOPPED
    with pytest.raises(ConflictError, match="ended"):
        control.run_stop(workspace=people.workspace, run=run)


def test_another_workers_run_is_left_alone(people, made):
    run = start(people, made, worker="elsewhere:1:1")

    do(run)

    assert (run.state, run.worker, run.done) == (RunProgress.RUNNING, "elsewhere:1:1", 0)


def test_results_that_are_there_are_not_made_again(people, made, failing):
    run = do(start(people, made, plan=Plan(("lexical",), (5,))))
    with access.in_workspace(run.workspace_id):
        gone = results(run)[0]
        gone.delete()
        run.state = RunProgress.STOPPED
        run.save()
    asked = []
    failing(lambda question, mode: bool(asked.append(question.text)), None)

    control.run_continue(workspace=people.workspace, run=run, order=Order())
    do(run)

    assert asked == [gone.question.text]


def test_two_runs_over_one_set_do_not_go_on_side_by_side(people, made):
    start(people, made)

    with pytest.raises(ConflictError, match="in progress"):
        start(people, made)


def test_a_set_without_accepted_questions_cannot_be_run(people):
    empty = sets.set_create(workspace=people.workspace, user=None, name="Empty")

    with pytest.raises(ConflictError, match="no accepted questions"):
        start(people, empty)


@pytest.mark.parametrize(
    ("modes", "ks"), [((), (5,)), (("lexical",), ()), (("telepathy",), (5,)), (("lexical",), (0,))]
)
def test_what_cannot_be_measured_is_refused(modes, ks):
    with pytest.raises(InputError):
        Plan(modes, ks)


def test_too_many_numbers_of_passages_are_refused(people, made):
    with pytest.raises(InputError, match="At most"):
        start(people, made, plan=Plan(("lexical",), tuple(range(1, 9))))


def test_a_run_that_is_over_is_deleted_with_its_results(people, made):
    run = start(people, made)
    with pytest.raises(ConflictError):
        control.run_delete(workspace=people.workspace, run=run)
    do(run)

    control.run_delete(workspace=people.workspace, run=run)

    with access.in_workspace(people.workspace.pk):
        assert not EvaluationRun.objects.in_workspace(people.workspace).exists()
        assert not EvaluationResult.objects.in_workspace(people.workspace).exists()


def test_a_run_that_is_done_without_faults_has_nothing_to_go_on_with(people, made):
    run = do(start(people, made))

    with pytest.raises(ConflictError, match="complete"):
        control.run_continue(workspace=people.workspace, run=run, order=Order())


def test_a_question_deleted_while_the_run_goes_on_leaves_no_result(people, made, failing):
    def delete(question, mode):
        with access.in_workspace(people.workspace.pk):
            SetQuestion.objects.in_workspace(people.workspace).filter(pk=question.pk).delete()

    failing(delete, None)

    run = do(start(people, made))

    assert (run.state, results(run)) == (RunProgress.DONE, [])


def test_a_run_of_another_workspace_is_not_there(people, made):
    run = start(people, made)
    other = rows.make_workspace("Elsewhere")

    runs.run_evaluation(other.pk, run.pk)

    assert fresh(run).state == RunProgress.QUEUED


# --- turns ----------------------------------------------------------------------------------------
@pytest.fixture
def turn():
    yield runs.begin_turn
    runs.begin_turn(lambda: False)


def test_a_run_gives_way_to_another_workspaces_after_a_question_and_continues(
    people, made, turn, monkeypatch
):
    monkeypatch.setattr(runs, "SECONDS_OF_TURN", 0.0)
    called: list[object] = []
    monkeypatch.setattr(runs.notify, "wake", lambda *call: called.append(call))
    run = start(people, made)
    called.clear()

    turn(lambda: True)
    states = [(do(run).state, fresh(run).done) for _ in range(3)]

    assert states == [(RunProgress.QUEUED, 2), (RunProgress.QUEUED, 4), (RunProgress.DONE, 6)]
    assert called == [(runs.KIND, run.workspace_id, run.pk, people.alice.pk)] * 2
    assert len(results(run)) == 6


def test_a_run_goes_on_while_no_other_workspace_waits_and_while_its_turn_lasts(
    people, made, turn, monkeypatch
):
    turn(lambda: True)
    assert do(start(people, made)).state == RunProgress.DONE

    monkeypatch.setattr(runs, "SECONDS_OF_TURN", 0.0)
    turn(lambda: False)
    assert do(start(people, made)).state == RunProgress.DONE
