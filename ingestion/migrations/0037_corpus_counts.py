"""What searches count, kept as rows by triggers, and the length of passages beside their words."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import tenant_table

# Rows that a statement removed count negatively. Each function serves insertions, updates and
# deletions: a branch that does not run is not planned, and needs no table of that name.
COUNT = r"""
CREATE FUNCTION ingestion_count_chunks() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, passages, indexed, terms)
        SELECT workspace_id, gen_random_uuid(), count(*), count(terms), coalesce(sum(terms), 0)
          FROM new_rows GROUP BY workspace_id;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, passages, indexed, terms)
        SELECT workspace_id, gen_random_uuid(), -count(*), -count(terms), -coalesce(sum(terms), 0)
          FROM old_rows GROUP BY workspace_id;
    END IF;
    RETURN NULL;
END
$function$;

CREATE FUNCTION ingestion_count_documents() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, documents)
        SELECT workspace_id, gen_random_uuid(), count(*) FROM new_rows
         WHERE disabled_at IS NULL AND trashed_at IS NULL GROUP BY workspace_id;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, documents)
        SELECT workspace_id, gen_random_uuid(), -count(*) FROM old_rows
         WHERE disabled_at IS NULL AND trashed_at IS NULL GROUP BY workspace_id;
    END IF;
    RETURN NULL;
END
$function$;

CREATE FUNCTION ingestion_count_vectors() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, fingerprint, vectors)
        SELECT workspace_id, gen_random_uuid(), fingerprint, count(*)
          FROM new_rows GROUP BY workspace_id, fingerprint;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, fingerprint, vectors)
        SELECT workspace_id, gen_random_uuid(), fingerprint, -count(*)
          FROM old_rows GROUP BY workspace_id, fingerprint;
    END IF;
    RETURN NULL;
END
$function$;

CREATE FUNCTION ingestion_count_topics() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, topics, changes)
        SELECT workspace_id, gen_random_uuid(), count(*), ingestion_any_change()
          FROM new_rows GROUP BY workspace_id;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, topics, changes)
        SELECT workspace_id, gen_random_uuid(), -count(*), ingestion_any_change()
          FROM old_rows GROUP BY workspace_id;
    ELSE
        -- A request for a new report changes no topic.
        INSERT INTO ingestion_corpuscount (workspace_id, id, changes)
        SELECT workspace_id, gen_random_uuid(), ingestion_any_change()
          FROM (SELECT workspace_id, id, parent_id, level, size FROM new_rows
                EXCEPT
                SELECT workspace_id, id, parent_id, level, size FROM old_rows) AS changed
         GROUP BY workspace_id;
    END IF;
    RETURN NULL;
END
$function$;

CREATE FUNCTION ingestion_count_reports() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, reports, changes)
        SELECT workspace_id, gen_random_uuid(), count(*), ingestion_any_change()
          FROM new_rows GROUP BY workspace_id;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, reports, changes)
        SELECT workspace_id, gen_random_uuid(), -count(*), ingestion_any_change()
          FROM old_rows GROUP BY workspace_id;
    ELSE
        INSERT INTO ingestion_corpuscount (workspace_id, id, changes)
        SELECT workspace_id, gen_random_uuid(), ingestion_any_change()
          FROM (SELECT workspace_id, id, community_id, title, summary, rating, created_at
                  FROM new_rows
                EXCEPT
                SELECT workspace_id, id, community_id, title, summary, rating, created_at
                  FROM old_rows) AS changed
         GROUP BY workspace_id;
    END IF;
    RETURN NULL;
END
$function$;

-- Evidence that goes with its finding is the change of a report, which is counted already.
CREATE FUNCTION ingestion_count_evidence() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, changes)
        SELECT workspace_id, gen_random_uuid(), ingestion_any_change()
          FROM new_rows GROUP BY workspace_id;
    ELSE
        INSERT INTO ingestion_corpuscount (workspace_id, id, changes)
        SELECT o.workspace_id, gen_random_uuid(), ingestion_any_change()
          FROM old_rows AS o
         WHERE EXISTS (SELECT FROM ingestion_finding AS f
                        WHERE f.workspace_id = o.workspace_id AND f.id = o.finding_id)
         GROUP BY o.workspace_id;
    END IF;
    RETURN NULL;
END
$function$;

CREATE FUNCTION ingestion_any_change() RETURNS bigint
LANGUAGE sql VOLATILE AS 'SELECT 1 + floor(random() * 2147483647)::bigint';
"""
DROP_COUNT = r"""
DROP FUNCTION ingestion_count_documents();
DROP FUNCTION ingestion_count_chunks();
DROP FUNCTION ingestion_count_vectors();
DROP FUNCTION ingestion_count_topics();
DROP FUNCTION ingestion_count_reports();
DROP FUNCTION ingestion_count_evidence();
DROP FUNCTION ingestion_any_change();
"""

# A statement at a time keeps the rows few. Of two that sum up at once, the second finds what the
# first left: each adds what it removed itself.
SUM_UP = r"""
CREATE FUNCTION ingestion_sum_up_counts() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF (SELECT count(*) FROM ingestion_corpuscount WHERE workspace_id = NEW.workspace_id) > 50 THEN
        WITH summed AS (
            DELETE FROM ingestion_corpuscount WHERE workspace_id = NEW.workspace_id RETURNING *
        )
        INSERT INTO ingestion_corpuscount (workspace_id, id, fingerprint, documents, passages,
                                           indexed, terms, vectors, topics, reports, changes)
        SELECT workspace_id, gen_random_uuid(), fingerprint, sum(documents), sum(passages),
               sum(indexed), sum(terms), sum(vectors), sum(topics), sum(reports), sum(changes)
          FROM summed GROUP BY workspace_id, fingerprint;
    END IF;
    RETURN NULL;
