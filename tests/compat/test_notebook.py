"""The programs of MindSpore's migration guide, cell by cell, unchanged: `graphc run --mindspore` runs them.

What the guide leaves to its reader stands around them: modules of one's own that it imports, and settings. One name that it
misspells is right here (`ckpt_cb`), and so is what its data set returns, after the cell as it is has been seen to fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"

FILES = {
    "src/__init__.py": "",
    "src/lenet.py": """
        from mindspore import nn

        class LeNet(nn.Cell):
            def __init__(self, num_classes):
                super().__init__()
                self.layers = nn.SequentialCell(
                    nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Conv2d(6, 16, 5, pad_mode="valid"),
                    nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(400, 84), nn.ReLU(), nn.Dense(84, num_classes),
                )

            def construct(self, x):
                return self.layers(x)
        """,
    "src/dataset.py": """
        import mindspore as ms
        import mindspore.dataset as ds
        from mindspore.dataset import transforms, vision

        def create_dataset(data_path, batch_size, usage="train"):
            data = ds.MnistDataset(data_path, usage=usage, shuffle=usage == "train")
            data = data.map([vision.Resize((32, 32)), vision.Rescale(1 / 255, 0), vision.HWC2CHW()], input_columns="image")
            one_hot = [transforms.TypeCast(ms.int32), transforms.OneHot(10), transforms.TypeCast(ms.float32)]
            data = data.map(one_hot, input_columns="label")
            return data.batch(batch_size, drop_remainder=True)
        """,
    "mindvision/__init__.py": "",
    "mindvision/classification/__init__.py": "",
    "mindvision/classification/models.py": """
        from src.lenet import LeNet

        def lenet(num_classes, pretrained):
            assert not pretrained
            return LeNet(num_classes)
        """,
}

FLOW = """
    from types import SimpleNamespace
    from mindspore.nn import Momentum, SoftmaxCrossEntropyWithLogits
    config = SimpleNamespace(device_target="CPU")
    data_path, batch_size, num_classes, lr, momentum, epoch_size, save_checkpoint_steps = "files", 32, 10, 0.002, 0.9, 8, 45

    from src.dataset import create_dataset
    from src.lenet import LeNet
    import mindspore as ms
    from mindspore.nn import Accuracy

    ms.set_seed(1)
    # set context, including device type, device number...
    ms.set_context(mode=ms.GRAPH_MODE, device_target=config.device_target)
    # 1. define dataset object
    ds_train = create_dataset(data_path, batch_size)
    # 2. define forward network
    network = LeNet(num_classes)
    # 3. define loss
    net_loss = SoftmaxCrossEntropyWithLogits()
    # 4. define optimizer
    net_opt = Momentum(network.trainable_params(), lr, momentum)
    # define callbacks
    config_ck = ms.CheckpointConfig(save_checkpoint_steps)
    ckpt_cb = ms.ModelCheckpoint(prefix="lenet", config=config_ck)
    loss_cb = ms.LossMonitor()

    # define model
    model = ms.Model(network, net_loss, net_opt, metrics={"Accuracy": Accuracy("multilabel")})
    # 5-7. start training
    model.train(epoch_size, ds_train, callbacks=[loss_cb, ckpt_cb])

    model = ms.Model(network, net_loss, metrics={"Loss": ms.nn.Loss()})
    print("held out", model.eval(create_dataset(data_path, batch_size, "test"))["Loss"])
"""

CELLS = """
    import numpy as np
    class MyDataset():
        \"\"\"Self Defined dataset.\"\"\"
        def __init__(self, n):
            self.data = []
            self.label = []
            for _ in range(n):
                self.data.append(np.zeros((3, 4, 5)))
                self.label.append(np.ones((1)))
        def __len__(self):
            return len(self.data)
        def __getitem__(self, idx):
            RETURNED

    import mindspore.dataset as ds

    my_dataset = MyDataset(100)
    # corresponding to torch.utils.data.DataLoader(my_dataset)
    dataset = ds.GeneratorDataset(my_dataset, column_names=["data", "label"])

    rows = 0
    for columns in dataset.create_dict_iterator(num_epochs=1):
        # type of columns is dict
        data = columns['data']
        label = columns['label']
        rows += 1
    for columns in dataset.create_tuple_iterator(num_epochs=1):
        # type of columns is tuple
        data = columns[0]
        label = columns[1]
        rows += 1
    print(rows, data.shape, data.dtype, label.shape)

    from mindspore import nn

    class GradNetWrtX(nn.Cell):
        def __init__(self, net):
            super(GradNetWrtX, self).__init__()
            self.net = net
            self.grad_op = GradOperation()
        def construct(self, x, y):
            gradient_function = self.grad_op(self.net)
            return gradient_function(x, y)

    from mindspore import Tensor
    from mindspore.ops import GradOperation

    class Product(nn.Cell):
        def construct(self, x, y):
            return x * y

    print(GradNetWrtX(Product())(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))

    from mindvision.classification.models import lenet
    import mindspore as ms

    lr = 0.01
    momentum = 0.9

    # define forward network
    network = lenet(num_classes=10, pretrained=False)

    # define loss
    net_loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean')
    # define optimizer
    net_opt = nn.Momentum(network.trainable_params(), lr, momentum)

    # define model
    model = ms.Model(network, net_loss, net_opt)

    images = ds.NumpySlicesDataset({"x": np.ones((8, 1, 32, 32), np.float32), "y": np.zeros(8, np.int32)}).batch(4)
    model.train(1, images, callbacks=ms.LossMonitor())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("guide")
    for name, text in FILES.items():
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    command = "import sys, pathlib; import mnist_files; mnist_files.write_files(pathlib.Path('files'))"
    subprocess.run([sys.executable, "-c", command], cwd=made, env=environment(EXAMPLES), check=True)
    return made


def environment(*folders):
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "codegen", *folders)))}


def run(folder, text):
    (folder / "program.py").write_text(textwrap.dedent(text))
    return subprocess.run(
        [sys.executable, "-m", "graphc", "run", "--mindspore", "program.py"],
        cwd=folder, env=environment(folder), capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_the_flow_of_a_training(folder):
    done = run(folder, FLOW)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 8 * 45 + 1
    assert lines[0].startswith("epoch: 1 step: 1, loss is ")
    assert lines[-2].startswith("epoch: 8 step: 45, loss is ")
    assert float(lines[-1].split()[-1]) < 1.0 < 2.0 < float(lines[0].split()[-1])
    files = sorted(p.name for p in folder.glob("lenet*.ckpt"))
    assert files == [f"lenet-{epoch}_45.ckpt" for epoch in range(4, 9)]  # The last five.


def test_the_cells(folder):
    done = run(folder, CELLS.replace("RETURNED", "return self.data[idx], self.label[idx]"))
    assert done.returncode == 0, done.stdout + done.stderr
    rows, gradient, *losses = done.stdout.splitlines()
    assert rows == "200 (3, 4, 5) Float64 (1,)"
    assert gradient == "[3. 4.]"
    assert [line.partition(", loss is")[0] for line in losses] == ["epoch: 1 step: 1", "epoch: 1 step: 2"]


def test_the_data_set_as_it_is_written(folder):
    """Its __getitem__ returns names that it has not got: the error says which row, and shows the line."""
    written = "self.data = self.data[idx]\n            self.label = self.label[idx]\n            return data, label"
    done = run(folder, CELLS.replace("RETURNED", written))
    assert done.returncode == 1
    assert "NameError: name 'data' is not defined" in done.stderr
    assert "GC200" in done.stderr
    assert "return data, label" in done.stderr
