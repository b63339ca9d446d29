"""Changes of tables made as one operation of a migration."""

from __future__ import annotations

import pytest
from django.db import migrations, models
from django.db.migrations.state import ModelState, ProjectState

from kb_project.database.at_once import AtOnce


def books() -> migrations.CreateModel:
    return migrations.CreateModel("Book", [("id", models.AutoField(primary_key=True))])


def pages_of_books() -> list[migrations.CreateModel | migrations.AddField]:
    book: models.ForeignKey[models.Model] = models.ForeignKey("library.Book", models.CASCADE)
    page = migrations.CreateModel(
        "Page", [("id", models.AutoField(primary_key=True)), ("book", book)]
    )
    return [migrations.AddField("Reader", "age", models.IntegerField(default=0)), books(), page]


def readers() -> ProjectState:
    """A state whose classes are made, as in the middle of migrating."""
    state = ProjectState()
    state.add_model(ModelState("library", "Reader", [("id", models.AutoField(primary_key=True))]))
    assert state.apps.get_model("library", "Reader")
    return state


def test_the_classes_are_those_of_one_change_after_the_other():
    together, apart = readers(), readers()

    AtOnce(pages_of_books()).state_forwards("library", together)
    for change in pages_of_books():
        change.state_forwards("library", apart)

    assert together == apart
    for name in ("Reader", "Book", "Page"):
        made = together.apps.get_model("library", name)
        fields = [field.name for field in apart.apps.get_model("library", name)._meta.get_fields()]
        assert [field.name for field in made._meta.get_fields()] == fields
    page = together.apps.get_model("library", "Page")
    book = together.apps.get_model("library", "Book")
    assert page._meta.get_field("book").related_model is book


@pytest.mark.parametrize(
    "second",
    [
        migrations.AddField("book", "title", models.TextField()),
        migrations.AddIndex("book", models.Index(fields=["id"], name="book_ids")),
        migrations.RenameField("reader", "age", "years"),
        migrations.RunSQL("SELECT 1"),
    ],
)
def test_what_builds_on_another_change_is_refused(second: migrations.RunSQL):
    with pytest.raises(ValueError, match="a step of its own"):
        AtOnce([books(), second])
