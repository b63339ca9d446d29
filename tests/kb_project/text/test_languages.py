from __future__ import annotations

import pytest

from kb_project.text.languages import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Marley was dead: to begin with. There is no doubt whatever about that.", "en"),
        ("朱元璋的父亲是一个农民。", "zh"),
        ("これは日本語の文章です。東京に行きました。", "ja"),
        ("이것은 한국어 문장입니다.", "ko"),
        ("Der Hund und die Katze sind nicht im Haus, das ist für uns ein Problem.", "de"),
        ("Le chat est dans la maison et il ne sort pas avec les chiens.", "fr"),
        ("El perro no está en la casa porque se fue con los niños.", "es"),
        ("Это русский текст.", "other"),
        ('fn main() { println!("hi"); }', "en"),
        ("Jacob Marley, Ebenezer Scrooge", "en"),
        ("12345 !!!", "other"),
        ("", "other"),
    ],
)
def test_the_language_is_recognised(text, language):
    assert detect_language(text) == language


def test_a_foreign_name_does_not_change_the_language():
    assert detect_language("The emperor 朱元璋 was the founder of the Ming dynasty.") == "en"


def test_only_a_sample_of_a_huge_text_is_read():
    assert detect_language("The cat is on the mat. " * 500_000) == "en"
