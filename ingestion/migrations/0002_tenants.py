"""Every table of ingestion is a tenant table, and the vectors' table is partitioned by workspace."""

from django.db import migrations

from kb_project.database.tenancy import Reference, drop_row_security, row_security, tenant_table

DOCUMENT = Reference("document_id", "ingestion_document")
CHUNK = Reference("chunk_id", "ingestion_chunk")
ENTITY = Reference("entity_id", "ingestion_entity")

# Vectors of different workspaces may come from different models, so the column has no dimension;
# a partition's own index casts to its own.
CREATE_EMBEDDINGS = """
CREATE TABLE ingestion_chunkembedding (
    workspace_id uuid NOT NULL REFERENCES workspaces_workspace (id) DEFERRABLE INITIALLY DEFERRED,
    chunk_id uuid NOT NULL,
    fingerprint varchar(80) NOT NULL,
    vector halfvec NOT NULL,
    PRIMARY KEY (workspace_id, chunk_id)
) PARTITION BY LIST (workspace_id);
CREATE TABLE ingestion_chunkembedding_rest PARTITION OF ingestion_chunkembedding DEFAULT;
"""
DROP_EMBEDDINGS = "DROP TABLE ingestion_chunkembedding;"


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0001_tables"), ("workspaces", "0002_tenants")]

    operations = [
        migrations.RunSQL(CREATE_EMBEDDINGS, DROP_EMBEDDINGS),
        tenant_table("ingestion_collection"),
        tenant_table(
            "ingestion_document", Reference("collection_id", "ingestion_collection", "SET NULL")
        ),
        tenant_table("ingestion_documentversion", DOCUMENT),
        tenant_table(
            "ingestion_chunk", DOCUMENT, Reference("version_id", "ingestion_documentversion")
        ),
        tenant_table("ingestion_chunkembedding", CHUNK, has_id=False),
        # A partition can be named directly, so each carries the policy too.
        migrations.RunSQL(
            row_security("ingestion_chunkembedding_rest"),
            drop_row_security("ingestion_chunkembedding_rest"),
        ),
        tenant_table("ingestion_posting", CHUNK, has_id=False),
        tenant_table("ingestion_chunkextraction", CHUNK, has_id=False),
        tenant_table("ingestion_entity"),
        tenant_table("ingestion_alias", ENTITY),
        tenant_table("ingestion_mention", ENTITY, CHUNK, DOCUMENT),
        tenant_table(
            "ingestion_relationship",
            Reference("source_id", "ingestion_entity"),
            Reference("target_id", "ingestion_entity"),
        ),
        tenant_table(
            "ingestion_evidence",
            Reference("relationship_id", "ingestion_relationship"),
            CHUNK,
            DOCUMENT,
        ),
        tenant_table(
            "ingestion_mergesuggestion",
            Reference("left_id", "ingestion_entity"),
            Reference("right_id", "ingestion_entity"),
        ),
        tenant_table("ingestion_graphtombstone"),
        tenant_table("ingestion_walksnapshot"),
        tenant_table(
            "ingestion_community", Reference("parent_id", "ingestion_community", "SET NULL")
        ),
        tenant_table(
            "ingestion_communitymember",
            Reference("community_id", "ingestion_community"),
            ENTITY,
            has_id=False,
        ),
        tenant_table(
            "ingestion_communityreport", Reference("community_id", "ingestion_community")
        ),
        tenant_table("ingestion_finding", Reference("report_id", "ingestion_communityreport")),
        tenant_table(
            "ingestion_findingevidence",
            Reference("finding_id", "ingestion_finding"),
            CHUNK,
            DOCUMENT,
        ),
        tenant_table(
            "ingestion_ingestionjob",
            DOCUMENT,
            Reference("version_id", "ingestion_documentversion"),
        ),
        tenant_table("ingestion_stagerun", Reference("job_id", "ingestion_ingestionjob")),
    ]
