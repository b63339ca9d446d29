"""Questions, answers and citations are tenant tables.

A citation keeps its chunk's id without a foreign key: chunks are made anew when a document is
indexed again, and the citation's own span and quote must outlive that.
"""

from django.db import migrations

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0001_tables"), ("ingestion", "0002_tenants")]

    operations = [
        tenant_table("retrieval_question"),
        tenant_table("retrieval_answer", Reference("question_id", "retrieval_question")),
        tenant_table(
            "retrieval_citation",
            Reference("answer_id", "retrieval_answer"),
            Reference("document_id", "ingestion_document"),
        ),
    ]
