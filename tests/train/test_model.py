"""Model: training, evaluation and prediction against MindSpore's record and against plain loops, and what it refuses."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import graphc
from graphc import Tensor, amp, nn, train
from graphc.errors import ArgumentTypeError, ArgumentValueError, UntrainedWarning
from tests.train.conftest import RECORDED, Data, Events, Net, make, noise, parts, same, samples, weights


def test_as_recorded(tmp_path):
    """The recorded training: order of events, losses, files and their entries, weights, accuracy."""
    model = make(metrics={"Accuracy": nn.Accuracy()})
    events = Events()
    config = train.CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=3)
    kept = train.ModelCheckpoint("mlp", str(tmp_path / "out"), config)
    model.train(3, samples(), callbacks=[events, kept], dataset_sink_mode=False)
    assert events.events == RECORDED["events"]
    # MindSpore's tanh is good to 1.5e-5.
    np.testing.assert_allclose(events.losses, RECORDED["loss"], rtol=5e-5)
    files = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert files == RECORDED["ckpt_files"]
    entries = {k: list(v.shape) for k, v in graphc.load_checkpoint(tmp_path / "out" / files[-1]).items()}
    assert entries == RECORDED["ckpt_entries"]
    assert kept.latest_ckpt_file_name == str(tmp_path / "out" / "mlp-3_3.ckpt")
    assert model.eval(samples(), dataset_sink_mode=False) == RECORDED["acc"]
    np.testing.assert_allclose(model.predict_network.fc1.weight.asnumpy().reshape(-1), RECORDED["w"], atol=3e-4)


def test_is_the_plain_loop():
    """The bits of a loop that calls the training cell."""
    model = make()
    model.train(2, samples())
    net, loss, optimizer = parts()
    cell = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train()
    for _ in range(2):
        for x, y in samples():
            cell(Tensor(x), Tensor(y))
    assert same(weights(model), {p.name: p.asnumpy() for p in cell.get_parameters()})


@pytest.mark.parametrize("sink", [False, True])
def test_ready_training_cells(sink):
    """A cell with loss scale trains as it is; its outputs reach the callbacks."""
    net, loss, optimizer = parts()
    manager = nn.DynamicLossScaleUpdateCell(1024, 2, 4)
    cell = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, loss), optimizer, manager)
    events = Events()
    model = train.Model(cell)
    model.train(2, samples(), callbacks=events, dataset_sink_mode=sink)
    assert model.train_network is cell
    assert len(events.losses) == (2 if sink else 6)
    assert float(cell.scale_sense.asnumpy()) == 2048


class OwnCell(graphc.Model):
    """A Model that makes its training cell as published ones do: by MindSpore's name, from what the base makes."""

    def _build_train_network(self):
        self.made = super()._build_train_network()
        return self.made


def test_a_subclass_makes_the_training_cell():
    model, own = make(), OwnCell(*parts())
    assert own.train_network is own.made
    for each in (model, own):
        each.train(2, samples())
    assert same(weights(own), weights(model))


def test_loss_scale_manager_and_amp_level():
    net, loss, optimizer = parts()
    manager = amp.FixedLossScaleManager(128.0, drop_overflow_update=True)
    model = train.Model(net, loss, optimizer, amp_level="O2", loss_scale_manager=manager, keep_batchnorm_fp32=False)
    assert isinstance(model.train_network, nn.TrainOneStepWithLossScaleCell)
    seen = []
    model.train(
        1, samples(), callbacks=train.LambdaCallback(on_train_step_end=lambda c: seen.append(c.original_args()))
    )
    assert seen[0].net_outputs[2].asnumpy() == 128
    assert seen[0].loss_scale_mananger is manager
    dynamic = amp.DynamicLossScaleManager(1024, 2, 2)
    train.Model(*parts(), loss_scale_manager=dynamic).train(1, samples())
    assert dynamic.get_loss_scale() == 2048  # Counted on the host as well: two steps of three have passed the window.


