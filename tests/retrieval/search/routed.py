"""Questions about the demo's documents, each with the way that suits it, as somebody would say who
knows the documents and the ways."""

from __future__ import annotations

from uuid import UUID

from kb_project.graph.walk_index import ChunkRow, WalkIndex
from kb_project.text.names import normalise_name
from tests.kb_project.graph.walks import EntityRow, MentionRow, build

NAMES = (
    "Agnes Tulloch",
    "Breck Harbour",
    "Corrigan Marine",
    "Elspeth Rennie",
    "Erik Budge",
    "Farran Bank",
    "Gordon Rennie",
    "Great Lens",
    "Innis Holm",
    "Jamie Flett",
    "MB-2",
    "Next Keepers",
    "Norholm Wind",
    "Northern Lantern Fund",
    "Old Bob",
    "Orran Lights Society",
    "Petrel",
    "Project Lodestar",
    "Skarrow",
    "Storm Ottoline",
    "Tallybook",
    "Tern Rock",
    "Tomas Lindgaard",
    "Vellacott Lens Works",
    "杭州联络处",
    "沈立群",
    "临江光学工坊",
    "杰米·弗莱特",
)
COMMON = ("logbook", "supplier", "prism")
EVERYWHERE = "the Trust"

PATHS = (
    "How are Elspeth Rennie and Gordon Rennie related?",
    "What links Old Bob to Norholm Wind?",
    "How is Jamie Flett connected to the Great Lens?",
    "What is the relationship between Skarrow and Vellacott Lens Works?",
    "沈立群和临江光学工坊有什么关系？",
    "杰米·弗莱特与杭州联络处之间是什么关系？",
)
WALK = (
    "Who founded the Orran Lights Society?",
    "Which harbour does Vellacott Lens Works work from?",
    "Who is older, Elspeth Rennie or Gordon Rennie?",
    "Where did the supplier of MB-2 train its engineers?",
    "Was Jamie Flett taught by the firm that repaired the Great Lens?",
    "Which came first, Project Lodestar or Storm Ottoline?",
    "Who paid for the repair of the Great Lens after Storm Ottoline?",
    "What is Agnes Tulloch's grandson called?",
    "Did Corrigan Marine and Vellacott Lens Works both work on Skarrow?",
    "Who succeeded Gordon Rennie at Skarrow?",
    "Which apprentice of Next Keepers works with Norholm Wind?",
    "What did the seller of Petrel do with the money?",
    "When did Tomas Lindgaard vote against Project Lodestar?",
    "who trained jamie flett?",
    "Why did Erik Budge leave Next Keepers?",
    "临江光学工坊的负责人教过谁？",
    "沈立群和杰米·弗莱特在哪里见面？",
    "杭州联络处的经费由谁支付？",
)
LOCAL = (
    "Who is Gordon Rennie?",
    "What is Project Lodestar?",
    "Tell me about Tern Rock.",
    "Tell me more about Vellacott Lens Works",
    "What do the documents say about Storm Ottoline?",
    "What do we know about Norholm Wind?",
    "Describe the Great Lens.",
    "Give me an overview of Next Keepers.",
    "介绍一下临江光学工坊。",
    "沈立群是谁？",
)
GLOBAL = (
    "What are the main themes?",
    "What are the main topics of these documents?",
    "What are the most common concerns across all the documents?",
    "Summarise everything.",
    "What is this collection about?",
    "Overall, how well is the organisation doing?",
    "What are the key issues in the workspace as a whole?",
    "Which recurring problems run through all of these files?",
    "这些文件的主要内容是什么？",
    "总的来说，这些材料讲了什么？",
    "总结一下所有文档。",
)
DRIFT = (
    "How has the budget changed since 2022?",
    "How did the rules for inspections change after the storm?",
    "What has changed in how defects are closed?",
    "How has Next Keepers developed over the years?",
    "How have visitor numbers evolved?",
    "经费有什么变化？",
    "灯塔的维护这些年是如何改变的？",
)
HYBRID = (
    "How many logbooks had been scanned by the end of March?",
    "What is the allowance for a night away?",
    "How much does a berth cost?",
    "Which insurance covers scaffolding?",
    "What does the `defect_id` field of the register hold?",
    "How do I call exportCards() from a script?",
    "Which parameters does the import function take?",
    "What does DEFECT_OPEN mean in tally.cfg?",
    "Why does Tallybook's importRows throw an exception?",
    "Where are the timestamps of the log stored, and in which encoding?",
    "how often are doors inspected?",
    "What happens when relief is delayed by weather?",
    "棱镜为什么会破裂？",
    "这个函数的参数是什么？",
)
MIX = (
    "Tell me about safety at sea.",
    "Describe how apprentices are paid.",
    "What do the documents say about insurance?",
    "介绍一下安全规定。",
)
ROUTED = tuple(
    (mode, question)
    for mode, questions in (
        ("paths", PATHS),
        ("walk", WALK),
        ("local", LOCAL),
        ("global", GLOBAL),
        ("drift", DRIFT),
        ("hybrid", HYBRID),
        ("mix", MIX),
    )
    for question in questions
)


def index() -> WalkIndex:
    """The demo's names in sixty passages: each in one, but what is in all of them."""
    chunks = [ChunkRow(UUID(int=number + 1), "") for number in range(60)]
    names = (*NAMES, *COMMON, EVERYWHERE)
    entities = [
        EntityRow(UUID(int=1000 + number), normalise_name(name), is_common=name in COMMON)
        for number, name in enumerate(names)
    ]
    mentions = [
        MentionRow(chunks[number].chunk_id, entity.entity_id, 1)
        for number, entity in enumerate(entities[:-1])
    ]
    everywhere = [MentionRow(chunk.chunk_id, entities[-1].entity_id, 1) for chunk in chunks]
    return build(chunks, entities, [*mentions, *everywhere])
