"""A question as JSON and back: whoever has the document gets the same answer, with no server and no workers."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import msgspec

from gpustack_lite.domain import Claim, Params, PlacementWish
from gpustack_lite.errors import Refusal
from scheduler.checks import About
from scheduler.node import Node
from scheduler.question import Holding, Question

VERSION = 1


def document(question: Question) -> dict[str, Any]:
    """`workers` as they were asked, `bare` as if nothing of ours were there; sets and mappings are sorted."""
    about = question.about
    return {
        "version": VERSION,
        "workers": [_plain(node) for node in question.nodes],
        "bare": [_plain(node) for node in question.bare],
        "holdings": [_plain(each) for each in question.holdings],
        "claims": [_plain(claim) for claim in question.claims],
        "wish": _plain(question.wish),
        "backend": question.backend,
        "about": {"model": about.model, "source": about.source, "head_count": about.head_count},
        "numbers": [[_plain(claim), dict(params)] for claim, params in about.numbers.items()],
    }


def question(content: object) -> Question:
    """Raises:
    Refusal: `replay_unreadable`, with the place.
    """
    if not isinstance(content, Mapping) or content.get("version") != VERSION:
        raise Refusal("replay_unreadable", why=f"version {VERSION}")
    try:
        return _question(content)
    except (msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
        raise Refusal("replay_unreadable", why=str(error)) from error


def _question(content: Mapping[str, Any]) -> Question:
    numbers = {_made(claim, Claim): _made(params, Params) for claim, params in content["numbers"]}
    return Question(
        bare=_made(content["bare"], tuple[Node, ...]),
        claims=_made(content["claims"], tuple[Claim, ...]),
        wish=_made(content["wish"], PlacementWish),
        backend=_made(content["backend"], str | None),
        holdings=_made(content["holdings"], tuple[Holding, ...]),
        about=About(**content["about"], numbers=numbers),
        known=_made(content["workers"], tuple[Node, ...]),
    )


def _plain(value: Any) -> Any:
    """Of fields alone: what a node has worked out beside them is no part of it."""
    plain = msgspec.to_builtins(value, order="deterministic", str_keys=True)
    return {field.name: plain[field.name] for field in fields(value)}


def _made(content: Any, kind: Any) -> Any:
    return msgspec.convert(content, kind, str_keys=True)
