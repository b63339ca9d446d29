from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0005_model_tenants'),
    ]

    operations = [
        migrations.AddField(
            model_name='communityreport',
            name='rejected',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text="What of the model's report was not kept, counted by reason."),
        ),
    ]
