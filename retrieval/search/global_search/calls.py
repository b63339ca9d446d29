"""Make several calls for one question side by side, stoppable."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from kb_project.errors import ReplyError
from kb_project.llm.ports import ChatModel, ChatReply, ChatRequest, SchemaT
from retrieval.search.query import Query


def values(
    query: Query, chat: ChatModel, requests: Sequence[ChatRequest[SchemaT]]
) -> list[SchemaT | None]:
    """Return each call's value, in the order of the requests; None if it got no usable reply.

    Raises StoppedError, after which no call continues, and PauseError if all must wait.
    """
    found: list[SchemaT | None] = [None] * len(requests)
    replies = chat.ask_many(requests)
    try:
        for place, reply in replies:
            found[place] = _value(reply)
            query.reporter.check()
    finally:
        if isinstance(replies, Generator):
            replies.close()
    return found


def _value(reply: ChatReply[SchemaT] | ReplyError) -> SchemaT | None:
    return None if isinstance(reply, ReplyError) else reply.value
