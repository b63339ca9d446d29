"""Editions are known by what they hide, and keep what people made in them."""

from django.db import migrations, models

from kb_project.database.at_once import AtOnce

# The collections that an edition hides are the restricted ones that its audience does not see. The
# owner of the tables is bound by their policies too, so each workspace is entered.
HIDDEN_OF_AUDIENCE = """
DO $convert$
DECLARE
    edition record;
BEGIN
    FOR edition IN SELECT id, source_id, hidden AS seen FROM workspaces_workspace
                    WHERE source_id IS NOT NULL
    LOOP
        PERFORM set_config('app.workspace_id', edition.source_id::text, true);
        UPDATE workspaces_workspace SET hidden = ARRAY(
               SELECT id FROM ingestion_collection
                WHERE workspace_id = edition.source_id AND is_restricted
                  AND id <> ALL (edition.seen) ORDER BY id)
         WHERE id = edition.id;
    END LOOP;
    PERFORM set_config('app.workspace_id', '', true);
END
$convert$;
"""
# Two that hide the same now: no audience has the id of an edition in its list, so the second goes.
ONE_OF_EACH = """
UPDATE workspaces_workspace AS e SET hidden = e.hidden || e.id
 WHERE e.source_id IS NOT NULL AND EXISTS (
       SELECT FROM workspaces_workspace AS o
        WHERE o.source_id = e.source_id AND o.hidden = e.hidden AND o.id < e.id)
"""
# The first sync finds out which workspaces need no other.
SYNC_ALL_ONCE = "UPDATE workspaces_workspace SET needs_sync = true WHERE source_id IS NULL"
CHECK_NOW = "SET CONSTRAINTS ALL IMMEDIATE"


class Migration(migrations.Migration):
    dependencies = [
        ("workspaces", "0017_accounts"),
        ("ingestion", "0023_collection_grants"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="workspace", name="edition_once"),
        migrations.RenameField("workspace", "audience", "hidden"),
        AtOnce([
            migrations.AddField(
                model_name="workspace",
                name="is_store",
                field=models.BooleanField(db_default=False, default=False),
            ),
            migrations.AddField(
                model_name="workspace",
                name="needs_sync",
                field=models.BooleanField(db_default=False, default=False),
            ),
        ]),
        migrations.RunSQL(HIDDEN_OF_AUDIENCE, HIDDEN_OF_AUDIENCE),
        migrations.RunSQL(ONE_OF_EACH, migrations.RunSQL.noop),
        migrations.RunSQL(SYNC_ALL_ONCE, migrations.RunSQL.noop),
        migrations.RunSQL(CHECK_NOW, migrations.RunSQL.noop),
        AtOnce([
            migrations.AddConstraint(
                model_name="workspace",
                constraint=models.UniqueConstraint(
                    condition=models.Q(("source__isnull", False)),
                    fields=("source", "hidden", "is_store"),
                    name="edition_once",
                ),
            ),
            migrations.AddIndex(
                model_name="workspace",
                index=models.Index(
                    condition=models.Q(("needs_sync", True)), fields=["id"], name="workspace_to_sync"
                ),
            ),
        ]),
    ]
