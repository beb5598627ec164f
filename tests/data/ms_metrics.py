"""Record metrics: `python ms_metrics.py > ms_metrics.json`, with MindSpore 2.10 and NumPy.

tests/train/test_metrics.py compares. Left out is what MindSpore gets wrong: RootMeanSquareDistance without its root, ROC of
several classes, OcclusionSensitivity of more than one pixel, ConfusionMatrixMetric with decrease="mean_batch".
"""

import json
import sys

import numpy as np

RNG = np.random.default_rng(5)
IMAGE1, IMAGE2 = np.zeros((9, 10), np.int32), np.zeros((9, 10), np.int32)
IMAGE1[2:6, 1:7] = IMAGE2[3:8, 3:9] = IMAGE2[0, 0] = 1
VOLUME1, VOLUME2 = np.zeros((5, 6, 7), np.int32), np.zeros((5, 6, 7), np.int32)
VOLUME1[1:4, 1:5, 2:6] = VOLUME2[2:5, 2:6, 1:5] = 2
INPUTS = {
    "scores": RNG.standard_normal((6, 5)).astype(np.float32).round(3),
    "labels": RNG.integers(0, 5, 6).astype(np.int32),
    "scores2": RNG.standard_normal((4, 5)).astype(np.float32).round(3),
    "labels2": RNG.integers(0, 5, 4).astype(np.int32),
    "map": RNG.standard_normal((2, 3, 4)).astype(np.float32).round(3),
    "map_labels": RNG.integers(0, 3, (2, 4)).astype(np.int32),
    "bits": (RNG.random((4, 3)) > 0.5).astype(np.float64),
    "bits2": (RNG.random((4, 3)) > 0.4).astype(np.float64),
    "cubes": (RNG.random((3, 2, 4)) > 0.5).astype(np.float64),
    "cubes2": (RNG.random((3, 2, 4)) > 0.4).astype(np.float64),
    "one": np.array([3, 1, 4, 2, 2], np.float32),
    "one_labels": np.array([0, 1, 0, 0, 1], np.int32),
    "loss": np.array(1.5, np.float32),
    "losses": np.array([1.0, 2.0, 4.0], np.float32),
    "image": IMAGE1,
    "image2": IMAGE2,
    "nothing": IMAGE1 * 0,
    "volume": VOLUME1,
    "volume2": VOLUME2,
}
INPUTS["one_hot"] = np.eye(5, dtype=np.float32)[INPUTS["labels"]]
SCORES = np.exp(INPUTS["scores"])
INPUTS["shares"] = (SCORES / SCORES.sum(axis=1, keepdims=True)).astype(np.float32).round(4)
CANDIDATES = [["i", "have", "a", "pen", "on", "my", "desk", "now"], ["hello", "there", "my", "old", "friend"]]
REFERENCES = [
    [["i", "have", "a", "pen", "in", "my", "desk"], ["there", "is", "a", "pen", "on", "my", "desk"]],
    [["hello", "there", "my", "old", "friends"]],
]
TWO = [["scores", "labels"], ["scores2", "labels2"]]
BITS = [["bits", "bits2"], ["bits2", "bits"]]
CUBES = [["cubes", "cubes2"], ["cubes2", "cubes"]]
DISTANCES = ("euclidean", "chessboard", "taxicab")
NUMBERS = [
    "sensitivity", "specificity", "precision", "npv", "miss_rate", "fpr", "fdr", "for", "pt", "ts", "acc", "ba", "f1", "mcc",
    "fm", "bm", "mk",
]  # fmt: skip
#: (metric, its arguments, the inputs of each batch, arguments of eval)
CASES = [
    ("Accuracy", {}, TWO, {}),
    ("Accuracy", {}, [["scores", "one_hot"]], {}),
    ("Accuracy", {}, [["map", "map_labels"]], {}),
    ("Accuracy", {"eval_type": "multilabel"}, BITS, {}),
    ("Accuracy", {"eval_type": "multilabel"}, CUBES, {}),
    *((name, {}, TWO, {"average": a}) for name in ("Precision", "Recall", "F1") for a in (False, True)),
    *((n, {"eval_type": "multilabel"}, BITS, {"average": a}) for n in ("Precision", "Recall") for a in (False, True)),
    *((n, {"eval_type": "multilabel"}, CUBES, {}) for n in ("Precision", "Recall")),
    ("Precision", {}, [["map", "map_labels"]], {}),
    ("F1", {}, [["scores", "one_hot"]], {}),
    ("Fbeta", {"beta": 2}, TWO, {}),
    *(("TopKCategoricalAccuracy", {"k": k}, TWO, {}) for k in (1, 2, 3)),
    ("Top1CategoricalAccuracy", {}, TWO, {}),
    ("Top5CategoricalAccuracy", {}, TWO, {}),
    ("MAE", {}, [["scores", "shares"], ["scores2", "scores2"]], {}),
    ("MSE", {}, [["scores", "shares"], ["scores2", "scores2"]], {}),
    ("Loss", {}, [["loss"], ["losses"]], {}),
    ("Perplexity", {}, [["shares", "labels"]], {}),
    ("Perplexity", {"ignore_label": int(INPUTS["labels"][0])}, [["shares", "labels"], ["shares", "labels"]], {}),
    ("Dice", {}, BITS, {}),
    ("Dice", {"smooth": 1.0}, BITS, {}),
    *(
        ("CosineSimilarity", {"similarity": s, "reduction": r, "zero_diagonal": z}, [["scores2"]], {})
        for s in ("cosine", "dot")
        for r in ("none", "sum", "mean")
        for z in (True, False)
    ),
    *(
        ("ConfusionMatrix", {"num_classes": 5, "normalize": n}, [["labels", "labels"], ["scores", "labels"]], {})
        for n in ("no_norm", "target", "prediction", "all")
    ),
    ("ConfusionMatrix", {"num_classes": 2, "threshold": 0.9}, [["bits", "bits2"]], {}),
    *(("ConfusionMatrixMetric", {"metric_name": n}, CUBES, {}) for n in NUMBERS),
    *(
        (
            "ConfusionMatrixMetric",
            {"metric_name": n, "calculation_method": True, "skip_channel": False},
            CUBES,
            {},
        )
        for n in NUMBERS
    ),
    ("ConfusionMatrixMetric", {"calculation_method": True, "decrease": "sum"}, CUBES, {}),
    ("ROC", {"pos_label": 1}, [["one", "one_labels"]], {}),
    *(
        (name, {"symmetric": s, "distance_metric": d}, [[*images, label]], {})
        for d in DISTANCES
        for images, label in ((("image", "image2"), 1), (("volume", "volume2"), 2))
        for name, s in (
            ("MeanSurfaceDistance", True),
            ("MeanSurfaceDistance", False),
            ("RootMeanSquareDistance", True),
        )
    ),
    *(
        ("HausdorffDistance", {"distance_metric": d, "percentile": p, "directed": w, "crop": c}, [[*images, label]], {})
        for d, p, w, c in (
            ("euclidean", None, False, True),
            ("euclidean", None, True, False),
            ("euclidean", 50.0, False, True),
            ("chessboard", 95.0, True, True),
            ("taxicab", None, False, False),
        )
        for images, label in ((("image", "image2"), 1), (("volume", "volume2"), 2))
    ),
    ("MeanSurfaceDistance", {}, [["image", "nothing", 1]], {}),
    ("HausdorffDistance", {}, [["nothing", "image", 1]], {}),
    *(
        ("BleuScore", {"n_gram": n, "smooth": s}, [[CANDIDATES, REFERENCES]], {})
        for n in (1, 2, 4)
        for s in (True, False)
    ),
]


def plain(value):
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return np.asarray(value, np.float64).tolist()


def measure(train, name, options, batches, asked):
    """The value of a metric of `train`; strings among the inputs are names of INPUTS."""
    metric = getattr(train, name)(**options)
    for batch in batches:
        metric.update(*(INPUTS[x] if isinstance(x, str) else x for x in batch))
    return plain(metric.eval(**asked))


if __name__ == "__main__":
    import mindspore
    from mindspore import train

    inputs = {name: {"dtype": a.dtype.name, "values": a.tolist()} for name, a in INPUTS.items()}
    values = [[*case, measure(train, *case)] for case in CASES]
    names = train.names()
    json.dump({"mindspore": mindspore.__version__, "names": names, "inputs": inputs, "cases": values}, sys.stdout)
