"""Run by the Python of a vLLM: asks its own parser about command lines, in one process, for importing it is slow.

In: a JSON list of what follows `vllm serve`. Out, on the last line: a list with null, or why not, for each.
"""

import contextlib
import io
import json
import sys

from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.reasoning import ReasoningParserManager
from vllm.tool_parsers import ToolParserManager
from vllm.utils.argparse_utils import FlexibleArgumentParser

try:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
except ImportError:
    from vllm.entrypoints.openai.cli_args import make_arg_parser, validate_parsed_serve_args


def why_not(parser: FlexibleArgumentParser, argv: list[str]) -> str | None:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            found = parser.parse_args(argv)
            validate_parsed_serve_args(found)
            found.model = found.model_tag
            AsyncEngineArgs.from_cli_args(found)
    except SystemExit:
        return said.getvalue()[-400:]
    except Exception as error:  # noqa: BLE001  # whatever it says is the answer
        return f"{type(error).__name__}: {error}"
    return unknown(found.tool_call_parser, ToolParserManager) or unknown(found.reasoning_parser, ReasoningParserManager)


def unknown(name: str | None, manager: object) -> str | None:
    """The parser itself takes any name and fails later."""
    return f"{name} is not registered" if name and name not in manager.list_registered() else None


def main() -> None:
    parser = make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
    print("\n" + json.dumps([why_not(parser, argv) for argv in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
