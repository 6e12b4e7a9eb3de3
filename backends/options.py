"""Checks what a user wrote in a model's `options` and `env` against what a backend knows."""

import difflib
import json
import math
import re
from collections.abc import Callable, Mapping
from functools import partial

from backends.base import Option, OptionKind
from gpustack_lite.domain import Options
from gpustack_lite.errors import Refusal

LONGEST_VALUE = 8192
LONGEST_TEXT = 65536
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")
_FORBIDDEN_VARIABLES = re.compile(
    r"^(GPUSTACK_LITE_.*|(CUDA|HIP|ROCR|ASCEND_RT|ASCEND|NPU|MLU|MUSA|NVIDIA|GGML_VK)_VISIBLE_DEVICES"
    # what loaders, interpreters and shells load or run before the engine begins
    r"|LD_.*|DYLD_.*|GLIBC_TUNABLES|MALLOC_.*|GCONV_PATH|LOCPATH|NLSPATH|PYTHON.*|PERL5.*|RUBY(OPT|LIB)|NODE_.*|CLASSPATH"
    r"|_?JAVA_.*|JDK_.*|SHELL|IFS|BASH_.*|ENV|PS4|PROMPT_COMMAND|EDITOR|PAGER|GIT_.*|SSH_.*|UV_.*|PIP_.*|SPT_NOENV"
    # libraries of vendors that load what these name
    r"|.*_INJECTION(64|32)?_PATH|OMP_TOOL.*|OPENSSL_.*|OCL_.*|VK_.*|GGML_BACKEND_PATH|NCCL_.*(PLUGIN|FILE).*"
    r"|ASCEND_.*(OPP|PATH|HOME).*|(TRITON|TORCH|TORCHINDUCTOR|TORCH_EXTENSIONS|CUDA|ROCM|HSA)_.*(PATH|DIR|LIB|HOME|TOOLS).*"
    # where it lives, and whom it speaks to
    r"|PATH|HOME|USER|LOGNAME|TMPDIR|TEMP|TMP|XDG_.*|.*_PROXY|SSL_.*|CURL_.*|REQUESTS_CA_BUNDLE)$",
    re.IGNORECASE,
)
"""Of a model's `env`; some runtimes read names in any case."""
_FLAG = re.compile(r"^[a-z][a-z0-9-]{2,63}$")
_WORDS = {"true": True, "on": True, "yes": True, "1": True, "false": False, "off": False, "no": False, "0": False}

OptionValue = int | float | bool | str


def checked(options: Options, known: Mapping[str, Option], forbidden: frozenset[str]) -> dict[str, OptionValue]:
    """The options with values of their kind; those that are null are left to the engine.

    Raises:
        Refusal: `option_not_allowed`, `option_unknown` or `option_invalid`.
    """
    return {
        name: value_of(_known(name, known, forbidden), value) for name, value in options.items() if value is not None
    }


def value_of(option: Option, value: object) -> OptionValue:
    """Text is accepted for every kind, because that is what a command line gives.

    Raises:
        Refusal: `option_invalid`.
    """
    made = _READERS[option.kind](value)
    if made is None or (option.choices and made not in option.choices):
        expected = " | ".join(option.choices) if option.choices else option.kind
        raise Refusal(
            "option_invalid", param=f"options.{option.name}", option=option.name, value=_shown(value), expected=expected
        )
    return made


def check_env(env: Mapping[str, str], forbidden: re.Pattern[str] | None = None) -> None:
    """Raises:
    Refusal: `env_invalid` or `env_not_allowed`.
    """
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name) or not isinstance(value, str) or _UNPRINTABLE.search(value):
            raise Refusal("env_invalid", param="env", name=str(name))
        if _FORBIDDEN_VARIABLES.fullmatch(name) or (forbidden is not None and forbidden.match(name)):
            raise Refusal("env_not_allowed", param=f"env.{name}", name=name)


