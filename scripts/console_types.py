"""Writes the console's types of the management API, ui/src/api/schema.gen.ts, from the server's own OpenAPI."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from gpustack_lite.api.app import described

UI = Path(__file__).parents[1] / "ui"
TYPES = UI / "src" / "api" / "schema.gen.ts"


def types(node: str = "node") -> str:
    """The file as it should be; `node` is a program of version 20.19 or newer, the tools are those of `npm ci`."""
    with tempfile.TemporaryDirectory(prefix="types-") as folder:
        told, made = Path(folder, "openapi.json"), Path(folder, "schema.ts")
        told.write_text(json.dumps(described().openapi()), encoding="utf-8")
        program = UI / "node_modules" / "openapi-typescript" / "bin" / "cli.js"
        subprocess.run([node, program, told, "--output", made], cwd=UI, check=True, capture_output=True, text=True)
        return made.read_text(encoding="utf-8")


if __name__ == "__main__":
    TYPES.write_text(types(*sys.argv[1:]), encoding="utf-8")
