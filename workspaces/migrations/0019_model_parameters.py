"""What a role's requests to a model say besides, such as how much it should reason."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0018_stores_of_editions")]

    operations = [
        migrations.AddField(
            model_name="modelsettings",
            name="parameters",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
