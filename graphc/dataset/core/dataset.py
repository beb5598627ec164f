"""`Dataset`: the base of all data sets, with the operations that every one has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from graphc.dataset import config
from graphc.dataset.checks import LateError, function, integer, names, truth
from graphc.dataset.core.iterators import DictIterator, TupleIterator
from graphc.dataset.core.parts import part_sizes
from graphc.dataset.core.rows import packed
from graphc.dataset.core.streams import ALL, Run, Stream, fill
from graphc.errors import ArgumentTypeError, DataError, user_loc
from graphc.errors.suggestions import no_attribute
from graphc.errors.unsupported import instead
from graphc.tracebacks import clean

D = TypeVar("D", bound="Dataset")
#: Kind of node -> its class, which the module that has it adds.
_NODES: dict[str, Callable[..., Dataset]] = {}


def node(kind: str) -> Callable[[type[D]], type[D]]:
    """Makes a class the one that the method `kind` of data sets makes."""

    def add(cls: type[D]) -> type[D]:
        _NODES[kind] = cls
        return cls

    return add


#: Kind of what is made of a data set and is none itself -> the function, which the module that has it adds.
_MAKERS: dict[str, Callable[..., Any]] = {}


def maker(kind: str, function: Callable[..., Any]) -> None:
    """Makes a function the one that a method of data sets calls."""
    _MAKERS[kind] = function


class Dataset:
    """Rows of named columns, pass after pass. Iterating yields one list of Tensors per row, for one pass.

    Every operation gives a new data set and leaves this one as it is; nothing is read before an iterator asks.
    """

    #: Whether rows are computed by Python functions, so that reading ahead in a thread is worth it.
    in_python = False
    #: Whether its rows wait for who reads them: none is computed before its turn.
    waits = False

    def __init__(self, children: tuple[Dataset, ...], columns: list[str], workers: int | None = None) -> None:
        self.children, self._columns = children, columns
        self.num_parallel_workers = workers
        self._state: dict[str, Any] | None = None
        self._init_step = 0

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            try:
                no_attribute(type(self).__name__, name, dir(type(self)), "d.", instead("Dataset", name))
            except AttributeError as error:
                clean(error)
                raise

    # ---- what nodes say of themselves

    def open(self, run: Run) -> Stream:
        """A stream of this data set's rows."""
        raise NotImplementedError

    def count(self) -> int | None:
        """How many rows a pass has; None where only reading tells."""
        raise NotImplementedError

    def workers(self) -> int:
        """How many workers compute this node's rows."""
        return self.num_parallel_workers or config.get_num_parallel_workers()

    def title(self) -> str:
        """The pipeline as text: what a state belongs to."""
        inner = ", ".join(c.title() for c in self.children)
        return f"{type(self).__name__}({inner})"

    def busy(self) -> bool:
        """Whether any node runs Python functions."""
        return self.in_python or any(c.busy() for c in self.children)

    def is_endless(self) -> bool:
        """Whether any node repeats for ever: then a pass that is left early cannot be used up, and the next one goes on where
        it was left.
        """
        return any(c.is_endless() for c in self.children)

    def paced(self) -> bool:
        """Whether rows of any node wait for who reads them, so that nothing behind it may gather several."""
        return self.waits or any(c.paced() for c in self.children)

    # ---- reading

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> DictIterator:
        """An iterator over {column: Tensor, or array with output_numpy}: one pass per `for`, num_epochs passes, -1 for ever.

        do_copy: every row is memory of its own either way. After the last pass, reading on is a DataError.
        """
        truth("create_dict_iterator", "do_copy", do_copy)
        return DictIterator(self, None, num_epochs, truth("create_dict_iterator", "output_numpy", output_numpy))

    def create_tuple_iterator(
        self,
        columns: list[str] | None = None,
        num_epochs: int = -1,
        output_numpy: bool = False,
        do_copy: bool = False,
    ) -> TupleIterator:
        """An iterator over lists of these columns (all by default); otherwise like `create_dict_iterator`."""
        truth("create_tuple_iterator", "do_copy", do_copy)
        chosen = None if columns is None else self.among("create_tuple_iterator", "columns", columns)
        return TupleIterator(self, chosen, num_epochs, truth("create_tuple_iterator", "output_numpy", output_numpy))

    def __iter__(self) -> Iterator[list[Any]]:
        return self.create_tuple_iterator(num_epochs=1)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next iterator that is made go on where the `state_dict()` of an iterator was taken.

        The rows are those that the uninterrupted iterator would have given, to the bit. DataError if the state was taken of
        another pipeline.
        """
        if not isinstance(state, dict) or not {"epoch", "position", "seed", "pipeline"} <= set(state):
            raise ArgumentTypeError(
                "load_state_dict needs what an iterator's state_dict() gave", loc=user_loc(), code="GC206"
            )
        if state["pipeline"] != self.title():
            raise DataError(
                "load_state_dict: the state was taken of another pipeline",
                code="GC206",
                loc=user_loc(),
                details=[f"state: {state['pipeline']}", f"here:  {self.title()}"],
            )
        self._state = dict(state)

    def set_init_step(self, init_step: int) -> None:
        """Let iterators begin with row number init_step, counted from 0 through all passes. What is made of this data set begins
        with the first.
        """
        self._init_step = integer("set_init_step", "init_step", init_step, 0)

    def get_init_step(self) -> int:
        """Which row iterators begin with: 0, or what `set_init_step` was given."""
        return self._init_step

    def taken_state(self) -> dict[str, Any]:
        """Where an iterator begins: the state that was loaded, once, or the row of `set_init_step`."""
        state, self._state = self._state, None
        if state is not None:
            return state
        epoch, position = 0, self._init_step
        if position and not self.is_endless():
            epoch, position = divmod(position, self.get_dataset_size())
        return {"epoch": epoch, "position": position, "seed": config.drawn_seed()}

    def reset(self) -> None:
        """Forget a state that was loaded: the next iterator begins with the first epoch."""
        self._state = None

    # ---- questions

    @property
    def dataset_size(self) -> int | None:
        """Rows of one pass; None where only reading them tells. (In MindSpore None until get_dataset_size was called.)"""
        return self.count()

    def get_dataset_size(self) -> int:
        """Rows of one pass (batches, after `batch`); they are read and counted where nothing else tells. Of an endless repeat,
        those of one round.
        """
        known = self.count()
        if known is not None:
            return known
        run = Run(config.drawn_seed(), 1, parallel=False, counting=True)
        try:
            stream = self.open(run)
            stream.begin()
            return stream.skip(ALL)
        finally:
            run.close()

    def __len__(self) -> int:
        return self.get_dataset_size()

    def get_batch_size(self) -> int:
        """Rows of a batch: 1 without `batch`, -1 where a function says how many; of several data sets that of the last."""
        return self.children[-1].get_batch_size() if self.children else 1

    def get_repeat_count(self) -> int:
        """How often `repeat` repeats, -1 for ever; 1 without; of several data sets that of the last."""
        return self.children[-1].get_repeat_count() if self.children else 1

    def get_col_names(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._columns)

    def num_classes(self) -> int | None:
        """Number of classes, where the source knows; else None."""
        return self.children[0].num_classes() if self.children else None

    def get_class_indexing(self) -> dict[str, int]:
        """Class name -> label, where the source has names; else {}."""
        return self.children[0].get_class_indexing() if self.children else {}

    def output_shapes(self, estimate: bool = False) -> list[list[int | None]]:
        """The shape of each column in the first row; with `estimate`, None for what differs between rows (all are read)."""
        if truth("output_shapes", "estimate", estimate):
            return self._estimated_shapes()
        return [list(a.shape) for a in self._first_row("output_shapes")]

    def output_types(self) -> list[np.dtype[Any]]:
        """The NumPy dtype of each column in the first row."""
        return [a.dtype for a in self._first_row("output_types")]

    def _first_row(self, asked: str) -> list[np.ndarray[Any, Any]]:
        run = Run(config.drawn_seed(), 1, parallel=False)
        try:
            stream = self.open(run)
            stream.begin()
            rows = fill(stream, 1)
        finally:
            run.close()
        if rows is None:
            raise DataError(f"{asked}: the data set has no rows", loc=user_loc())
        return [packed(c, n, rows.ids)[0] for c, n in zip(rows.columns, self._columns, strict=True)]

    def _estimated_shapes(self) -> list[list[int | None]]:
        shapes: list[list[int | None]] | None = None
        with self.create_tuple_iterator(num_epochs=1, output_numpy=True) as rows:
            for row in rows:
                seen = [list(a.shape) for a in row]
                if shapes is None:
                    shapes = [list(s) for s in seen]
                for known, now in zip(shapes, seen, strict=True):
                    if len(known) != len(now):
                        raise DataError("output_shapes: samples differ in their number of axes", loc=user_loc())
                    known[:] = [a if a == b else None for a, b in zip(known, now, strict=True)]
        if shapes is None:
            raise DataError("output_shapes: the data set has no rows", loc=user_loc())
        return shapes

    def build_vocab(
        self,
        columns: str | list[str] | None,
        freq_range: tuple[int | None, int | None] | None,
        top_k: int | None,
        special_tokens: list[str] | None,
        special_first: bool,
    ) -> Any:
        """A text.Vocab of the words in columns: text.Vocab.from_dataset of this data set, with its arguments."""
        return _MAKERS["vocab"](self, columns, freq_range, top_k, special_tokens, special_first)

    def build_sentencepiece_vocab(
        self, columns: list[str], vocab_size: int, character_coverage: float, model_type: Any, params: dict[str, str]
    ) -> Any:
        """A text.SentencePieceVocab trained on columns: its from_dataset of this data set, with its arguments."""
        return _MAKERS["pieces"](self, columns, vocab_size, character_coverage, model_type, params)

    def save(self, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
        """Write the rows of one pass into a MindRecord file, or with num_files > 1 into several, named FILE_NAME0 and so on.

        bool, int8, int16, int32, uint8 and uint16 become int32; int64, uint32 and uint64 int64; float16 and float32 float32;
        float64, texts and bytes stay. Arrays may differ in the first of their sizes. DataError for rows that differ otherwise,
        for arrays of texts, and for a file that is there.
        """
        _MAKERS["save"](self, file_name, num_files, file_type)

    def to_json(self, filename: str = "") -> dict[str, Any]:
        """The pipeline as a dict of JSON, written to a file, too, if one is named: `serialize` of this data set."""
        made: dict[str, Any] = _MAKERS["to_json"](self, filename)
        return made

    # ---- operations

    def map(
        self,
        operations: Any,
        input_columns: str | list[str] | None = None,
        output_columns: str | list[str] | None = None,
        num_parallel_workers: int | None = None,
        python_multiprocessing: bool = False,
        cache: None = None,
        callbacks: Any = None,
        max_rowsize: Any = None,
        offload: bool | None = None,
    ) -> Dataset:
        """Apply one operation, or several one after the other, to columns of each row.

        operations: callables that take one array per input column and return one value, or a tuple of several.
        input_columns: names; by default the first column. output_columns: names of the results, by default those of the inputs.
        Results take the inputs' places if there are as many, else they come first. num_parallel_workers: threads, or processes
        with python_multiprocessing. callbacks: a DSCallback or a list of them; rows are then computed one after the other. cache
        must be None; max_rowsize and offload have no effect.
        """
        options = (num_parallel_workers, python_multiprocessing, cache, callbacks, max_rowsize, offload)
        return _NODES["map"](self, operations, input_columns, output_columns, *options)

    def batch(
        self,
        batch_size: int | Callable[[Any], int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        per_batch_map: Callable[..., Any] | None = None,
        input_columns: str | list[str] | None = None,
        output_columns: str | list[str] | None = None,
        python_multiprocessing: bool = False,
        max_rowsize: Any = None,
    ) -> Dataset:
        """Stack so many rows into one, of arrays [batch_size, ...]; all of a column have one shape and dtype.

        batch_size: an int, or a function of a BatchInfo. drop_remainder: leave out a last batch that is not full.
        per_batch_map: called with one list of arrays per input column (all by default) and a BatchInfo, returns one list or
        array per output column. max_rowsize has no effect.
        """
        options = (
            num_parallel_workers,
            per_batch_map,
            input_columns,
            output_columns,
            python_multiprocessing,
            max_rowsize,
        )
        return _NODES["batch"](self, batch_size, drop_remainder, *options)

    def padded_batch(
        self,
        batch_size: int | Callable[[Any], int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        pad_info: dict[str, Any] | None = None,
    ) -> Dataset:
        """Batches of rows that are filled up to one shape, or cut off. pad_info: {column: (shape or None, value or None)}: None
        in a shape stands for the largest of the batch, a value of None for 0 or ""; {} fills up all columns so, None none.
        batch_size: as in `batch`.
        """
        return _NODES["padded_batch"](self, batch_size, drop_remainder, num_parallel_workers, pad_info)

    def bucket_batch_by_length(
        self,
        column_names: list[str],
        bucket_boundaries: list[int],
        bucket_batch_sizes: list[int],
        element_length_function: Callable[..., int] | None = None,
        pad_info: dict[str, Any] | None = None,
        pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Batches of rows of similar length: bucket i holds lengths from boundary i - 1 up to, not including, boundary i.

        column_names: what element_length_function takes; without one, the single column whose first axis is the length.
        bucket_batch_sizes: one more than bucket_boundaries. pad_to_bucket_boundary: what pad_info leaves open is filled up
        to the boundary - 1, which refuses rows beyond the last boundary. pad_info: as in `padded_batch`; None is as {}.
        """
        options = (element_length_function, pad_info, pad_to_bucket_boundary, drop_remainder)
        return _NODES["bucket"](self, column_names, bucket_boundaries, bucket_batch_sizes, *options)

    def shuffle(self, buffer_size: int) -> Dataset:
        """Mix rows: each one comes at random out of a buffer of buffer_size (2 or more) that is then filled up again."""
        return _NODES["shuffle"](self, buffer_size)

    def repeat(self, count: int | None = None) -> Dataset:
        """The rows `count` times one pass after the other; None or -1 for ever."""
        return _NODES["repeat"](self, count)

    def skip(self, count: int) -> Dataset:
        """Without the first `count` rows of each pass."""
        return _NODES["skip"](self, count)

    def take(self, count: int = -1) -> Dataset:
        """The first `count` rows of each pass only; -1 for all."""
        return _NODES["take"](self, count)

    def filter(
        self,
        predicate: Callable[..., Any],
        input_columns: str | list[str] | None = None,
        num_parallel_workers: int | None = None,
    ) -> Dataset:
        """The rows only for which predicate(*input columns) is true; all columns by default."""
        return _NODES["filter"](self, predicate, input_columns, num_parallel_workers)

    def project(self, columns: str | list[str]) -> Dataset:
        """These columns only, in this order."""
        return _NODES["project"](self, columns)

    def rename(self, input_columns: str | list[str], output_columns: str | list[str]) -> Dataset:
        """Other names for columns."""
        return _NODES["rename"](self, input_columns, output_columns)

    def zip(self, datasets: Dataset | tuple[Dataset, ...]) -> Dataset:
        """The columns of this data set and others side by side, as long as all have rows. No name may occur twice."""
        return _NODES["zip"]((self, *_others("zip", datasets, tuple)))

    def concat(self, datasets: Dataset | list[Dataset]) -> Dataset:
        """The rows of this data set, then those of others with the same columns."""
        return _NODES["concat"]([self, *_others("concat", datasets, list)])

    def __add__(self, datasets: Dataset | list[Dataset]) -> Dataset:
        return self.concat(datasets)

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """The rows of what func(*columns of a row), a data set, gives for each row, one after the other. It is called now, for
        the rows of one pass.
        """
        function("flat_map", "func", func)
        made = []
        with self.create_tuple_iterator(num_epochs=1, output_numpy=True) as rows:
            for row in rows:
                made.append(func(*row))
                if not isinstance(made[-1], Dataset):
                    raise ArgumentTypeError(
                        f"flat_map: func must return a data set, got {type(made[-1]).__name__}", loc=user_loc()
                    )
        if not made:
            raise DataError("flat_map: the data set has no rows", loc=user_loc())
        return _NODES["concat"](made)

    # ---- rows that wait for the training

    def sync_wait(
        self, condition_name: str, num_batch: int = 1, callback: Callable[[Any], Any] | None = None
    ) -> Dataset:
        """Hold rows back until sync_update(condition_name) is called: num_batch batches, or rows, come without.

        callback: called by sync_update with its data, before rows pass that it lets go. Rows that have waited for
        config.get_callback_timeout() seconds go on, with a warning. What follows computes one row after the other.
        """
        return _NODES["sync_wait"](self, condition_name, num_batch, callback)

    def sync_update(self, condition_name: str, num_batch: int | None = None, data: Any = None) -> None:
        """Let num_batch more batches pass, by default as many as sync_wait said, and give its callback `data`. DataError for
        another condition's name: nothing waits any more then.
        """
        _MAKERS["sync_update"](self, condition_name, num_batch, data)

    def disable_sync(self) -> None:
        """Let all rows pass from now on."""
        for gate in _MAKERS["gates"](self):
            gate.open()

    def is_sync(self) -> bool:
        """Whether there is a sync_wait in the pipeline."""
        return bool(_MAKERS["gates"](self))

    def get_sync_notifiers(self) -> dict[str, Callable[..., None]]:
        """Of each condition the function (rows or None, data) that lets rows pass."""
        return {gate.name: gate.release for gate in _MAKERS["gates"](self)}

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """apply_func(this data set), which must be a data set."""
        made = function("apply", "apply_func", apply_func)(self)
        if not isinstance(made, Dataset):
            raise ArgumentTypeError(
                f"apply: apply_func must return a data set, got {type(made).__name__}", loc=user_loc()
            )
        return made

    def split(self, sizes: list[int] | list[float], randomize: bool = True) -> tuple[Dataset, ...]:
        """Data sets of these sizes (ints, whose sum is the number of rows, or shares, whose sum is 1), without overlap.

        randomize: rows are drawn at random, the same ones in each pass, by the seed at the time an iterator is
        made: set one, else the parts are drawn anew. A source that is shuffled gives other rows to the parts in each pass:
        shuffle after splitting.
        """
        return self._split(part_sizes(sizes, self.get_dataset_size), truth("split", "randomize", randomize))

    def _split(self, sizes: list[int], randomize: bool) -> tuple[Dataset, ...]:
        whole = _NODES["shuffle"](self, max(self.get_dataset_size(), 2), False) if randomize else self
        parts = []
        for k, size in enumerate(sizes):
            before = sum(sizes[:k])
            parts.append((whole.skip(before) if before else whole).take(size))
        return tuple(parts)

    # ---- for nodes

    def share(self, shards: int, first: int) -> Dataset:
        """Every shards-th row, from the row `first` on."""
        return _NODES["every"](self, shards, first)

    def among(self, owner: str, name: str, value: Any, alone: bool = True) -> list[str]:
        """Names of columns that are there; DataError, a RuntimeError, for others. alone: whether one may be given as a str."""
        chosen = names(owner, name, value, alone=alone)
        for column in chosen:
            if column not in self._columns:
                raise DataError(
                    f"{owner}: there is no column {column!r}, there are {', '.join(self._columns)}", loc=user_loc()
                )
        return chosen


def _others(owner: str, datasets: Any, several: type) -> Any:
    """The data sets of an operation that takes one or several of them; LateError if there are none."""
    if not isinstance(datasets, several):
        return [datasets]
    if not datasets:
        raise LateError(f"{owner}: datasets is empty", loc=user_loc())
    return datasets
