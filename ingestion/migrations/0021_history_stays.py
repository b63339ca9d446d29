"""History is append-only for the application, but for the mark of an undo.

What a change had for an effect is added to its event at the end of its transaction: details may
change until then. A deleted account leaves its events: the database itself clears the reference.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.rights import append_only

# The name of Django's constraint ends in a digest.
REPLACE = r"""
DO $constraints$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT k.conname, a.attname FROM pg_constraint AS k
          JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND k.conkey = ARRAY[a.attnum]
         WHERE k.conrelid = 'public.ingestion_historyevent'::regclass AND k.contype = 'f'
           AND k.confrelid = 'public.workspaces_user'::regclass
    LOOP
        EXECUTE format('ALTER TABLE public.ingestion_historyevent DROP CONSTRAINT %I,'
            ' ADD CONSTRAINT %I FOREIGN KEY (%I) REFERENCES public.workspaces_user (id)'
            ' {action} DEFERRABLE INITIALLY DEFERRED',
            one.conname, one.conname, one.attname);
    END LOOP;
END
$constraints$
"""

# The number of the transaction that adds the event. It survives savepoints, unlike xmin.
KEEP_DETAILS = r"""
ALTER TABLE ingestion_historyevent ADD COLUMN added_in bigint;
ALTER TABLE ingestion_historyevent
    ALTER COLUMN added_in SET DEFAULT pg_current_xact_id()::text::bigint;
CREATE FUNCTION ingestion_keep_details() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
    IF NEW.details IS DISTINCT FROM OLD.details
       AND OLD.added_in IS DISTINCT FROM pg_current_xact_id()::text::bigint THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied: history is not rewritten';
    END IF;
    RETURN NEW;
END
$function$;
CREATE TRIGGER keep_details BEFORE UPDATE OF details ON ingestion_historyevent
FOR EACH ROW EXECUTE FUNCTION ingestion_keep_details();
"""
FORGET_DETAILS = r"""
DROP TRIGGER keep_details ON ingestion_historyevent;
DROP FUNCTION ingestion_keep_details();
ALTER TABLE ingestion_historyevent DROP COLUMN added_in;
"""


def person(**options):
    return models.ForeignKey(
        null=True,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
        **options,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("ingestion", "0020_archive_names"),
        ("workspaces", "0011_rights"),
    ]

    operations = [
        AtOnce([
            migrations.AlterField("historyevent", "user", person()),
            migrations.AlterField("historyevent", "undone_by", person(blank=True)),
        ]),
        migrations.RunSQL(
            REPLACE.replace("{action}", "ON DELETE SET NULL"), REPLACE.replace("{action}", "")
        ),
        migrations.RunSQL(KEEP_DETAILS, FORGET_DETAILS),
        append_only(
            "ingestion_historyevent", columns=("undone_at", "undone_by_id", "details")
        ),
        append_only("ingestion_historysubject"),
        migrations.AddIndex(
            "historyevent",
            models.Index(fields=["workspace", "-created_at", "-id"], name="event_latest"),
        ),
    ]
