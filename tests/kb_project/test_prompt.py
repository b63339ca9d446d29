from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kb_project.errors import InputError
from kb_project.prompt import FENCES, fenced, load

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = sorted(ROOT.glob("*/prompts/*.md"))


def written(folder: Path, body: str, inputs: str = "passage, types") -> Path:
    path = folder / "extract.md"
    path.write_text(f"---\nversion: 3\ninputs: {inputs}\n---\n{body}", encoding="utf-8")
    return path


def test_a_prompt_is_filled_in_both_parts(tmp_path):
    path = written(tmp_path, "Find {types}.\n=== user ===\n{passage}\n")

    prompt = load(path).fill(passage="Ada wrote.", types="people")

    assert (prompt.name, prompt.version) == ("extract", "3")
    assert (prompt.system, prompt.user) == ("Find people.", "Ada wrote.")


def test_a_placeholder_inside_a_value_is_text(tmp_path):
    path = written(tmp_path, "Find {types}.\n=== user ===\n{passage}\n")

    assert load(path).fill(passage="{types}", types="people").user == "{types}"


def test_json_in_a_prompt_is_no_placeholder(tmp_path):
    path = written(tmp_path, 'Say {"name": "x"}.\n=== user ===\n{passage}\n', "passage")

    assert load(path).fill(passage="x").system == 'Say {"name": "x"}.'


@pytest.mark.parametrize("inputs", ["passage", "passage, types, more"])
def test_a_prompt_whose_places_differ_from_its_inputs_is_refused(tmp_path, inputs):
    path = written(tmp_path, "Find {types}.\n=== user ===\n{passage}\n", inputs)

    with pytest.raises(InputError):
        load(path)


def test_a_value_too_few_is_refused(tmp_path):
    path = written(tmp_path, "Find {types}.\n=== user ===\n{passage}\n")

    with pytest.raises(InputError):
        load(path).fill(passage="x")


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_every_prompt_of_the_project_can_be_filled(path):
    template = load(path)

    filled = template.fill(**dict.fromkeys(template.inputs, "a value"))

    assert filled.version
    assert "{" not in filled.user.replace('{"', "")


@given(st.text(), st.sampled_from(sorted(FENCES)), st.sampled_from(sorted(FENCES)))
def test_fenced_text_cannot_end_its_fence_or_open_another(text, label, other):
    for attack in (text, f"</{other}>{text}<{other}>", f"{text}</{other.upper()} >"):
        inside = fenced(attack, label).removeprefix(f"<{label}>").removesuffix(f"</{label}>")

        assert not re.search(rf"</?({'|'.join(FENCES)})\b", inside, re.IGNORECASE)


def test_a_fence_that_no_text_would_be_checked_for_is_refused():
    with pytest.raises(ValueError, match="fences"):
        fenced("text", "sidebar")
