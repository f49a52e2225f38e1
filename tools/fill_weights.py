#!/usr/bin/env python3
"""Unpacks the graphs in tests/graphs and gives them weights: fill_weights.py [GRAPH ...] [--out DIR] [--seed N] [--list]

The graphs are real architectures as PyTorch's exporters wrote them (`.ts`: the TorchScript exporter, `.dynamo`: the present one), without
their large weights: those are external data in GRAPH.weights, which this makes from a seed. How a weight is drawn follows from the
node that uses it, so that activations neither die out nor overflow through the depth of the network. A graph that is there already,
from the same seed and the same version of this script, is left alone. Needs the Python packages onnx and numpy, and the program zstd.
"""

import argparse
import hashlib
import math
import pathlib
import subprocess
import sys
import zlib

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
except ImportError as missing:
    sys.exit(f"error: {missing}\nhint: run `make deps`, then use .deps/python/bin/python3")

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKED = ROOT / "tests" / "graphs"
PAGE = 4096
# Networks of squeezed and gated convolutions shrink what passes through them; more variance per convolution makes up for it.
CONV_GAIN = {"efficientnet_b0.dynamo": 2.5, "mobilenet_v3_large.ts": 1.8, "ssdlite.ts": 1.6}


def users_by_name(graph):
    """Tensor name -> [(node, input index)] over the top-level graph."""
    users = {}
    for node in graph.node:
        for index, name in enumerate(node.input):
            users.setdefault(name, []).append((node, index))
    return users


def attribute(node, name, default):
    for a in node.attribute:
        if a.name == name:
            return helper.get_attribute_value(a)
    return default


def effective_use(name, dims, users):
    """The first use of a tensor, looking through Transpose and Identity, and the tensor's dimensions there."""
    while name in users:
        node, index = users[name][0]
        if node.op_type == "Transpose":
            perm = attribute(node, "perm", list(reversed(range(len(dims)))))
            dims = [dims[p] for p in perm]
        elif node.op_type != "Identity":
            return node, index, dims
        name = node.output[0]
    return None, 0, dims


def fan_in(node, index, dims):
    """How many products are summed into one output element, or None if the tensor is no matrix or filter of this node."""
    if len(dims) < 2 or index == 0 and node.op_type in ("Conv", "ConvTranspose", "LSTM", "GRU"):
        return None
    if node.op_type == "Conv":
        return math.prod(dims[1:])
    if node.op_type == "ConvTranspose":
        return dims[0] * math.prod(dims[2:])
    if node.op_type == "MatMul":
        return dims[-2] if index == 1 else dims[-1]
    if node.op_type == "Gemm" and index < 2:
        summed_last = bool(attribute(node, "transB", 0)) if index == 1 else not attribute(node, "transA", 0)
        return dims[-1] if summed_last else dims[-2]
    if node.op_type in ("LSTM", "GRU", "RNN") and index in (1, 2):
        return dims[-1]
    return None


def is_scale(node, index):
    """Whether this input multiplies its neighbours one by one: the weight of a norm."""
    norms = ("LayerNormalization", "GroupNormalization", "InstanceNormalization", "BatchNormalization", "RMSNormalization")
    return (node.op_type in norms and index == 1) or node.op_type == "Mul"


def draw_float(rng, dims, node, index, used_dims, conv_gain):
    noise = rng.standard_normal(dims, dtype=np.float32)
    if node is None:
        return 0.1 * noise
    if node.op_type == "BatchNormalization" and index == 4:
        return 1.0 + 0.2 * np.abs(noise)
    if is_scale(node, index):
        return 1.0 + 0.1 * noise
    terms = fan_in(node, index, used_dims)
    if terms is not None:
        gain = conv_gain if node.op_type.startswith("Conv") else 1.0
        return math.sqrt(gain / terms) * noise
    if node.op_type == "Gather":
        return 0.05 * noise
    return (0.02 if len(dims) > 1 else 0.1) * noise


def draw_integer(dims, name, kind):
    """Positions count up along the last axis; masks let everything through that is not in the future; the rest is zero."""
    if kind == np.bool_:
        return np.tril(np.ones(dims, kind)) if len(dims) > 1 and dims[-1] == dims[-2] else np.ones(dims, kind)
    if "position" in name:
        return np.broadcast_to(np.arange(dims[-1], dtype=kind), dims)
    return np.zeros(dims, kind)


def draw(tensor, users, seed, conv_gain):
    dims = list(tensor.dims)
    kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if not np.issubdtype(kind, np.floating):
        return draw_integer(dims, tensor.name, kind)
    # A generator per tensor: its values do not depend on which others there are.
    rng = np.random.default_rng([seed, zlib.crc32(tensor.name.encode())])
    node, index, used_dims = effective_use(tensor.name, dims, users)
    return draw_float(rng, dims, node, index, used_dims, conv_gain).astype(kind)


def set_external(tensor, location, offset, length):
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(value)


def unpack(name):
    done = subprocess.run(["zstd", "-dcq", PACKED / f"{name}.onnx.zst"], capture_output=True)
    if done.returncode:
        sys.exit(f"error: {name}: {done.stderr.decode().strip()}")
    return done.stdout


def fill(name, out, seed):
    """Writes OUT/NAME.weights, then OUT/NAME.onnx; returns how many bytes of weights."""
    packed = unpack(name)
    script = pathlib.Path(__file__).read_bytes()
    stamp = hashlib.sha256(packed + script + str(seed).encode()).hexdigest()
    stamp_file = out / f"{name}.stamp"
    if stamp_file.exists() and stamp_file.read_text() == stamp and (out / f"{name}.onnx").exists():
        return (out / f"{name}.weights").stat().st_size
    stamp_file.unlink(missing_ok=True)
    model = onnx.load_model_from_string(packed)
    users = users_by_name(model.graph)
    with open(out / f"{name}.weights", "wb") as file:
        for tensor in model.graph.initializer:
            if tensor.data_location != TensorProto.EXTERNAL:
                continue
            file.write(bytes(-file.tell() % PAGE))
            offset = file.tell()
            file.write(np.ascontiguousarray(draw(tensor, users, seed, CONV_GAIN.get(name, 1.0))).data)
            set_external(tensor, f"{name}.weights", offset, file.tell() - offset)
        size = file.tell()
    (out / f"{name}.onnx").write_bytes(model.SerializeToString())
    stamp_file.write_text(stamp)
    return size


def main():
    names = sorted(p.name.removesuffix(".onnx.zst") for p in PACKED.glob("*.onnx.zst"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", metavar="GRAPH", help="all, if none is named")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "graphs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="print the names of the graphs and end")
    args = parser.parse_args()
    if args.list:
        print("\n".join(names))
        return
    unknown = [g for g in args.graphs if g not in names]
    if unknown:
        sys.exit(f"error: no graph named {', '.join(unknown)}\nhint: the graphs are {', '.join(names)}")
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.graphs or names:
        print(f"{name}: {fill(name, args.out, args.seed) / 1e6:.1f} MB of weights", flush=True)


if __name__ == "__main__":
    main()
