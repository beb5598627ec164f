"""`mindrecord.set_enc_key` and its like: files are neither encrypted nor decrypted, and other values are refused by name."""

from __future__ import annotations

from graphc.validation.unused_arguments import only


def set_enc_key(enc_key: str | None) -> None:
    """The key that files are encrypted with: None, for none."""
    only("set_enc_key", "enc_key", enc_key, None)


def set_enc_mode(enc_mode: str = "AES-GCM") -> None:
    """How files would be encrypted: "AES-GCM", which has no effect without a key."""
    only("set_enc_mode", "enc_mode", enc_mode, "AES-GCM")


def set_dec_mode(dec_mode: str | None = "AES-GCM") -> None:
    """How files would be decrypted: "AES-GCM" or None, which have no effect without a key."""
    only("set_dec_mode", "dec_mode", dec_mode, "AES-GCM", None)
