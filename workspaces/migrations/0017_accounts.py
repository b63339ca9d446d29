"""What happened to accounts."""

from django.conf import settings
from django.db import migrations, models
import django.db.models.deletion

from kb_project.database.rights import append_only


class Migration(migrations.Migration):

    dependencies = [
        ('workspaces', '0016_people'),
    ]

    operations = [
        migrations.CreateModel(
            name='AccountEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(max_length=254)),
                ('kind', models.CharField(max_length=20)),
                ('detail', models.CharField(blank=True, default='', max_length=200)),
                ('address', models.CharField(blank=True, default='', max_length=45)),
                ('user_agent', models.CharField(blank=True, default='', max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-id'],
                'indexes': [models.Index(fields=['user', '-created_at', '-id'], name='account_event_latest')],
            },
        ),
        append_only("workspaces_accountevent"),
    ]
