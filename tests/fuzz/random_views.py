"""Random small graphs of views, projections, attention and norms, run by the program and by ONNX Runtime.

    random_views.py [--seed N] [--cases N] [--seconds S] [--keep DIR]

Each case has its own seed, printed with a failure: `--seed THAT --cases 1 --keep DIR` builds it again and keeps the
model and the inputs that failed.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

from random_graphs import Graph

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from tutti_program import count_build  # noqa: E402

PROGRAM = os.environ.get("TUTTI", str(pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/tutti"))
SIZES = [(2, 3), (1, 1), (0, 3), (2, 0), (3, 1), (1, 5)]  # of batch b and sequence s


def difference(actual, expected):
    """Empty when they are as good as equal."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if not np.issubdtype(expected.dtype, np.floating):
        return "" if np.array_equal(actual, expected) else "other values"
    if np.issubdtype(expected.dtype, np.float16):
        limit, floor = 3e-2, 0.1
    else:
        limit, floor = 1e-3, 1e-3
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return f"NaN at {int(np.isnan(a).sum())} places, expected {int(np.isnan(b).sum())}"
    known = ~np.isnan(b)
    infinite = np.isinf(a) | np.isinf(b)
    if not np.array_equal(a[known & infinite], b[known & infinite]):
        return "other infinities"
    finite = known & ~infinite
    a, b = a[finite], b[finite]
    worst = np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), floor)
    return "" if worst <= limit else f"differs by {worst:.3g}"


def tutti(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments), "--device", "cpu", "--threads", "1", "--json"],
                          capture_output=True, text=True, check=False, timeout=20)
    return done.returncode, done.stdout + done.stderr


def feed_arguments(folder, feeds):
    arguments = []
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        arguments += ["--input", f"{name}={folder / name}.npy"]
    return arguments


def run_case(seed, folder, sizes):
    """(kind, text) of what is wrong; kind is empty for a good case."""
    graph = Graph(seed)
    model = graph.model()
    path, engine = folder / "m.onnx", folder / "m.tutti"
    onnx.save(model, path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as refusal:  # noqa: BLE001
        return "skip", "ONNX Runtime refuses it: " + str(refusal)[:300]
    code, text = tutti("build", path, "-o", engine, "--verify", "off")
    if code != 0:
        return f"build exit {code}", text[-500:]
    count_build("off", "ONNX Runtime is the reference")
    for b, s in sizes:
        feeds = graph.feeds(b, s, graph.chance(15))
        arguments = feed_arguments(folder, feeds)
        code, text = tutti("run", engine, *arguments, "--output-dir", folder)
        try:
            expected = session.run(None, feeds)
        except Exception as refusal:  # noqa: BLE001
            if code not in (0, 2):
                return f"run exit {code}", text[-500:]
            if code == 0 and b and s:
                return "accepted", f"b={b} s={s}: ONNX Runtime refuses: {str(refusal)[:300]}"
            continue
        if code != 0:
            return f"run exit {code}", f"b={b} s={s}: {text[-500:]}"
        files = {o["name"]: o["file"] for o in json.loads(text)["outputs"]}
        for output, value in zip(session.get_outputs(), expected):
            wrong = difference(np.load(files[output.name]), value)
            if wrong:
                return "wrong", f"b={b} s={s} output '{output.name}': {wrong}"
    return "", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this long")
    parser.add_argument("--keep", type=pathlib.Path, help="work in this folder, and leave the last case there")
    arguments = parser.parse_args()
    end, counts = time.monotonic() + arguments.seconds, collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(arguments.seed, arguments.seed + arguments.cases):
            if time.monotonic() > end:
                break
            kind, text = run_case(seed, folder, SIZES)
            counts[kind or "good"] += 1
            if kind not in ("", "skip"):
                print(f"seed {seed}: {kind}: {text}", flush=True)
    failed = sum(n for kind, n in counts.items() if kind not in ("good", "skip"))
    print(f"{counts['good']} passed, {failed} failed, {counts['skip']} refused by ONNX Runtime")
    sys.exit(1 if failed or not counts["good"] else 0)


if __name__ == "__main__":
    main()