def test_every_parameter_of_the_run():
    """What scripts read of cb_params, at every stage."""
    stages = {}

    class Look(train.Callback):
        def on_train_begin(self, run_context):
            stages["begin"] = dict(run_context.original_args())

        def on_train_step_begin(self, run_context):
            stages.setdefault("step_begin", dict(run_context.original_args()))

        def on_train_step_end(self, run_context):
            stages.setdefault("step_end", dict(run_context.original_args()))

        def on_eval_step_end(self, run_context):
            stages.setdefault("eval_step", dict(run_context.original_args()))

        def on_eval_end(self, run_context):
            stages["eval_end"] = dict(run_context.original_args())

        def on_train_epoch_end(self, run_context):
            stages["epoch_end"] = dict(run_context.original_args())

        def on_train_end(self, run_context):
            stages["end"] = dict(run_context.original_args())

    look, data, valid = Look(), samples(), samples(rows=8)
    model = make(metrics={"acc"})
    model.fit(3, data, valid, callbacks=look, initial_epoch=1)
    begin = stages["begin"]
    assert begin["train_network"] is model.train_network
    assert begin["network"] is model.predict_network
    assert (begin["epoch_num"], begin["batch_num"], begin["mode"]) == (2, 3, "train")
    assert begin["optimizer"] is model.train_network.optimizer
    assert isinstance(begin["loss_fn"], nn.SoftmaxCrossEntropyWithLogits)
    assert (begin["parallel_mode"], begin["device_number"]) == ("stand_alone", 1)
    assert begin["train_dataset"] is data
    assert begin["list_callback"] == [look]
    assert (begin["cur_step_num"], begin["dataset_sink_mode"], begin["train_dataset_element"]) == (0, False, None)
    assert begin["last_save_ckpt_step"] is None
    first = stages["step_begin"]
    assert (first["cur_epoch_num"], first["cur_step_num"], first["net_outputs"]) == (2, 1, None)
    np.testing.assert_array_equal(first["train_dataset_element"][0].asnumpy(), data.columns[0][:4])
    assert stages["step_end"]["net_outputs"].shape == ()
    seen = stages["eval_step"]
    assert (seen["mode"], seen["batch_num"], seen["cur_step_num"]) == ("eval", 2, 1)
    assert seen["valid_dataset"] is valid
    assert seen["eval_network"] is model.eval_network
    assert len(seen["net_outputs"]) == 3
    assert stages["eval_end"]["metrics"] == stages["epoch_end"]["metrics"]
    assert stages["epoch_end"]["eval_results"].keys() == {"acc", "eval_loss"}
    assert (stages["epoch_end"]["mode"], stages["epoch_end"]["cur_step_num"]) == ("train", 6)
    assert "metrics" not in stages["end"]
    with pytest.raises(AttributeError, match="this run has no 'nothing'"):
        _ = train.RunContext(train.context.CallbackParams(x=1)).original_args().nothing
    with pytest.raises(KeyError):
        _ = train.context.CallbackParams().nothing


def test_fit_evaluates_when_it_is_asked_to(capsys):
    model = make(metrics={"acc": nn.Accuracy(), "loss": nn.Loss()})
    seen = []
    look = train.LambdaCallback(
        on_train_epoch_end=lambda c: seen.append(c.original_args().get("eval_results", {}).get("eval_loss"))
    )
    model.fit(4, samples(), samples(), valid_frequency=2, callbacks=[look, train.LossMonitor(3)])
    assert [x is None for x in seen] == [True, False, True, False]
    values = model.eval(samples())
    assert values["loss"] == seen[3]
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("Eval result: epoch 2, metrics: {'acc': ")
    seen.clear()
    model.fit(3, samples(), samples(), valid_frequency=[1, 3], callbacks=look)
    assert [x is None for x in seen] == [False, True, False]


@pytest.mark.parametrize("sink", [False, True])
def test_modes_in_fit(sink):
    """Steps run in training mode, also after an evaluation, which runs in the other one."""
    modes = []
    model = make(metrics={"acc"})
    note = train.LambdaCallback(**{
        f"on_{kind}_step_end": lambda c, kind=kind: modes.append((kind, model.predict_network.fc1.training))
        for kind in ("train", "eval")
    })  # fmt: skip
    model.fit(2, samples(rows=4), samples(rows=4), callbacks=note, dataset_sink_mode=sink)
    assert modes == [("train", True), ("eval", False)] * 2


@pytest.mark.parametrize("sink", [False, True])
@pytest.mark.parametrize("hook", ["on_train_step_end", "on_train_epoch_end"])
@pytest.mark.parametrize("look", [lambda m: m.eval(samples(rows=4)), lambda m: m.predict(Tensor(noise(1, 4, 4)))])
def test_a_callback_that_evaluates_leaves_training_as_it_was(sink, hook, look):
    """Every step runs in training mode, as if nobody had looked."""
    plain, looked_at = make(metrics={"acc"}), make(metrics={"acc"})
    plain.train(3, samples(rows=8), dataset_sink_mode=sink)
    modes = []
    note = train.LambdaCallback(on_train_step_end=lambda c: modes.append(looked_at.predict_network.fc1.training))
    after = train.LambdaCallback(**{hook: lambda c: look(looked_at)})
    looked_at.train(3, samples(rows=8), callbacks=[note, after], dataset_sink_mode=sink)
    assert len(modes) == (3 if sink else 6)
    assert all(modes)
    assert same(weights(looked_at), weights(plain))


