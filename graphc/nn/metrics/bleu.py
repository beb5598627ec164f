"""BLEU: how much of a translation's word sequences its references hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.nn import checks
from graphc.nn.metrics.base import Metric, counted, measured, misfit, rearrange_inputs


class BleuScore(Metric):
    """The BLEU score of candidates against references (MindSpore: train.BleuScore; Papineni et al., 2002).

    Inputs: candidates, a list of lists of words; references, a list of as many lists of lists of words. n_gram: the
    longest sequences, 1 to 4. smooth adds 1 to each precision's numerator and denominator. A score with no match of some
    length is 0. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        self.n_gram = checks.integer("BleuScore", "n_gram", n_gram)
        if n_gram > 4:
            raise checks.wrong_value("BleuScore", "n_gram", "from 1 to 4", n_gram)
        self.smooth = checks.boolean("BleuScore", "smooth", smooth)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._numerator, self._denominator = np.zeros(self.n_gram), np.zeros(self.n_gram)
        self._c = self._r = 0
        self._is_update = False

    def _grams(self, words: Sequence[Any]) -> Counter[tuple[Any, ...]]:
        lengths = range(1, self.n_gram + 1)
        return Counter(tuple(words[i : i + n]) for n in lengths for i in range(len(words) - n + 1))

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take in candidates and references. ArgumentValueError if they are not as many, or a candidate has no reference."""
        candidates, references = counted("BleuScore", inputs, "candidates", "references")
        if len(candidates) != len(references):
            raise misfit(
                "BleuScore", f"there are {len(references)} lists of references for {len(candidates)} candidates"
            )
        if not all(references):
            raise misfit("BleuScore", "every candidate needs at least one reference")
        for candidate, wanted in zip(candidates, references, strict=True):
            self._c += len(candidate)
            self._r += min((len(ref) for ref in wanted), key=lambda n: abs(n - len(candidate)))
            found = self._grams(candidate)
            most: Counter[tuple[Any, ...]] = Counter()
            for ref in wanted:
                most |= self._grams(ref)
            for gram, count in found.items():
                self._denominator[len(gram) - 1] += count
                self._numerator[len(gram) - 1] += min(count, most[gram])
        self._is_update = True

    def eval(self) -> float:
        """The score, 0 to 1; MetricError before the first batch."""
        measured("BleuScore", self._is_update)
        if self._numerator.min() == 0:
            return 0.0
        more = 1.0 if self.smooth else 0.0
        precisions = (self._numerator + more) / (self._denominator + more)
        brevity = 1.0 if self._c > self._r else np.exp(1 - self._r / self._c)
        return float(brevity * np.exp(np.log(precisions).mean()))


__all__ = ["BleuScore"]
