"""Models of awkward sizes: large sparse weights, very long and very wide graphs, deeply nested bodies. As a program it writes one of them:

    generated_models.py FOLDER sparse BYTES | chain NODES | fan NODES | ifs LEVELS | loops LEVELS
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 21


def save(graph, path):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return path


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def external(name, shape, file, offset):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    entries = {"location": file, "offset": str(offset), "length": str(4 * int(np.prod(shape)))}
    tensor.external_data.extend(onnx.StringStringEntryProto(key=key, value=value) for key, value in entries.items())
    return tensor


def sparse(folder, weights_bytes, width=4096):
    """A chain of matrix products whose external weights are holes but for one row each: any size takes little disk."""
    count, size = max(1, weights_bytes // (4 * width * width)), 4 * width * width
    path = pathlib.Path(folder) / f"sparse_{count}x{width}.onnx"
    names = [f"w{i}" for i in range(count)]
    nodes = [helper.make_node("MatMul", [f"x{i}", name], [f"x{i + 1}"], name=f"product{i}") for i, name in enumerate(names)]
    weights = [external(name, [width, width], path.stem + ".weights", i * size) for i, name in enumerate(names)]
    save(helper.make_graph(nodes, path.stem, [floats("x0", ["rows", width])], [floats(f"x{count}", ["rows", width])], weights), path)
    random = np.random.default_rng(0)
    with open(path.with_suffix(".weights"), "wb") as file:
        file.truncate(count * size)
        for i in range(count):  # every weight its own row, or equal ones would be stored once
            file.seek(i * size + 4 * width * (i % width))
            file.write((random.standard_normal(width) / 2).astype(np.float32).tobytes())
    return path


def chain(folder, nodes):
    """One long chain of cheap operators."""
    ops = ("Relu", "Sigmoid", "Tanh", "Neg")
    made = [helper.make_node(ops[i % len(ops)], [f"x{i}"], [f"x{i + 1}"]) for i in range(nodes)]
    return save(helper.make_graph(made, "chain", [floats("x0", [1, 8])], [floats(f"x{nodes}", [1, 8])]), pathlib.Path(folder) / f"chain_{nodes}.onnx")


def fan(folder, nodes):
    """One value with very many readers, whose results meet in one sum."""
    scales = [helper.make_tensor(f"c{i}", TensorProto.FLOAT, [1], [1 + i / nodes]) for i in range(nodes)]
    made = [helper.make_node("Mul", ["x", f"c{i}"], [f"y{i}"]) for i in range(nodes)]
    made.append(helper.make_node("Sum", [f"y{i}" for i in range(nodes)], ["y"]))
    return save(helper.make_graph(made, "fan", [floats("x", [1, 8])], [floats("y", [1, 8])], scales), pathlib.Path(folder) / f"fan_{nodes}.onnx")


def wire(field, payload):
    """A length-delimited protobuf field: Python's own encoder refuses deep nesting."""
    out, size = bytearray([field << 3 | 2]), len(payload)
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes(out) + bytes([size]) + payload


def graph_bytes(nodes, name, inputs, outputs, weights=()):
    """A GraphProto whose nodes are given as bytes."""
    rest = helper.make_graph([], name, inputs, outputs, weights).SerializeToString()
    return b"".join(wire(1, node) for node in nodes) + rest


def node_bytes(op, inputs, outputs, **bodies):
    out = helper.make_node(op, inputs, outputs).SerializeToString()
    for name, graph in bodies.items():
        attribute = onnx.AttributeProto(name=name, type=onnx.AttributeProto.GRAPH).SerializeToString()
        out += wire(5, attribute + wire(6, graph))
    return out


def save_bytes(graph, path):
    header = onnx.ModelProto(ir_version=10, opset_import=[helper.make_opsetid("", OPSET)]).SerializeToString()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header + wire(7, graph))
    return path


def ifs(folder, levels):
    """If inside If; every branch reads `x` and `cond` of the outermost graph."""
    node = node_bytes("Relu", ["x"], ["r0"])
    for level in range(levels):
        then = graph_bytes([node], f"then{level}", [], [floats(f"r{level}", ["n"])])
        other = graph_bytes([node_bytes("Neg", ["x"], [f"e{level}"])], f"else{level}", [], [floats(f"e{level}", ["n"])])
        node = node_bytes("If", ["cond"], [f"r{level + 1}"], then_branch=then, else_branch=other)
    inputs = [helper.make_tensor_value_info("cond", TensorProto.BOOL, []), floats("x", ["n"])]
    return save_bytes(graph_bytes([node], "ifs", inputs, [floats(f"r{levels}", ["n"])]), pathlib.Path(folder) / f"ifs_{levels}.onnx")


def loops(folder, levels):
    """Loop inside Loop, one value carried through all; the innermost grows it, so its size varies at every level."""
    nodes = [helper.make_node("Concat", ["v0", "v0"], ["w0"], axis=0).SerializeToString()]
    for level in range(levels):
        go, again = f"go{level}", f"again{level}"
        inputs = [helper.make_tensor_value_info(f"i{level}", TensorProto.INT64, []), helper.make_tensor_value_info(go, TensorProto.BOOL, []),
                  floats(f"v{level}", [f"n{level}"])]
        outputs = [helper.make_tensor_value_info(again, TensorProto.BOOL, []), floats(f"w{level}", [f"m{level}"])]
        body = graph_bytes([*nodes, node_bytes("Identity", [go], [again])], f"body{level}", inputs, outputs)
        nodes = [node_bytes("Loop", ["trips", "", f"v{level + 1}"], [f"w{level + 1}"], body=body)]
    trips = helper.make_tensor("trips", TensorProto.INT64, [], [1])
    graph = graph_bytes(nodes, "loops", [floats(f"v{levels}", [1])], [floats(f"w{levels}", ["out"])], [trips])
    return save_bytes(graph, pathlib.Path(folder) / f"loops_{levels}.onnx")


MAKERS = {maker.__name__: maker for maker in (sparse, chain, fan, ifs, loops)}

if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in MAKERS:
        sys.exit(__doc__)
    print(MAKERS[sys.argv[2]](sys.argv[1], int(sys.argv[3])))
