"""Files that cannot be imported, or only in part: each says what happened and what was kept."""

from __future__ import annotations

import io
import zipfile
from itertools import pairwise

import pytest

from ingestion.parsers import graph_rows
from kb_project.errors import InputError
from tests import rows
from tests.ingestion.exchange.files import contents, imported, read

GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
BOMB = (
    '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{10 * f"&{a};"}">' for a, b in pairwise("abcdefgh"))
    + f']>{GRAPHML}<graph><node id="&h;"/></graph></graphml>'
)


@pytest.mark.parametrize(
    ("data", "code", "sentence"),
    [
        (b"", "empty_file", "is empty"),
        (f"{GRAPHML}<graph><node id='a'>", "malformed", "not well-formed XML at line 1"),
        (BOMB, "unsafe_xml", "declares a document type"),
        (BOMB.encode("utf-16"), "unsafe_xml", "declares a document type"),
        (
            f'<!DOCTYPE g SYSTEM "file:///etc/passwd">{GRAPHML}</graphml>',
            "unsafe_xml",
            "declares a document type",
        ),
        ("<html><body/></html>", "not_graphml", "begins with “html”"),
        (f"{GRAPHML}<graph/></graphml>", "no_rows", "no entity and no fact"),
        (f"{GRAPHML}é".encode("latin-1"), "malformed", "not well-formed XML"),
        ('{"nodes": [', "malformed", "not valid JSON at line 1"),
        ('{"nodes": [{"id": "\xe9"}]}'.encode("latin-1"), "wrong_encoding", "not in UTF-8"),
        ("[" * 100_000, "malformed", "not valid JSON"),
        ('{"people": []}', "not_node_link", "without a list of “nodes”"),
        ("colour,size\nred,2\n", "no_columns", "neither a column “name”"),
        ("name,type\nS\xf8ren,person\n".encode("cp1252"), "wrong_encoding", "not in UTF-8"),
        (b"MZ\x00\x00program", "not_a_graph", "not GraphML, JSON or CSV"),
        (b"PK\x03\x04broken", "corrupt", "ZIP archive"),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(data: bytes | str, code: str, sentence: str):
    with pytest.raises(InputError) as refused:
        read(data, "graph.file")

    assert (refused.value.code, refused.value.kept) == (code, "Nothing was imported.")
    assert sentence in refused.value.happened
    assert refused.value.next_step


def test_an_archive_without_tables_or_with_a_bomb_is_refused():
    for name, content, code in (("a.txt", b"x", "no_tables"), ("a.csv", b"0" * 10**9, "zip_bomb")):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
        with pytest.raises(InputError) as refused:
            read(file.getvalue())
        assert refused.value.code == code


def test_too_many_rows_are_refused_unread():
    table = "name\n" + "Ada\n" * (graph_rows.MOST_ROWS + 1)

    with pytest.raises(InputError, match="more than 100,000"):
        read(table)


def test_names_in_other_scripts_and_encodings_with_a_mark_are_read():
    table = "name,type\n北京大学,organization\nΔελφοί,place\nالميناء,place\n"
    for data in (table.encode("utf-8-sig"), table.encode("utf-16")):
        assert [one.name for one in read(data).entities] == ["北京大学", "Δελφοί", "الميناء"]


def test_lists_with_semicolons_or_tabs_and_other_names_of_columns_are_read():
    for delimiter in ";\t":
        table = "Subject,Relation,Object\nAda,keeps,Skarrow\n".replace(",", delimiter)
        [fact] = read(table).facts
        assert (fact.source, fact.target, fact.predicates) == ("Ada", "Skarrow", ("keeps",))


def test_graphml_of_another_program_with_labels_is_read():
    keys = '<key id="d0" for="node" attr.name="Label" attr.type="string"/>'
    nodes = '<node id="n1"><data key="d0">Ada</data></node><node id="n2"/>'
    data = f'{GRAPHML}{keys}<graph>{nodes}<edge source="n1" target="n2"/></graph></graphml>'

    graph = read(data)

    assert [(one.id, one.name) for one in graph.entities] == [("n1", "Ada"), ("n2", "n2")]
    assert [(one.source, one.target) for one in graph.facts] == [("n1", "n2")]


def test_a_guarded_formula_comes_back_as_it_was():
    assert [one.name for one in read("name\n'=1+1\n''=2\n'tis\n").entities] == [
        "=1+1",
        "'=2",
        "'tis",
    ]


@pytest.mark.django_db
def test_edges_to_missing_nodes_and_two_nodes_of_one_name_keep_the_rest():
    cast = rows.make_cast()
    nodes = "".join(
        f'<node id="{id_}"><data key="name">{name}</data></node>'
        for id_, name in (("1", "Ada Lind"), ("2", "ada lind"), ("3", "Skarrow"))
    )
    edges = (
        '<edge source="1" target="3"/><edge source="1" target="9"/><edge source="2" target="3"/>'
    )

    _, plan = imported(cast, f"{GRAPHML}<graph>{nodes}{edges}</graph></graphml>")

    assert [one.outcome for one in plan.entities] == ["new", "conflict", "new"]
    assert plan.entities[1].reason == "Row 1 has the same name."
    assert [(one.outcome, one.reason) for one in plan.facts] == [
        ("new", ""),
        ("left_out", "There is no entity '9' in the file or here."),
        ("left_out", "The entity 'ada lind' is left out."),
    ]
    assert [row[0] for row in contents(cast.workspace)[0]] == ["Ada Lind", "Skarrow"]
