"""A model for every role at once, and staying local where the installation has a model."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0004_model_tenants")]

    operations = [
        migrations.AddField(
            "modelsettings", "is_local", models.BooleanField(default=False, db_default=False)
        ),
        migrations.AddField(
            "modelsettings",
            "model",
            models.CharField(max_length=120, blank=True, default="", db_default=""),
        ),
    ]
