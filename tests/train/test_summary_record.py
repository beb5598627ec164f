"""SummaryRecord: numbers of a script's own as JSON lines, which `graphc report` reads."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, train
from graphc.report.runs import read_run


def lines(record):
    with open(record.log_dir, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_numbers_by_step(tmp_path, caplog):
    with graphc.SummaryRecord(tmp_path / "runs") as record:
        record.add_value("scalar", "loss", Tensor(3.0))
        record.add_value("scalar", "loss", Tensor(np.array([[0.5]], np.float32)))
        record.add_value("scalar", "accuracy", Tensor(7, "int32"))
        assert record.record(1)
        assert record.record(2)
        record.add_value("scalar", "loss", Tensor(np.inf))
        record.set_mode("eval")
        record.flush()
        assert record.record(3)
        record.add_value("scalar", "loss", Tensor(0.25))
        assert record.record(4, plugin_filter=lambda plugin: plugin != "scalar")
    run, *rest = lines(record)
    assert (tmp_path / "runs" / "events_MS.jsonl").samefile(record.log_dir)
    assert (run["kind"], run["schema"]) == ("run", 1)
    assert [(x["step"], x["metrics"]) for x in rest] == [(1, {"loss": 0.5, "accuracy": 7.0}), (3, {"loss": "inf"})]
    assert read_run(tmp_path / "runs" / "events_MS.jsonl").metrics["accuracy"] == [(1, 7.0)]
    with caplog.at_level(logging.ERROR, logger="graphc"):
        assert not record.record(5)
        record.flush()
    assert "is closed" in caplog.text
    with pytest.raises(ValueError, match="has been closed"):
        record.__enter__()
    again = train.SummaryRecord(tmp_path / "runs")
    assert again.log_dir.endswith("events_MS-2.jsonl")
    again.close()


def test_a_file_that_is_full_or_cannot_be_written(tmp_path, caplog, monkeypatch):
    record = train.SummaryRecord(tmp_path, "a", "z", max_file_size=1)
    record.add_value("scalar", "loss", Tensor(1.0))
    assert record.record(1)
    record.add_value("scalar", "loss", Tensor(1.0))
    assert record.record(2)
    assert len(lines(record)) == 1
    assert caplog.text.count("has reached max_file_size") == 1
    record.close()

    def fail(*_):
        raise OSError("no space")

    for raises in (False, True):
        record = train.SummaryRecord(tmp_path, raise_exception=raises)
        record.add_value("scalar", "loss", Tensor(1.0))
        with monkeypatch.context() as patch:
            patch.setattr("graphc.train.callbacks.summary_record.write_line", fail)
            if raises:
                with pytest.raises(OSError, match="no space"):
                    record.record(1)
            else:
                assert not record.record(1)
                assert "cannot be written: no space" in caplog.text
        record.close()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.add_value("image", "x", Tensor(1.0)), r"\[GC112\] SummaryRecord: plugin='image'"),
        (lambda r: r.add_value("number", "x", Tensor(1.0)), "plugin must be 'scalar'"),
        (lambda r: r.add_value("scalar", "", Tensor(1.0)), "name must be a non-empty string"),
        (lambda r: r.add_value("scalar", "x", 1.0), "value must be a Tensor"),
        (lambda r: r.add_value("scalar", "x", Tensor([1.0, 2.0])), "must have one element"),
        (lambda r: r.record("1"), "step must be an int"),
        (lambda r: r.record(1, train_network=3), "train_network must be a Cell or None"),
        (lambda r: r.set_mode("test"), "mode must be"),
        (lambda r: train.SummaryRecord(3), "log_dir must be a path"),
        (lambda r: train.SummaryRecord("s", file_prefix=3), "file_prefix must be a string"),
        (lambda r: train.SummaryRecord("s", network=nn.ReLU()), r"\[GC112\] SummaryRecord: network"),
        (lambda r: train.SummaryRecord("s", export_options={"tensor_format": "npy"}), r"\[GC112\].*export_options"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, call, message):
    monkeypatch.chdir(tmp_path)
    with train.SummaryRecord("s") as record, pytest.raises((TypeError, ValueError), match=message):
        call(record)
