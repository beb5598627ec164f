"""What dataset.dataloader of MindSpore 2.10 gives: writes ms_dataloader.json beside this file.

usage: python ms_dataloader.py, where MindSpore is installed on two processors or more. tests/dataset/test_dataloader.py runs the
same programs on graphc: functions of the module `ms`, which give JSON values.
"""

import collections
import json
import pathlib
import random

import numpy as np

Pair = collections.namedtuple("Pair", "a b")


def drawn(seed=3):
    return np.random.default_rng(seed)


def plain(value):
    """JSON of a value that tells types, dtypes and shapes apart."""
    if hasattr(value, "asnumpy"):
        return ["Tensor", str(value.dtype), list(value.shape), value.asnumpy().tolist()]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [type(value).__name__, [plain(item) for item in value]]
    if isinstance(value, np.ndarray):
        return ["array", str(value.dtype), value.tolist()]
    return [type(value).__name__, value.decode() if isinstance(value, bytes) else value]


def sources(ms):
    """Classes of data sets over the module's bases."""
    loader = ms.dataset.dataloader

    class Mapped(loader.Dataset):
        def __init__(self, n):
            self.n = n

        def __getitem__(self, i):
            return {"x": np.array([i, i * 2], np.float32), "y": i, "f": i / 2, "s": str(i)}

        def __len__(self):
            return self.n

    class Iterated(loader.IterableDataset):
        def __init__(self, n, share):
            self.n, self.share = n, share

        def __iter__(self):
            worker = loader.get_worker_info()
            if worker is None or not self.share:
                return iter(range(self.n))
            return iter(range(worker.id, self.n, worker.num_workers))

        def __len__(self):
            return self.n

    class Random(loader.Dataset):
        def __getitem__(self, i):
            worker = loader.get_worker_info()
            return [int(np.random.randint(0, 1000)), random.randint(0, 1000), worker.id, worker.seed % 1000]

        def __len__(self):
            return 6

    return Mapped, Iterated, Random


def numbers(samples):
    return [sample["y"] for sample in samples]


def seeded(worker):
    np.random.seed(worker)


def batches(ms, **given):
    """Two passes over a data set whose samples have numbers."""
    loader = ms.dataset.dataloader.DataLoader(sources(ms)[0](5), **given)
    return [len(loader), plain(list(loader)), plain(list(loader))]


def iterated(ms, share, **given):
    loader = ms.dataset.dataloader.DataLoader(sources(ms)[1](7, share), **given)
    return [len(loader), plain(list(loader)), plain(list(loader))]


def random_states(ms, **given):
    options = {"num_workers": 2, "batch_size": 2, "generator": drawn()} | given
    loader = ms.dataset.dataloader.DataLoader(sources(ms)[2](), **options)
    return [plain(list(loader)), plain(list(loader))]


VALUES = (
    lambda ms: [np.float32(1), np.float32(2)],
    lambda ms: [True, False],
    lambda ms: [1.5, 2],
    lambda ms: [1, 2.5],
    lambda ms: [np.int8(3)] * 2,
    lambda ms: ["a", "b"],
    lambda ms: [b"a"],
    lambda ms: [(1, "a"), (2, "b")],
    lambda ms: [Pair(1, 2.0), Pair(3, 4.0)],
    lambda ms: [[1, 2], [3, 4]],
    lambda ms: [ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])],
    lambda ms: [np.array(1.5), np.array(2.5)],
    lambda ms: [{"a": [1, (2,)]}] * 2,
    lambda ms: [range(2), range(2)],
    lambda ms: [np.bool_(True), np.bool_(False)],
)
SINGLE = (
    lambda ms: 1,
    lambda ms: 1.5,
    lambda ms: np.float32(1),
    lambda ms: np.bool_(True),
    lambda ms: np.arange(3),
    lambda ms: np.array(["a"]),
    lambda ms: "abc",
    lambda ms: {"a": np.array(1)},
    lambda ms: (1, np.arange(2)),
    lambda ms: Pair(np.int32(1), 2),
    lambda ms: [np.arange(2), "x"],
    lambda ms: None,
    lambda ms: ms.Tensor(1),
    lambda ms: range(3),
)