def test_evaluation_is_by_definition():
    model = make(metrics={"acc", "loss"})
    net, x, y = model.predict_network, *samples().columns
    logits = model.predict(Tensor(x)).asnumpy().astype(np.float64)
    log = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    values = model.eval(samples())
    assert values["acc"] == (logits.argmax(axis=1) == y).mean()
    assert values["loss"] == pytest.approx(-log[np.arange(12), y].mean(), rel=1e-6)
    assert not net.training


def test_an_evaluation_network_of_ones_own():
    class Evaluated(nn.Cell):
        def __init__(self, net):
            super().__init__(auto_prefix=False)
            self.net = net

        def construct(self, x, y):
            return y, self.net(x), x

    net = Net()
    indexed = train.Model(net, eval_network=Evaluated(net), eval_indexes=[2, 1, 0], metrics={"acc"})
    plain = make(metrics={"acc"})
    assert indexed.eval(samples()) == plain.eval(samples())
    chosen = nn.Accuracy().set_indexes([1, 0])
    assert train.Model(net, eval_network=Evaluated(net), metrics={"acc": chosen}).eval(samples()) == plain.eval(
        samples()
    )
    short = train.Model(net, eval_network=net, eval_indexes=[0, 1, 2], metrics={"acc"})
    with pytest.raises(ArgumentValueError, match=r"returns 1 results, a tuple with the places \[0, 1, 2\]"):
        short.eval(Data(noise(1, 4, 4)))


