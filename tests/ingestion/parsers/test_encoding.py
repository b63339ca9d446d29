"""Every encoding a team's old files come in."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ingestion.parsers.encoding import decode

FRENCH = "Le café est à côté de la façade. L’été dernier, nous étions à Besançon, très tôt."
GERMAN = "Die Größe der Straße überrascht die Bürger von Köln nicht; schöne Grüße aus München."
POLISH = "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi pod względem swej godności."
HUNGARIAN = "Minden emberi lény szabadon születik és egyenlő méltósága és joga van."
TURKISH = "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar."
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах."
CHINESE = "我们从一份档案开始。姓名：朱元璋，别名：朱重八、朱国瑞。"
TRADITIONAL = "這是一個關於中文編碼檢測的測試。我們希望系統能夠正確識別。"
JAPANESE = "これは日本語の文字コード検出のテストです。システムが正しく認識することを望みます。"
KOREAN = "이것은 한국어 인코딩 감지 테스트입니다. 시스템이 올바르게 인식하기를 바랍니다."

LEGACY = [
    (FRENCH, "cp1252"),
    (GERMAN, "cp1252"),
    ("Café", "cp1252"),
    ("He said “hello” – it’s €5…", "cp1252"),
    (POLISH, "cp1250"),
    (HUNGARIAN, "cp1250"),
    (TURKISH, "cp1254"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8_r"),
    (CHINESE, "gb18030"),
    ("你好，世界。", "gb18030"),
    (TRADITIONAL, "big5"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc_jp"),
    (KOREAN, "euc_kr"),
]
WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize(("text", "encoding"), LEGACY)
@pytest.mark.parametrize("times", [1, 50])
def test_legacy_encodings_are_recognised(text, encoding, times):
    whole = f"{text}\n" * times

    decoded = decode(whole.encode(encoding))

    assert decoded.text == whole
    assert decoded.warning == ""


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("text", [FRENCH, CHINESE, JAPANESE, KOREAN, RUSSIAN, "Hi there\n"])
def test_wide_encodings_need_no_mark(text, encoding):
    assert decode(f"{text}\n".encode(encoding)).text == f"{text}\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_a_byte_order_mark_settles_it(encoding, text):
    assert decode(text.encode(encoding)).text == text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_utf8_comes_back_as_it_was(text):
    decoded = decode(text.encode())

    assert decoded.text.lstrip("\ufeff") == text.lstrip("\ufeff")
    assert decoded.encoding == "utf-8"


@given(st.binary(max_size=2000))
def test_no_bytes_make_it_fail(data):
    assert isinstance(decode(data).text, str)


def test_a_declared_encoding_is_believed_when_it_fits():
    assert decode("日本語".encode("shift_jis"), declared="Shift_JIS").text == "日本語"
    assert decode("naïve".encode(), declared="hex").text == "naïve"
    assert decode("日本".encode(), declared="no-such-encoding").text == "日本"


def test_latin_1_is_read_as_windows_does():
    assert decode(b"\x93quoted\x94", declared="iso-8859-1").text == "“quoted”"


def test_mixed_encodings_are_kept_with_a_warning():
    data = f"{FRENCH}\n{GERMAN}\n".encode() + "Un café noir.\n".encode("cp1252") + FRENCH.encode()

    decoded = decode(data)

    assert decoded.text.startswith(FRENCH)
    assert decoded.text.endswith(FRENCH)
    assert "Un caf\ufffd noir." in decoded.text
    assert "1 place" in decoded.warning
    assert "line 3" in decoded.warning


def test_a_replacement_character_in_the_file_itself_is_no_reason_to_warn():
    assert decode("kept \ufffd as it was".encode()).warning == ""
