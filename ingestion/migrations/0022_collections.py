"""Names of collections are unique ignoring case; history knows what is done with collections."""

from django.db import migrations, models
from django.db.models.functions import Lower

from kb_project.database.at_once import AtOnce

EVENTS = [
    ("entity_created", "Entity created"),
    ("entity_edited", "Entity edited"),
    ("entity_deleted", "Entity deleted"),
    ("entities_merged", "Entities merged"),
    ("entity_split", "Entity split"),
    ("mentions_moved", "Mentions moved"),
    ("not_the_same", "Said to be different"),
    ("relationship_created", "Relationship created"),
    ("relationship_edited", "Relationship edited"),
    ("relationship_deleted", "Relationship deleted"),
    ("document_added", "Document added"),
    ("document_edited", "Document edited"),
    ("document_replaced", "New version"),
    ("document_disabled", "Document disabled"),
    ("document_enabled", "Document enabled"),
    ("document_trashed", "Moved to the trash"),
    ("document_restored", "Restored from the trash"),
    ("document_deleted", "Deleted for good"),
    ("document_moved", "Moved to a collection"),
    ("collection_created", "Collection created"),
    ("collection_renamed", "Collection renamed"),
    ("collection_deleted", "Collection deleted"),
    ("decision_undone", "A model's decision undone"),
    ("undo", "Undone"),
]
SUBJECTS = [
    ("entity", "Entity"),
    ("relationship", "Relationship"),
    ("document", "Document"),
    ("collection", "Collection"),
]

# Of collections whose names differ in case alone, the first keeps its name and gets the documents
# of all. The owner of the tables is subject to row-level security too, which would hide every row.
MERGE = """
ALTER TABLE ingestion_collection NO FORCE ROW LEVEL SECURITY;
ALTER TABLE ingestion_document NO FORCE ROW LEVEL SECURITY;

CREATE TEMPORARY TABLE merged_collection ON COMMIT DROP AS
SELECT workspace_id, id,
       first_value(id) OVER (PARTITION BY workspace_id, lower(name) ORDER BY name, id) AS kept
  FROM ingestion_collection;

UPDATE ingestion_document AS d SET collection_id = m.kept
  FROM merged_collection AS m
 WHERE m.workspace_id = d.workspace_id AND m.id = d.collection_id AND m.id <> m.kept;

DELETE FROM ingestion_collection AS c USING merged_collection AS m
 WHERE m.workspace_id = c.workspace_id AND m.id = c.id AND m.id <> m.kept;

SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;

ALTER TABLE ingestion_document FORCE ROW LEVEL SECURITY;
ALTER TABLE ingestion_collection FORCE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0021_history_stays")]

    operations = [
        migrations.RunSQL(MERGE, migrations.RunSQL.noop),
        AtOnce([
            migrations.RemoveConstraint("collection", "collection_name_once"),
            migrations.AddConstraint(
                "collection",
                models.UniqueConstraint("workspace", Lower("name"), name="collection_name_once"),
            ),
            migrations.AlterField(
                "historyevent",
                "kind",
                models.CharField(choices=EVENTS, max_length=24),
            ),
            migrations.AlterField(
                "historysubject",
                "kind",
                models.CharField(choices=SUBJECTS, max_length=12),
            ),
        ]),
    ]
