"""`tutti compare` on a real graph: an engine agrees with its model on the interpreter, layer by layer, and with ONNX Runtime's outputs in a
directory; a model of which one weight was changed does not, and the layer is named.
Arguments: parts of case names."""
import functools
import json
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from graphs_test import feeds_of, shapes_of
from tutti_program import PROGRAM, ROOT, WORK, Failed, build, main, open_reference, reference

GRAPH = "mobilenet_v3_large.ts"
MADE_UP = ("--random-inputs", "1")


@functools.cache
def model_and_engine():
    folder = WORK / "graphs"
    subprocess.run([sys.executable, ROOT / "tools/fill_weights.py", GRAPH, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    model, engine = folder / f"{GRAPH}.onnx", folder / f"{GRAPH}.compare.tutti"
    build(model, engine)
    return model, engine


def compare(wanted_code, *arguments):
    """The document of a comparison that must end with this exit code."""
    done = subprocess.run([PROGRAM, "compare", *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != wanted_code:
        raise Failed(f"exit {done.returncode}, expected {wanted_code}: {(done.stdout + done.stderr)[-600:]}")
    return json.loads(done.stdout)


def with_the_interpreter():
    model, engine = model_and_engine()
    found = compare(0, engine, model, "--interpret", "--all-layers", "--top-k", "5", *MADE_UP)
    over = found["first_layer_over_limit"]
    if found["verdict"] != "pass" or over is not None or len(found["layers"]) < 50:
        raise Failed(f"verdict {found['verdict']}, {len(found['layers'])} layers, first over the limit: {over}")
    return f"{len(found['layers'])} layers agree, the output by {found['outputs'][0]['max_rel']:.2g}"


def with_files():
    model, engine = model_and_engine()
    session = open_reference(model)
    feeds = feeds_of(session, shapes_of(session, 0)[0], 1)
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        inputs = []
        for index, (name, value) in enumerate(feeds.items()):
            np.save(f"{folder}/in{index}.npy", value)
            inputs += ["--input", f"{name}={folder}/in{index}.npy"]
        expected = WORK / "compare_expected"
        expected.mkdir(exist_ok=True)
        for name, value in reference(session, feeds).items():
            np.save(expected / f"{name.replace('/', '_').replace(':', '_')}.npy", value)
        found = compare(0, engine, expected, *inputs)
    return f"differs by {found['outputs'][0]['max_rel']:.2g} of its scale"


def one_weight():
    path, engine = model_and_engine()
    model = onnx.load(path)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    convs = [node for node in model.graph.node if node.op_type == "Conv"]
    conv = convs[len(convs) // 2]
    values = onnx.numpy_helper.to_array(weights[conv.input[1]]).copy()
    values.flat[0] += 10 * np.abs(values).max()
    weights[conv.input[1]].CopyFrom(onnx.numpy_helper.from_array(values, conv.input[1]))
    changed = WORK / "graphs" / f"{GRAPH}.changed.onnx"
    onnx.save(model, changed)
    found = compare(3, changed, engine, "--all-layers", *MADE_UP)
    changed.unlink()
    first = next(layer for layer in found["layers"] if not layer["pass"])
    if first["value"] != found["first_layer_over_limit"] or conv.name not in first["origins"]:
        raise Failed(f"the weight of '{conv.name}' was changed, but the first layer over the limit is {first}")
    return f"named {first['value']} of {len(found['layers'])} layers"


def bisected():
    """Below the rounding of a sum in another order, every kernel differs: no patch is to blame, and the first such node is named."""
    model, _ = model_and_engine()
    found = compare(3, model, "--bisect", "--accuracy", "1,1e-9", *MADE_UP)["bisect"]
    if (found["found"], found["cause"], found["patch"]) != (True, "kernel", 0) or found["step"]["op"] != "Conv":
        raise Failed(f"expected the first convolution's kernel, found {found}")
    return f"named {found['node']} before any of {found['patches']} patches"


if __name__ == "__main__":
    main([(case.__name__, case) for case in (with_the_interpreter, with_files, one_weight, bisected)])
