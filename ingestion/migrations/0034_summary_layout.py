"""How the leaves of summary trees were clustered."""

import django.db.models.deletion
import uuid
from django.db import migrations, models

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0033_report_questions'),
        ('workspaces', '0019_model_parameters'),
    ]

    operations = [
        migrations.CreateModel(
            name='SummaryLayout',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('fingerprint', models.CharField(max_length=80)),
                ('layout', models.JSONField()),
                ('document', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='ingestion.document')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'document'), name='summary_layout_once', nulls_distinct=False)],
            },
        ),
        tenant_table('ingestion_summarylayout', Reference('document_id', 'ingestion_document')),
    ]
