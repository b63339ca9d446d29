"""Who looks at the passages of a search once more: nobody, an endpoint, or the chat model."""

from django.db import migrations, models


def _text(length: int) -> models.CharField:
    return models.CharField(max_length=length, blank=True, default="", db_default="")


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0005_model_choice")]

    operations = [
        migrations.AddField(
            "modelsettings",
            "reranker",
            models.CharField(
                max_length=8,
                choices=[("off", "Off"), ("endpoint", "An endpoint"), ("model", "The chat model")],
                default="off",
                db_default="off",
            ),
        ),
        migrations.AddField("modelsettings", "rerank_endpoint", _text(500)),
        migrations.AddField(
            "modelsettings",
            "rerank_sealed_key",
            models.BinaryField(blank=True, default=b"", db_default=b""),
        ),
        migrations.AddField("modelsettings", "rerank_key_hint", _text(8)),
        migrations.AddField("modelsettings", "rerank_model", _text(120)),
    ]
