"""What pipelines of data sets do beside giving rows, in MindSpore 2.10 (CPU): writes ms_pipelines.json beside this file.

usage: python ms_pipelines.py, where MindSpore and Pillow are installed. tests/dataset/test_pipelines.py runs the same programs
on graphc: functions of the module `ms`, which give JSON values.
"""

import contextlib
import io
import json
import pathlib

import numpy as np


def values(rows):
    """The first column of rows as lists."""
    return [row[0].tolist() for row in rows]


def numbers(ms, n=5):
    return ms.dataset.NumpySlicesDataset(list(range(n)), ["x"], shuffle=False)


def once(dataset):
    return dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)


# ---- callbacks of map


def stages(ms, build, size=1, passes=1):
    """Of each stage the places at which a callback was called, in order."""

    class Places(ms.dataset.DSCallback):
        def __init__(self):
            super().__init__(size)
            self.found = {}

        def put(self, stage, at):
            place = [at.cur_epoch_num, at.cur_step_num_in_epoch, at.cur_step_num]
            self.found.setdefault(stage, []).append(place)

        def ds_begin(self, ds_run_context):
            self.put("begin", ds_run_context)

        def ds_epoch_begin(self, ds_run_context):
            self.put("epoch begin", ds_run_context)

        def ds_epoch_end(self, ds_run_context):
            self.put("epoch end", ds_run_context)

        def ds_step_begin(self, ds_run_context):
            self.put("step begin", ds_run_context)

        def ds_step_end(self, ds_run_context):
            self.put("step end", ds_run_context)

    places = Places()
    iterator = build(lambda dataset: dataset.map(lambda x: x, callbacks=places)).create_tuple_iterator(
        num_epochs=passes
    )
    for _ in range(passes):
        for _ in iterator:
            pass
    return places.found


def waited(ms):
    """What a data set and a training do, in turn."""
    events = []

    class Waited(ms.dataset.WaitedDSCallback):
        def sync_epoch_begin(self, train_run_context, ds_run_context):
            events.append(["pass", ds_run_context.cur_epoch_num, train_run_context.original_args().cur_epoch_num])

        def sync_step_begin(self, train_run_context, ds_run_context):
            events.append(["row", ds_run_context.cur_step_num, train_run_context.original_args().cur_step_num])

    class Trained(ms.Callback):
        def step_end(self, run_context):
            events.append(["step", run_context.original_args().cur_step_num])

    class Net(ms.nn.Cell):
        def construct(self, x, y):
            return x

    waits = Waited(1)
    data = ms.dataset.NumpySlicesDataset(([1, 2, 3],) * 2, ["a", "b"], shuffle=False)
    data = data.map(operations=(lambda x: x), callbacks=waits)
    ms.train.Model(Net()).train(2, data, dataset_sink_mode=False, callbacks=[Trained(), waits])
    return events


# ---- rows that wait


def held_back(ms):
    """The numbers that a training has set, as rows see them."""
    state, told = {"k": 0}, []

    def update(data):
        told.append(data)
        state["k"] = data

    dataset = numbers(ms, 6).sync_wait("policy", callback=update)
    dataset = dataset.map(lambda x: x * 10 + state["k"]).batch(2)
    rows = []
    for k, row in enumerate(once(dataset)):
        rows.append(row[0].tolist())
        dataset.sync_update("policy", data=k + 1)
    return [rows, told, dataset.is_sync(), numbers(ms).is_sync(), sorted(dataset.get_sync_notifiers())]


def let_go(ms):
    dataset = numbers(ms, 6).sync_wait("a").batch(2)
    dataset.disable_sync()
    return values(once(dataset))


# ---- others


def flat(ms):
    pairs = ms.dataset.NumpySlicesDataset(([[0, 1], [2, 3]], [[0, -1], [-2, -3]]), ["a", "b"], shuffle=False)
    made = pairs.flat_map(
        lambda a, b: ms.dataset.NumpySlicesDataset((a + 1, b - 1), ["c", "d"], shuffle=False).repeat(2)
    )
    return [[[x.tolist() for x in row] for row in once(made)], made.get_col_names(), made.get_dataset_size()]


def left_out(ms):
    """Of samples that map fails for."""

    def broken(x):
        if int(x) in (2, 3, 6):
            raise ValueError("bad")
        return x * 10

    config = ms.dataset.config
    config.set_error_samples_mode(config.ErrorSamplesMode.SKIP)
    try:
        iterator = numbers(ms, 8).map(broken).create_tuple_iterator(num_epochs=2, output_numpy=True)
        passes = [values(iterator) for _ in range(2)]
        return [passes, values(once(numbers(ms, 8).map(broken).batch(2)))]
    finally:
        config.set_error_samples_mode(config.ErrorSamplesMode.RETURN)


