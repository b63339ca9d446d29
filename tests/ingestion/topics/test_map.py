"""The map of topics: what it shows, and that its titles can be read."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from ingestion.models import Community, EntityPosition
from ingestion.models.communities import other_topics_id
from ingestion.topics import map as topic_maps
from ingestion.topics.map import NARROW, WIDE, Drawing, MapLink, MapTopic, drawing, drawn
from ingestion.topics.views import map_context
from tests import rows
from tests.api import address, assert_nothing_there, client
from tests.ingestion.pages import page_of
from workspaces import access

NAMES = ("Ada Lind", "Bo Strand", "Cora Vane", "Dora Quist", "Mrs Flett", "Ole Berg")
TEXT = ". ".join(f"{one} met {other}" for one, other in pairwise(NAMES))

titles = st.text("abcdefg keepers", max_size=40)
places = st.floats(-3, 3, allow_nan=False)
maps = st.lists(
    st.builds(
        MapTopic,
        id=st.uuids(),
        title=titles,
        size=st.integers(0, 4000),
        level=st.just(0),
        hue=st.just(1),
        parts=st.just(0),
        x=places,
        y=places,
    ),
    max_size=14,
)


def overlaps(made: Drawing) -> int:
    return sum(
        one.half + other.half - abs(one.x - other.x) > 1
        and (one.height + other.height) / 2 - abs(one.middle - other.middle) > 1
        for one, other in combinations(made.boxes, 2)
    )


@given(maps, st.sampled_from([WIDE, NARROW]))
def test_no_title_is_drawn_over_another(shown: list[MapTopic], width: int):
    made = drawing(shown, width)

    assert overlaps(made) == 0
    for box in made.boxes:
        assert box.half - 1 <= box.x <= width - box.half + 1
        assert box.radius <= box.y <= made.height
    assert drawing(shown, width) == made


def test_only_the_strongest_connections_of_each_topic_are_drawn():
    one, *others = (UUID(int=number) for number in range(12))
    links = [MapLink(one, other, 20 - number, 1) for number, other in enumerate(others)]
    weak = MapLink(others[0], others[1], 1, 1)

    assert drawn([*links, weak]) == [*links, weak]
    crowd = [MapLink(a, b, 1, 1) for a, b in combinations(others, 2)]
    assert len(drawn(crowd)) < len(crowd)


# --- of a workspace -------------------------------------------------------------------------------
@pytest.fixture
def cast() -> rows.Cast:
    """Three topics in a row; the first has two sub-topics, and Ole belongs to none."""
    cast = rows.make_cast()
    document = rows.make_document(cast.workspace, "Log", TEXT, names=dict.fromkeys(NAMES, "PERSON"))
    people = [rows.make_entity(cast.workspace, name) for name in NAMES]
    chunks = rows.chunks_of(document)
    for one, other in pairwise(people):
        rows.make_relationship(one, other, chunks[0], "met")
    first = rows.make_report(cast.workspace, "Keepers", people[:2], chunks)
    rows.make_report(cast.workspace, "Traders", people[2:4], chunks)
    parts = [rows.make_report(cast.workspace, one.name, [one], chunks) for one in people[:2]]
    with access.in_workspace(cast.workspace.pk):
        communities = Community.objects.in_workspace(cast.workspace)
        for part in parts:
            communities.filter(pk=part.community_id).update(parent=first.community, level=1)
        Community.objects.create(
            pk=other_topics_id(cast.workspace.pk), workspace=cast.workspace, level=0, size=2
        )
        EntityPosition.objects.bulk_create(
            EntityPosition(workspace=cast.workspace, entity=one, x=number, y=0)
            for number, one in enumerate(people)
        )
    return cast


def made(cast: rows.Cast, **wanted: Any) -> topic_maps.TopicMap:
    with access.in_workspace(cast.workspace.pk):
        return topic_maps.topic_map(workspace=cast.workspace, **wanted)


@pytest.mark.django_db
def test_topics_are_where_their_entities_are_and_connected_by_what_crosses(cast: rows.Cast):
    found = made(cast)

    by_title = {topic.title: topic for topic in found.topics}
    assert set(by_title) == {"Keepers", "Traders"}
    assert by_title["Keepers"].x < by_title["Traders"].x
    assert by_title["Keepers"].hue != by_title["Traders"].hue
    assert [(link.weight, link.relationships) for link in found.links] == [(1, 1)]
    assert found.levels == 2


@pytest.mark.django_db
def test_a_level_shows_sub_topics_in_the_colour_of_their_topic(cast: rows.Cast):
    [above] = {topic.hue for topic in made(cast).topics if topic.title == "Keepers"}

    below = made(cast, level=1)

    assert {topic.title for topic in below.topics} == {"Ada Lind", "Bo Strand", "Traders"}
    assert {topic.hue for topic in below.topics if topic.level == 1} == {above}
    [keepers] = [topic.id for topic in made(cast).topics if topic.title == "Keepers"]
    assert {one.title for one in made(cast, within=keepers).topics} == {"Ada Lind", "Bo Strand"}


@pytest.mark.django_db
def test_the_map_costs_the_same_however_many_topics_there_are(
    cast: rows.Cast, django_assert_num_queries
):
    with access.in_workspace(cast.workspace.pk), django_assert_num_queries(11):
        map_context(workspace=cast.workspace, level=1)


@pytest.mark.django_db
def test_every_topic_on_the_map_is_a_link_and_a_row(cast: rows.Cast):
    page = page_of(cast.bob, "community_list", cast)

    assert page.count('class="topic-map__topic"') == 4
    assert "Traders: 2 entities and terms" in page
    assert "Keepers: 2 entities and terms, 2 sub-topics" in page
    assert "Topics and their connections" in page
    assert (
        page_of(cast.bob, "community_list", cast, level="nonsense").count("topic-map__topic") == 4
    )


@pytest.mark.django_db
def test_members_read_the_map_over_rest(cast: rows.Cast):
    path = address(cast.workspace, "communities/map/")

    for member in (cast.alice, cast.bob):
        body = client(member).get(path).json()
        assert (body["total"], len(body["topics"]), len(body["links"])) == (2, 2, 1)
    assert client(cast.bob).get(path, {"level": "x"}).status_code == 400
    assert_nothing_there(client(cast.charlie).get(path))