def test_data_sets_of_other_kinds():
    """Lists of tuples, of dicts, and a network that takes one column: the same numbers as from the data set."""
    want = Events()
    make().train(2, samples(), callbacks=want)
    for dataset in ([*samples()], [{"x": x, "y": Tensor(y)} for x, y in samples()]):
        events = Events()
        make().train(2, dataset, callbacks=events)
        assert events.losses == want.losses

    class Alone(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(4, 1)

        def construct(self, x):
            return self.fc(x).sum()

    net = Alone()
    train.Model(net, optimizer=nn.SGD(net.trainable_params(), 0.1)).train(1, [noise(1, 4, 4)])


def test_a_partial_batch_is_said_once(caplog):
    model = make()
    with caplog.at_level(logging.WARNING, "graphc"):
        model.train(2, samples(rows=10))
        model.train(1, samples(rows=10), dataset_sink_mode=True)
    assert [r.getMessage() for r in caplog.records] == [
        "a batch has 2 rows instead of 4, which is one more compilation; batch(..., drop_remainder=True) "
        "leaves out the last rows of an epoch"
    ]


def test_build_compiles_and_changes_nothing():
    model = make(metrics={"acc"})
    before = weights(model)
    model.build(samples(), samples(), epoch=2)
    assert same(before, weights(model))
    with graphc.debug(signatures=1):
        model.train(1, samples())
    assert not same(before, weights(model))


def test_request_stop_ends_the_epoch():
    events = Events()
    stop = train.LambdaCallback(on_train_step_end=lambda c: c.original_args().cur_step_num == 2 and c.request_stop())
    make().train(3, samples(), callbacks=[events, stop])
    assert events.events == ["train_begin", "epoch_begin", "step_end 1/1", "step_end 1/2", "epoch_end", "train_end"]


def test_older_hooks():
    """begin, step_end and so on are called for both; fit refuses them."""
    calls = []

    class Old(train.Callback):
        def begin(self, run_context):
            calls.append("begin")

        def step_end(self, run_context):
            calls.append("step_end")

        def end(self, run_context):
            calls.append("end")

    model = make(metrics={"acc"})
    model.train(1, samples(), callbacks=Old())
    model.eval(samples(), callbacks=[Old()])
    assert calls == ["begin", *["step_end"] * 3, "end"] * 2
    with pytest.raises(
        ValueError, match=r"Old defines begin, step_end, end: in fit[\s\S]*help: name it on_train_begin"
    ):
        model.fit(1, samples(), callbacks=Old())


class Empty:
    def get_dataset_size(self):
        return 0


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: train.Model(3), TypeError, "Model: network must be a Cell, got int"),
        (lambda: make(metrics=["acc"]), TypeError, "metrics must be a dict of metrics, a set of names or None"),
        (lambda: make(keep=1), ValueError, "Model has no argument 'keep'"),
        (lambda: train.Model(Net(), None, "sgd"), TypeError, "Model: optimizer must be an Optimizer, got str"),
        (lambda: make(amp_level="O9"), ValueError, "level must be one of O0, O1, O2, O3"),
        (lambda: make(boost_level="O1"), ValueError, r"\[GC112\] Model: boost_level='O1' is not supported"),
        (lambda: make(boost_config_dict={"mode": 1}), ValueError, "boost_config_dict"),
        (lambda: train.Model(Net(), amp_level="O2"), ValueError, "amp_level='O2' needs an optimizer"),
        (lambda: make(eval_indexes=[0, 1]), ValueError, "a list of three ints"),
        (lambda: train.Model(Net(), metrics={"acc"}), ValueError, "metrics need a loss_fn"),
        (lambda: make().train(0, samples()), ValueError, "epoch must be at least 1, got 0"),
        (lambda: make().train("3", samples()), TypeError, "epoch must be an int, got str"),
        (lambda: make().train(2, samples(), initial_epoch=2), ValueError, "epoch must be greater than initial_epoch"),
        (lambda: make().train(1, None), TypeError, "train_dataset must be a data set, got NoneType"),
        (lambda: make().train(1, iter([])), TypeError, "must be a data set, got list_iterator"),
        (lambda: make().train(1, Empty()), ValueError, r"\[GC210\] Model.train: train_dataset is empty"),
        (lambda: make().train(1, samples(), dataset_sink_mode=1), TypeError, "dataset_sink_mode must be a bool"),
        (lambda: make().train(1, samples(), sink_size=0), ValueError, "sink_size must be an int >= 1, or -1"),
        (lambda: make().train(1, samples(), callbacks=3), TypeError, "callbacks must be a Callback or a list of them"),
        (
            lambda: make().train(1, samples(), callbacks=[train.History]),
            TypeError,
            r"help: give an instance: History\(\)",
        ),
        (lambda: make().train(1, Data(noise(1, 4, 4))), ValueError, r"must give \(data, label\), it gives 1 column"),
        (lambda: make().train(1, [("a", "b")]), TypeError, "the data set gives str among its columns"),
        (lambda: make().eval(samples()), ValueError, "Model.eval: the Model has no metrics"),
        (lambda: make().fit(1, samples(), samples()), ValueError, "Model.fit: the Model has no metrics"),
        (lambda: make(metrics={"acc"}).fit(1, samples(), samples(), valid_frequency="2"), TypeError, "valid_frequency"),
        (
            lambda: make().predict(np.zeros(3)),
            TypeError,
            "inputs must be Tensors, numbers, strings or None, got ndarray",
        ),
        (lambda: make().predict(Tensor(np.zeros((0, 4)))), ValueError, "an input has no elements"),
        (
            lambda: make().predict(Tensor(noise(1, 4, 4)), backend="lite"),
            ValueError,
            r"\[GC112\] Model.predict: backend",
        ),
        (lambda: make().build(), TypeError, "a train_dataset or a valid_dataset is needed"),
        (lambda: train.RunContext([]), TypeError, "original_args must be a dict"),
    ],
)
def test_refused(call, kind, text):
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, (ArgumentTypeError, ArgumentValueError))
    assert len(str(caught.value).splitlines()) <= 15


def test_modules_of_mindspores_names():
    """What follows `from mindspore.train.` in scripts follows `from graphc.train.` as well."""
    from graphc.train import amp as half
    from graphc.train.callback import LossMonitor, RunContext
    from graphc.train.metrics import Accuracy, names
    from graphc.train.model import Model
    from graphc.train.serialization import save_checkpoint

    assert (LossMonitor, RunContext, Model) == (train.LossMonitor, train.RunContext, graphc.Model)
    assert (Accuracy, names, save_checkpoint) == (nn.Accuracy, nn.names, graphc.save_checkpoint)
    assert half.build_train_network is amp.build_train_network


def test_a_model_that_trains_nothing():
    net, loss, _ = parts(0.5)
    with pytest.warns(UntrainedWarning, match=r"\[GC210\] Model.train: the Model has a loss_fn and no optimizer"):
        train.Model(net, loss).train(1, samples())
