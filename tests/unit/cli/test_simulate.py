"""Files that describe a cluster and a workload, as people write them, and what is said of mistakes in them."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from gpustack_lite.cli import evaluate, simulate
from gpustack_lite.cli.output import Format
from gpustack_lite.cli.scenario import cluster, workload
from gpustack_lite.cli.scenery import wish_of
from gpustack_lite.errors import Refusal
from gpustack_lite.planning.evaluation import answer_document
from scheduler import Question, replay
from tests.unit.scheduler.factories import SPREAD, cards, claim

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_examples_of_the_page_fit(capsys: pytest.CaptureFixture[str]) -> None:
    simulate.simulate(EXAMPLES / "cluster.yaml", EXAMPLES / "workload.yaml", None, Format.JSON)
    found = json.loads(capsys.readouterr().out)
    assert found["fits"]
    devices = {each["name"]: [placed["devices"] for placed in each["placements"]] for each in found["models"]}
    assert [len(each) for each in devices["chat"]] == [2, 2]
    assert [len(each) for each in devices["summary"]] == [1]


def test_a_workload_that_does_not_fit_ends_with_1_and_says_who_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = (EXAMPLES / "workload.yaml").read_text().replace("replicas: 2", "replicas: 12")
    with pytest.raises(typer.Exit) as ended:
        simulate.simulate(EXAMPLES / "cluster.yaml", written(tmp_path / "w.yaml", more), None, Format.TABLE)
    assert ended.value.exit_code == 1
    assert "chat: 4 replicas do not fit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "code", "line", "where"),
    [
        ("workers: [", "scenario_no_yaml", 1, None),
        ("workers:\n  - device: 1x910B3-64G\n", "scenario_unknown_field", 2, "workers[0].device"),
        ("workers:\n  - name: a\n", "scenario_missing_field", 2, "workers[0]"),
        ("workers:\n  - devices: 1x910B3-64G\n    count: two\n", "scenario_wrong_kind", 3, "workers[0].count"),
        ("workers:\n  - devices: 1x910B3-64G\n    ram: much\n", "scenario_wrong_size", 3, "workers[0].ram"),
        ("workers:\n  - devices: 1x910B3-64G\n  - devices: 1x910B3-64G\n", "scenario_two_names", 3, "workers[1]"),
        ("", "scenario_wrong_kind", 1, "/"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, code: str, line: int, where: str | None) -> None:
    with pytest.raises(Refusal) as refused:
        cluster(written(tmp_path / "cluster.yaml", text))
    params = refused.value.params
    assert (refused.value.code, params["line"], params.get("where")) == (code, line, where)


@pytest.mark.parametrize(
    ("model", "where"),
    [
        ("replicas: -1", "models[0].replicas"),
        ("replicas: 1001", "models[0].replicas"),
        ("placement: {strategy: fastest}", "models[0].placement.strategy"),
        ("placement: {devices: [first]}", "models[0].placement.devices[0]"),
        ("placement: {priority: 1001}", "models[0].placement.priority"),
        ("traffic: {requests_per_second: -1}", "models[0].traffic.requests_per_second"),
        ("traffic: {requests_per_second: .nan}", "models[0].traffic.requests_per_second"),
        ("traffic: {requests_per_second: .inf}", "models[0].traffic.requests_per_second"),
        (
            "traffic: {requests_per_second: 1, measured: {prompt_tokens_per_second: 0}}",
            "models[0].traffic.measured.prompt_tokens_per_second",
        ),
    ],
)
def test_a_number_that_cannot_be_is_told_with_its_place(tmp_path: Path, model: str, where: str) -> None:
    path = written(tmp_path / "w.yaml", f'models: [{{name: a, source: "none:", backend: echo, {model}}}]')
    with pytest.raises(Refusal) as refused:
        workload(path, ())
    assert (refused.value.code, refused.value.params["where"]) == ("scenario_wrong_kind", where)


def test_traffic_that_no_number_of_replicas_serves_is_told_with_that_number(tmp_path: Path) -> None:
    traffic = "{requests_per_second: 1000000, prompt_tokens: 9, measured: {prompt_tokens_per_second: 3}}"
    text = f'models: [{{name: a, source: "none:", backend: echo, traffic: {traffic}}}]'
    with pytest.raises(Refusal) as refused:
        workload(written(tmp_path / "w.yaml", text), ())
    assert refused.value.code == "scenario_too_many_replicas"
    assert refused.value.params["replica_count"] == 3_000_000


def test_a_device_without_a_worker_is_refused_as_the_server_does() -> None:
    with pytest.raises(Refusal, match="device_address"):
        wish_of({"devices": ["first"]})


def test_workers_alike_are_numbered(tmp_path: Path) -> None:
    text = "workers:\n  - {name: box, count: 2, devices: 2x910B3-64G, ram: 1T, labels: {room: a}}\n"
    nodes = cluster(written(tmp_path / "cluster.yaml", text))
    assert [(node.name, len(node.devices), node.labels, node.ram_total_bytes) for node in nodes] == [
        ("box-1", 2, {"room": "a"}, 1024**4),
        ("box-2", 2, {"room": "a"}, 1024**4),
    ]


def recorded(tmp_path: Path, **changed: Any) -> Path:
    question = Question((cards("w1", 3, 20),), (claim(22),), SPREAD)
    content = {"question": replay.document(question), "answer": answer_document(question), **changed}
    return written(tmp_path / "decision.json", json.dumps(content))


def test_a_decision_that_was_written_down_is_answered_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulate.simulate(None, None, recorded(tmp_path), Format.TABLE)
    assert "the same as then" in capsys.readouterr().out


def test_another_answer_than_then_ends_with_1(tmp_path: Path) -> None:
    with pytest.raises(typer.Exit):
        simulate.simulate(None, None, recorded(tmp_path, answer={"placement": None}), Format.JSON)


def test_evaluate_needs_no_more_than_a_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configs = json.loads((Path(__file__).parents[2] / "fixtures" / "configs.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(configs["Qwen3-14B"]))
    evaluate.evaluate(str(tmp_path), simulate="8x910B3-64G", output=Format.JSON)
    found = json.loads(capsys.readouterr().out)
    assert (found["fits"], found["memory"]["device_count"]) == (True, 1)
    with pytest.raises(typer.Exit):
        evaluate.evaluate(str(tmp_path), simulate="1x910B4-32G", output=Format.TABLE)
    shown = capsys.readouterr().out
    assert "28.8 GiB" in shown
    assert "27.5" in shown
