"""What all parts of the API share: paging, the schema of errors, and names in the schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar

from django.db.models import Model
from drf_spectacular.authentication import BasicScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from kb_project.errors import NotFoundError
from kb_project.http.paging import Rows

PAGE_SIZE: Final = 25
LARGEST_PAGE: Final = 100
RowT = TypeVar("RowT", bound=Model)


class PageInput(serializers.Serializer[Any]):
    """The query parameters that select a page of a list."""

    page = serializers.IntegerField(min_value=1, max_value=1_000_000, default=1)
    page_size = serializers.IntegerField(
        min_value=1,
        max_value=LARGEST_PAGE,
        default=PAGE_SIZE,
        help_text=f"At most {LARGEST_PAGE}.",
    )


class PageOutput(serializers.Serializer[Any]):
    """One page of a list."""

    total = serializers.IntegerField()
    page = serializers.IntegerField()
    page_size = serializers.IntegerField()
    pages = serializers.IntegerField()


@dataclass(frozen=True, slots=True)
class Page(Generic[RowT]):
    """One page of a list. A page after the last one is empty; ``total`` counts all pages' rows."""

    results: list[RowT]
    total: int
    page: int
    page_size: int

    @property
    def pages(self) -> int:
        return -(-self.total // self.page_size)

    def of(self, results: list[Any]) -> dict[str, Any]:
        """Return the page with its rows replaced by their representations."""
        return {
            "total": self.total,
            "page": self.page,
            "page_size": self.page_size,
            "pages": self.pages,
            "results": results,
        }


def page_of(rows: Rows[RowT], *, page: int, page_size: int) -> Page[RowT]:
    first = (page - 1) * page_size
    return Page(list(rows[first : first + page_size]), rows.count(), page, page_size)


@extend_schema_serializer(component_name="Problem")
class ProblemSerializer(serializers.Serializer[Any]):
    """An error. ``sentence`` is for people, ``code`` for programs."""

    status = serializers.IntegerField()
    code = serializers.CharField()
    happened = serializers.CharField()
    kept = serializers.CharField(allow_blank=True)
    next_step = serializers.CharField(allow_blank=True)
    sentence = serializers.CharField()
    fields = serializers.DictField()  # type: ignore[assignment]  # the API's word for it
    request_id = serializers.CharField(allow_blank=True)


class NothingHere(APIView):
    """A URL of the API that does not exist."""

    schema = None

    def get(self, request: Request, **_kwargs: Any) -> None:
        raise NotFoundError("The API has no endpoint at this address.")

    post = put = patch = delete = get


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself
    target_class = "workspaces.tokens.authentication.TokenAuthentication"
    name = "tokenAuth"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API token of one workspace, from its page API tokens.",
        }


class PasswordScheme(BasicScheme):  # type: ignore[no-untyped-call]  # registers itself
    target_class = "workspaces.tokens.authentication.PasswordAuthentication"
    priority = 0


class NestedNames(AutoSchema):
    """Names nested serializers after their view: ``DocumentList.Output``."""

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        *outer, own = type(serializer).__qualname__.split(".")
        return "".join(part.removesuffix("Api") for part in outer) + own.removesuffix("Serializer")

    def get_tags(self) -> list[str]:
        """Return the noun in the path after the workspace, or the first one."""
        words = [word for word in self.path.split("/") if word and not word.startswith("{")]
        is_inside = words[2] == "workspaces" and len(words) > 3
        return [words[3] if is_inside else words[2]]


class DescribedOnce(SchemaGenerator):
    """Describes the API once a process: that takes a second, and is the same for everyone."""

    def get_schema(self, *_args: object, **_options: object) -> dict[str, Any]:
        return _description()


@cache
def _description() -> dict[str, Any]:
    generator: Any = SchemaGenerator  # which has no types
    described: dict[str, Any] = generator().get_schema(public=True)
    return described
