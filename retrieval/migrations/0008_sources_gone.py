"""Citations outlive the documents they are of, and lose what was quoted.

Whatever deletes a document: the database itself takes the quotation out of the citation, and the
document's passages out of what was told while answers were made.
"""

import django.db.models.deletion
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import Reference

CASCADE = Reference("document_id", "ingestion_document")
SET_NULL = Reference("document_id", "ingestion_document", "SET NULL")
TABLE = "retrieval_citation"

FORGET_QUOTE = r"""
CREATE FUNCTION retrieval_forget_quote() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    NEW.quote := '';
    NEW.source_deleted_at := now();
    RETURN NEW;
END
$function$;
CREATE TRIGGER source_gone BEFORE UPDATE OF document_id ON retrieval_citation
    FOR EACH ROW WHEN (OLD.document_id IS NOT NULL AND NEW.document_id IS NULL)
    EXECUTE FUNCTION retrieval_forget_quote();
"""
DROP_FORGET_QUOTE = """
DROP TRIGGER source_gone ON retrieval_citation;
DROP FUNCTION retrieval_forget_quote();
"""

# One look at the events however many documents go at once.
FORGET_PASSAGES = r"""
CREATE FUNCTION retrieval_forget_passages() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    UPDATE retrieval_answerevent AS e
       SET payload = jsonb_set(e.payload, ARRAY['passages'], coalesce((
               SELECT jsonb_agg(p ORDER BY place)
                 FROM jsonb_array_elements(e.payload -> 'passages') WITH ORDINALITY AS t (p, place)
                WHERE p ->> 'document' NOT IN (SELECT id::text FROM gone)), '[]'))
     WHERE e.kind = 'passages' AND e.workspace_id IN (SELECT workspace_id FROM gone)
       AND EXISTS (SELECT FROM jsonb_array_elements(e.payload -> 'passages') AS p
                    WHERE p ->> 'document' IN (SELECT id::text FROM gone));
    UPDATE retrieval_answerevent AS e
       SET payload = jsonb_set(e.payload, ARRAY['citations'], (
               SELECT coalesce(jsonb_agg(
                          CASE WHEN c ->> 'document' IN (SELECT id::text FROM gone)
                               THEN c || '{"quote": "", "title": "", "document": null}' ELSE c END
                          ORDER BY place), '[]')
                 FROM jsonb_array_elements(e.payload -> 'citations')
                      WITH ORDINALITY AS t (c, place)))
     WHERE e.kind = 'answer' AND e.workspace_id IN (SELECT workspace_id FROM gone)
       AND EXISTS (SELECT FROM jsonb_array_elements(e.payload -> 'citations') AS c
                    WHERE c ->> 'document' IN (SELECT id::text FROM gone));
    RETURN NULL;
END
$function$;
CREATE TRIGGER sources_gone AFTER DELETE ON ingestion_document
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION retrieval_forget_passages();
"""
DROP_FORGET_PASSAGES = """
DROP TRIGGER sources_gone ON ingestion_document;
DROP FUNCTION retrieval_forget_passages();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0007_citation_version"),
        ("ingestion", "0014_shelf"),
    ]

    operations = [
        AtOnce([
            migrations.AlterField(
                model_name="citation",
                name="document",
                field=models.ForeignKey(
                    db_constraint=False,
                    db_index=False,
                    null=True,
                    on_delete=django.db.models.deletion.DO_NOTHING,
                    related_name="+",
                    to="ingestion.document",
                ),
            ),
            migrations.AddField(
                model_name="citation",
                name="source_deleted_at",
                field=models.DateTimeField(blank=True, null=True),
            ),
            migrations.AddIndex(
                model_name="citation",
                index=models.Index(fields=["workspace", "document"], name="citation_of_document"),
            ),
        ]),
        migrations.RunSQL(
            [CASCADE.drop(TABLE), SET_NULL.add(TABLE)], [SET_NULL.drop(TABLE), CASCADE.add(TABLE)]
        ),
        migrations.RunSQL(FORGET_QUOTE, DROP_FORGET_QUOTE),
        migrations.RunSQL(FORGET_PASSAGES, DROP_FORGET_PASSAGES),
    ]
