"""One question that finds the workspaces with vectors of another model than the one expected.

A worker that starts asks it. Row-level security shows one workspace at a time, also to this
function: it goes from one to the next.
"""

from django.db import migrations

CREATE = r"""
CREATE FUNCTION ingestion_with_other_vectors(expected text)
RETURNS SETOF uuid
LANGUAGE plpgsql AS $function$
DECLARE
    one uuid;
BEGIN
    FOR one IN SELECT w.id FROM workspaces_workspace AS w ORDER BY w.id LOOP
        PERFORM set_config('app.workspace_id', one::text, true);
        IF EXISTS (SELECT FROM ingestion_chunkembedding AS v
                    WHERE v.workspace_id = one AND v.fingerprint <> expected) THEN
            RETURN NEXT one;
        END IF;
    END LOOP;
    PERFORM set_config('app.workspace_id', '', true);
END
$function$;
"""
DROP = "DROP FUNCTION ingestion_with_other_vectors(text);"


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0045_cells")]

    operations = [migrations.RunSQL(CREATE, DROP)]
