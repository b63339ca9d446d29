"""Where entities are drawn in pictures of the graph."""

import django.db.models.deletion
from django.db import migrations, models

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0025_note_restricted'),
        ('workspaces', '0017_accounts'),
    ]

    operations = [
        migrations.CreateModel(
            name='EntityPosition',
            fields=[
                ('pk', models.CompositePrimaryKey('workspace_id', 'entity_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('x', models.FloatField()),
                ('y', models.FloatField()),
                ('is_approximate', models.BooleanField(default=False)),
                ('entity', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='positions', to='ingestion.entity')),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
            ],
        ),
        tenant_table(
            'ingestion_entityposition', Reference('entity_id', 'ingestion_entity'), has_id=False
        ),
    ]
