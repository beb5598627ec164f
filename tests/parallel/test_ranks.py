"""Training in several processes, which mpiexec starts: what they compute, what they refuse, and how they end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parallel.launched import ROOT, mpiexec, needs_mpi, run


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What each process of a run of together.py has found, by number of processes; a second run by "again"."""
    here = tmp_path_factory.mktemp("together")

    @cache
    def found(ranks: int, again: bool = False) -> list[dict[str, Any]]:
        directory = here / f"{ranks}{again}"
        directory.mkdir()
        cache_dir = str(here / "cache")
        done = run(
            ranks, str(Path(__file__).with_name("together.py")), str(directory), str(again), cwd=here,
            GRAPHC_CACHE_DIR=cache_dir,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads((directory / f"{ranks}-{rank}.json").read_text()) for rank in range(ranks)]

    return found


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("buckets", ["buckets None", "buckets [1, 3]"])
def test_the_same_trajectory_as_one_process(found: Any, ranks: int, buckets: str) -> None:
    alone, several = found(1)[0][buckets], [each[buckets] for each in found(ranks)]
    for each in several:
        assert each["weights"] == several[0]["weights"]  # To the last bit.
        # Overflow in the first process's part: all skip, and halve the scale.
        assert each["seen"] == alone["seen"]
        np.testing.assert_allclose(each["weights"], alone["weights"], rtol=2e-4, atol=1e-6)
    assert [step[0] for step in alone["seen"]] == [False, False, False, True, False, False]
    assert several[0]["reductions"].count("AllReduceStart") == (1 if buckets == "buckets None" else 3)
    assert "AllReduce" not in several[0]["reductions"]
    assert alone["reductions"] == ["AllReduce"] * 4


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_gradients_that_travel_as_halves(found: Any, ranks: int) -> None:
    """Alone nothing travels. Several have the same bits, and skip the same steps as with float32."""
    alone, several = found(1)[0], [each["wire"] for each in found(ranks)]
    assert alone["wire"]["weights"] == alone["buckets None"]["weights"]
    for each in several:
        assert each["weights"] == several[0]["weights"] != found(ranks)[0]["buckets None"]["weights"]
        assert each["seen"] == alone["wire"]["seen"]
        np.testing.assert_allclose(each["weights"], alone["wire"]["weights"], rtol=0.02, atol=1e-3)
        assert each["reductions"] == ["AllToAllStart", "AllToAllWait"]


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_parts_of_gradients_travel_as_halves(found: Any, ranks: int) -> None:
    everybody = [each["shared"] for each in found(ranks)]
    exact = everybody[0]["Momentum"][0]
    for shared in (False, True):
        made = [each["narrow"][shared] for each in everybody]
        for each in made:
            assert each["weights"] == made[0]["weights"]
            assert each["seen"] == exact["seen"]
        np.testing.assert_allclose(made[0]["weights"], exact["weights"], atol=2e-3)
        assert made[0]["ops"].count("AllToAllStart") == (1 + shared)


@needs_mpi
def test_another_run_gives_the_same_bits_from_the_object_cache(found: Any) -> None:
    first, second = found(2), found(2, True)
    for a, b in zip(first, second, strict=True):
        assert a["buckets None"]["weights"] == b["buckets None"]["weights"]
        assert b["buckets None"]["hit"]
        assert a["dropout"] == b["dropout"]


