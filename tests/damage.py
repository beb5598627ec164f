"""Damage done to files that are read from disk: a few edits of a good one, which hypothesis chooses and makes small."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

#: What readers of text, of archives and of numbers stumble over.
PIECES = (
    b"", b"\0", b"\xff", b"\xff\xff\xff\x7f", b"-1", b"0", b"1e999", b"99999999999999999999", b"null", b"NaN", b"true",
    b"{}", b"[]", b'""', b'"', b"{", b"[" * 3000, b"\\ud800", b"\n", b",", b"../../x", b"PK\x05\x06", b"PK\x01\x02",
)  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """Bytes at a share of a file's length that give way to others."""

    share: float
    removed: int
    put: bytes

    def done_to(self, data: bytes) -> bytes:
        """The file afterwards."""
        at = int(self.share * len(data))
        return data[:at] + self.put + data[at + self.removed :]


EDITS = st.lists(
    st.builds(
        Edit,
        st.floats(0, 1),
        st.sampled_from((0, 1, 1, 2, 4, 8, 40, 10**9)),
        st.one_of(st.sampled_from(PIECES), st.binary(max_size=4)),
    ),
    min_size=1,
    max_size=3,
)


def damaged(data: bytes, edits: list[Edit]) -> bytes:
    """A file after all edits."""
    for edit in edits:
        data = edit.done_to(data)
    return data
