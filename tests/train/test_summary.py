"""SummaryCollector: a run as JSON, line by line."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

import graphc
from graphc import nn, train
from graphc.train.callbacks import summary
from tests.train.conftest import Data, make, noise, parts, samples


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("sink", [False, True])
def test_summary_collector(tmp_path, sink):
    """Every line: the run, its steps with what they did, its epochs with their metrics, its end."""
    broken = noise(1, 12, 4)
    broken[5] = np.inf
    data = Data(broken, samples().columns[1])
    net, loss, optimizer = parts([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    manager = graphc.DynamicLossScaleManager(1024, 2, 100)
    model = train.Model(net, loss, optimizer, metrics={"acc": nn.Accuracy()}, loss_scale_manager=manager)
    collector = train.SummaryCollector(tmp_path / "runs", collect_freq=1, custom_lineage_data={"note": "a"})
    model.fit(2, data, samples(), callbacks=collector, dataset_sink_mode=sink)
    run, *rest, end = lines(collector.path)
    assert collector.path == tmp_path / "runs" / "run.jsonl"
    assert (run["kind"], run["schema"], run["network"], run["optimizer"]) == ("run", summary.SCHEMA, "Net", "Momentum")
    assert (run["parameters"], run["epochs"], run["steps_per_epoch"], run["custom"]) == (43, 2, 3, {"note": "a"})
    steps = [x for x in rest if x["kind"] == "step"]
    assert [s["step"] for s in steps] == [1, 2, 3, 4, 5, 6]
    assert [s["overflow"] for s in steps] == [False, True, False] * 2
    assert [s["scale"] for s in steps] == [1024, 512, 512, 512, 256, 256]
    # A step that overflows uses up no rate.
    assert [round(s["learning_rate"], 6) for s in steps] == [0.1, 0.2, 0.2, 0.3, 0.4, 0.4]
    assert all(s["seconds"] > 0 and s["memory"] > 10**7 for s in steps)
    epochs_ = [x for x in rest if x["kind"] == "epoch"]
    assert [e["epoch"] for e in epochs_] == [1, 2]
    assert epochs_[0]["metrics"].keys() == {"acc", "eval_loss"}
    assert (end["kind"], end["reason"], end["error"]) == ("end", "done", None)
    again = train.SummaryCollector(tmp_path / "runs", collect_freq=4, keep_default_action=False)
    model.train(1, samples(rows=4), callbacks=again, dataset_sink_mode=sink)
    assert again.path.name == "run-2.jsonl"
    assert [x["kind"] for x in lines(again.path)] == ["run", "epoch", "end"]
    assert lines(again.path)[0].keys() == {"kind", "schema", "time"}


def test_summary_of_a_run_that_fails(tmp_path):
    broken = noise(1, 12, 4) * np.nan
    collector = train.SummaryCollector(tmp_path, collect_freq=1)
    with pytest.raises(ValueError, match="loss is NAN"):
        make(lr=nn.ExponentialDecayLR(0.1, 0.5, 1)).train(
            2, Data(broken, samples().columns[1]), callbacks=[collector, train.LossMonitor()]
        )
    run, step, end = lines(collector.path)
    assert run["sink"] is False
    assert (step["loss"], step["overflow"], step["scale"]) == ("nan", None, None)
    assert step["learning_rate"] == pytest.approx(0.1)
    assert (end["reason"], end["error"][:11]) == ("error", "ValueError:")


def test_summary_of_limited_size(tmp_path, caplog):
    collector = train.SummaryCollector(tmp_path, collect_freq=1, max_file_size=600)
    with caplog.at_level(logging.WARNING, "graphc"):
        make().train(5, samples(), callbacks=collector)
    assert collector.path.stat().st_size < 3000
    assert sum("has reached max_file_size" in r.getMessage() for r in caplog.records) == 1
    assert [x["kind"] for x in lines(collector.path)][-1] == "end"
