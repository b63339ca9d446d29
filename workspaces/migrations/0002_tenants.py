"""Membership is a tenant table; a person also sees their own memberships everywhere."""

from django.db import migrations

from kb_project.database.tenancy import CURRENT_USER, CURRENT_WORKSPACE, tenant_table


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0001_tables")]

    operations = [
        tenant_table(
            "workspaces_membership",
            using=f"(workspace_id = {CURRENT_WORKSPACE} OR user_id = {CURRENT_USER})",
        ),
    ]