#: Weight decay and the sum of a norm are rounded in another place or order.
ROUNDED = ("Momentum", "SGD", "clipped", "ASGD", "LARS")


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_updates_in_parts_are_those_of_the_whole(found: Any, ranks: int) -> None:
    everybody = [each["shared"] for each in found(ranks)]
    for name, (whole, shared) in ((n, pair) for n, pair in everybody[0].items() if len(pair) == 2 and n != "narrow"):
        assert shared["seen"] == whole["seen"]
        assert [step[0] for step in whole["seen"]] == [False, True, False, False]
        if name in ROUNDED:
            np.testing.assert_allclose(shared["weights"], whole["weights"], rtol=1e-5, atol=1e-7, err_msg=name)
        else:
            assert shared["weights"] == whole["weights"], name
        for other in everybody[1:]:
            assert other[name][1]["weights"] == shared["weights"]
        assert "JoinParts" not in shared["ops"]
        assert "SumPart" not in shared["ops"]
        assert {"AllGatherStart", "AllGatherWait"} <= set(shared["ops"])
        assert {"ReduceScatterStart", "ReduceScatterWait"} <= set(shared["ops"])
        # No gradient is reduced as a whole, but for one parameter with parallel_optimizer=False.
        assert shared["ops"].count("AllReduceStart") <= 2


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_state_of_an_optimizer_is_held_in_parts(found: Any, ranks: int) -> None:
    shapes = {"a.weight": 640, "a.bias": 32, "b.weight": 160, "b.bias": 5}
    for each in found(ranks):
        whole, shared = each["shared"]["Adam"]
        assert whole["state"] == {f"{m}.{p}": n for m in ("moment1", "moment2") for p, n in shapes.items()}
        parts = {p: n if p == "b.bias" else -(-n // ranks) for p, n in shapes.items()}
        assert shared["state"] == {f"{m}.{p}": n for m in ("moment1", "moment2") for p, n in parts.items()}
        # What the step needs beside it: no more than a bucket of gradients and one of parameters, with their copies.
        assert shared["nbytes"] <= whole["nbytes"] + 4 * 4 * (sum(shapes.values()) + ranks * len(shapes))
        (large,) = each["shared"]["large"]  # 2 KiB: a.weight alone has them.
        assert large["state"]["moment1.a.weight"] == -(-640 // ranks)
        assert large["state"]["moment1.b.weight"] == 160
        np.testing.assert_allclose(large["weights"], whole["weights"], rtol=1e-6)


@needs_mpi
def test_what_needs_whole_parameters_is_refused_in_parts(found: Any) -> None:
    for each in found(2):
        for kind in ("Lamb", "AdaFactor", "Own"):
            told = each["shared"][f"refused {kind}"]
            assert "[GC112]" in told
            assert "enable_parallel_optimizer=True is not available, its updates need whole parameters" in told


@needs_mpi
def test_what_could_differ_is_refused_with_the_reason(found: Any) -> None:
    for each in found(3):
        told = each["refused"]
        assert "[GC164] the update of 'a.weight'" in told["unreduced"]
        assert "grads = self.grad_reducer(grads)" in told["unreduced"]
        assert "is decided by this process's own data" in told["own flag"]
        assert "If talks to other processes, but each decides by its own data" in told["own turn"]
        assert "[GC191] rank 2 has another graph of TrainOneStepCell than rank 0" in told["shapes"]
        assert "rank 0:     %0 x: f32[4,20] = Input()" in told["shapes"]
        assert "rank 2:     %0 x: f32[5,20] = Input()" in told["shapes"]


@needs_mpi
def test_processes_drop_differently(found: Any) -> None:
    first, second = (each["dropout"] for each in found(2))
    assert first != second


SCRIPT = """
import numpy as np
import mindspore as ms
from mindspore import nn, ops
from mindspore.nn import Cell, DistributedGradReducer
from mindspore.communication import init, get_rank, get_group_size
from mindspore.parallel._utils import _get_device_num, _get_gradients_mean, _get_parallel_mode

class TrainOneStepCell(Cell):
    def __init__(self, network, optimizer, sens=1.0):
        super(TrainOneStepCell, self).__init__(auto_prefix=False)
        self.network = network
        # set require_grad=True for Parameters in network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights = self.optimizer.parameters
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)
        # set init value for back propagation
        self.sens = sens
        # reduce_flag, used in distributed training
        self.reducer_flag = False
        self.grad_reducer = ops.identity
        self.parallel_mode = _get_parallel_mode()
        self.reducer_flag = self.parallel_mode in (ms.ParallelMode.DATA_PARALLEL, ms.ParallelMode.HYBRID_PARALLEL)
        if self.reducer_flag:
            self.mean = _get_gradients_mean()
            # number of devices
            self.degree = _get_device_num()
            self.grad_reducer = DistributedGradReducer(self.weights, self.mean, self.degree)

    def construct(self, *inputs):
        # get the loss of forward
        loss = self.network(*inputs)
        # set init value for backward propagation
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        # perform backward propagation
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        grads = self.grad_reducer(grads)
        loss = ops.depend(loss, self.optimizer(grads))
        return loss

init()
rank, size = get_rank(), get_group_size()
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
ms.set_seed(3)
rng = np.random.default_rng(1)
images, labels = rng.normal(size=(24, 6)).astype(np.float32), rng.integers(0, 3, 24).astype(np.int32)
data = ms.dataset.NumpySlicesDataset((images, labels), shuffle=False, num_shards=size, shard_id=rank).batch(12 // size)
net = nn.Dense(6, 3)
loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
step = TrainOneStepCell(loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))
ms.Model(step).train(4, data, dataset_sink_mode=False)
ms.save_checkpoint(net, "net.ckpt")
shown = " ".join(x.hex() for x in net.weight.asnumpy().ravel()[:2].tolist())
print(f"weights {rank} {size} {shown}\\n", end="", flush=True)  # In one piece: both processes write.
try:
    ms.Model(step).train(1, data if rank else data.take(1), dataset_sink_mode=False)
except RuntimeError as error:
    print(f"told {str(error).splitlines()[0]}\\n", end="", flush=True)
"""


@needs_mpi
def test_the_listing_of_the_guide_trains_on_two_processes_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    lines = {}
    for ranks in (1, 2):
        done = run(ranks, "-m", "graphc", "run", "--mindspore", "train.py", cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        lines[ranks] = sorted(line.split() for line in done.stdout.splitlines() if line.startswith("weights"))
    first, second = lines[2]
    assert (first[1:3], second[1:3]) == (["0", "2"], ["1", "2"])
    assert first[3:] == second[3:]
    for a, b in zip(first[3:], lines[1][0][3:], strict=True):
        assert float.fromhex(a) == pytest.approx(float.fromhex(b), rel=1e-5)
    assert done.stdout.count("told [GC191] rank 1 has another number of batches than rank 0") == 2
    assert (tmp_path / "net.ckpt").exists()


RESUMED = """
import json, sys
import numpy as np
import graphc
from graphc import nn
from graphc.parallel import get_group_size, get_rank, init

first, out, shared = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "True"
init()
rank, size = get_rank(), get_group_size()
graphc.set_auto_parallel_context(
    parallel_mode="data_parallel", gradients_mean=True, enable_parallel_optimizer=shared,
    parallel_optimizer_config={"parallel_optimizer_threshold": 0},
)
graphc.set_seed(3)
rng = np.random.default_rng(1)
rows = np.arange(60, dtype=np.float32)
images, labels = rng.normal(size=(60, 5)).astype(np.float32), rng.integers(0, 3, 60).astype(np.int32)
images[:, 0] = rows
data = graphc.dataset.NumpySlicesDataset((images, labels), shuffle=False, num_shards=size, shard_id=rank).batch(12 // size)
net = nn.Dense(5, 3)
loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
step = nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.01)).set_train()
turn = 0
if first:
    saved = graphc.load_checkpoint(out)
    turn = int(saved["turn"].asnumpy())
    data.load_state_dict(saved["where"])
    graphc.load_param_into_net(step, saved)
iterator = data.create_tuple_iterator(num_epochs=-1)
seen = []
while turn < 8:
    for x, y in iterator:
        seen.append(sorted(x.asnumpy()[:, 0].astype(int).tolist()))
        step(x, y)
        turn += 1
        if turn == 3 and not first:
            graphc.save_checkpoint(step, out, append_dict={"turn": turn, "where": iterator.state_dict()})
        if turn == 8:
            break
with open(f"{size}-{rank}.json", "w") as file:
    json.dump([net.weight.asnumpy().ravel().tolist(), seen], file)
"""


@needs_mpi
@pytest.mark.parametrize("shared", [False, True])
def test_training_goes_on_with_another_number_of_processes(tmp_path: Path, shared: bool) -> None:
    """From the checkpoint of two processes, in the middle of an epoch, on one, two and three: the same rows, the same weights."""
    (tmp_path / "resumed.py").write_text(RESUMED)

    def train(ranks: int, first: int) -> tuple[list[float], list[list[int]]]:
        done = run(ranks, "resumed.py", str(first), "last.ckpt", str(shared), cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        found = [json.loads((tmp_path / f"{ranks}-{rank}.json").read_text()) for rank in range(ranks)]
        assert all(weights == found[0][0] for weights, _ in found)
        return found[0][0], [sorted(chain(*turn)) for turn in zip(*(seen for _, seen in found), strict=True)]

    whole, rows = train(2, 0)
    assert rows[:6] == [list(range(12 * k, 12 * k + 12)) for k in (0, 1, 2, 3, 4, 0)]
    same, again = train(2, 1)
    assert (same, again) == (whole, rows[3:])  # To the last bit.
    for ranks in (1, 3):
        weights, others = train(ranks, 1)
        assert others == rows[3:]
        np.testing.assert_allclose(weights, whole, rtol=1e-4, atol=1e-6)


#: Switches the network within a machine on or off, in the namespace that it runs in.
LOOPBACK = """
import fcntl, os, socket, struct, sys

def lo_is(up):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14s", b"lo", 0x49 if up else 0x48, b""))  # SIOCSIFFLAGS

if __name__ == "__main__":
    lo_is(True)
    os.execvp(sys.argv[1], sys.argv[1:])
"""

FAULTY = """
import os, signal, subprocess, sys
from loopback import lo_is
import numpy as np
import graphc
from graphc import Tensor, nn
from graphc.parallel import get_rank, init

init()
graphc.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
net = nn.WithLossCell(nn.Dense(6, 3), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)).set_train()
for turn in range(5):
    if turn == 3 and get_rank() == 1:
        if sys.argv[1] == "late":  # Who passes on what this one prints has no time for it.
            os.kill(os.getppid(), signal.SIGSTOP)
            subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -CONT {os.getppid()}"])
        if sys.argv[1] in ("raise", "late"):
            print("three steps")
            raise ValueError("a bad sample")
        if sys.argv[1] == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if sys.argv[1] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if sys.argv[1] == "leave":
            sys.exit(0)
        if sys.argv[1] == "cut":
            lo_is(False)
        if sys.argv[1] == "receive":
            graphc.ops.Receive(0, 0, [1], graphc.float32)()
    step(Tensor(np.ones((4, 6), np.float32)), Tensor(np.zeros(4, np.int32)))
print("done")
"""


@needs_mpi
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise", "graphc: rank 1 raised ValueError after step 3: a bad sample."),
        ("late", "graphc: rank 1 raised ValueError after step 3: a bad sample."),
        ("stop", "graphc: rank 1 has not answered for 3 s; the last completed step is 3."),
        ("leave", "has waited 3 s for the others after step 3, and rank 1 has come to its end"),
        ("receive", "waits, too: they do not make the same calls"),
        ("kill", ""),  # mpiexec itself says so.
    ],
)
def test_a_fault_of_one_process_ends_all(tmp_path: Path, fault: str, message: str) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    (tmp_path / "loopback.py").write_text(LOOPBACK)
    done = run(2, "faulty.py", fault, cwd=tmp_path, timeout=120, GRAPHC_RANK_TIMEOUT="3")
    assert done.returncode != 0
    assert "done" not in done.stdout
    assert message in done.stderr
    assert ("three steps" in done.stdout) == (fault in ("raise", "late"))
    assert done.stderr.count("All processes end") == (0 if fault == "kill" else 1)


def _has_namespaces() -> bool:
    """Whether this user may have a network of their own, and processes that can be made to talk by it."""
    version = subprocess.run([str(mpiexec()), "--version"], capture_output=True, text=True, check=False).stdout
    unshare = shutil.which("unshare")
    return "HYDRA" in version and bool(unshare) and not subprocess.run([unshare, "-n", "true"], check=False).returncode


@needs_mpi
def test_a_cut_network_ends_all(tmp_path: Path) -> None:
    """Two processes as on two machines: they talk by TCP, until that is cut."""
    if not _has_namespaces():
        pytest.skip("no MPICH, or no right to a network namespace: unshare -n")
    (tmp_path / "faulty.py").write_text(FAULTY)
    (tmp_path / "loopback.py").write_text(LOOPBACK)
    own = {
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        "MPIR_CVAR_NOLOCAL": "1",
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": "lo",
        "GRAPHC_SHARED_MEMORY": "0",
    }
    before = ("unshare", "-n", sys.executable, "loopback.py")
    done = run(2, "faulty.py", "cut", cwd=tmp_path, timeout=120, before=before, GRAPHC_RANK_TIMEOUT="3", **own)
    assert done.returncode != 0
    assert "done" not in done.stdout
    # What the other sent ahead of the cut may already be here: then this process ends one step later.
    said = r"has not answered for 3 s; the last completed step is [34]\. All processes end\."
    assert re.search(said, done.stderr), done.stderr


@needs_mpi
def test_the_command_starts_processes_and_starts_them_again(tmp_path: Path) -> None:
    """A process that is killed behind the first epoch: the others go on from there, and the same network comes out."""
    common = ("-m", "graphc", "train", "--epochs", "3", "--batch-size", "240", "--ranks", "2")
    assert run(1, *common, "--out", "whole", cwd=tmp_path).returncode == 0
    # What a run of one epoch less leaves behind is what a run that ends there does.
    killer = tmp_path / "sitecustomize.py"
    killer.write_text(
        "import os, pathlib, signal, threading, time\n"
        "def end():\n"
        "    while not pathlib.Path('again/last.ckpt').exists():\n"
        "        time.sleep(0.001)\n"
        "    pathlib.Path('killed').touch()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "rank = os.environ.get('PMI_RANK', os.environ.get('OMPI_COMM_WORLD_RANK'))\n"
        "if rank == '1' and not pathlib.Path('killed').exists():\n"
        "    threading.Thread(target=end, daemon=True).start()\n"
    )
    paths = os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "codegen")])
    done = run(1, *common, "--out", "again", "--max-restarts", "2", cwd=tmp_path, PYTHONPATH=paths)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "restart 1 of 2" in done.stderr
    assert "going on behind epoch" in done.stdout
    files = [(tmp_path / out / "lenet.safetensors").read_bytes() for out in ("whole", "again")]
    assert files[0] == files[1]


def test_one_of_several_processes_without_mpi4py_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "mpi4py.py").write_text("raise ImportError('not here')")
    code = "import graphc.parallel; graphc.parallel.init()"
    paths = os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "codegen")])
    done = run(1, "-c", code, cwd=tmp_path, PMI_RANK="0", PMI_SIZE="2", PYTHONPATH=paths)
    assert "pip install 'graphc[mpi]'" in done.stderr