def samplers(ms):
    sampler = ms.dataset.dataloader.RandomSampler
    found = []
    for size, given in ((10, {}), (40, {"replacement": True}), (10, {"num_samples": 13}), (4, {"num_samples": 2})):
        made = sampler(range(size), generator=drawn(), **given)
        found.append([list(made), list(made), len(made)])
    np.random.seed(5)
    return [*found, list(sampler(range(6)))]


def shares(ms):
    found = []
    for size, given in (
        (10, {"num_replicas": 3, "rank": 1}),
        (10, {"num_replicas": 3, "rank": 2, "drop_last": True}),
        (2, {"num_replicas": 5, "rank": 4}),
        (10, {"num_replicas": 3, "rank": 0, "shuffle": False}),
        (9, {"num_replicas": 3, "rank": 0, "seed": 4}),
        (11, {"num_replicas": 4, "rank": 3, "drop_last": True}),
    ):
        made = ms.dataset.dataloader.DistributedSampler(range(size), **given)
        first = list(made)
        made.set_epoch(1)
        found.append([first, list(made), len(made)])
    return found


def tensors(ms):
    data = ms.dataset.dataloader.TensorDataset(ms.Tensor([[1, 2], [3, 4]], ms.int32), ms.Tensor([1.0, 2.0], ms.float32))
    loader = ms.dataset.dataloader.DataLoader
    return [
        len(data),
        plain(data[1]),
        plain(list(loader(data, batch_size=2))),
        plain(list(loader(data, batch_size=None))),
    ]


def seeds(ms):
    """What seeds of data sets do to the generators of Python and NumPy."""
    ms.set_seed(3)
    found = [random.random(), np.random.rand()]
    ms.dataset.config.set_seed(4)
    return [*found, random.random(), np.random.rand()]


PROGRAMS = {
    "batches": lambda ms: batches(ms, batch_size=2),
    "shuffled": lambda ms: batches(ms, batch_size=2, drop_last=True, shuffle=True, generator=drawn()),
    "no batches": lambda ms: batches(ms, batch_size=None),
    "batch_sampler": lambda ms: batches(ms, batch_sampler=[[4, 1], [0]]),
    "sampler": lambda ms: batches(ms, sampler=[3, 1, 2], batch_size=2),
    "collate_fn": lambda ms: batches(ms, batch_size=2, collate_fn=numbers),
    "workers": lambda ms: batches(ms, num_workers=2, batch_size=2, shuffle=True, generator=drawn()),
    "kept workers": lambda ms: batches(ms, num_workers=2, batch_size=2, persistent_workers=True, prefetch_factor=1),
    **{
        f"iterated, {'shared, ' if share else ''}{given}": lambda ms, share=share, given=given: iterated(
            ms, share, **given
        )
        for share in (True, False)
        for given in (
            {"batch_size": 3},
            {"batch_size": 3, "drop_last": True},
            {"batch_size": None},
            {"num_workers": 2, "batch_size": 2},
            {"num_workers": 3, "batch_size": 2, "drop_last": True},
        )
    },
    "random states": random_states,
    "random states, seeded": lambda ms: random_states(ms, worker_init_fn=seeded),
    "random states, kept": lambda ms: random_states(ms, persistent_workers=True),
    "collate": lambda ms: [plain(ms.dataset.dataloader.default_collate(value(ms))) for value in VALUES],
    "convert": lambda ms: [plain(ms.dataset.dataloader.default_convert(value(ms))) for value in SINGLE],
    "samplers": samplers,
    "shares": shares,
    "tensors": tensors,
    "seeds": seeds,
}


def main():
    import mindspore
    import mindspore.dataset.dataloader

    found = {title: program(mindspore) for title, program in PROGRAMS.items()}
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
