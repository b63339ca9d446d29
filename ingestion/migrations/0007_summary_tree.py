"""Which summary trees there are, and what each was made from."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0006_report_rejected'),
    ]

    operations = [
        migrations.CreateModel(
            name='SummaryTree',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('digest', models.CharField(max_length=64)),
                ('writer', models.CharField(max_length=160)),
                ('fingerprint', models.CharField(max_length=80)),
                ('layers', models.PositiveSmallIntegerField()),
                ('nodes', models.PositiveIntegerField()),
                ('failed', models.PositiveIntegerField(default=0)),
                ('built_at', models.DateTimeField(auto_now_add=True)),
                ('document', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.document')),
                ('root', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.summarynode')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'indexes': [models.Index(fields=['workspace', 'root'], name='summary_tree_root')],
                'constraints': [models.UniqueConstraint(fields=('workspace', 'document'), name='summary_tree_once', nulls_distinct=False)],
            },
        ),
        tenant_table(
            'ingestion_summarytree',
            Reference('document_id', 'ingestion_document'),
            Reference('root_id', 'ingestion_summarynode'),
        ),
    ]