def _known(name: str, known: Mapping[str, Option], forbidden: frozenset[str]) -> Option:
    if name in known:
        return known[name]
    param = f"options.{name}"
    if name.lstrip("-") in forbidden:
        raise Refusal("option_not_allowed", param=param, option=name)
    similar = difflib.get_close_matches(name[:64].lstrip("-").replace("_", "-"), known, n=3, cutoff=0.6)
    if similar:
        raise Refusal("option_unknown", param=param, option=name, similar=", ".join(similar))
    raise Refusal("option_unknown_here", param=param, option=name)


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"-?[0-9]{1,15}", value) else None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int(value) if isinstance(value, int | float) and abs(value) < 10**15 else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        made = float(value)
    except (ValueError, OverflowError):
        return None
    return made if math.isfinite(made) else None


def _yes_or_no(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return _WORDS.get(str(value).lower()) if isinstance(value, str | int) else None


def _text(value: object, *, switches: bool = False, longest: int = LONGEST_VALUE) -> str | None:
    """With `switches`, a YAML `on` or `off` (which YAML reads as a boolean) is the word again."""
    if isinstance(value, bool):
        return ("on" if value else "off") if switches else None
    if not isinstance(value, str | int | float):
        return None
    made = str(value)
    return None if len(made) > longest or _UNPRINTABLE.search(made) else made


def _json(value: object) -> str | None:
    try:
        made = json.dumps(json.loads(value) if isinstance(value, str) else value, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None
    return made if made.startswith("{") and len(made) <= LONGEST_VALUE else None


def _shown(value: object) -> str:
    return value if isinstance(value, str) else repr(value)[:200]


_READERS: Mapping[OptionKind, Callable[[object], OptionValue | None]] = {
    "int": _whole,
    "float": _number,
    "bool": _yes_or_no,
    "str": _text,
    "choice": partial(_text, switches=True),
    "json": _json,
    "text": partial(_text, longest=LONGEST_TEXT),
}


def passed(
    options: Options, known: Mapping[str, Option], forbidden: frozenset[str], suspect: frozenset[str]
) -> dict[str, OptionValue]:
    """As `checked`, but what is not known is passed on to the engine in the kind in which it was written.

    Refused are names that argparse could take for another: beginnings of names, underscores, and dotted parts.

    Raises:
        Refusal: `option_not_allowed`, `option_unknown` or `option_invalid`.
    """
    own = {name: value for name, value in options.items() if name in known}
    others = {name: value for name, value in options.items() if name not in known and value is not None}
    return {
        **checked(own, known, forbidden),
        **{name: _passed(name, value, known, forbidden, suspect) for name, value in others.items()},
    }


def unknown_of(options: Options, known: Mapping[str, Option]) -> tuple[str, ...]:
    """Those that are passed on unseen, for whoever shows what was asked."""
    return tuple(sorted(name for name, value in options.items() if name not in known and value is not None))


def _passed(
    name: str, value: object, known: Mapping[str, Option], forbidden: frozenset[str], suspect: frozenset[str]
) -> OptionValue:
    param = f"options.{name}"
    base = name.lstrip("-").replace("_", "-").partition(".")[0].removeprefix("no-")
    if base in forbidden or suspect.intersection(base.split("-")):
        raise Refusal("option_not_allowed", param=param, option=name)
    if not _FLAG.fullmatch(name) or any(each.startswith(name) for each in (*known, *forbidden)):
        return value_of(_known(name, known, forbidden), value)
    made = _of_its_kind(value)
    if made is None:
        raise Refusal("option_invalid", param=param, option=name, value=_shown(value), expected="int | float | bool")
    return made


def _of_its_kind(value: object) -> OptionValue | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.startswith("-"):
        return None  # a switch would leave it to be read as a flag of its own
    return next((made for read in (_whole, _number, _json, _text) if (made := read(value)) is not None), None)


def flags(values: Mapping[str, OptionValue]) -> tuple[str, ...]:
    """`--name=value`, so that no value is ever read as a flag; `--name` and `--no-name` for switches."""
    return tuple(_flag(name, value) for name, value in values.items())


def _flag(name: str, value: OptionValue) -> str:
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name}={value}"
