"""What the end-to-end tests share: calling the program, and comparing its outputs with ONNX Runtime's."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import build_levels  # noqa: E402

PROGRAM = os.environ.get("TUTTI", str(ROOT / "build/release/bin/tutti"))
WORK = pathlib.Path(os.environ.get("TUTTI_E2E_DIR", ROOT / "build/e2e"))


class Failed(Exception):
    """A check that did not hold."""


BUILDS = collections.Counter()  # by (verification level, reason)


def tutti(*arguments, unverified_because=""):
    """The program's JSON document. A build below `fast` verification needs a reason, which the summary repeats."""
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"tutti {' '.join(map(str, arguments[:2]))}: exit {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
    document = json.loads(done.stdout)
    if arguments[0] == "build":
        count_build(document["verification"]["level"], unverified_because)
    return document


def count_build(level, reason):
    """Also for tools/run_tests, which adds up the builds of all tests."""
    BUILDS[level, reason] += 1
    if log := os.environ.get("TUTTI_BUILDS_LOG"):
        with open(log, "a") as file:
            file.write(f"{level}\t{reason}\n")
    if level not in build_levels.VERIFIED and not reason:
        raise Failed(f"a build with verification '{level}' gave no reason (unverified_because)")


def build(model, engine, *options, unverified_because=""):
    WORK.mkdir(parents=True, exist_ok=True)
    return tutti("build", model, "-o", engine, *options, unverified_because=unverified_because)


def run(engine, feeds):
    """Outputs by name, through .npy files as a user would."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        arguments = []
        for index, (name, value) in enumerate(feeds.items()):
            np.save(f"{folder}/in{index}.npy", value)
            arguments += ["--input", f"{name}={folder}/in{index}.npy"]
        document = tutti("run", engine, *arguments, "--output-dir", folder)
        return {output["name"]: np.load(output["file"]) for output in document["outputs"]}


def open_reference(model):
    """ONNX Runtime without its own value-changing optimisations."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def reference(session, feeds):
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, feeds)))


def difference(actual, expected):
    """Largest difference in units of the expected output's scale; infinite for another shape or type, or a lone NaN."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    if expected.size == 0:
        return 0.0
    if not np.issubdtype(expected.dtype, np.floating):
        return float(np.mean(actual != expected))
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    finite = np.isfinite(b)
    return float(np.max(np.abs(a - b), where=finite, initial=0) / max(np.max(np.abs(b), where=finite, initial=0), 1e-30))


def compare(engine, session, feeds, limit):
    """The largest difference over all outputs; Failed when it is over `limit`."""
    actual, expected = run(engine, feeds), reference(session, feeds)
    worst = max(((difference(actual[name], value), name) for name, value in expected.items()), default=(0.0, ""))
    if not worst[0] <= limit:
        raise Failed(f"output '{worst[1]}' differs by {worst[0]:.3g} of its scale, allowed {limit:g}")
    return worst[0]


def main(cases):
    """Runs (name, function) pairs; prints one line each, how the engines were verified, and `N passed, N failed`."""
    wanted = sys.argv[1:]
    failed = passed = 0
    for name, check in cases:
        if wanted and not any(w in name for w in wanted):
            continue
        try:
            print(f"ok   {name}: {check()}", flush=True)
            passed += 1
        except (Failed, AssertionError) as failure:
            print(f"FAIL {name}: {failure}", flush=True)
            failed += 1
    print(build_levels.summary(BUILDS))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
