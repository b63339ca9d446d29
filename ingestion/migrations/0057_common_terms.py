"""How many passages have a common term is kept: no question counts tens of thousands of rows."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from kb_project.database.tenancy import tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0056_even_cells'),
        ('workspaces', '0021_answer_instructions'),
    ]

    operations = [
        migrations.CreateModel(
            name='CommonTerms',
            fields=[
                ('workspace', models.OneToOneField(on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='workspaces.workspace')),
                ('terms', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=80), size=None)),
                ('passages', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), size=None)),
                ('of_passages', models.PositiveIntegerField()),
            ],
        ),
        tenant_table('ingestion_commonterms', has_id=False),
    ]
