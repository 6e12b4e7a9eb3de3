"""The API reference as one plain page: no script and no file from elsewhere, so it works offline, under any policy."""

from collections.abc import Mapping
from html import escape
from typing import Any

METHODS = ("get", "post", "patch", "put", "delete")


def page(schema: Mapping[str, Any]) -> str:
    title = escape(schema["info"]["title"])
    sections = "".join(_path(path, operations) for path, operations in schema["paths"].items())
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title} {escape(schema['info']['version'])}</h1>"
        f'<p>For programs: <a href="/api/v1/openapi.json">openapi.json</a></p>{sections}</html>'
    )


def _path(path: str, operations: Mapping[str, Any]) -> str:
    return "".join(_operation(method, path, operations[method]) for method in METHODS if method in operations)


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    names = [each["name"] for each in operation.get("parameters", []) if each["in"] == "query"]
    parts = [
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>",
        f"<p>{escape(operation.get('description', operation.get('summary', '')))}</p>",
        f"<p>Query: <code>{escape(', '.join(names))}</code></p>" if names else "",
        _shape("Body", operation.get("requestBody", {})),
        *(_shape(f"Answer {status}", answer) for status, answer in operation.get("responses", {}).items()),
    ]
    return "".join(parts)


def _shape(label: str, described: Mapping[str, Any]) -> str:
    schema = described.get("content", {}).get("application/json", {}).get("schema", {})
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return f"<p>{escape(label)}: <code>{escape(name)}</code></p>" if name else ""
