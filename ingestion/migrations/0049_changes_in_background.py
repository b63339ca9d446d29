"""A change by a person that concerns many documents is applied by a worker."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.db import migrations, models

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0048_snapshot_parts'),
        ('workspaces', '0021_answer_instructions'),
    ]

    operations = [
        migrations.CreateModel(
            name='NameChange',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('keys', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('after', models.UUIDField(default=uuid.UUID(int=0))),
                ('job', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='name_changes', to='ingestion.ingestionjob')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'job'), name='change_of_job')],
            },
        ),
        tenant_table('ingestion_namechange', Reference('job_id', 'ingestion_ingestionjob')),
        AtOnce([
            migrations.AddField(
                model_name='entity',
                name='is_leaving',
                field=models.BooleanField(db_default=False, default=False),
            ),
            migrations.AddIndex(
                model_name='entity',
                index=models.Index(condition=models.Q(('is_leaving', True)), fields=['workspace'], name='entity_leaving'),
            ),
            migrations.AlterField(
                model_name='ingestionjob',
                name='kind',
                field=models.CharField(choices=[('change', 'Applying a change'), ('document', 'Document'), ('workspace', 'Workspace refresh'), ('reembed', 'New vectors'), ('tune', 'Learning from a sample')], max_length=12),
            ),
        ]),
    ]
