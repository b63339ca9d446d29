"""A way for the pipeline to have the planner look at tables that have grown much.

The tables belong to the role that migrates; the one that works may not ANALYZE them itself. The
function looks only at tables of its owner that have grown by half or more, one caller at a time.
"""

from django.db import migrations

CREATE = r"""
CREATE FUNCTION ingestion_refresh_statistics() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $function$
DECLARE
    stale record;
    number integer := 0;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('ingestion_refresh_statistics')) THEN
        RETURN 0;
    END IF;
    FOR stale IN
        SELECT s.schemaname, s.relname FROM pg_stat_user_tables AS s
          JOIN pg_class AS c ON c.oid = s.relid
         WHERE pg_has_role(current_user, c.relowner, 'USAGE')
           AND (s.relname LIKE 'ingestion\_%' OR s.relname LIKE 'workspaces\_%')
           AND s.n_mod_since_analyze > 200 + s.n_live_tup / 2
    LOOP
        EXECUTE format('ANALYZE %I.%I', stale.schemaname, stale.relname);
        number := number + 1;
    END LOOP;
    RETURN number;
END
$function$;
"""
DROP = "DROP FUNCTION ingestion_refresh_statistics();"


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0007_summary_tree")]

    operations = [migrations.RunSQL(CREATE, DROP)]
