"""The tables of history and curation are tenant tables."""

from django.db import migrations

from kb_project.database.tenancy import Reference, tenant_table

DOCUMENT = Reference("document_id", "ingestion_document")
EVENT = Reference("event_id", "ingestion_historyevent")


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0011_curation_tables")]

    operations = [
        tenant_table("ingestion_historyevent", Reference("undoes_id", "ingestion_historyevent")),
        tenant_table("ingestion_historysubject", EVENT, has_id=False),
        tenant_table("ingestion_mentionplacement", EVENT, DOCUMENT),
        tenant_table("ingestion_entityruling", EVENT),
        tenant_table("ingestion_relationshipruling", EVENT),
        migrations.RunSQL(
            EVENT.add("ingestion_resolutiondecision"), EVENT.drop("ingestion_resolutiondecision")
        ),
    ]
