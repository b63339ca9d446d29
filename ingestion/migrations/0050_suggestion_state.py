"""What entities were when they were last compared."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from kb_project.database.tenancy import tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0049_changes_in_background'),
        ('workspaces', '0021_answer_instructions'),
    ]

    operations = [
        migrations.CreateModel(
            name='SuggestionState',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('digests', models.BinaryField()),
                ('seconds', models.FloatField()),
                ('compared_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace',), name='suggestion_state_once')],
            },
        ),
        tenant_table('ingestion_suggestionstate'),
    ]
