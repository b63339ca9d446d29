"""A liveness check for load balancers: whether this process answers and reaches its database."""

from __future__ import annotations

from typing import Final, LiteralString

from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from kb_project.database.outages import DATABASE_AWAY
from kb_project.sql import run_sql

ANSWERS: Final[LiteralString] = "SELECT 1"


@transaction.non_atomic_requests
@never_cache
@require_GET
def healthz(request: HttpRequest) -> JsonResponse:
    try:
        run_sql(ANSWERS)
    except DATABASE_AWAY:
        return JsonResponse({"status": "the database does not answer"}, status=503)
    return JsonResponse({"status": "ok"})
