"""httpx without its command line program, which loads rich, click and pygments: four tenths of the time that it takes.

`from gpustack_lite.httpx_alone import httpx` in place of `import httpx`.
"""

import sys
from types import ModuleType

_PROGRAM = "httpx._main"


def _program() -> ModuleType:
    """What httpx looks for when it is imported."""

    def main() -> None:
        """Never called: `httpx` on a command line is a process of its own."""

    made = ModuleType(_PROGRAM)
    made.main = main  # type: ignore[attr-defined]
    return made


if "httpx" not in sys.modules:
    sys.modules[_PROGRAM] = _program()
    import httpx

    del sys.modules[_PROGRAM]
else:
    import httpx

__all__ = ["httpx"]
