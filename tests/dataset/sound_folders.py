"""Made-up folders in the layouts of published data sets of sounds, a few samples each: what MindSpore reads of them is in
tests/data/ms_sources.json.
"""

import struct

import numpy as np

from tests.dataset.folders import put


def wav(values, rate=16000, bits=16, channels=1, before=b""):
    """The bytes of a WAV file. before: chunks before that of the samples."""
    data = np.asarray(values, f"<i{bits // 8}" if bits > 8 else "u1").tobytes()
    size = channels * bits // 8
    chunk = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * size, size, bits)
    body = b"WAVE" + chunk + before + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def sph(values, rate=16000, order="10", head=1024):
    """The bytes of a file of NIST's."""
    lines = ("NIST_1A", f"   {head}", "channel_count -i 1", f"sample_rate -i {rate}", "sample_n_bytes -i 2")
    text = "\n".join((*lines, f"sample_byte_format -s2 {order}", "sample_coding -s3 pcm", "end_head", ""))
    return text.encode().ljust(head, b" ") + np.asarray(values, ">i2" if order == "10" else "<i2").tobytes()


def make(root):
    """All folders below `root`."""
    sound = [0, 1, -1, 32767, -32768, 1000]
    put(root / "yesno", {"0_1_0_0_1_1_0_0.wav": wav(np.arange(-(2**15), 2**15), 8000), "notes.txt": "-"})
    for k, name in enumerate(("aew", "bdl")):
        put(root / f"arctic/cmu_us_{name}_arctic", {
            **{f"wav/arctic_a000{j}.wav": wav([*sound, j, k]) for j in (1, 2)},
            "etc/txt.done.data": "".join(f'( arctic_a000{j} "Text {j}, of {name}." )\n' for j in (2, 1)),
        })  # fmt: skip
    put(root / "gtzan", {
        f"{genre}/{genre}.000{number:02}.wav": wav([number, *sound], 22050)
        for genre, numbers in (("rock", (0, 10, 38)), ("blues", (12, 29, 3, 98)), ("jazz", (73,))) for number in numbers
    } | {"polka/polka.00001.wav": wav(sound, 22050)})  # fmt: skip
    put(root / "ljspeech", {
        **{f"wavs/LJ001-000{j}.wav": wav([*sound, j], 22050) for j in (1, 2)},
        "metadata.csv": "LJ001-0002|Printing, in 1 sense|Printing, in one sense\nLJ001-0001|ünï \"q\"|ünï\n",
    })  # fmt: skip
    for part, speaker, chapters in (("dev-clean", 116, (288045, 288046)), ("train-clean-100", 1255, (74899,))):
        for chapter in chapters:
            names = [f"{speaker}_{chapter}_00000{j}_000000" for j in (3, 1)]
            put(root / f"libritts/{part}/{speaker}/{chapter}", {
                **{f"{name}.wav": wav([*sound, k], 24000) for k, name in enumerate(names)},
                f"{speaker}_{chapter}.trans.tsv": "".join(
                    f"{name}\tText {k} of 3.\ttext {k} of three.\n" for k, name in enumerate(names)
                ),
            })  # fmt: skip
    put(root / "commands", {
        **{f"{word}/{speaker}_nohash_{j}.wav": wav([*sound, j, len(word)])
           for word in ("dog", "cat") for speaker in ("5a33", "b433") for j in range(2)},
        "_background_noise_/noise.wav": wav(sound), "testing_list.txt": "dog/b433_nohash_1.wav\ncat/5a33_nohash_0.wav\n",
        "validation_list.txt": "cat/b433_nohash_0.wav\n",
    })  # fmt: skip
    for folder, parts in (("tedlium1", ("train", "test", "dev")), ("tedlium3", ("data",))):
        for k, part in enumerate(parts):
            talks = {"B_2010": 2, "A_2009": 1}
            for talk, count in talks.items():
                put(root / folder / part, {
                    f"sph/{talk}.sph": sph(np.arange(64) * (k + 1) * len(talk), 16000),
                    f"stm/{talk}.stm": "".join(
                        f"{talk} 1 {talk}_s {j / 1000:.3f} {j / 1000 + 0.001:.3f} <o,f0,male> text {j} of {part}\n"
                        for j in range(count)
                    ),
                })  # fmt: skip
    return root
