"""Random small graphs that nearly match what the passes look for: views, projections, attention, norms.

Values have other users or are outputs in the middle of a pattern, masks have every rank and type, inputs hold NaN and
infinities, dims are 0 or 1 at run time only. A graph follows from its seed alone.
"""
import random

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

NUMPY = {T.FLOAT: np.float32, T.DOUBLE: np.float64, T.FLOAT16: np.float16}


class Dim:
    """number * b^i * s^j."""

    def __init__(self, number=1, b=0, s=0):
        self.number, self.b, self.s = number, b, s

    def __mul__(self, other):
        return Dim(self.number * other.number, self.b + other.b, self.s + other.s)

    def __eq__(self, other):
        return (self.number, self.b, self.s) == (other.number, other.b, other.s)

    def static(self):
        return self.b == self.s == 0

    def at(self, b, s):
        return self.number * b**self.b * s**self.s


B, S = Dim(b=1), Dim(s=1)


def dims(*parts):
    return [p if isinstance(p, Dim) else Dim(p) for p in parts]


def product(shape):
    out = Dim()
    for dim in shape:
        out = out * dim
    return out


class Graph:
    """A model under construction: values are names, with their shapes beside them."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.type = self.rng.choices([T.FLOAT, T.DOUBLE, T.FLOAT16], [90, 7, 3])[0]
        self.nodes, self.inputs, self.initializers, self.shapes, self.kinds = [], [], [], {}, {}
        self.count = 0

    def chance(self, percent):
        return self.rng.random() * 100 < percent

    def has(self, op):
        return any(node.op_type == op for node in self.nodes)

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def add(self, op, inputs, shape, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        shapes = [shape] if outputs == 1 else shape
        self.shapes.update(zip(names, shapes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        name = self.name()
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        self.shapes[name] = dims(*np.asarray(array).shape)
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def weights(self, *shape):
        return self.constant(self.numbers.uniform(-1, 1, shape).astype(NUMPY[self.type]))

    def number(self, value):
        """A scalar, at times as a tensor of one element and rank 1."""
        return self.constant(np.full((1,) if self.chance(20) else (), value, NUMPY[self.type]))

    def input(self, shape, kind=None):
        name = f"in{len(self.inputs)}"
        kind = kind or self.type
        named = [d.number if d.static() else {(1, 1, 0): "b", (1, 0, 1): "s"}.get((d.number, d.b, d.s)) for d in shape]
        self.inputs.append(helper.make_tensor_value_info(name, kind, named))
        self.shapes[name], self.kinds[name] = shape, kind
        return name

    # Views ------------------------------------------------------------------------------------------------------

    def reshape(self, x, to):
        """By a constant target with 0 and -1 where that is possible, else by arithmetic on the shape of x."""
        shape, target, open_axis = self.shapes[x], [], False
        for axis, dim in enumerate(to):
            if axis < len(shape) and dim == shape[axis] and (not dim.static() or self.chance(20)):
                target.append(0)
            elif dim.static() and not (self.chance(15) and not open_axis and not any(d.number == 0 for d in to)):
                target.append(dim.number)
            elif not open_axis:
                open_axis = True
                target.append(-1)
            else:
                return self.reshape_by_shape(x, to)
        if self.chance(15):
            return self.reshape_by_shape(x, to)
        return self.add("Reshape", [x, self.ints(*target)], to)

    def reshape_by_shape(self, x, to):
        source = self.add("Shape", [x], dims(len(self.shapes[x])))
        parts = []
        for dim in to:
            if dim.static():
                parts.append(self.ints(dim.number))
                continue
            axis = next((a for a, d in enumerate(self.shapes[x]) if d == dim), None)
            if axis is None:
                parts.append(self.ints(-1))
                continue
            index = axis - len(self.shapes[x]) if self.chance(30) else axis
            if self.chance(50):
                parts.append(self.add("Gather", [source, self.ints(index)], dims(1)))
            else:
                one = self.add("Gather", [source, self.constant(np.int64(index))], [])
                parts.append(self.add("Unsqueeze", [one, self.ints(0)], dims(1)))
        return self.add("Reshape", [x, self.add("Concat", parts, dims(len(parts)), axis=0)], to)

    def transpose(self, x, perm):
        return self.add("Transpose", [x], [self.shapes[x][p] for p in perm], perm=perm)

    def view(self, x):
        shape = self.shapes[x]
        rank = len(shape)
        choice = self.rng.randrange(8)
        if choice <= 2 and rank:
            perm = list(range(rank))
            self.rng.shuffle(perm)
            return self.transpose(x, perm)
        if choice == 3 and rank >= 2:  # merge two axes
            at = self.rng.randrange(rank - 1)
            return self.reshape(x, shape[:at] + [shape[at] * shape[at + 1]] + shape[at + 2:])
        if choice == 4 and rank < 6:  # cut an axis
            cuts = [(a, f) for a, d in enumerate(shape) for f in (2, 3, 4) if d.number % f == 0]
            if cuts:
                at, factor = self.rng.choice(cuts)
                rest = Dim(shape[at].number // factor, shape[at].b, shape[at].s)
                pair = [Dim(factor), rest] if self.chance(50) else [rest, Dim(factor)]
                return self.reshape(x, shape[:at] + pair + shape[at + 1:])
        if choice == 5 and rank < 6:
            at = self.rng.randrange(rank + 1)
            to = shape[:at] + [Dim()] + shape[at:]
            return self.add("Unsqueeze", [x, self.ints(at - rank - 1 if self.chance(30) else at)], to)
        if choice == 6:
            ones = [a for a, d in enumerate(shape) if d == Dim()]
            if ones:
                at = self.rng.choice(ones)
                return self.add("Squeeze", [x, self.ints(at)], shape[:at] + shape[at + 1:])
        if choice == 7 and rank:
            at = self.rng.randrange(rank + 1)
            return self.add("Flatten", [x], [product(shape[:at]), product(shape[at:])], axis=at)
        return x

    def views(self, x, most=4):
        for _ in range(self.rng.randrange(most + 1)):
            x = self.view(x)
        return x

    # Pieces of patterns -------------------------------------------------------------------------------------------

    def pointwise(self, x):
        op = self.rng.choice(["Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Mul", "Add", "Sub", "Div", "vector", "self"])
        shape = self.shapes[x]
        if op in ("Mul", "Add", "Sub", "Div"):
            pair = [x, self.number(self.rng.choice([0.5, 2, -3, 1]))]
            if self.chance(30):
                pair = pair[::-1] if op != "Div" else pair
            return self.add(op, pair, shape or self.shapes[pair[0]] or self.shapes[pair[1]])
        if op == "vector" and shape and shape[-1].static():
            return self.add("Add", [x, self.weights(shape[-1].number)], shape)
        if op == "self" or op == "vector":
            return self.add("Add", [x, x], shape)
        return self.add(op, [x], shape)

    def linear(self, x, columns):
        shape = self.shapes[x]
        if len(shape) < 2 or not shape[-1].static() or shape[-1].number == 0:
            return x
        x = self.add("MatMul", [x, self.weights(shape[-1].number, columns)], shape[:-1] + [Dim(columns)])
        if self.chance(70):
            pair = [x, self.weights(*self.rng.choice([(columns,), (1, columns), (1,)]))]
            x = self.add("Add", pair[::-1] if self.chance(50) else pair, self.shapes[x])
        return x

    def parts(self, x, axis, count):
        """`count` values of one axis that is a multiple of it, or that has it as its dim."""
        shape = self.shapes[x]
        way = self.rng.choice(["Split", "Slice", "Gather"])
        dim = shape[axis].number
        if way == "Gather" and dim == count:
            out = []
            for i in range(count):
                index = i - count if self.chance(40) else i
                if self.chance(10):
                    index = self.rng.randrange(-count, count)
                keep = self.chance(20)
                to = shape[:axis] + ([Dim()] if keep else []) + shape[axis + 1:]
                index = self.ints(index) if keep else self.constant(np.int64(index))
                y = self.add("Gather", [x, index], to, axis=axis)
                out.append(self.add("Squeeze", [y, self.ints(axis)], to[:axis] + to[axis + 1:]) if keep else y)
            return out
        size = dim // count
        to = shape[:axis] + [Dim(size)] + shape[axis + 1:]
        if way == "Slice":
            out = []
            for i in range(count):
                begin, end = i * size, (i + 1) * size
                if i == count - 1 and self.chance(50):
                    end = 2**63 - 1
                if self.chance(30) and begin:
                    begin -= dim
                if self.chance(10):  # backwards
                    inputs = [self.ints(i * size + size - 1), self.ints(i * size - 1 if i else -dim - 1),
                              self.ints(axis), self.ints(-1)]
                else:
                    inputs = [self.ints(begin), self.ints(end), self.ints(axis)]
                out.append(self.add("Slice", [x] + inputs, to))
            return out
        sizes = [size] * count
        if count > 1 and self.chance(10) and size > 1:
            sizes[0], sizes[1] = size + 1, size - 1
        tos = [shape[:axis] + [Dim(n)] + shape[axis + 1:] for n in sizes]
        if self.chance(50) or sizes[0] != size:
            return self.add("Split", [x, self.ints(*sizes)], tos if count > 1 else tos[0], outputs=count, axis=axis)
        return self.add("Split", [x], tos if count > 1 else tos[0], outputs=count, axis=axis, num_outputs=count)

    def scaled(self, x, percent=40):
        if not self.chance(percent):
            return x
        value = self.rng.choice([0.5, 0.25, 2.0, 1.0, -0.5, 0.35355338])
        op = self.rng.choice(["Mul", "Div"])
        pair = [x, self.constant(np.array(value, NUMPY[self.type]).reshape(self.rng.choice([(), (), (1,), (1, 1)])))]
        if op == "Mul" and self.chance(30):
            pair = pair[::-1]
        return self.add(op, pair, self.shapes[x])

    def score_mask(self, scores):
        """A shape that broadcasts to the scores."""
        full = self.shapes[scores]
        keep = self.rng.randrange(1, len(full) + 1)
        return [d if self.chance(65) and (d.static() or d in (B, S)) else Dim() for d in full[-keep:]]

    def masked(self, scores):
        way = self.rng.choice(["none", "none", "add", "add", "where", "where_not", "bool_add", "constant"])
        full, kind = self.shapes[scores], NUMPY[self.type]
        if way == "none":
            return scores
        shape = self.score_mask(scores)
        low = self.rng.choice([-np.inf, 0] if kind == np.float16 else [-np.inf, -1e4, -1e9, 0])  # -1e4 + x rounds x away
        low = self.constant(np.array(low, kind))
        if way == "constant":
            known = [d.number if d.static() else 1 for d in shape]
            values = self.numbers.uniform(-1, 1, known)
            values[self.numbers.random(known) < 0.2] = -np.inf
            pair = [scores, self.constant(values.astype(kind))]
            return self.add("Add", pair[::-1] if self.chance(50) else pair, full)
        if way == "add":
            pair = [scores, self.input(shape)]
            y = self.add("Add", pair[::-1] if self.chance(50) else pair, full)
            return self.add("Add", [y, self.input(self.score_mask(scores))], full) if self.chance(20) else y
        mask = self.input(shape, T.BOOL)
        if way == "where":
            return self.add("Where", [mask, scores, low], full)
        if way == "where_not":
            return self.add("Where", [mask, low, scores], full)
        bias = self.add("Where", [mask, self.constant(np.array(0, kind)), low], shape)
        return self.add("Add", [scores, bias], full)

    def softmax(self, scores):
        axis = -1 if self.chance(90) else self.rng.randrange(-len(self.shapes[scores]), 0)
        p = self.add("Softmax", [scores], self.shapes[scores], axis=axis)
        if self.chance(15):
            nan = self.add("IsNaN", [p], self.shapes[p])
            p = self.add("Where", [nan, self.constant(np.array(0, NUMPY[self.type])), p], self.shapes[p])
        return p

    def attention(self, q, k, v):
        """q, k, v: [..., s, d]; k may have its last axes swapped by the caller's layout."""
        rank = len(self.shapes[q])
        swap = list(range(rank - 2)) + [rank - 1, rank - 2]
        q, k = self.scaled(q), self.scaled(k, 20)
        kt = self.scaled(self.transpose(k, swap), 20)
        levels = self.shapes[q][:-2]
        scores = self.add("MatMul", [q, kt], levels + [self.shapes[q][-2], self.shapes[kt][-1]])
        scores = self.scaled(scores, 50)
        if self.chance(10):
            scores = self.scaled(self.add("Tanh", [scores], self.shapes[scores]), 80)
        if self.chance(8):  # a factor for each query
            factor = self.input([d if self.chance(60) and (d.static() or d in (B, S)) else Dim()
                                 for d in self.shapes[scores][:-1]] + [Dim()])
            scores = self.add("Mul", [scores, factor], self.shapes[scores])
        scores = self.masked(scores)
        if self.chance(10) and rank == 4:  # windows: the batch cut or merged before the softmax
            shape = self.shapes[scores]
            merged = self.reshape(scores, [shape[0] * shape[1]] + shape[2:])
            merged = self.masked(merged)
            p = self.reshape(self.softmax(merged), shape)
        else:
            p = self.softmax(scores)
        return self.add("MatMul", [p, v], self.shapes[p][:-1] + [self.shapes[v][-1]])

    # Whole cases --------------------------------------------------------------------------------------------------

    def case_attention(self):
        heads, size = self.rng.choice([1, 2, 3]), self.rng.choice([1, 2, 4, 8])
        width = heads * size
        x = self.input(dims(B, S, width) if self.chance(80) else dims(self.rng.choice([1, 2]), self.rng.choice([1, 4]), width))
        batch, length = self.shapes[x][:2]
        layout = self.rng.randrange(5)
        if layout == 0:  # three products
            qkv = [self.linear(x, width) for _ in range(3)]
            qkv = [self.reshape(y, [batch, length, Dim(heads), Dim(size)]) for y in qkv]
            qkv = [self.transpose(y, [0, 2, 1, 3]) for y in qkv]
        elif layout == 1:  # one product, [3, heads, size] columns
            y = self.linear(x, 3 * width)
            y = self.reshape(y, [batch, length, Dim(3), Dim(heads), Dim(size)])
            perm = self.rng.choice([[2, 0, 3, 1, 4], [0, 2, 3, 1, 4], [0, 3, 1, 2, 4]])
            y = self.transpose(y, perm)
            qkv = self.parts(y, perm.index(2), 3)
            if len(self.shapes[qkv[0]]) == 5:
                axis = perm.index(2)
                qkv = [self.add("Squeeze", [p, self.ints(axis)], self.shapes[p][:axis] + self.shapes[p][axis + 1:])
                       for p in qkv]
        elif layout == 2:  # one product, parts of the columns
            parts = self.parts(self.linear(x, 3 * width), 2, 3)
            qkv = []
            for y in parts:
                if len(self.shapes[y]) < 3 or self.shapes[y][2].number % heads:
                    return self.case_views()
                columns = self.shapes[y][2].number
                y = self.reshape(y, [batch, length, Dim(heads), Dim(columns // heads)])
                qkv.append(self.transpose(y, [0, 2, 1, 3]))
            if not self.shapes[qkv[0]][3] == self.shapes[qkv[1]][3]:
                qkv = [qkv[2]] * 3
        elif layout == 3:  # heads and batch merged
            qkv = []
            for _ in range(3):
                y = self.reshape(self.linear(x, width), [batch, length, Dim(heads), Dim(size)])
                y = self.transpose(y, [0, 2, 1, 3])
                qkv.append(self.reshape(y, [batch * Dim(heads), length, Dim(size)]))
        else:  # without heads, or shared
            qkv = [x, x if self.chance(30) else self.pointwise(x), self.linear(x, width)]
        if self.chance(10):
            qkv = [self.pointwise(p) for p in qkv]
        y = self.attention(*qkv)
        shape = self.shapes[y]
        if len(shape) == 4 and self.chance(80):
            y = self.transpose(y, [0, 2, 1, 3])
            y = self.reshape(y, [shape[0], shape[2], shape[1] * shape[3]])
        return self.linear(y, 4) if self.chance(50) else self.views(y)

    def case_views(self):
        x = self.input(self.rng.choice([dims(B, S, 12), dims(B, 4, S, 6), dims(2, S, 6), dims(B, 3, 4, 4), dims(S, B, 8)]))
        for _ in range(self.rng.randrange(2, 7)):
            step = self.rng.randrange(6)
            if step <= 2:
                x = self.views(x, 3)
            elif step == 3:
                x = self.pointwise(x)
            elif step == 4:
                x = self.linear(x, self.rng.choice([1, 4, 6, 12]))
            else:
                shape = self.shapes[x]
                axes = [a for a, d in enumerate(shape) if d.static() and d.number in (2, 3, 4, 6, 12)]
                if axes:
                    axis = self.rng.choice(axes)
                    count = self.rng.choice([c for c in (2, 3) if shape[axis].number % c == 0])
                    x = self.rng.choice(self.parts(x, axis, count))
        if self.chance(15) and len(self.shapes[x]) < 6:
            to = [d if not d == Dim() else Dim(self.rng.choice([1, 2])) for d in self.shapes[x]]
            if all(d.static() for d in to) and to:
                x = self.add("Expand", [x, self.ints(*[d.number for d in to])], to)
        return x

    def case_norm(self):
        width = self.rng.choice([1, 3, 8])
        x = self.input(self.rng.choice([dims(B, S, width), dims(S, width), dims(B, width), dims(width)]))
        if self.chance(30):
            x = self.pointwise(x)
        shape, rank = self.shapes[x], len(self.shapes[x])
        axis = rank - 1 if self.chance(90) else self.rng.choice([a for a, d in enumerate(shape) if d.static()])
        kept = [Dim() if a == axis else d for a, d in enumerate(shape)]
        mean = lambda y: self.add("ReduceMean", [y, self.ints(axis - rank if self.chance(50) else axis)], kept, keepdims=1)
        d = self.add("Sub", [x, mean(x)], shape) if self.chance(50) else x
        base = x if self.chance(7) else d
        square = self.add("Mul", [base, base], shape) if self.chance(50) else self.add("Pow", [base, self.number(2)], shape)
        pair = [mean(square), self.number(self.rng.choice([1e-5, 1e-6, 0.1, 0, 1]))]
        variance = self.add("Add", pair[::-1] if self.chance(30) else pair, kept)
        way = self.rng.randrange(4)
        if way == 0:
            y = self.add("Div", [d, self.add("Sqrt", [variance], kept)], shape)
        elif way == 1:
            y = self.add("Pow", [variance, self.number(-0.5)], kept)
        elif way == 2:
            y = self.add("Reciprocal", [self.add("Sqrt", [variance], kept)], kept)
        else:
            y = self.add("Div", [self.number(1), self.add("Sqrt", [variance], kept)], kept)
        if way:
            y = self.add("Mul", [d, y] if self.chance(50) else [y, d], shape)
        for op in ("Mul", "Add"):
            if self.chance(70):
                other = self.weights(*self.rng.choice([(width,), (1, width), (1,), ()]))
                if rank == 1 and len(self.shapes[other]) > 1:
                    continue
                y = self.add(op, [y, other] if self.chance(50) else [other, y], shape)
        return y

    def model(self):
        last = self.rng.choices([self.case_attention, self.case_views, self.case_norm], [5, 4, 2])[0]()
        outputs = [last]
        made = [o for n in self.nodes for o in n.output]
        if self.chance(25):
            outputs += [o for o in self.rng.sample(made, min(2, len(made))) if o != last]
        if last not in made:
            outputs = [self.add("Identity", [last], self.shapes[last])]
        infos = [helper.make_empty_tensor_value_info(o) for o in dict.fromkeys(outputs)]
        graph = helper.make_graph(self.nodes, "random", self.inputs, infos, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        return onnx.shape_inference.infer_shapes(model)

    def feeds(self, b, s, special):
        out = {}
        for value in self.inputs:
            shape = [d.at(b, s) for d in self.shapes[value.name]]
            if self.kinds[value.name] == T.BOOL:
                out[value.name] = self.numbers.random(shape) < self.rng.choice([0.5, 0.9, 0.1, 1.0, 0.0])
                continue
            data = self.numbers.uniform(-2, 2, shape).astype(NUMPY[self.kinds[value.name]])
            # In half precision ONNX Runtime computes in float32, with other infinities; and which NaN a row of hidden
            # keys leaves of the values is not part of the operator.
            if special and data.size and self.type != T.FLOAT16 and not self.has("IsNaN"):
                flat = data.reshape(-1)
                for _ in range(self.rng.randrange(1, 3)):
                    flat[self.rng.randrange(flat.size)] = self.rng.choice([np.nan, np.inf, -np.inf, 0, -0.0, 3e4])
            out[value.name] = data
        return out
