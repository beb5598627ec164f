"""Names from the inside of MindSpore's modules: primitives of numbers and sequences, signatures, what training cells take."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from graphc.ops.operations import _scalar_ops as S
from graphc.ops.operations import _sequence_ops as Q

import graphc
from graphc import Parameter, Tensor, compat, nn, ops


@pytest.fixture
def names():
    """What mindspore's module of a path has, of graphc."""
    compat.install()
    yield lambda path, text: [getattr(import_module(f"mindspore.{path}"), name) for name in text.split()]
    compat.uninstall()


#: A primitive, its operands, and what MindSpore 2.10 gives.
CASES = [
    (S.ScalarAdd(), (7, 4), 11),
    (S.ScalarDiv(), (7, 4), 1.75),
    (S.ScalarMod(), (-7, 2), 1),
    (S.ScalarPow(), (7, 4), 2401),
    (S.ScalarFloorDiv(), (-7, 2), -4),
    (S.ScalarLog(), (3.0,), 1.0986122886681098),
    (S.bit_and(), (7, 4), 4),
    (Q.SequenceAdd(), ((1, 2), (3,)), (1, 2, 3)),
    (Q.SequenceCount(), ((1, 2, 1), 1), 2),
    (Q.SequenceIndex(), ((1, 2, 1), 2, 0, 3), 1),
    (Q.SequenceMax(), ((1, 5, 2),), 5),
    (Q.SequenceMul(), ((1, 2), 2), (1, 2, 1, 2)),
    (Q.SequenceSlice(), ((1, 2, 3, 4), 1, 4, 2), (2, 4)),
    (Q.InSequence(), (1, (1, 2)), True),
    (Q.SequenceZerosLike(), ((1, 2),), (0, 0)),
    (Q.tuple_lt(), ((1, 2), (1, 3)), True),
    (Q.tuple_greater_than(), ((1, 2), (1, 3)), False),
    (Q.ListAppend(), ([1, 2], 3), [1, 2, 3]),
    (Q.ListInsert(), ([1, 2], 0, 3), [3, 1, 2]),
    (Q.sequence_len(), ((1, 2, 3),), 3),
    (Q.SequenceSliceSetItem(), ((1, 2, 3, 4), (9, 8), 0, 2, 1), (9, 8, 3, 4)),
    (Q.TensorToList(), (Tensor([1.0, 2.0]),), [1.0, 2.0]),
]


@pytest.mark.parametrize(("primitive", "operands", "wanted"), CASES, ids=lambda x: type(x).__name__)
def test_numbers_and_sequences(primitive, operands, wanted):
    made = primitive(*operands)
    assert (type(made), made) == (type(wanted), wanted)


