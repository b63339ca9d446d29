"""The history's labels call a relationship a fact, and an undo an undo."""

from django.db import migrations, models

from kb_project.database.at_once import AtOnce


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0051_documents_of_changes'),
    ]

    operations = [
        AtOnce([
            migrations.AlterField(
                model_name='historyevent',
                name='kind',
                field=models.CharField(choices=[('entity_created', 'Entity created'), ('entity_edited', 'Entity edited'), ('entity_deleted', 'Entity deleted'), ('entities_merged', 'Entities merged'), ('entity_split', 'Entity split'), ('mentions_moved', 'Mentions moved'), ('not_the_same', 'Said to be different'), ('relationship_created', 'Fact added'), ('relationship_edited', 'Fact edited'), ('relationship_deleted', 'Fact deleted'), ('graph_imported', 'Graph imported'), ('claim_edited', 'Claim edited'), ('claim_deleted', 'Claim deleted'), ('conflict_decided', 'Conflict decided'), ('document_added', 'Document added'), ('document_edited', 'Document edited'), ('document_replaced', 'New version'), ('document_disabled', 'Document disabled'), ('document_enabled', 'Document enabled'), ('document_trashed', 'Moved to the trash'), ('document_restored', 'Restored from the trash'), ('document_deleted', 'Deleted for good'), ('document_moved', 'Moved to a collection'), ('collection_created', 'Collection created'), ('collection_renamed', 'Collection renamed'), ('collection_deleted', 'Collection deleted'), ('decision_undone', "A model's decision undone"), ('undo', 'Undo'), ('copied', 'Copied into an edition')], max_length=24),
            ),
            migrations.AlterField(
                model_name='historysubject',
                name='kind',
                field=models.CharField(choices=[('entity', 'Entity'), ('relationship', 'Fact'), ('claim', 'Claim'), ('conflict', 'Conflict'), ('document', 'Document'), ('collection', 'Collection')], max_length=12),
            ),
        ]),
    ]
