"""What `workers show` says of the programs that were asked for devices."""

from gpustack_lite.cli.workers import tool_lines


def test_a_tool_that_answered_is_named_and_one_that_did_not_is_quoted_with_the_remedy() -> None:
    well = {"command": "nvidia-smi --query-gpu", "status": "pass", "said": None, "remedy": None}
    ill = {
        "command": "npu-smi info",
        "status": "fail",
        "said": {"code": "tool_hangs", "params": {}, "message": "It hangs."},
        "remedy": {"code": "remedy_tool_hangs", "params": {}, "message": "Reset it."},
    }
    lines = tool_lines([well, ill])
    assert lines[0].endswith("  nvidia-smi --query-gpu")
    assert lines[1].endswith("  It hangs.")
    assert lines[2].strip() == "Reset it."
