from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0008_statistics'),
    ]

    operations = [
        migrations.AddField(
            model_name='documentversion',
            name='situated_by',
            field=models.CharField(blank=True, db_default='', default='', max_length=120),
        ),
        migrations.AddIndex(
            model_name='chunkextraction',
            index=models.Index(fields=['workspace', 'method'], include=('chunk',), name='read_by_method'),
        ),
    ]
