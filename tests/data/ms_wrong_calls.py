"""The builtin classes of MindSpore's errors of wrong calls of data sets: every argument of operations, samplers and sources that
hold their data in memory, with each of a few values. Only what MindSpore 2.10 refuses is recorded.

usage: python ms_wrong_calls.py, where MindSpore is installed: writes ms_wrong_calls.json beside this file. tests/dataset/
test_wrong_calls.py makes the same calls.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np

WRONG = [
    "None", "-1", "0", "1.5", "2**63", "'a'", "''", "[]", "[1]", "['x']", "['d', 'd']", "()", "{}", "{'d': 1}", "object()",
    "float('nan')", "b'd'", "('d', 'l')", "[None]", "[-1]",
]  # fmt: skip
DATA = "data()"
#: What is called -> {argument: what is right, or None where it can be left out}.
CALLS: dict[str, dict[str, str | None]] = {
    f"{DATA}.map": {
        "operations": "twice", "input_columns": "['d']", "output_columns": None, "num_parallel_workers": None,
        "python_multiprocessing": None, "cache": None, "callbacks": None, "max_rowsize": None, "offload": None,
    },
    f"{DATA}.batch": {
        "batch_size": "2", "drop_remainder": None, "num_parallel_workers": None, "per_batch_map": None, "input_columns": None,
        "output_columns": None, "python_multiprocessing": None, "max_rowsize": None,
    },
    f"{DATA}.project(['d', 'l']).batch": {
        "batch_size": "2", "per_batch_map": "both", "input_columns": None, "output_columns": None,
    },
    "ragged().padded_batch": {"batch_size": "2", "drop_remainder": None, "num_parallel_workers": None, "pad_info": "{}"},
    "ragged().bucket_batch_by_length": {
        "column_names": "['a']", "bucket_boundaries": "[2, 4]", "bucket_batch_sizes": "[2, 2, 2]",
        "element_length_function": None, "pad_info": "{}", "pad_to_bucket_boundary": None, "drop_remainder": None,
    },
    f"{DATA}.shuffle": {"buffer_size": "2"},
    f"{DATA}.repeat": {"count": "2"},
    f"{DATA}.skip": {"count": "2"},
    f"{DATA}.take": {"count": "2"},
    f"{DATA}.project": {"columns": "'d'"},
    f"{DATA}.rename": {"input_columns": "['d']", "output_columns": "['e']"},
    f"{DATA}.filter": {"predicate": "positive", "input_columns": "['l']", "num_parallel_workers": None},
    f"{DATA}.concat": {"datasets": DATA},
    f"{DATA}.split": {"sizes": "[6]", "randomize": None},
    "ds.zip": {"datasets": f"({DATA},)"},
    f"{DATA}.create_tuple_iterator": {"columns": None, "num_epochs": "1", "output_numpy": "True", "do_copy": None},
    f"{DATA}.create_dict_iterator": {"num_epochs": "1", "output_numpy": "True", "do_copy": None},
    **{
        f"sampled(ds.{name})": arguments
        for name, arguments in {
            "RandomSampler": {"replacement": None, "num_samples": None},
            "SequentialSampler": {"start_index": None, "num_samples": None},
            "SubsetSampler": {"indices": "[1, 2]", "num_samples": None},
            "WeightedRandomSampler": {"weights": "[1.0, 2.0]", "num_samples": "2", "replacement": None},
            "DistributedSampler": {"num_shards": "2", "shard_id": "0", "shuffle": None, "num_samples": None, "offset": None},
        }.items()
    },
    "ds.NumpySlicesDataset": {
        "data": "[1, 2, 3]", "column_names": None, "num_samples": None, "shuffle": None, "sampler": None, "num_shards": None,
        "shard_id": None,
    },
    "ds.GeneratorDataset": {
        "source": "[1, 2]", "column_names": "['a']", "column_types": None, "schema": None, "num_samples": None, "shuffle": None,
        "sampler": None, "num_shards": None, "shard_id": None, "python_multiprocessing": None, "max_rowsize": None,
        "batch_sampler": None, "collate_fn": None,
    },
    "ds.FakeImageDataset": {
        "num_images": "3", "image_size": "(2, 2, 3)", "num_classes": "3", "base_seed": None, "num_samples": None, "shuffle": None,
        "sampler": None, "num_shards": None, "shard_id": None, "cache": None,
    },
    "ds.PaddedDataset": {"padded_samples": "[{'d': np.array(1)}]"},
    "ds.Schema().add_column": {"name": "'a'", "de_type": "'int32'", "shape": None},
    "ds.Schema().parse_columns": {"columns": "[]"},
}  # fmt: skip
#: Calls that MindSpore's process does not survive, or for which it depends on what the memory holds.
DEADLY = (
    "SubsetSampler(indices=[])",
    "SubsetSampler(indices=()",
    "SubsetSampler(indices={})",
    "num_samples=0",
    "sampler=[]",
    "sampler=()",
)
#: Calls that graphc refuses with another class, or takes: {part of the call: why}.
OTHERWISE = {
    "column_types=[": "dtypes that are none are TypeErrors, where MindSpore says what is not implemented",
    "sampler=b'd'": "a TypeError when the data set is made, a RuntimeError when MindSpore reads it",
    "sampler={": "a dict is iterated over its keys; MindSpore takes it for an object without a length, or reads past its end",
    "sampler=-1": "an index is no sampler",
    "batch_sampler='": "a TypeError when the data set is made, a RuntimeError when MindSpore reads it",
    "indices=b'd'": "a TypeError when the sampler is made, a RuntimeError when MindSpore reads with it",
    "weights=": "weights are numbers in a sequence, 0 or more, one of them above: else TypeError, or ValueError and RuntimeError",
    "data=[None]": "a TypeError when the data set is made, a RuntimeError when MindSpore reads it",
    "shard_id=2**63)": "a shard without num_shards",
    "columns=object()": "columns of a schema that are no list: ValueError and RuntimeError",
    "columns=b'd'": "columns of a schema that are no list: ValueError and RuntimeError",
}


def calls() -> list[str]:
    """All of them."""
    made = []
    for called, arguments in CALLS.items():
        for wrong in arguments:
            for value in WRONG:
                given = {n: value if n == wrong else right for n, right in arguments.items() if n == wrong or right}
                text = ", ".join(f"{n}={v}" for n, v in given.items())
                made.append(f"sampled({called[8:-1]}({text}))" if called.startswith("sampled") else f"{called}({text})")
    return [call for call in made if not any(text in call for text in DEADLY)]


def names(ds: Any) -> dict[str, Any]:
    """What calls may name."""

    def data() -> Any:
        return ds.NumpySlicesDataset({"d": np.arange(12).reshape(6, 2), "l": np.arange(6)}, shuffle=False)

    return {
        "ds": ds,
        "np": np,
        "data": data,
        "ragged": lambda: ds.GeneratorDataset([np.arange(k + 1) for k in range(6)], ["a"], shuffle=False),
        "sampled": lambda sampler: ds.NumpySlicesDataset(list(range(8)), sampler=sampler),
        "twice": lambda d: d * 2,
        "both": lambda d, l, info: (d, l),
        "positive": lambda l: bool(l > 0),
    }


def made_and_read(call: str, known: dict[str, Any]) -> None:
    """Make the call, and read what it makes."""
    made = eval(call, known)
    if hasattr(made, "create_tuple_iterator"):
        made = made.create_tuple_iterator(num_epochs=1, output_numpy=True)
    for parts in made if isinstance(made, tuple) else (made,):
        for k, _ in enumerate(parts or ()):
            if k == 3:
                break


def refused_by(call: str, known: dict[str, Any]) -> type[Exception] | None:
    """The class of the error of a call."""
    try:
        made_and_read(call, known)
    except Exception as error:
        return type(error)
    return None


def main() -> None:
    import mindspore.dataset as ds

    ds.config.set_seed(1)
    found = {}
    for call in calls():
        error = refused_by(call, names(ds))
        if error is not None:
            found[call] = next(c.__name__ for c in error.__mro__ if c.__module__ == "builtins")
    path = pathlib.Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
