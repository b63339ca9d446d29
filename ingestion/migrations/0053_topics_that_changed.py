"""Which topics changed since it was last looked at who stands out in them."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0052_facts_in_labels'),
    ]

    operations = [
        migrations.AddField(
            model_name='structurestate',
            name='topics',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
        ),
    ]
