"""Names under every path of MindSpore's modules: what graphc has is found there, as `graphc.*` and as `mindspore.*`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

import graphc
from graphc import compat
from graphc.paths.table import MODULES

#: MindSpore 2.10's modules and the public names that each is for: tests/data/ms_modules.py.
NAMES = json.loads((Path(__file__).parents[1] / "data" / "ms_modules.json").read_text(encoding="utf-8"))
#: Where graphc has the public names of a package of MindSpore's, by the package.
HAS = {
    "mindspore.nn": ("graphc.nn",),
    "mindspore.ops": ("graphc.ops", "graphc.ops.primitives"),
    "mindspore.mint": ("graphc.mint", "graphc.mint.nn", "graphc.mint.nn.functional", "graphc.mint.optim", "graphc.mint.linalg"),
    "mindspore.numpy": ("graphc.numpy",),
    "mindspore.scipy": ("graphc.scipy.linalg", "graphc.scipy.fft", "graphc.scipy.optimize", "graphc.scipy.ops"),
    "mindspore.common": ("graphc",),
    "mindspore.train": ("graphc.train", "graphc.nn.metrics"),
    "mindspore.experimental": ("graphc.experimental.optim",),
}  # fmt: skip
#: Modules that graphc has not, though names that they are for stand for something else elsewhere.
OTHERS = {
    "mindspore.train.train_thor.dataset_helper": "of second-order training",
}
#: What of packages of layers is left out on purpose.
LEFT_OUT_OF_NN = ("GetNextSingleOp", "PipelineGradReducer", "VirtualDatasetCellTriple")
#: Modules with the name of a function of their package, which is what stands there.
FUNCTIONS = {"mindspore.train.data_sink", "mindspore.train.metrics.auc"}


@pytest.fixture
def _mindspore():
    compat.install()
    yield
    compat.uninstall()


def found(module, name):
    """Whether `from module import name` works."""
    try:
        exec(f"from {module} import {name}", {})
    except ImportError:
        return False
    return True


@pytest.mark.usefixtures("_mindspore")
def test_what_is_found_as_mindspore_is_found_as_graphc():
    lacking, seen = [], 0
    for module, names in NAMES.items():
        if module in MODULES and module not in FUNCTIONS:
            here = "graphc" + module.removeprefix("mindspore")
            for name in names:
                if found(module, name):
                    seen += 1
                    if not found(here, name) and not of_compat(module, name):
                        lacking.append(f"{here}.{name}")
    assert not lacking
    assert seen > 5000


def of_compat(module, name):
    """Whether only `import mindspore` has the name: it means nothing to who writes for graphc."""
    value = getattr(import_module(module), name)
    owners = (import_module(p) for p in MODULES[module] if not p.startswith("graphc.compat"))
    return not any(getattr(owner, name, None) is value for owner in owners if name in public(owner))


def public(module):
    return getattr(module, "__all__", dir(module))


def test_what_modules_import_for_themselves_is_not_had_of_them():
    providers = {provider for paths in MODULES.values() for provider in paths}
    assert [p for p in sorted(providers) if not hasattr(import_module(p), "__all__")] == []
    for name in (
        "operations.Any",
        "operations.math",
        "operations.Node",
        "auto_generate.convolution",
        "functional.clean",
    ):
        module, _, member = name.rpartition(".")
        assert not found(f"graphc.ops.{module}", member), name
    assert not {"Any", "np", "Node"} & set(dir(import_module("graphc.ops.operations")))


def test_names_that_graphc_has_have_mindspores_modules():
    has = {package: {n for m in modules for n in public(import_module(m))} for package, modules in HAS.items()}
    lacking = {}
    for module, names in NAMES.items():
        package = ".".join(module.split(".")[:2])
        if module not in MODULES and module not in OTHERS and (known := has.get(package, set()) & set(names)):
            lacking[module] = sorted(known)
    assert not lacking


def test_modules_with_files_complete_themselves_and_keep_their_loader():
    from graphc.nn.layer import conv, pooling

    assert conv.Conv2dTranspose is graphc.nn.Conv2dTranspose
    assert pooling.AdaptiveAvgPool2d is graphc.nn.AdaptiveAvgPool2d
    assert type(conv.__spec__.loader).__module__ != "graphc.paths.finders"
    assert not hasattr(conv, "annotations_of_nothing")
    with pytest.raises(ImportError, match=r"graphc.nn.layer.conv has no 'Conv2dTransposed'"):
        exec("from graphc.nn.layer.conv import Conv2dTransposed", {})


@pytest.mark.usefixtures("_mindspore")
def test_a_layer_that_has_the_name_of_a_metric():
    from mindspore import Tensor, nn
    from mindspore.nn.layer import CosineSimilarity

    x, y = Tensor([[1.0, 3.0, 4.0, 7.0], [0.0] * 4]), Tensor([[2.0, 4.0, 2.0, 5.0], [1.0] * 4])
    assert CosineSimilarity()(x, y).asnumpy() == pytest.approx([0.9402562, 0.0])
    assert CosineSimilarity(dim=0)(x, y).shape == (4,)
    assert nn.CosineSimilarity is nn.metrics.CosineSimilarity


@pytest.mark.usefixtures("_mindspore")
def test_batches_in_parts_under_both_their_names():
    from mindspore import nn
    from mindspore.parallel.nn import GradAccumulation, MicroBatchInterleaved, Pipeline, PipelineCell

    assert (GradAccumulation, MicroBatchInterleaved) == (nn.GradAccumulationCell, nn.MicroBatchInterleaved)
    assert Pipeline is PipelineCell is nn.PipelineCell


@pytest.mark.usefixtures("_mindspore")
def test_a_module_does_not_stand_for_itself():
    from mindspore.parallel import shard

    for call in (shard, graphc.parallel.shard):
        with pytest.raises(AttributeError, match=r"has no .*shard; use the function itself"):
            call(abs, in_strategy=((1,),))


def test_distributions_and_bijectors_have_modules_of_their_own():
    of = graphc.nn.probability
    assert import_module("graphc.nn.probability.distribution.normal").Normal is of.distribution.Normal
    assert import_module("graphc.nn.probability.distribution.distribution").Distribution is of.distribution.Distribution
    assert import_module("graphc.nn.probability.bijector.exp").Exp is of.bijector.Exp


@pytest.mark.usefixtures("_mindspore")
def test_the_module_of_cells_has_no_layers():
    assert found("mindspore.nn.cell", "Cell")
    assert found("mindspore.nn.cell", "Parameter")
    assert not found("mindspore.nn.cell", "Dense")


def test_a_provider_that_cannot_be_imported_is_said_to(tmp_path, monkeypatch):
    """Its AttributeError is not that of a name: Python drops these at `from module import name`."""
    (tmp_path / "broken_provider.py").write_text("import math\n\nmath.nothing\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(graphc._MODULE_OF, "odd_name", "broken_provider")
    monkeypatch.setitem(MODULES, "mindspore.hal.device", ("broken_provider",))
    for line in (
        "from graphc import odd_name",
        "from graphc.hal.device import odd_name",
        "import graphc; graphc.odd_name",
    ):
        with pytest.raises(
            ImportError, match="broken_provider cannot be imported: module 'math' has no attribute"
        ) as found:
            exec(line, {})
        assert isinstance(found.value.__cause__, AttributeError)


@pytest.mark.usefixtures("_mindspore")
@pytest.mark.parametrize("module", ["loss", "wrap", "grad", "sparse", "utils"])
def test_packages_of_layers_have_what_mindspores_have(module):
    of = import_module(f"mindspore.nn.{module}")
    assert set(NAMES[of.__name__]) - set(dir(of)) <= set(LEFT_OUT_OF_NN)
    assert not {"Dense", "Tensor", "P"} & set(dir(of))
    assert not found(of.__name__, "Dense")
    for name in set(NAMES[of.__name__]) - set(dir(of)):
        with pytest.raises(ImportError, match=r"; use "):
            exec(f"from {of.__name__} import {name}", {})


@pytest.mark.usefixtures("_mindspore")
def test_files_have_what_they_import_for_themselves():
    from mindspore import _checkparam, nn, ops
    from mindspore.common import dtype, initializer
    from mindspore.nn.layer.basic import P, Primitive, Tensor, Validator, constexpr, mstype
    from mindspore.nn.optim.adam import C, F, Optimizer, Parameter, opt_init_args_register
    from mindspore.nn.probability.distribution.normal import Cell, get_group_size, logger
    from mindspore.train.dataset_helper import ParallelMode, context

    assert (ops.operations, ops.functional, ops.composite) == (P, F, C)
    assert (Validator, mstype, logger) == (_checkparam, dtype, import_module("mindspore.log"))
    assert (Tensor, Parameter, Cell, Optimizer) == (graphc.Tensor, graphc.Parameter, nn.Cell, nn.Optimizer)
    assert (Primitive, constexpr) == (ops.Primitive, ops.constexpr)
    assert opt_init_args_register is import_module("mindspore.nn.optim.optimizer").opt_init_args_register
    assert (context.GRAPH_MODE, get_group_size(), ParallelMode) == (0, 1, graphc.parallel.ParallelMode)
    assert import_module("mindspore.nn.layer.conv").initializer is initializer.initializer
    assert import_module("graphc.nn.layer.basic").P is graphc.ops.operations


@pytest.mark.usefixtures("_mindspore")
@pytest.mark.parametrize("package", ["mindspore.nn", "mindspore.nn.layer", "mindspore.ops.operations", "mindspore.amp"])
def test_packages_do_not_have_what_files_import(package):
    assert not found(package, "P")
    assert not found(package, "mstype")
    assert "P" not in dir(import_module("mindspore.nn.optim.adam"))
