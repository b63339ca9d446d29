"""The tables of the model tier are tenant tables; vectors of two models stand side by side."""

from django.db import migrations

from kb_project.database.tenancy import Reference, tenant_table

DOCUMENT = Reference("document_id", "ingestion_document")
CHUNK = Reference("chunk_id", "ingestion_chunk")
ENTITY = Reference("entity_id", "ingestion_entity")

KEY_BY_MODEL = """
ALTER TABLE ingestion_chunkembedding DROP CONSTRAINT ingestion_chunkembedding_pkey;
ALTER TABLE ingestion_chunkembedding
  ADD CONSTRAINT ingestion_chunkembedding_pkey PRIMARY KEY (workspace_id, chunk_id, fingerprint);
"""
KEY_BY_CHUNK = """
ALTER TABLE ingestion_chunkembedding DROP CONSTRAINT ingestion_chunkembedding_pkey;
ALTER TABLE ingestion_chunkembedding
  ADD CONSTRAINT ingestion_chunkembedding_pkey PRIMARY KEY (workspace_id, chunk_id);
"""


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0004_model_tables")]

    operations = [
        migrations.RunSQL(KEY_BY_MODEL, KEY_BY_CHUNK),
        tenant_table("ingestion_fragment", ENTITY, CHUNK, DOCUMENT),
        tenant_table(
            "ingestion_claim",
            Reference("subject_id", "ingestion_entity"),
            Reference("object_id", "ingestion_entity", "SET NULL"),
            CHUNK,
            DOCUMENT,
        ),
        tenant_table("ingestion_resolutiondecision", DOCUMENT),
        tenant_table("ingestion_summarynode", DOCUMENT),
        tenant_table(
            "ingestion_summaryedge",
            Reference("parent_id", "ingestion_summarynode"),
            Reference("node_id", "ingestion_summarynode"),
            CHUNK,
        ),
    ]
