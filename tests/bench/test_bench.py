"""The benchmark runs, measures everything it prints, and notices peers that are missing, slow or compute something else."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
#: Modules of the benchmark, which is no package: its scripts find each other by their directory.
MODULES = (
    *("workloads", "chains", "chain_cells", "run", "report", "processes", "machine", "facts", "cells", "whole"),
    *(
        "jobs",
        "rank",
        "ranks",
        "network",
        "predict",
        "products",
        "halves",
        "convolutions",
        "operators",
        "operator_worker",
        "models",
        "model_worker",
        "model_networks",
    ),
    "shares",
)


@pytest.fixture
def bench(monkeypatch):
    """Imports a module of the benchmark; none stays."""
    monkeypatch.syspath_prepend(str(HERE))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in MODULES:
        sys.modules.pop(name, None)


def run(*arguments, workload="mlp_small", variants="scaled"):
    command = [sys.executable, str(HERE / "run.py"), "--rounds", "1", "--seconds", "0", "--threads", "1"]
    command += ["--workloads", workload, "--variants", variants, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_graphc_and_peers_that_fail(tmp_path):
    out = tmp_path / "numbers.json"
    peers = f"torch=no-such-python,nothing={sys.executable}"
    done = run("--peers", peers, "--json", str(out), variants="plain,scaled")
    assert done.returncode == 0, done.stderr
    assert "torch left out: 'no-such-python' cannot be run" in done.stdout
    assert "nothing left out for mlp_small plain, threads 1: ModuleNotFoundError" in done.stdout
    written = json.loads(out.read_text())
    plain, scaled = written["measured"]
    for name in ("step", "cold_wall", "cold_cpu", "start", "rss", "warm_rss"):
        (value,) = plain[name]
        assert value > 0
    assert scaled["variant"] == "scaled"
    assert scaled["step"][0] > 0
    # One compilation per workload is cold.
    assert "cold_wall" not in scaled
    assert set(written["facts"]) == {"machine 1", "step mlp_small", "dispatch"}
    for title in ("step, ms, one thread", "cold compile, s", "plain step", "one thread", "arena, bytes"):
        assert f"| {title} |" in done.stdout or f"| {title} " in done.stdout
    assert "Called from Python: " in done.stdout


def test_what_takes_too_long_is_left_out_and_not_tried_again():
    done = run("--limit", "0.01", variants="plain,scaled")
    assert done.returncode == 1
    reasons = [line for line in done.stdout.splitlines() if "graphc left out" in line]
    assert reasons == ["- graphc left out for mlp_small: more than 0.01 s (plain, threads 1)"]


def test_unknown_names_are_refused():
    done = run(workload="mlp,nothing")
    assert done.returncode == 2
    assert "unknown name 'nothing'; known are mlp_small, mlp, lenet, lenet256, resnet20, gpt, lstm16" in done.stderr


def test_ratios_and_medians(bench):
    report = bench("report")
    row = {"graphc": {"step": [0.001, 0.002, 0.009]}, "other": {"step": [0.005]}, "slow": {"step": [0.1]}}
    assert report.cell(row, "graphc", "step", 1e3, 3) == "2.000"
    assert report.cell(row, "other", "step", 1e3, 3) == "5.000 (2.50)"
    assert report.cell(row, "other", "rss", 1, 0) == ""
    assert report.against_best(row) == "0.40 (other)"
    assert report.against_best({"graphc": {"step": [1.0]}}) == ""


def test_distances_are_reported(bench):
    report = bench("report")
    (line,) = report._distance_lines(report.Results(distances=[90.0, None, 380.4, 110.0]))
    assert line.endswith("took 90 to 380 ns from one CPU to another, in the median 110.")
    assert report._distance_lines(report.Results(distances=[None])) == []


def test_different_losses_are_reported(bench):
    disagreeing = bench("report").disagreeing
    assert disagreeing({"a": {"loss": [1.0]}, "b": {"loss": [1.0001]}}) == ""
    assert disagreeing({"a": {"loss": [1.0]}, "b": {"loss": [1.01]}}) == "a 1.00000, b 1.01000"


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        # Forward, gradient of the weights, and of the inputs, which the first layer's does not need.
        ("mlp_small", 32 * (3 * (64 * 64 + 64 * 32 + 32 * 10) - 64 * 64)),
        # Inputs have no gradient; the state before the first step has one, which nobody asks for.
        ("lstm16", 32 * (16 * (2 * 64 * 512 + 3 * 128 * 512) + 3 * 128 * 10)),
        ("lenet", 32 * (2 * 784 * 6 * 25 + 3 * (100 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10))),
    ],
)
def test_multiply_adds_are_those_of_the_mathematics(bench, workload, expected):
    facts, workloads = bench("facts"), bench("workloads")
    x, y = workloads.batch(workload)
    step = facts.compiled(workload, "plain", (facts.Tensor(x), facts.Tensor(y)))
    assert facts.multiply_adds(step) == expected


@pytest.mark.parametrize("workload", ["mlp_small", "lstm16"])
def test_the_share_of_an_overflow_check_is_small(bench, workload):
    facts, workloads = bench("facts"), bench("workloads")
    inputs = tuple(facts.Tensor(part) for part in workloads.batch(workload))
    with facts.debug(profile=True):
        step = facts.compiled(workload, "scaled", inputs)
    step(*inputs)
    assert 0 < facts.overflow_share(step) < 0.5


@pytest.mark.parametrize(
    "workload",
    [
        *("mlp_small", "lenet", "resnet20", "gpt", "lstm16", "recommender"),
        *("depthwise", "generator", "resnet_wide", "dilated", "unet", "bert"),
    ],
)
def test_every_weight_belongs_to_a_network(bench, workload):
    cells, workloads = bench("cells"), bench("workloads")
    made = workloads.weights(workload)
    cell = cells.training_cell(workload, "plain", made, cells.nn.AdamW)
    assert sum(p.size for p in cell.weights) == sum(w.size for w in made.values())


def test_quick_is_a_choice_of_all(bench):
    run = bench("run")
    args = run._parser().parse_args(["--quick", "--seconds", "0.1"])
    assert (args.workloads, args.variants, args.rounds, args.seconds) == (run.QUICK, ("plain",), 1, 0.1)
    assert set(run.QUICK) < set(bench("workloads").WORKLOADS)


def test_the_peak_is_that_of_the_loops(bench):
    machine = bench("machine")
    target = machine.host()
    floats = machine.SUMS * target.lanes
    data = np.arange(2 * floats, dtype=np.float32)
    expected = data.reshape(-1, target.lanes).sum(0)
    text = machine.function(target, data.size, floats, machine.reads)
    loaded = machine.loading.load([machine.llvm_modules.compile_module(text, target)], ["run"], target)
    assert loaded.function("run")(data.ctypes.data) == 0
    np.testing.assert_array_equal(data[: target.lanes], expected)


def test_whole_programs(bench, tmp_path):
    whole = bench("whole")
    tokens = np.load(whole.DATA["gpt"](tmp_path))
    assert tokens.dtype == np.int32
    assert set(tokens) == set(range(bench("workloads").GPT.vocabulary))
    with np.load(whole.DATA["digits"](tmp_path)) as data:
        assert data["train_images"].shape == (1442, 1, 32, 32)
    slept = [sys.executable, "-c", "import time; time.sleep(0.2); print('done')"]
    failed = [sys.executable, "-c", "raise SystemExit('no such thing')"]
    options = argparse.Namespace(rounds=2, limit=20)
    found = whole._rounds({"graphc": slept, "torch": slept, "jax": failed}, tmp_path / "run", options)
    assert {name: len(times) for name, times in found.items()} == {
        "graphc cold": 2, "graphc warm": 2, "torch cold": 2, "jax cold": 0,
    }  # fmt: skip
    assert min(map(min, filter(None, found.values()))) > 0.2
    rows = whole.table({"digits": {"graphc cold": [1.0, 3.0, 2.0], "torch cold": [8.0]}, "gpt": {"jax cold": [4.0]}})
    assert rows[2:] == ["| digits | 2.00 | 8.00 |  | 0.25 |", "| gpt |  |  | 4.00 |  |"]


def test_a_transformer_trained_to_a_loss(tmp_path):
    np.save(tmp_path / "text.npy", np.arange(5000, dtype=np.int32) % 7)
    done = subprocess.run(
        [sys.executable, str(HERE / "train_gpt.py"), "graphc", str(tmp_path / "text.npy"), "2.5"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 50 <= json.loads(done.stdout)["steps"] < 200


def test_products_as_shares_of_the_peak(bench):
    command = [sys.executable, str(HERE / "products.py"), "--threads", "1", "--seconds", "0", "--rows", "48 of 64"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, _, titles, _, *rows = done.stdout.strip().splitlines()
    assert first.startswith("1 thread(s): ")
    assert titles == "| m x n | graphc nn | graphc tn | graphc nt | graphc tt |"
    assert [row.split("|")[1].strip() for row in rows] == [
        f"48 of 64 x 64, k = 32, {t}" for t in ("float32", "float64")
    ]
    shares = [int(cell.strip().removesuffix("%")) for row in rows for cell in row.split("|")[2:-1]]
    assert len(shares) == 8
    assert min(shares) > 0


def test_convolutions_of_drawn_shapes(bench):
    made = bench("convolutions")
    rows = made.questions(200, 1)
    assert rows == made.questions(200, 1) != made.questions(200, 2)
    assert {q["kind"] for q in rows} == set(made.KINDS)
    small = [
        min((q for q in rows if q["kind"] == kind), key=lambda q: q["products"]) for kind in ("line", "transposed")
    ]
    small.append(min(made.questions(40, 1, uneven=True), key=lambda q: q["products"]))
    assert small[-1]["size"][0] != small[-1]["size"][1]
    done = subprocess.run(
        [sys.executable, str(HERE / "convolution_worker.py"), "graphc", "0"],
        input="\n".join(map(json.dumps, small)),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == 3
    assert all(a["forward"] > 0 and a["both"] > 0 for a in answers)
    times = ({"forward": 1.0, "both": 3.0}, {"forward": 2.0, "both": 4.0})
    lines = made._lines([(q, *times, [0.5, 0.75]) for q in small], 1)
    assert len(lines) == 4
    assert lines[2] == "| median | 0.50 | 0.75 | |"


def test_operators_of_every_kind(bench):
    worker, made = bench("operator_worker"), bench("operators")
    done = subprocess.run(
        [sys.executable, str(HERE / "operator_worker.py"), "graphc", "0", "float64"],
        input="\n".join(json.dumps({"case": case}) for case in ("outer", "index_add", "one_hot")),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [a["both"] is None for a in answers] == [False, False, True]
    assert all(a["forward"] > 0 and (a["both"] or 1) > 0 for a in answers)
    for case in worker.CASES.values():
        assert [a.shape for a in worker.arrays(case)] == list(case.shapes)
    rows = [
        ("a", {"forward": 1e-6, "both": 2e-6}, {"forward": 0.5, "both": 2.0}),
        ("b", {"forward": 1e-6}, {"forward": 1.5}),
    ]
    assert made._lines(rows, 1) == [
        "| graphc / torch (us) | forward | with gradients |",
        "|---|---:|---:|",
        "| median | 1.00 | 2.00 |",
        "| a | 0.50 (1) | 2.00 (2) |",
    ]


def test_networks_of_these_years(bench):
    """Each can be made; some are trained, from the loss that chance gives."""
    worker, made = bench("model_worker"), bench("models")
    chances = {"mixture of experts": 10, "messages along edges": 7, "DLRM": 2}
    done = subprocess.run(
        [sys.executable, str(HERE / "model_worker.py"), "graphc", "0"],
        input="\n".join(json.dumps({"model": name}) for name in chances),
        capture_output=True,
        text=True,
        check=True,
    )
    for line, count in zip(done.stdout.splitlines(), chances.values(), strict=True):
        answer = json.loads(line)
        assert min(answer["step"], answer["first"]) > 0
        assert 0.5 * np.log(count) < answer["loss"] < 2 * np.log(count)
    assert all(callable(worker.with_graphc(model)) for model in worker.MODELS.values())
    rows = [("a", {"step": 1e-3, "first": 0.5}, {"step": 2e-3, "first": 0.1})]
    assert made.lines(rows, "step")[-1] == "| a | 1.00 | 2.00 | 0.50 | 0.50 |"


def done_by(*command):
    return subprocess.run(
        [sys.executable, str(HERE / command[0]), *command[1:]], capture_output=True, text=True, check=True
    )


def test_random_numbers_beside_a_copy():
    done = done_by("draws.py", "--threads", "1", "--sizes", "4096", "--seconds", "0")
    assert not done.stderr
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| 4,096 numbers")]
    cells = [float(n) for n in re.findall(r"\| (\d+\.\d+) ", row)]
    assert len(cells) == 4
    assert all(n > 0 for n in cells)


def test_the_parts_of_three_threads():
    # In a process of its own, as it takes the place of functions.
    done = done_by("shares.py", "--workloads", "lenet", "--threads", "3", "--worst", "2")
    head, *calls = done.stdout.splitlines()
    total, longest, equal = map(float, re.findall(r"(\d+\.\d+)", head))
    assert head.startswith("lenet, 3 threads: ")
    assert 0 < equal <= longest + 0.01 <= total
    assert equal == pytest.approx(total / 3, abs=0.01)
    assert [line.split()[1] for line in calls] == ["for"] * 2


def test_what_a_product_is_a_share_of(bench):
    products = bench("products")
    peak = {"gflops": 100.0, "gbs": 20.0}
    seconds = 2 * 64**3 / 50e9
    assert products.share(products._question(64, 64, 64, "float32"), seconds, peak) == pytest.approx(0.5)
    assert products.share(products._question(64, 64, 64, "float64", 3), 3 * seconds, peak) == pytest.approx(1.0)
    assert products.share(products._question(1, 1000, 1000, "float32"), 4e6 / 10e9, peak) == pytest.approx(0.5)
    sizes = [(q["m"], q["dtype"]) for _, q in products.questions(quick=False)]
    assert {(n, t) for n in products.SIZES for t in ("float32", "float64")} <= set(sizes)
    assert len(list(products.questions(quick=True))) < len(sizes)


# ---- several ranks


@pytest.mark.skipif(
    not Path(sys.executable).with_name("mpiexec").exists() or find_spec("mpi4py") is None,
    reason="mpi4py and an MPI are not installed: pip install graphc[mpi]",
)
def test_two_ranks(tmp_path):
    out = tmp_path / "numbers.json"
    command = [sys.executable, str(HERE / "ranks.py"), "--workloads", "mlp_small", "--rounds", "1", "--seconds", "0"]
    done = subprocess.run(
        [*command, "--torch", "no-such-python", "--json", str(out)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())["mlp_small"]
    timed = [
        f"{name}{kind}" for name in ("t1", "half", "threads", "t2", "quiet", "lockstep") for kind in ("", ", processor")
    ]
    assert list(found) == [f"graphc {name}" for name in (*timed, "blocking")]
    assert all(seconds > 0 for (seconds,) in found.values())
    assert "- torch t1 left out for mlp_small: " in done.stdout
    assert "- torch t2 left out for mlp_small: " in done.stdout
    # Two halves of a batch give the loss of the whole.
    assert "losses" not in done.stdout
    assert "| MLP 64-64-32-10, batch 32: graphc |" in done.stdout


def test_what_efficiency_is_made_of(bench):
    ranks = bench("ranks")
    found = {
        ("graphc", "t1"): [8.0, 16.0, 9.0],
        ("graphc", "half"): [4.0, 8.0, 4.5],
        ("graphc", "t2"): [5.0, 10.0, 9.0],
    }
    found |= {("graphc", "quiet"): [4.0, 8.0, 8.0], ("graphc", "blocking"): [2.0, 4.0, 2.0], ("jax", "t2"): [1.0]}
    assert ranks.efficiency(found, "graphc") == 0.8
    assert ranks.efficiency(found, "jax") is None
    assert ranks.hidden(found, "graphc") == 1 - (9.0 - 8.0) / 2.0
    assert ranks.hidden(found | {("graphc", "blocking"): [0.1]}, "graphc") is None
    title = "GPT, 4 layers, batch 12: graphc"
    for more, shares in (({}, ["", "0.80"]), ({("graphc", "lockstep"): [4.5, 9.0, 8.5]}, ["0.89", "0.90"])):
        (_, _, row) = ranks.shares_table({"gpt": found | more})
        assert [cell.strip() for cell in row.split("|")[1:6]] == [title, "1.00", "1.00", *shares]
    assert ranks.hidden(found | {("graphc", "lockstep"): [4.5, 9.0, 8.5]}, "graphc") == 1 - (9.0 - 8.5) / 2.0
    found |= {("graphc", f"{name}, processor"): [t, 3.0] for name, t in (("t1", 4.0), ("t2", 2.0))}
    (_, _, row) = ranks.processor_table({"gpt": found})
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [title, "3000", "", "", "2000", "0.75"]
    assert ranks.steps_in(0.3, 0.1) == 3
    assert ranks.steps_in(1.0, 0.1) == 10


def test_tables_replace_those_of_the_page(bench, tmp_path):
    write, page = bench("ranks").write, tmp_path / "page.md"
    page.write_text("before\n<!-- ranks bench -->\nold\n<!-- end ranks bench -->\nafter\n")
    for _ in range(2):
        write(page, "ranks bench", [r"| \1 |"])
    assert page.read_text() == "before\n<!-- ranks bench -->\n\n| \\1 |\n\n<!-- end ranks bench -->\nafter\n"
    with pytest.raises(ValueError, match="has no <!-- network bench -->"):
        write(page, "network bench", [])


def test_marks_of_the_tables_are_on_the_page(bench):
    text = bench("ranks").PAGE.read_text()
    assert all(f"<!-- {mark}{name} bench -->" in text for name in ("ranks", "network") for mark in ("", "end "))


def test_a_network_that_may_not_be_made_says_why(bench, monkeypatch):
    network = bench("network")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match=r"^ip netns add bench\d+-switch: "), network.Network(2, 1.0):
        pass


@pytest.mark.parametrize("p", [1, 2, 3, 4, 6, 8, 64, 1000, 1024])
def test_allreduces_take_what_the_closed_forms_say(bench, p):
    predict = bench("predict")
    alpha, beta, gamma, n = 3e-5, 8e-10, 1e-10, 1e6
    cluster = predict.Cluster(predict.Link(alpha, beta, gamma))
    levels, rest = int(math.log2(p)), (p - 1) / p
    surplus = 2 * (alpha + n * beta) + n * gamma if p > 2**levels else 0
    whole = (2**levels - 1) / 2**levels
    wanted = {
        "ring": 2 * (p - 1) * alpha + 2 * rest * n * beta + rest * n * gamma,
        "doubling": levels * (alpha + n * beta + n * gamma) + surplus,
        "halving": 2 * levels * alpha + 2 * whole * n * beta + whole * n * gamma + surplus,
    }
    wanted["hierarchical"] = min(wanted.values())
    for name, seconds in wanted.items():
        assert predict.ALGORITHMS[name](p, n, cluster) == pytest.approx(seconds, rel=1e-12)
    # Nobody can receive less than what it does not have, sum or terms.
    assert min(wanted.values()) >= 2 * rest * n * beta or p == 2


def test_ranks_of_a_node_share_its_link(bench):
    predict = bench("predict")
    across, local = predict.Link(1e-5, 1e-9), predict.Link(1e-6, 1e-10)
    several, n = predict.Cluster(across, local, 4), 4e6
    # One node: nothing crosses. Two: slices of a quarter, four at a time, cross once there and once back.
    inside = 2 * 3 * (local.alpha + n / 4 * local.beta)
    assert predict.hierarchical(4, n, several) == pytest.approx(inside)
    two_nodes = min(across.alpha + n * across.beta, 2 * across.alpha + n * across.beta)
    assert predict.hierarchical(8, n, several) == pytest.approx(inside + two_nodes)
    # Halving goes near first: an eighth of the data crosses, four at a time.
    near = 2 * (local.alpha + n / 2 * local.beta) + 2 * (local.alpha + n / 4 * local.beta)
    assert predict.halving(8, n, several) == pytest.approx(near + 2 * (across.alpha + n / 8 * 4 * across.beta))
    # Of a ring only one rank of each node sends to another.
    assert predict.ring(8, n, several) == pytest.approx(14 * (across.alpha + n / 8 * across.beta))
    assert predict.ring(4, n, several) == pytest.approx(6 * (local.alpha + n / 4 * local.beta))


def test_buckets_overlap_what_is_computed(bench):
    predict = bench("predict")
    step = predict.Step(10.0, 9.0, ((3.0, 2.0), (6.0, 5.0), (9.0, 1.0)))
    # From 3 to 5, from 6 to 11, from 11 to 12: three more than the update could begin.
    assert predict.step_time(step, lambda n: n) == 13.0
    assert predict.step_time(step._replace(overlaps=False), lambda n: n) == 18.0
    assert predict.step_time(step, lambda n: 0.0) == predict.step_time(step._replace(buckets=()), lambda n: n) == 10.0
    cluster = predict.Cluster(predict.Link(0.0, 1.0))
    assert predict.weak_efficiency(step, 2, cluster, "doubling") == 10 / 13
    # By two: 4.5 and the update of 1; buckets at 1.5, 3 and 4.5 end at 3.5, 8.5 and 9.5.
    assert predict.strong_speedup(step, 2, cluster, "doubling") == 10 / (5.5 + 5.0)


def test_the_link_is_that_of_the_measurements(bench):
    predict = bench("predict")
    sizes = [8.0, 1e3, 1e5, 1e7]
    link = predict.fit(sizes, [2 * 5e-5 + 1.5 * n * 8e-10 for n in sizes], messages=2, share=1.5)
    assert link == pytest.approx((5e-5, 8e-10, 0.0))
    # Neither may be negative, whatever was measured.
    assert predict.fit([1.0, 2.0], [1.0, 4.0]).alpha == 0.0
    assert predict.fit([1.0, 2.0], [2.0, 1.0]).beta == 0.0


def test_predictions_say_where_it_stops(bench):
    predict = bench("predict")
    step = predict.even_step(0.02, 0.001, 4e6, 1, True)
    assert step.buckets == ((pytest.approx(0.019), 4e6),)
    ways = predict.algorithms(predict.Link(1e-4, 1e-9), predict.Link(1e-6, 1e-10), 16)
    table = predict.scaling_table(step, ways)
    assert [row.split("|")[1].strip() for row in table[2:]] == ["2", "4", "16", "64", "256", "1,024"]
    ring, doubling, *_ = predict.verdict(step, ways)
    # Half is where reductions take 20 ms: 126 messages of 0.1 ms and twice the bytes, 4 ms; five times 4.1 ms.
    assert "- ring: with the same batch on each rank less than half of the time is computing from 64 ranks on" in ring
    assert "- doubling: with the same batch on each rank less than half of the time is computing from 32 " in doubling


def test_half_precision_beside_float32(bench, tmp_path):
    """A step in half precision, its ratio, and a peer that cannot be run."""
    halves = bench("halves")
    args = argparse.Namespace(torch=sys.executable, threads=1, rounds=1, seconds=0.0, limit=60)
    steps = {title: halves.STEPS[title] for title in ("float32", "O2 bfloat16", "torch")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halves, "STEPS", steps | {"O2 float16": halves.STEPS["O2 float16"]})
        found, left_out = halves.measured("mlp_small", args, str(tmp_path))
        assert set(found) >= {"float32", "O2 bfloat16"}
        assert all(seconds > 0 for seconds in found.values())
        cells = halves.row("mlp_small", {"float32": 0.002, "O2 bfloat16": 0.001})
    assert cells[1:3] == ["2.000", "1.000 (0.50)"]
    if find_spec("torch") is None:
        assert left_out == ["torch left out for mlp_small: ModuleNotFoundError: No module named 'torch'"]
