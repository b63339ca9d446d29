"""Hashes of passwords are sealed with a key that the database does not hold."""
from __future__ import annotations

from django.db import migrations

from kb_project.keys import opened, sealed


def rewrite(change):
    def run(apps, schema_editor):
        users = apps.get_model("workspaces", "User").objects.using(schema_editor.connection.alias)
        for pk, password in users.values_list("pk", "password").iterator():
            users.filter(pk=pk).update(password=change(password))

    return run


class Migration(migrations.Migration):
    dependencies = [("workspaces", "0011_rights")]

    operations = [migrations.RunPython(rewrite(sealed), rewrite(opened))]
