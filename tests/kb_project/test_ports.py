from __future__ import annotations

import dataclasses

import pytest

from kb_project.errors import InputError
from kb_project.graph.ports import GraphStore
from kb_project.llm import embedders
from kb_project.llm.embedders import KnownVectors, LocalEmbedder
from kb_project.llm.fake import FakeEmbedder
from kb_project.ports import Ports, build_ports, embedder_named


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
def test_the_ports_are_those_that_settings_name():
    ports = build_ports()

    assert isinstance(ports.embedder, FakeEmbedder)
    assert hasattr(ports.graph, "upsert")


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
def test_they_are_made_once_a_process():
    assert build_ports() is build_ports()


@pytest.mark.django_db
@pytest.mark.usefixtures("fake_embedder")
def test_nobody_exchanges_a_port_behind_anybodys_back():
    with pytest.raises(dataclasses.FrozenInstanceError):
        build_ports().embedder = FakeEmbedder()  # the point of the test


def test_a_bundle_is_made_of_what_it_is_given():
    class Nothing:
        """A graph that is never asked."""

    graph: GraphStore = Nothing()  # type: ignore[assignment]  # never asked
    assert Ports(embedder=FakeEmbedder(), graph=graph).graph is graph


@pytest.mark.parametrize(("name", "kind"), [("local", KnownVectors), ("fake", FakeEmbedder)])
def test_an_embedder_goes_by_its_name(name: str, kind: type[object]):
    assert isinstance(embedder_named(name), kind)


def test_naming_the_local_embedder_loads_no_model():
    loaded = embedders._e5.cache_info().misses

    known = embedder_named("local")

    assert isinstance(known, KnownVectors)
    assert isinstance(known._embedder, LocalEmbedder)
    assert embedders._e5.cache_info().misses == loaded


def test_an_unknown_embedder_is_refused_with_those_there_are():
    with pytest.raises(InputError) as refused:
        embedder_named("magic")

    assert "'magic'" in refused.value.happened
    assert "'local'" in refused.value.next_step
