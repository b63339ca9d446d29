"""Unfinished jobs come with the person who asked: workers take them in turns."""

from django.db import migrations

DROP = "DROP FUNCTION retrieval_unfinished_jobs();"
CREATE = r"""
CREATE FUNCTION retrieval_unfinished_jobs()
RETURNS TABLE (kind text, workspace_id uuid, id uuid, state text, worker text, is_overdue boolean,
               person bigint)
LANGUAGE plpgsql AS $function$
DECLARE
    one uuid;
BEGIN
    FOR one IN SELECT w.id FROM workspaces_workspace AS w ORDER BY w.id LOOP
        PERFORM set_config('app.workspace_id', one::text, true);
        RETURN QUERY
            SELECT 'answer', a.workspace_id, a.id, a.state::text, a.worker::text,
                   coalesce(a.lease_until < now(), true), q.asked_by_id
              FROM retrieval_answer AS a
              JOIN retrieval_question AS q ON q.workspace_id = one AND q.id = a.question_id
             WHERE a.workspace_id = one AND a.state IN ('queued', 'running');
        RETURN QUERY
            SELECT 'evaluation', r.workspace_id, r.id, r.state::text, r.worker::text,
                   coalesce(r.lease_until < now(), true), r.requested_by_id
              FROM retrieval_evaluationrun AS r
             WHERE r.workspace_id = one AND r.state IN ('queued', 'running');
    END LOOP;
    PERFORM set_config('app.workspace_id', '', true);
END
$function$;
"""
WITHOUT_PERSON = r"""
CREATE FUNCTION retrieval_unfinished_jobs()
RETURNS TABLE (kind text, workspace_id uuid, id uuid, state text, worker text, is_overdue boolean)
LANGUAGE plpgsql AS $function$
DECLARE
    one uuid;
BEGIN
    FOR one IN SELECT w.id FROM workspaces_workspace AS w ORDER BY w.id LOOP
        PERFORM set_config('app.workspace_id', one::text, true);
        RETURN QUERY
            SELECT 'answer', a.workspace_id, a.id, a.state::text, a.worker::text,
                   coalesce(a.lease_until < now(), true)
              FROM retrieval_answer AS a
             WHERE a.workspace_id = one AND a.state IN ('queued', 'running');
        RETURN QUERY
            SELECT 'evaluation', r.workspace_id, r.id, r.state::text, r.worker::text,
                   coalesce(r.lease_until < now(), true)
              FROM retrieval_evaluationrun AS r
             WHERE r.workspace_id = one AND r.state IN ('queued', 'running');
    END LOOP;
    PERFORM set_config('app.workspace_id', '', true);
END
$function$;
"""


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0009_outcome")]

    operations = [migrations.RunSQL(DROP + CREATE, DROP + WITHOUT_PERSON)]
