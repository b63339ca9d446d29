"""Graphs that belong to the role that migrates: the application fills them and reads them.

A graph of Apache AGE is a schema, and who owns a table may switch its row-level security off. So
these functions, which run as their owner, create and drop the graph of a workspace, and only of the
one whose rows the transaction sees. Every table of a graph has the policy, AGE's own parents of all
labels too, through which a pattern without a label reads.
"""

from django.db import migrations

PROTECT = r"""
CREATE OR REPLACE FUNCTION workspaces_graph_protect(graph name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    part regclass;
    kind "char";
    role name;
BEGIN
    FOR part, kind IN
        SELECT c.oid, c.relkind FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = graph AND c.relkind IN ('r', 'S')
    LOOP
        IF kind = 'r' THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part);
            EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', part);
            IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = part) THEN
                EXECUTE format('CREATE POLICY tenant ON %s USING ('
                    'nullif(current_setting(''app.workspace_id'', true), '''')::uuid = %L::uuid)',
                    part, substr(graph, 4));
            END IF;
        END IF;
        -- The application: the roles that may write workspaces.
        FOR role IN
            SELECT pg_get_userbyid(acl.grantee) FROM pg_class AS c, aclexplode(c.relacl) AS acl
             WHERE c.oid = 'public.workspaces_workspace'::regclass
               AND acl.privilege_type = 'INSERT' AND acl.grantee NOT IN (0, c.relowner)
        LOOP
            EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', graph, role);
            IF kind = 'r' THEN
                EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', part, role);
            ELSE
                EXECUTE format('GRANT USAGE ON SEQUENCE %s TO %I', part, role);
            END IF;
        END LOOP;
    END LOOP;
END
$function$;
"""

# AGE finds its operators by name, so its catalogue is on the path; only its owner writes there.
HEAD = "SECURITY DEFINER SET search_path = pg_catalog, ag_catalog, pg_temp"

NAME = r"""
CREATE OR REPLACE FUNCTION workspaces_graph_name(workspace uuid) RETURNS name
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    IF workspace IS DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid THEN
        RAISE insufficient_privilege USING MESSAGE = 'this is not the current workspace';
    END IF;
    RETURN 'kb_' || replace(workspace::text, '-', '');
END
$function$;
"""

CREATE = rf"""
CREATE OR REPLACE FUNCTION workspaces_graph_create(workspace uuid) RETURNS void
LANGUAGE plpgsql {HEAD} AS $function$
DECLARE
    graph name := public.workspaces_graph_name(workspace);
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(graph, 0));
    IF to_regclass(format('%I."Entity"', graph)) IS NOT NULL THEN
        RETURN;  -- another writer created it while this one waited
    END IF;
    IF NOT EXISTS (SELECT FROM public.workspaces_workspace WHERE id = workspace) THEN
        RAISE insufficient_privilege USING MESSAGE = 'this workspace does not exist';
    END IF;
    -- All labels at once: two writers that first use a new label would collide.
    PERFORM ag_catalog.create_graph(graph);
    PERFORM ag_catalog.create_vlabel(graph::text::cstring, 'Entity');
    PERFORM ag_catalog.create_elabel(graph::text::cstring, 'RELATES');
    EXECUTE format('CREATE UNIQUE INDEX ON %I."Entity"'
        ' (ag_catalog.agtype_access_operator(properties, ''"id"''::ag_catalog.agtype))', graph);
    EXECUTE format('CREATE UNIQUE INDEX ON %I."RELATES"'
        ' (ag_catalog.agtype_access_operator(properties, ''"id"''::ag_catalog.agtype))', graph);
    PERFORM public.workspaces_graph_protect(graph);
END
$function$;
"""

DROP = rf"""
CREATE OR REPLACE FUNCTION workspaces_graph_drop(workspace uuid) RETURNS void
LANGUAGE plpgsql {HEAD} AS $function$
DECLARE
    graph name := public.workspaces_graph_name(workspace);
BEGIN
    IF EXISTS (SELECT FROM pg_namespace WHERE nspname = graph) THEN
        PERFORM ag_catalog.drop_graph(graph, true);
    END IF;
END
$function$;
"""

# A bulk load ends before autovacuum runs; without statistics the planner scans.
ANALYSE = r"""
CREATE OR REPLACE FUNCTION workspaces_graph_analyze(workspace uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    graph name := public.workspaces_graph_name(workspace);
BEGIN
    EXECUTE format('ANALYZE %I."Entity", %I."RELATES"', graph, graph);
END
$function$;
"""

BACK = """
DROP FUNCTION workspaces_graph_analyze(uuid);
DROP FUNCTION workspaces_graph_drop(uuid);
DROP FUNCTION workspaces_graph_create(uuid);
DROP FUNCTION workspaces_graph_name(uuid);
DROP FUNCTION workspaces_graph_protect(name);
"""

# Graphs that the application still owns become the owner's with `preparedatabase`, or are
# created again by `rebuildgraph`.
OWN_GRAPHS = r"""
SELECT nspname FROM pg_namespace
 WHERE nspname ~ '^kb_[0-9a-f]{32}$' AND pg_has_role(current_user, nspowner, 'USAGE')
"""


def protect_graphs(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(OWN_GRAPHS)
        # Each in a transaction of its own: together they would need too many locks.
        for (graph,) in cursor.fetchall():
            cursor.execute("SELECT workspaces_graph_protect(%s::name)", [graph])


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0009_limits_and_audit")]
    atomic = False

    operations = [
        migrations.RunSQL([PROTECT, NAME, CREATE, DROP, ANALYSE], BACK),
        migrations.RunPython(protect_graphs, migrations.RunPython.noop),
    ]
