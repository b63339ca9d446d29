"""The scripted provider's own answers: other tests rest on them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

from tests.provider import KEY, Provider
from tests.provider_answers import answer_for, filled

PASSAGE = (
    '"entities" please\n<passage>\nAda Lind met Bob Ray in Oslo. The lamp was out.\n</passage>'
)


def posted(server: Provider, path: str, body: dict) -> dict:
    sent = urllib.request.Request(
        f"{server.url}{path}",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(sent, timeout=10) as answer:
        return json.load(answer)


def asked(server: Provider, text: str = "Hello.") -> dict:
    return posted(server, "/chat/completions", {"messages": [{"role": "user", "content": text}]})


def test_extraction_names_what_is_in_the_passage_and_quotes_it():
    found = json.loads(answer_for(PASSAGE, None))

    assert [entity["name"] for entity in found["entities"]] == [
        "Ada Lind",
        "Bob Ray",
        "Oslo",
        "The",
    ]
    assert all(fact["quote"] in PASSAGE for fact in found["entities"] + found["relationships"])
    assert found["relationships"][0]["target"] == "Bob Ray"


def test_a_gleaning_finds_nothing_more():
    found = json.loads(answer_for(f"{PASSAGE}\nRead the passage once more.", None))

    assert found["entities"] == []


def test_a_report_refers_to_records_that_it_was_given():
    text = '"rating_reason"\n<records>\nE3 Ada Lind: a writer\nR7 Ada and Bob\n</records>'

    found = json.loads(answer_for(text, None))

    assert found["findings"][0]["references"] == ["E3", "R7"]
    assert found["title"] == "Ada Lind"


def test_an_unknown_form_is_filled_plainly():
    schema = {
        "properties": {"a": {"type": "string"}, "b": {"enum": ["x"]}, "c": {"$ref": "#/$defs/C"}},
        "$defs": {"C": {"type": "object", "properties": {"d": {"type": "array"}}}},
    }

    assert filled(schema, schema) == {"a": "text", "b": "x", "c": {"d": []}}


def test_rules_of_a_test_come_before_the_providers_own():
    with Provider() as server:
        server.script.on("Hello", "first")
        server.script.on("Hello", lambda seen: seen.text.upper())

        answer = asked(server)

    assert answer["choices"][0]["message"]["content"] == "HELLO."
    assert answer["usage"]["prompt_tokens"] == 1


def test_faults_come_as_often_as_they_were_ordered():
    with Provider() as server:
        server.script.next("429", times=2)
        server.script.retry_after = "3"
        statuses = []
        for _ in range(3):
            try:
                asked(server)
                statuses.append(200)
            except urllib.error.HTTPError as error:
                statuses.append(error.code)
                assert error.headers["Retry-After"] == "3"
                error.close()

    assert statuses == [429, 429, 200]
    assert server.count() == 3
    assert server.count(fault="") == 1
    assert server.counts() == {"chat": 3}
    assert server.requests[-1].key == KEY
