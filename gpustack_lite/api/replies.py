"""From documents to answers in the reader's language, and from query parameters to a page."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from gpustack_lite.api.refusals import language
from gpustack_lite.db.queries.paging import Page, Wish
from gpustack_lite.errors import Refusal
from gpustack_lite.messages import localise

T = TypeVar("T", bound=BaseModel)
Responses = dict[int | str, dict[str, Any]]
Id = Annotated[int, Query(ge=0, lt=2**63)]
"""What a column of a database can be compared with."""


def shows(shape: type[BaseModel], status: int = 200) -> Responses:
    """For OpenAPI only: the answers are made of documents and are not validated a second time."""
    return {status: {"model": shape}}


def reply(request: Request, document: Mapping[str, Any], status: int = 200) -> JSONResponse:
    return JSONResponse(localise(document, language(request)), status_code=status)


def reply_page(request: Request, page: Page[dict[str, Any]]) -> JSONResponse:
    shown = {"next_cursor": page.next_cursor, "total": page.total, "revision": page.revision}
    return reply(request, {"items": page.items, **shown})


def _wish(
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4096)] = None,
    q: Annotated[str | None, Query(max_length=200)] = None,
    sort: Annotated[str | None, Query(max_length=50)] = None,
) -> Wish:
    return Wish(limit, cursor, q, sort)


PageWish = Annotated[Wish, Depends(_wish)]


def moment(value: str | None, name: str) -> datetime | None:
    """An ISO 8601 date or time from a query parameter; without a zone it is UTC.

    Raises:
        Refusal: `field_not_time`.
    """
    if value is None:
        return None
    try:
        parsed = datetime.fromisoformat(value.replace(" ", "+"))  # a plus that nobody encoded
        return parsed.replace(tzinfo=parsed.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError) as error:  # the last day of the year 9999 ends later in the west
        raise Refusal("field_not_time", param=name, name=name) from error
