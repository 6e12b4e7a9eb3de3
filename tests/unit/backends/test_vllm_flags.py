"""Every flag that we know or say is one that vLLM has, in both versions whose help is written down."""

from typing import Any

import pytest

from backends.vllm import VLLM
from backends.vllm_adapters import OPTION
from backends.vllm_options import FORBIDDEN, KNOWN
from tests.fakes.vllm_flags import FLAGS, VERSIONS, flags_of, parser, serving
from tests.unit.backends.vllm_lines import lines

_OLDER = frozenset({"grpc", "json-arg", "help"})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("option", [each for each in KNOWN.values() if each.name != OPTION], ids=lambda each: each.name)
def test_a_known_option_is_a_flag_of_its_kind(option: Any, version: str) -> None:
    kind = flags_of(version)[option.name]
    assert (kind in {"bool", "switch"}) == (option.kind == "bool")
    if option.choices and "|" in kind:
        assert set(option.choices) <= set(kind.split("|"))


def test_what_is_forbidden_is_a_flag_too() -> None:
    """So that the table says nothing of flags that are long gone; some are of subcommands or of both versions' past."""
    both = flags_of(VERSIONS[0]) | flags_of(VERSIONS[1])
    assert FORBIDDEN - set(both) <= _OLDER | {"kv-offloading-backend", "spec-model", "enable-ssl-refresh"}


def test_flags_of_one_version_only_are_passed_on_and_not_known() -> None:
    assert OPTION not in flags_of("0.32.0")
    assert not set(KNOWN) & (set(FLAGS["0.23.0"]) ^ set(FLAGS["0.32.0"]))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_command_line_is_one_that_vllm_takes(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the names and kinds of its help; its own parser is asked in tests/heavy/test_vllm_commands.py."""
    reads, made = parser(version), list(lines())
    for name, spec in made:
        try:
            reads.parse_args(serving(list(spec.argv)))
        except SystemExit:
            pytest.fail(f"{name}: {capsys.readouterr().err[-300:]}\n{spec.argv}")
    assert len(made) > 200


def test_a_flag_that_vllm_has_not_is_refused_by_the_fixture_too() -> None:
    with pytest.raises(SystemExit):
        parser("0.32.0").parse_args(["m", "--bogus=1"])
    assert VLLM.name == "vllm"
