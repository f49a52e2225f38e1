"""Those who take part: Tutti, ONNX Runtime and OpenVINO. Each gives the 10th percentile of a spell, in milliseconds."""

import collections
import json
import subprocess
import sys
import time

import onnxruntime as ort

try:
    import openvino
except ImportError:
    openvino = None


def p10_of(call, seconds):
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)[len(times) // 10]


class OnnxRuntime:
    """One session with the default optimisations and the graph's free dimensions fixed."""

    name = "onnxruntime"

    def __init__(self, path, inputs, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        for dimension, size in inputs.free.items():
            options.add_free_dimension_override_by_name(dimension, size)
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.feeds = inputs.feeds()

    def p10(self, seconds):
        return p10_of(lambda: self.session.run(None, self.feeds), seconds)


class OpenVino:
    """One model compiled for latency in float32, its shapes fixed."""

    name = "openvino"

    def __init__(self, path, inputs, threads):
        core = openvino.Core()
        model = core.read_model(str(path))
        model.reshape({name: dims for name, (dims, _) in inputs.types.items()})
        compiled = core.compile_model(
            model, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
        self.request = compiled.create_infer_request()
        for name, value in inputs.feeds().items():
            self.request.set_tensor(name, openvino.Tensor(value))

    def p10(self, seconds):
        return p10_of(self.request.infer, seconds)


class Tutti:
    """One engine, built once; every spell is a process of its own."""

    name = "tutti"

    def __init__(self, program, engine, inputs, threads):
        self.program, self.engine = program, engine
        self.arguments = ["--threads", str(threads), "--device", "cpu"]
        if inputs.shapes_text():
            self.arguments += ["--shapes", inputs.shapes_text()]

    def build(self, path):
        self.call(["build", str(path), "-o", str(self.engine), "--quiet", "--verify", "off", *self.arguments])

    def call(self, arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: tutti {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}\nhint: run it by hand to see more")
        return done.stdout

    def bench(self, seconds, *more):
        timing = ["--json", "--warmup", "0.1", "--duration", str(seconds)]
        return json.loads(self.call(["bench", str(self.engine), *timing, *self.arguments, *more]))

    def p10(self, seconds):
        return self.bench(seconds)["latency_ms"]["p10"]

    def kernels(self):
        """Time by kernel and operator, costliest first, in ms per run."""
        total = collections.Counter()
        for layer in self.bench(1, "--profile")["layers"]:
            total[f"{layer['kernel']} ({layer['op']})"] += layer["ms"]
        return total.most_common(5)


def peers(path, inputs, threads):
    kinds = [OnnxRuntime] + ([OpenVino] if openvino else [])
    return [kind(path, inputs, threads) for kind in kinds]


def versions():
    return {"onnxruntime": ort.__version__} | ({"openvino": openvino.__version__} if openvino else {})
