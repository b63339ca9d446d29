"""The archive's models under their present names; its tables keep theirs."""

from django.db import migrations

NAMES = {
    "ShelvedChunk": "ArchivedChunk",
    "ShelvedExtraction": "ArchivedExtraction",
    "ShelvedPosting": "ArchivedPosting",
    "ShelvedSentenceVector": "ArchivedSentenceVector",
    "ShelvedVector": "ArchivedVector",
}


def operations():
    for old, new in NAMES.items():
        yield migrations.RenameModel(old, new)
        yield migrations.AlterModelTable(new, f"ingestion_{old.lower()}")


class Migration(migrations.Migration):

    dependencies = [("ingestion", "0019_plain_labels")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=list(operations())),
    ]