def test_sequences_of_tensors_in_a_compiled_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.stack, self.unstack, self.add = Q.SequenceStack(1), Q.SequenceUnstack(0), Q.SequenceAddN()

        def construct(self, x):
            rows = self.unstack(x)
            return self.stack(rows), self.add(Q.SequenceAdd()(rows, (rows[0],)))

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    stacked, total = Net()(Tensor(x))
    assert stacked.asnumpy().tolist() == x.T.tolist()
    assert total.asnumpy().tolist() == (2 * x[0] + x[1]).tolist()
    made = Q.TupleToTensor()((1, 2), graphc.float32)
    assert (made.dtype, made.asnumpy().tolist()) == (graphc.float32, [1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: S.ScalarAdd()("a", 1), "ScalarAdd: expected a number, got str"),
        (lambda: S.ScalarDiv()(1, 0), "ScalarDiv: y must not be 0"),
        (lambda: Q.SequenceAdd()((1,), [2]), "expected two tuples or two lists"),
        (lambda: Q.SequenceIndex()((1, 2), 7), "7 is not among"),
        (lambda: Q.SequenceAddN()((1, 2)), "expected a tuple of one or more tensors"),
        (lambda: Q.SequenceSliceSetItem()((1, 2, 3), (1,), 0, 3, 2), "SequenceSliceSetItem: "),
    ],
)
def test_what_does_not_fit_is_said(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call()


def test_eigh():
    from graphc.ops.operations.linalg_ops import Eigh

    x = np.array([[2.0, 9.0], [1.0, 3.0]], np.float32)
    values, vectors = Eigh()(Tensor(x))
    np.testing.assert_allclose(values.asnumpy(), np.linalg.eigvalsh(x), rtol=1e-6)
    np.testing.assert_allclose(vectors.asnumpy().T @ vectors.asnumpy(), np.eye(2), atol=1e-6)
    upper = Eigh(False, False)(Tensor(x))
    np.testing.assert_allclose(upper.asnumpy(), np.linalg.eigvalsh(x, UPLO="U"), rtol=1e-6)
    with pytest.raises(ValueError, match=r"Eigh: A is .* expected a square matrix"):
        Eigh()(Tensor(x[:1]))


def test_signatures_of_a_primitive_of_ones_own():
    from graphc.ops.signature import make_sig

    from graphc.ops import signature as sig

    class Twice(ops.Primitive):
        __mindspore_signature__ = (
            sig.make_sig("x", sig.sig_rw.RW_WRITE, dtype=sig.sig_dtype.T1),
            make_sig("y", default=1),
        )

        def __call__(self, x):
            return x + x

    assert Twice()(Tensor([1.0, 2.0])).asnumpy().tolist() == [2.0, 4.0]
    assert (sig.sig_rw.RW_WRITE, sig.sig_kind.KIND_KEYWORD_ONLY, sig.sig_dtype.T_EMPTY_DEFAULT_VALUE) == (1, 2, 10)
    assert make_sig("y", default=1).default == 1


def test_layers_of_mint_have_their_names_beneath_nn(names):
    from graphc.mint import nn as mint_nn

    assert names("nn.layer.activation", "SoftmaxExt") == [mint_nn.Softmax]
    wanted = [mint_nn.Fold, mint_nn.Unfold, mint_nn.Upsample]
    assert names("nn.layer.basic", "Fold UnfoldExt UpsampleExt") == wanted


def test_containers_of_ones_own(names):
    _valid_cell, _valid_index, _valid_index_for_inserting = names(
        "nn.layer.container", "_valid_cell _valid_index _valid_index_for_inserting"
    )
    assert _valid_cell(nn.ReLU())
    assert [_valid_index(3, k) for k in (-1, 0, 2)] == [2, 0, 2]
    assert _valid_index_for_inserting(3, 3) == 3
    for call, says in (
        (lambda: _valid_cell(1, "List"), "List: each cell must be a Cell, got int"),
        (lambda: _valid_index(3, "a"), "index must be an int"),
        (lambda: _valid_index(3, 3, "List"), "List: index 3 is out of range for 3 cells"),
    ):
        with pytest.raises((TypeError, IndexError), match=says):
            call()


def test_gradients_are_scaled_and_tested(names):
    _grad_scale, _grad_overflow = names("nn.wrap.loss_scale", "_grad_scale _grad_overflow")
    grads = (Tensor([2.0, 4.0]), Tensor(np.array([8.0], np.float16)))
    made = ops.HyperMap()(ops.Partial()(_grad_scale, Tensor(2.0)), grads)
    assert [(x.asnumpy().tolist(), x.dtype) for x in made] == [([1.0, 2.0], graphc.float32), ([4.0], graphc.float16)]
    status = ops.HyperMap()(_grad_overflow, (*grads, Tensor([float("inf")])))
    assert [x.asnumpy().tolist() for x in status] == [[0.0], [0.0], [1.0]]


def test_levels_of_mixed_precision(names):
    _add_loss_network, _config_level = names("train.amp", "_add_loss_network _config_level")
    assert [k for k, v in _config_level.items() if v["cast_model_type"] == graphc.float16] == ["O2", "O3"]
    assert [k for k, v in _config_level.items() if v["keep_batchnorm_fp32"]] == ["O2"]
    net, loss = nn.Dense(2, 1), nn.MSELoss()
    plain, cast = _add_loss_network(net, loss, graphc.float32), _add_loss_network(net, loss, graphc.float16)
    assert type(plain) is nn.WithLossCell
    halved = nn.Dense(2, 1).to_float(graphc.float16)
    x, y = Tensor(np.ones((3, 2), np.float32)), Tensor(np.ones((3, 1), np.float32))
    assert _add_loss_network(halved, loss, graphc.float16)(x, y).dtype == graphc.float32
    assert cast(x, y).asnumpy() == plain(x, y).asnumpy()


def test_entries_are_saved(tmp_path, names):
    (_exec_save,) = names("train.serialization", "_exec_save")
    entries = {
        "w": [[2, 2], "Float32", np.arange(4, dtype=np.float32)],
        "step": [[0], "Int32", np.array([7], np.int32)],
        "note": [[0], "str", "kept"],
    }
    _exec_save(str(tmp_path / "a.ckpt"), entries)
    made = graphc.load_checkpoint(str(tmp_path / "a.ckpt"))
    assert made["w"].asnumpy().tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert (made["step"].size, int(made["step"].asnumpy().item())) == (1, 7)
    assert made["note"] == "kept"
    assert isinstance(made["w"], Parameter)


def test_the_data_set_of_a_training_is_noted(names):
    (_get_training_dataset,) = names("dataset.engine.datasets", "_get_training_dataset")
    (_set_training_dataset,) = names("train.model", "_set_training_dataset")
    _set_training_dataset("data")
    assert _get_training_dataset() == "data"
    _set_training_dataset(None)


@pytest.mark.parametrize(
    ("path", "name", "use"),
    [
        ("nn.layer.thor_layer", "DenseThor", "nn.Dense"),
        ("nn.optim.tft_wrapper", "OptTFTWrapper", "ModelCheckpoint"),
        ("train.train_thor", "ConvertModelUtils", "Python's own classes"),
        ("train.callback._landscape", "SummaryLandscape", "SummaryCollector"),
        ("boost.less_batch_normalization", "LessBN", "nn.TrainOneStepCell"),
        ("parallel.checkpoint_transform", "transform_checkpoints", "save_checkpoint and load_checkpoint"),
        ("dataset.engine.cache_client", "DatasetCache", "the data set itself"),
    ],
)
def test_modules_of_which_all_is_left_out_say_what_to_use(path, name, use, names):
    with pytest.raises((AttributeError, ImportError), match=f"graphc has no mindspore.{path}.{name}; use {use}"):
        names(path, name)
