"""Restricted collections, and who is granted what of them."""

import django.db.models.deletion
import uuid
from django.db import migrations, models
from django.db.models.functions import Lower

from kb_project.database.at_once import AtOnce
from kb_project.database.tenancy import Reference, hidden_collections, tenant_table


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0022_collections'),
        ('workspaces', '0013_groups_and_editions'),
    ]

    operations = [
        migrations.AddField(
            model_name='collection',
            name='is_restricted',
            field=models.BooleanField(db_default=False, default=False),
        ),
        AtOnce([
            migrations.RemoveConstraint(model_name="collection", name="collection_name_once"),
            migrations.AddConstraint(
                model_name="collection",
                constraint=models.UniqueConstraint(
                    "workspace", Lower("name"), "is_restricted", name="collection_name_once"
                ),
            ),
            migrations.AlterField(
                model_name='historyevent',
                name='kind',
                field=models.CharField(choices=[('entity_created', 'Entity created'), ('entity_edited', 'Entity edited'), ('entity_deleted', 'Entity deleted'), ('entities_merged', 'Entities merged'), ('entity_split', 'Entity split'), ('mentions_moved', 'Mentions moved'), ('not_the_same', 'Said to be different'), ('relationship_created', 'Relationship created'), ('relationship_edited', 'Relationship edited'), ('relationship_deleted', 'Relationship deleted'), ('document_added', 'Document added'), ('document_edited', 'Document edited'), ('document_replaced', 'New version'), ('document_disabled', 'Document disabled'), ('document_enabled', 'Document enabled'), ('document_trashed', 'Moved to the trash'), ('document_restored', 'Restored from the trash'), ('document_deleted', 'Deleted for good'), ('document_moved', 'Moved to a collection'), ('collection_created', 'Collection created'), ('collection_renamed', 'Collection renamed'), ('collection_deleted', 'Collection deleted'), ('decision_undone', "A model's decision undone"), ('undo', 'Undone'), ('copied', 'Copied into an edition')], max_length=24),
            ),
            migrations.CreateModel(
                name='CollectionGrant',
                fields=[
                    ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('may_edit', models.BooleanField(db_default=False, default=False)),
                    ('collection', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='grants', to='ingestion.collection')),
                    ('group', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.group')),
                    ('membership', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.membership')),
                    ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspaces.workspace')),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('workspace', 'collection', 'group'), name='grant_to_group_once'), models.UniqueConstraint(fields=('workspace', 'collection', 'membership'), name='grant_to_member_once'), models.CheckConstraint(condition=models.Q(('group__isnull', True), ('membership__isnull', True), _connector='XOR'), name='grant_to_one')],
                },
            ),
        ]),
        tenant_table(
            "ingestion_collectiongrant",
            Reference("collection_id", "ingestion_collection"),
            Reference("group_id", "workspaces_group"),
            Reference("membership_id", "workspaces_membership"),
        ),
        hidden_collections("ingestion_document", "collection_id"),
        hidden_collections("ingestion_collection", "id"),
    ]
