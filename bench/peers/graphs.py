"""The graphs that are timed: their files, inputs at one batch and sequence length, and what they compute at least."""

import pathlib
import subprocess
import sys
import uuid

import numpy as np
import onnx
import onnxruntime as ort

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# What a model is called here, and its graph below tests/graphs.
MODELS = {
    "resnet50": "resnet50.dynamo", "mobilenet_v3_large": "mobilenet_v3_large.ts", "efficientnet_b0": "efficientnet_b0.dynamo",
    "bert_base": "bert_base.ts", "vit_b_16": "vit_b_16.dynamo", "whisper_tiny_enc": "whisper_tiny_enc.ts",
    "clip": "clip_vit_b32.dynamo", "blip_itm": "blip_itm.dynamo", "swin_t": "swin_t.ts", "segformer": "segformer.dynamo",
    "t5_enc": "t5_enc.ts",
}


def locate(name, folder):
    """The file of a model's name, of a graph's name or of a path; graphs are filled with weights in `folder` once."""
    if pathlib.Path(name).exists():
        return pathlib.Path(name)
    graph = MODELS.get(name, name)
    path = pathlib.Path(folder) / f"{graph}.onnx"
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "tools/fill_weights.py", graph, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    return path


class Inputs:
    """Shapes and types of a graph's inputs, with every free dimension fixed: the first is the batch, others the sequence length."""

    def __init__(self, path, batch, sequence):
        graph = onnx.load(path, load_external_data=False).graph
        weights = {t.name for t in graph.initializer}
        self.types, self.free = {}, {}
        for value in graph.input:
            if value.name in weights:
                continue
            tensor = value.type.tensor_type
            dims = []
            for i, d in enumerate(tensor.shape.dim):
                size = d.dim_value if d.HasField("dim_value") else (batch if i == 0 else sequence)
                if d.dim_param:
                    self.free[d.dim_param] = size
                dims.append(size)
            self.types[value.name] = (dims, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))

    def shapes_text(self):
        return ",".join(f"{name}={'x'.join(map(str, dims))}" for name, (dims, _) in self.types.items() if dims)

    def feeds(self):
        random = np.random.default_rng(0)
        made = {}
        for name, (dims, kind) in self.types.items():
            if "mask" in name:
                data = np.ones(dims)
            else:
                data = random.integers(1, 100, dims) if np.issubdtype(kind, np.integer) else random.standard_normal(dims)
            made[name] = data.astype(kind)
        return made


def work_of(path, inputs):
    """FLOPs of convolutions and matrix products, and bytes of the weights: shapes come from one run that also gives out what those take and make."""
    model = onnx.load(path, load_external_data=False)
    weights = {t.name: list(t.dims) for t in model.graph.initializer}
    nodes = [n for n in model.graph.node if n.op_type in ("Conv", "MatMul", "Gemm")]
    names = {name for n in nodes for name in (n.input[0], n.input[1], n.output[0])}
    given = {v.name for v in model.graph.input} | set(weights)
    already = {v.name for v in model.graph.output}
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in sorted(names - given - already))
    probe = path.parent / f"{path.stem}.{uuid.uuid4().hex}.onnx"  # beside the weights, which are named relative to it
    try:
        onnx.save(model, probe)
        session = ort.InferenceSession(str(probe), providers=["CPUExecutionProvider"])
        feeds = inputs.feeds()
        shapes = {o.name: list(v.shape) for o, v in zip(session.get_outputs(), session.run(None, feeds))}
    finally:
        probe.unlink(missing_ok=True)
    shapes |= weights | {name: list(v.shape) for name, v in feeds.items()}
    flops = 0
    for n in nodes:
        if n.op_type == "Conv":
            depth = int(np.prod(shapes[n.input[1]][1:]))
        else:
            transposed = any(a.name == "transA" and a.i for a in n.attribute)
            depth = shapes[n.input[0]][-2 if transposed else -1]
        flops += 2 * depth * int(np.prod(shapes[n.output[0]]))
    weight_bytes = sum(t_bytes(t) for t in model.graph.initializer)
    return {"gflop": flops / 1e9, "weight_mb": weight_bytes / 1e6}


def t_bytes(tensor):
    return int(np.prod(tensor.dims)) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
