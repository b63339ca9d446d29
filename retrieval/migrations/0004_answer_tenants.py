"""Conversations, events and evaluations are tenant tables."""

from django.db import migrations

from kb_project.database.tenancy import Reference, tenant_table


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0003_answer_jobs")]

    operations = [
        tenant_table("retrieval_conversation"),
        tenant_table(
            "retrieval_answerevent", Reference("answer_id", "retrieval_answer"), has_id=False
        ),
        tenant_table("retrieval_questionset"),
        tenant_table(
            "retrieval_setquestion", Reference("question_set_id", "retrieval_questionset")
        ),
        tenant_table(
            "retrieval_evaluationrun", Reference("question_set_id", "retrieval_questionset")
        ),
        tenant_table(
            "retrieval_evaluationresult",
            Reference("run_id", "retrieval_evaluationrun"),
            Reference("question_id", "retrieval_setquestion"),
        ),
        migrations.RunSQL(
            Reference("conversation_id", "retrieval_conversation").add("retrieval_question"),
            Reference("conversation_id", "retrieval_conversation").drop("retrieval_question"),
        ),
    ]
