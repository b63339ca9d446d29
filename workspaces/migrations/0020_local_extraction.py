"""Passages may be read without the model that writes reports, summaries and answers."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0019_model_parameters")]

    operations = [
        migrations.AddField(
            model_name="modelsettings",
            name="local_extraction",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
