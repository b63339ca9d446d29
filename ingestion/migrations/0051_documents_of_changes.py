"""Changes to names keep the documents to be resolved, where those are known."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0050_suggestion_state'),
    ]

    operations = [
        migrations.AddField(
            model_name='namechange',
            name='documents',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
        ),
    ]
