"""One question that finds the workspaces which the minute's sweep has to visit.

Row-level security shows one workspace at a time, also to this function: it goes from one to the
next, with a look into a few small indexes each.
"""

from django.db import migrations, models

CREATE = r"""
CREATE FUNCTION ingestion_needs(trashed_before timestamptz)
RETURNS TABLE (need text, workspace_id uuid)
LANGUAGE plpgsql AS $function$
DECLARE
    one uuid;
BEGIN
    FOR one IN SELECT w.id FROM workspaces_workspace AS w ORDER BY w.id LOOP
        PERFORM set_config('app.workspace_id', one::text, true);
        RETURN QUERY
            SELECT found.need, one FROM (VALUES
                ('work', EXISTS (
                    SELECT FROM ingestion_ingestionjob AS j
                     WHERE j.workspace_id = one AND j.state IN ('pending', 'running'))),
                ('paused', EXISTS (
                    SELECT FROM ingestion_ingestionjob AS j
                     WHERE j.workspace_id = one AND j.state = 'paused')),
                ('changed', EXISTS (
                    SELECT FROM ingestion_entity AS e WHERE e.workspace_id = one AND e.is_changed)
                    OR EXISTS (
                    SELECT FROM ingestion_relationship AS r
                     WHERE r.workspace_id = one AND r.is_changed)
                    OR EXISTS (
                    SELECT FROM ingestion_graphtombstone AS t WHERE t.workspace_id = one)),
                ('tree', EXISTS (
                    SELECT FROM ingestion_corpusversion AS v
                     WHERE v.workspace_id = one AND v.number <> v.trees_seen)),
                ('trash', EXISTS (
                    SELECT FROM ingestion_document AS d
                     WHERE d.workspace_id = one AND d.trashed_at < trashed_before)),
                ('check', EXISTS (
                    SELECT FROM ingestion_consistencycheck AS c
                     WHERE c.workspace_id = one AND NOT c.state = 'done')),
                ('import', EXISTS (
                    SELECT FROM ingestion_graphimport AS i
                     WHERE i.workspace_id = one AND i.state IN ('waiting', 'running')))
            ) AS found (need, is_there) WHERE found.is_there;
    END LOOP;
    PERFORM set_config('app.workspace_id', '', true);
END
$function$;
"""
DROP = "DROP FUNCTION ingestion_needs(timestamptz);"


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0037_corpus_counts")]

    operations = [
        migrations.AddField(
            model_name="corpusversion",
            name="trees_seen",
            field=models.BigIntegerField(default=0, db_default=0),
        ),
        migrations.AddIndex(
            model_name="ingestionjob",
            index=models.Index(
                fields=["workspace"], condition=models.Q(state="paused"), name="job_paused"
            ),
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
