"""When large topics were titled."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0053_topics_that_changed'),
    ]

    operations = [
        migrations.AddField(
            model_name='community',
            name='titled_at',
            field=models.DateTimeField(null=True),
        ),
    ]
