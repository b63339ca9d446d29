"""The tables of language models are tenant tables."""

from django.db import migrations

from kb_project.database.tenancy import tenant_table


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0003_model_tables")]

    operations = [
        tenant_table("workspaces_modelsettings"),
        tenant_table("workspaces_modelprice"),
        tenant_table("workspaces_modelbudget"),
        tenant_table("workspaces_cachedreply"),
        tenant_table("workspaces_modelcall"),
        tenant_table("workspaces_embeddingindex"),
    ]
