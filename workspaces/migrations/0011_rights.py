"""What the application has no need to do, and so may not: rewrite who did what, change what the
queue runs and when, pretend a migration ran, or make anyone an operator.

The functions run as the owner of the tables.
"""

from django.db import migrations

from kb_project.database.rights import append_only, narrow_rights

# A whole workspace goes, or nothing: no one removes single events. Its rows are those of every
# table with a workspace; constraints are checked at the end of the transaction.
PURGE = r"""
CREATE FUNCTION workspaces_purge(workspace uuid) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $function$
DECLARE
    one regclass;
    number bigint;
    total bigint := 0;
BEGIN
    IF workspace IS DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid THEN
        RAISE insufficient_privilege USING MESSAGE = 'this is not the current workspace';
    END IF;
    FOR one IN
        SELECT c.oid FROM pg_class AS c
          JOIN pg_attribute AS a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
           AND NOT c.relispartition AND a.attname = 'workspace_id' AND NOT a.attisdropped
         ORDER BY c.oid DESC
    LOOP
        EXECUTE format('DELETE FROM %s WHERE workspace_id = $1', one) USING workspace;
        GET DIAGNOSTICS number = ROW_COUNT;
        total := total + number;
    END LOOP;
    DELETE FROM workspaces_workspace WHERE id = workspace;
    RETURN total;
END
$function$;
"""

# Rows of the schedule name the functions that workers call. A worker moves the next time on.
KEEP_SCHEDULE = r"""
CREATE FUNCTION workspaces_keep_schedule() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    runs constant text[] := ARRAY['next_run', 'repeats', 'task'];
BEGIN
    IF to_jsonb(NEW) - runs <> to_jsonb(OLD) - runs AND NOT pg_has_role(current_user,
       (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
        RAISE insufficient_privilege USING MESSAGE = 'only migrations change what the queue runs';
    END IF;
    RETURN NEW;
END
$function$;
CREATE TRIGGER keep_schedule BEFORE UPDATE ON django_q_schedule
FOR EACH ROW EXECUTE FUNCTION workspaces_keep_schedule();
"""

KEEP_OPERATORS = r"""
CREATE FUNCTION workspaces_keep_operators() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    IF pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
        RETURN NEW;
    END IF;
    IF (NEW.is_staff AND NOT (TG_OP = 'UPDATE' AND OLD.is_staff))
       OR (NEW.is_superuser AND NOT (TG_OP = 'UPDATE' AND OLD.is_superuser)) THEN
        RAISE insufficient_privilege USING MESSAGE = 'only createsuperuser makes an operator';
    END IF;
    RETURN NEW;
END
$function$;
CREATE TRIGGER keep_operators BEFORE INSERT OR UPDATE ON workspaces_user
FOR EACH ROW EXECUTE FUNCTION workspaces_keep_operators();
"""


# An event outlives the account of who did it, whose name it keeps.
PERSON = """
ALTER TABLE workspaces_auditevent ADD CONSTRAINT workspaces_auditevent_user_fk
FOREIGN KEY (user_id) REFERENCES workspaces_user (id)
ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("workspaces", "0010_graphs"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("django_q", "0017_task_cluster_alter"),
    ]

    operations = [
        migrations.RunSQL(
            PERSON, "ALTER TABLE workspaces_auditevent DROP CONSTRAINT workspaces_auditevent_user_fk;"
        ),
        append_only("workspaces_auditevent"),
        migrations.RunSQL(PURGE, "DROP FUNCTION workspaces_purge(uuid);"),
        narrow_rights("django_migrations", "INSERT, UPDATE, DELETE"),
        narrow_rights("django_q_schedule", "INSERT, DELETE"),
        migrations.RunSQL(
            KEEP_SCHEDULE,
            "DROP TRIGGER keep_schedule ON django_q_schedule;"
            "DROP FUNCTION workspaces_keep_schedule();",
        ),
        migrations.RunSQL(
            KEEP_OPERATORS,
            "DROP TRIGGER keep_operators ON workspaces_user;"
            "DROP FUNCTION workspaces_keep_operators();",
        ),
        # Rights in the admin. DELETE stays: an account goes with its rights.
        narrow_rights("auth_group_permissions", "INSERT, UPDATE"),
        narrow_rights("workspaces_user_groups", "INSERT, UPDATE"),
        narrow_rights("workspaces_user_user_permissions", "INSERT, UPDATE"),
    ]
