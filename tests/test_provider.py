"""The scripted provider's own answers: other tests rest on them."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from tests.patience import PATIENCE
from tests.provider import KEY, Provider
from tests.provider_answers import answer_for, filled

PASSAGE = (
    '"entities" please\n<passage>\nAda Lind met Bob Ray in Oslo. The lamp was out.\n</passage>'
)


def asked(server: Provider, text: str = "Hello.") -> tuple[int, dict[str, Any], str]:
    """Status, answer and Retry-After."""
    body = json.dumps({"messages": [{"role": "user", "content": text}]})
    place = urlsplit(server.url)
    line = http.client.HTTPConnection(place.netloc, timeout=PATIENCE)
    with closing(line):
        line.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {KEY}"})
        answer = line.getresponse()
        return answer.status, json.load(answer), answer.headers.get("Retry-After", "")


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

        _, answer, _ = asked(server)

    assert answer["choices"][0]["message"]["content"] == "HELLO."
    assert answer["usage"]["prompt_tokens"] == 1


def test_faults_come_as_often_as_they_were_ordered():
    with Provider() as server:
        server.script.next("429", times=2)
        server.script.retry_after = "3"
        answers = [asked(server) for _ in range(3)]

    assert [status for status, _, _ in answers] == [429, 429, 200]
    assert answers[0][2] == "3"
    assert server.count() == 3
    assert server.count(fault="") == 1
    assert server.counts() == {"chat": 3}
    assert server.requests[-1].key == KEY
