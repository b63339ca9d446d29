"""One round trip that finds what is queued or running, however many workspaces there are.

Row-level security shows one workspace at a time, also to this function: it goes from one to the
next, with a look into two small indexes each.
"""

from django.db import migrations, models

CREATE = r"""
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
DROP = "DROP FUNCTION retrieval_unfinished_jobs();"


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0005_evaluation_kinds")]

    operations = [
        migrations.AddIndex(
            model_name="evaluationrun",
            index=models.Index(
                fields=["workspace", "state"],
                name="run_unfinished",
                condition=models.Q(state__in=["queued", "running"]),
            ),
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