END
$function$;
CREATE TRIGGER sum_up AFTER INSERT OR UPDATE ON ingestion_corpusversion
   FOR EACH ROW EXECUTE FUNCTION ingestion_sum_up_counts();
"""
DROP_SUM_UP = """
DROP TRIGGER sum_up ON ingestion_corpusversion;
DROP FUNCTION ingestion_sum_up_counts();
"""

COUNTED = {
    "ingestion_document": "documents",
    "ingestion_chunk": "chunks",
    "ingestion_chunkembedding": "vectors",
    "ingestion_community": "topics",
    "ingestion_communityreport": "reports",
    "ingestion_findingevidence": "evidence",
}
NEW, OLD = "NEW TABLE AS new_rows", "OLD TABLE AS old_rows"
EVENTS = {"insert": NEW, "update": f"{OLD} {NEW}", "delete": OLD}


def counting(table: str, what: str) -> migrations.RunSQL:
    """Count the rows of a table from now on."""
    return migrations.RunSQL(
        [
            f"CREATE TRIGGER count_{event} AFTER {event.upper()} ON {table} REFERENCING {rows}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION ingestion_count_{what}()"
            for event, rows in EVENTS.items()
        ],
        [f"DROP TRIGGER count_{event} ON {table}" for event in EVENTS],
    )


# The rows of existing workspaces, one after another, since row-level security shows one at a time.
FILL = r"""
DO $fill$
DECLARE
    one uuid;
BEGIN
    FOR one IN SELECT id FROM workspaces_workspace LOOP
        PERFORM set_config('app.workspace_id', one::text, true);
        UPDATE ingestion_posting AS p SET length = coalesce(c.terms, 0) FROM ingestion_chunk AS c
         WHERE p.workspace_id = one AND c.workspace_id = one AND c.id = p.chunk_id;
        UPDATE ingestion_shelvedposting AS p SET length = coalesce(c.terms, 0) FROM ingestion_shelvedchunk AS c
         WHERE p.workspace_id = one AND c.workspace_id = one AND c.id = p.chunk_id;
        INSERT INTO ingestion_corpuscount (workspace_id, id, passages, indexed, terms, documents,
                                           topics, reports, changes)
        SELECT one, gen_random_uuid(), count(*), count(terms), coalesce(sum(terms), 0),
               (SELECT count(*) FROM ingestion_document
                 WHERE workspace_id = one AND disabled_at IS NULL AND trashed_at IS NULL),
               (SELECT count(*) FROM ingestion_community WHERE workspace_id = one),
               (SELECT count(*) FROM ingestion_communityreport WHERE workspace_id = one),
               ingestion_any_change()
          FROM ingestion_chunk WHERE workspace_id = one;
        INSERT INTO ingestion_corpuscount (workspace_id, id, fingerprint, vectors)
        SELECT one, gen_random_uuid(), fingerprint, count(*)
          FROM ingestion_chunkembedding WHERE workspace_id = one GROUP BY fingerprint;
    END LOOP;
    PERFORM set_config('app.workspace_id', '', true);
END
$fill$;
"""

# With all that ranking reads of a posting, its key answers alone.
KEY = """
ALTER TABLE ingestion_posting DROP CONSTRAINT ingestion_posting_pkey;
ALTER TABLE ingestion_posting ADD CONSTRAINT ingestion_posting_pkey
  PRIMARY KEY (workspace_id, term, chunk_id) {};
"""


class Migration(migrations.Migration):

    dependencies = [
        ("ingestion", "0036_indexes_of_edits"),
        ("workspaces", "0019_model_parameters"),
    ]

    operations = [
        migrations.CreateModel(
            name="CorpusCount",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("fingerprint", models.CharField(blank=True, db_default="", default="", max_length=80)),
                ("documents", models.IntegerField(db_default=0, default=0)),
                ("passages", models.IntegerField(db_default=0, default=0)),
                ("indexed", models.IntegerField(db_default=0, default=0)),
                ("terms", models.BigIntegerField(db_default=0, default=0)),
                ("vectors", models.IntegerField(db_default=0, default=0)),
                ("topics", models.IntegerField(db_default=0, default=0)),
                ("reports", models.IntegerField(db_default=0, default=0)),
                ("changes", models.BigIntegerField(db_default=0, default=0)),
                ("workspace", models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="workspaces.workspace")),
            ],
        ),
        tenant_table("ingestion_corpuscount"),
        # Deleting a workspace's other rows writes some here: they go with the workspace itself.
        migrations.RunSQL(
            "ALTER TABLE ingestion_corpuscount ADD CONSTRAINT ingestion_corpuscount_workspace_fk"
            " FOREIGN KEY (workspace_id) REFERENCES workspaces_workspace (id) ON DELETE CASCADE"
            " DEFERRABLE INITIALLY DEFERRED",
            "ALTER TABLE ingestion_corpuscount DROP CONSTRAINT ingestion_corpuscount_workspace_fk",
        ),
        AtOnce([
            migrations.AddField("posting", "length", models.PositiveIntegerField(default=0), preserve_default=False),
            migrations.AddField("archivedposting", "length", models.PositiveIntegerField(default=0), preserve_default=False),
        ]),
        migrations.RunSQL(COUNT, DROP_COUNT),
        migrations.RunSQL(SUM_UP, DROP_SUM_UP),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(KEY.format("INCLUDE (frequency, length)"), KEY.format("")),
        *(counting(table, what) for table, what in COUNTED.items()),
    ]
