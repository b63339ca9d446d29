"""A workspace with a restricted collection is noted, so that a sweep need not look into each."""

from django.db import migrations

NOTE_RESTRICTED = """
CREATE FUNCTION ingestion_note_restricted() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    UPDATE workspaces_workspace SET needs_sync = true
     WHERE id = NEW.workspace_id AND source_id IS NULL;
    RETURN NULL;
END
$function$;
CREATE TRIGGER note_restricted AFTER INSERT OR UPDATE OF is_restricted ON ingestion_collection
FOR EACH ROW WHEN (NEW.is_restricted) EXECUTE FUNCTION ingestion_note_restricted();
"""
FORGET = """
DROP TRIGGER note_restricted ON ingestion_collection;
DROP FUNCTION ingestion_note_restricted();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ingestion", "0024_lane_calls"),
        ("workspaces", "0018_stores_of_editions"),
    ]

    operations = [migrations.RunSQL(NOTE_RESTRICTED, FORGET)]