def replaced(ms):
    """What stands in for samples that map fails for."""
    config, found = ms.dataset.config, []

    def passes(n, bad, count=1, then=lambda dataset: dataset, workers=1):
        def broken(x):
            if int(x) in bad:
                raise ValueError("bad")
            return x

        mapped = numbers(ms, n).map(broken, num_parallel_workers=workers)
        iterator = then(mapped).create_tuple_iterator(num_epochs=count, output_numpy=True)
        found.append([values(iterator) for _ in range(count)])

    config.set_error_samples_mode(config.ErrorSamplesMode.REPLACE)
    try:
        for bad in ([0], [3], [5], [0, 5], [1, 4], [0, 1, 2]):
            passes(6, bad)
            passes(6, bad, workers=2)
        passes(10, [2, 3, 4, 5])
        passes(40, range(20, 40))
        passes(40, [3, 20, 21, 22, 30], 3)
        passes(40, range(0, 30, 3), 3, lambda dataset: dataset.take(25))
        passes(12, [2, 3, 11], 4)
        passes(4, [1], 3)
        passes(4, [0], 3)
        passes(4, [1, 2], then=lambda dataset: dataset.repeat(2).batch(2))
        try:
            passes(3, range(3))
        except RuntimeError:
            found.append("RuntimeError")
    finally:
        config.set_error_samples_mode(config.ErrorSamplesMode.RETURN)
    return found


def chosen_again(ms):
    """What use_sampler leaves of the samplers that choose before."""
    ds, found = ms.dataset, []

    class Source:
        def __len__(self):
            return 6

        def __getitem__(self, i):
            return (np.int64(i),)

    dataset = ds.GeneratorDataset(Source(), ["x"], sampler=ds.SequentialSampler(1, 4))
    dataset.add_sampler(ds.SequentialSampler(1, 2))
    found.append(values(once(dataset)))
    for sampler in (ds.SequentialSampler(0, 3), ds.SubsetSampler([2, 0]), ds.SequentialSampler(1)):
        dataset.use_sampler(sampler)
        found.append(values(once(dataset)))
    chain = ds.SequentialSampler(0, 3)
    chain.add_child(ds.SequentialSampler(1))
    for use in (dataset.use_sampler, dataset.add_sampler):
        try:
            use(chain)
        except RuntimeError:
            found.append("RuntimeError")
    return found


def plain(x):
    return x


def hooked(ms):
    """What hooks print."""
    ds, debug = ms.dataset, ms.dataset.debug
    vision, transforms = ds.vision, ds.transforms
    images = np.arange(48).reshape(1, 4, 4, 3).astype(np.uint8)

    class Own(debug.DebugHook):
        def compute(self, *args):
            print("own", [type(a).__name__ for a in args[0]])

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        ds.config.set_debug_mode(True)
        steps = [plain, vision.ToPIL(), vision.Resize(2), vision.ToTensor()]
        dataset = ds.NumpySlicesDataset({"i": images, "l": [1]}, shuffle=False).map(steps, "i")
        list(once(dataset.map(transforms.Compose([transforms.TypeCast("int32"), lambda x: (x, x)]), "l", ["l", "m"])))
        ds.config.set_debug_mode(True, [debug.PrintDataHook(), Own()])
        steps = [vision.HorizontalFlip(), Own(), vision.Rescale(2.0, 0.0)]
        list(once(ds.NumpySlicesDataset({"i": images[:, :2, :2]}, shuffle=False).map(steps, "i")))
        ds.config.set_debug_mode(False)
    return out.getvalue().splitlines()


PROGRAMS = {
    "callbacks": lambda ms: stages(ms, lambda mapped: mapped(numbers(ms)), passes=2),
    "callbacks of every third row": lambda ms: stages(ms, lambda mapped: mapped(numbers(ms)), 3, 2),
    "callbacks before repeat": lambda ms: stages(ms, lambda mapped: mapped(numbers(ms, 3)).repeat(2), 1, 2),
    "callbacks behind repeat": lambda ms: stages(ms, lambda mapped: mapped(numbers(ms, 3).repeat(2)).batch(4)),
    "callbacks of batches": lambda ms: stages(ms, lambda mapped: mapped(numbers(ms, 6).batch(2)), 2),
    "callbacks that wait": waited,
    "sync_wait": held_back,
    "disable_sync": let_go,
    "flat_map": flat,
    "samples left out": left_out,
    "samples replaced": replaced,
    "samplers in the place of others": chosen_again,
    "hooks": hooked,
}


def main():
    import mindspore
    import mindspore.dataset.debug
    import mindspore.dataset.transforms
    import mindspore.dataset.vision

    mindspore.dataset.config.set_num_parallel_workers(1)
    found = {title: program(mindspore) for title, program in PROGRAMS.items()}
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
