"""Questions look reports up: nothing counts any longer how often they have changed."""

from importlib import import_module

from django.db import migrations

before = import_module("ingestion.migrations.0037_corpus_counts")

COUNT = r"""
CREATE OR REPLACE FUNCTION ingestion_count_topics() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, topics)
        SELECT workspace_id, gen_random_uuid(), count(*) FROM new_rows GROUP BY workspace_id;
    ELSE
        INSERT INTO ingestion_corpuscount (workspace_id, id, topics)
        SELECT workspace_id, gen_random_uuid(), -count(*) FROM old_rows GROUP BY workspace_id;
    END IF;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION ingestion_count_reports() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO ingestion_corpuscount (workspace_id, id, reports)
        SELECT workspace_id, gen_random_uuid(), count(*) FROM new_rows GROUP BY workspace_id;
    ELSE
        INSERT INTO ingestion_corpuscount (workspace_id, id, reports)
        SELECT workspace_id, gen_random_uuid(), -count(*) FROM old_rows GROUP BY workspace_id;
    END IF;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION ingestion_sum_up_counts() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $function$
BEGIN
    IF (SELECT count(*) FROM ingestion_corpuscount WHERE workspace_id = NEW.workspace_id) > 50 THEN
        WITH summed AS (
            DELETE FROM ingestion_corpuscount WHERE workspace_id = NEW.workspace_id RETURNING *
        )
        INSERT INTO ingestion_corpuscount (workspace_id, id, fingerprint, documents, passages,
                                           indexed, terms, vectors, topics, reports)
        SELECT workspace_id, gen_random_uuid(), fingerprint, sum(documents), sum(passages),
               sum(indexed), sum(terms), sum(vectors), sum(topics), sum(reports)
          FROM summed GROUP BY workspace_id, fingerprint;
    END IF;
    RETURN NULL;
END
$function$;
"""

COUNT_BEFORE = (before.COUNT + before.SUM_UP.partition("CREATE TRIGGER")[0]).replace(
    "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
)

# An update of a topic or a report changes no count, and evidence is not counted.
DROP = """
DROP FUNCTION ingestion_count_evidence();
DROP FUNCTION ingestion_any_change();
"""
TRIGGERS = [
    ("update", "community", "topics"),
    ("update", "communityreport", "reports"),
    *((event, "findingevidence", "evidence") for event in before.EVENTS),
]
DROP_TRIGGERS = [f"DROP TRIGGER count_{event} ON ingestion_{table}" for event, table, _ in TRIGGERS]
CREATE_TRIGGERS = [
    f"CREATE TRIGGER count_{event} AFTER {event.upper()} ON ingestion_{table}"
    f" REFERENCING {before.EVENTS[event]} FOR EACH STATEMENT EXECUTE FUNCTION"
    f" ingestion_count_{what}()"
    for event, table, what in TRIGGERS
]


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0046_other_vectors")]

    operations = [
        migrations.RunSQL(DROP_TRIGGERS, CREATE_TRIGGERS),
        migrations.RunSQL(COUNT + DROP, COUNT_BEFORE),
        migrations.RemoveField(model_name="corpuscount", name="changes"),
    ]
