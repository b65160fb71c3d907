#!/usr/bin/env python3
"""Makes titan/checkpoint/testdata/quants.{gguf,safetensors}: random blocks of every format
that titan reads, and the values that the reference implementation gives for them.

Needs: pip install gguf==0.19.0 safetensors numpy. Usage: tools/make_gguf_vectors.py
"""

import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).parent.parent / "titan" / "checkpoint" / "testdata"
ROWS, COLUMNS = 2, 512

# Byte offsets of the fp16 scales in a block: random bits there could be infinite or NaN.
SCALES = {
    Type.Q8_0: (0,),
    Type.Q4_0: (0,),
    Type.Q4_1: (0, 2),
    Type.Q5_0: (0,),
    Type.Q5_1: (0, 2),
    Type.Q4_K: (0, 2),
    Type.Q6_K: (208,),
}


def random_blocks(rng, kind):
    values, size = gguf.GGML_QUANT_SIZES[kind]
    if kind == Type.F32:
        return rng.standard_normal((ROWS, COLUMNS), dtype=np.float32).view(np.uint8)
    if kind == Type.F16:
        return rng.standard_normal((ROWS, COLUMNS)).astype(np.float16).view(np.uint8)
    if kind == Type.BF16:
        floats = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
        return gguf.quants.quantize(floats, kind)
    blocks = rng.integers(0, 256, (ROWS * COLUMNS // values, size), dtype=np.uint8)
    for offset in SCALES[kind]:
        scales = rng.standard_normal(len(blocks)).astype(np.float16)
        scales[0] = 6e-8  # the smallest subnormal
        blocks[:, offset : offset + 2] = scales.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(ROWS, -1)


def main():
    rng = np.random.default_rng(20260101)
    writer = gguf.GGUFWriter(FOLDER / "quants.gguf", "test")
    writer.add_float32("test.f32", 1e-5)
    writer.add_float64("test.f64", 1e-300)
    writer.add_int8("test.i8", -8)
    writer.add_uint64("test.u64", 2**64 - 1)
    writer.add_bool("test.bool", True)
    writer.add_array("test.texts", ["a", "\u00e9", ""])
    writer.add_array("test.nested", [[1, 2], [3]])
    expected = {}
    for kind in [Type.F32, Type.F16, Type.BF16, *SCALES]:
        blocks = random_blocks(rng, kind)
        writer.add_tensor(kind.name, blocks, raw_dtype=kind)
        expected[kind.name] = gguf.quants.dequantize(blocks, kind).reshape(ROWS, COLUMNS)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file(expected, FOLDER / "quants.safetensors")


if __name__ == "__main__":
    main()
