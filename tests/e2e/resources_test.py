"""Time and memory of builds and runs: weights are held once, very long and very wide graphs compile in seconds, deep nesting is an error and no
crash, and what `tutti bench` reports is true. Arguments: parts of case names; --full adds a model with 3 GB of weights (sparse on disk, but the
engine takes 3 GB for a while)."""
import concurrent.futures
import functools
import json
import os
import subprocess
import sys
import tempfile
import time

import generated_models
from tutti_program import PROGRAM, ROOT, WORK, Failed, count_build, main

MB = 1_000_000
PROGRAM_BYTES = 40 * MB  # the program and its libraries


def measured(*arguments):
    """(exit code, what it wrote, seconds, peak resident bytes) of one call of the program; the peak counts from this process's own."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.monotonic()
        process = subprocess.Popen([PROGRAM, *map(str, arguments), "--json"], stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return process.returncode, out.read(), time.monotonic() - start, usage.ru_maxrss * 1024


def measured_ok(*arguments):
    code, text, seconds, peak = measured(*arguments)
    if code != 0:
        raise Failed(f"tutti {arguments[0]}: exit {code}: {text[-600:]}")
    document = json.loads(text)
    if arguments[0] == "build":
        count_build(document["verification"]["level"], "")
    return document, seconds, peak


def made(maker, *arguments):
    """A generated model, made in a process of its own: this one's peak is the floor of every measurement."""
    with concurrent.futures.ProcessPoolExecutor(1) as other:
        return other.submit(maker, *arguments).result()


def at_most(what, found, limit, unit=MB):
    if found > limit:
        raise Failed(f"{what}: found {found / unit:.1f}, expected at most {limit / unit:.1f}")


def weights_of(engine):
    code, text, _, _ = measured("inspect", engine)
    if code != 0:
        raise Failed(f"inspect: exit {code}: {text[-300:]}")
    return json.loads(text)["weights_bytes"]


def filled_graph(name):
    folder = WORK / "graphs"
    subprocess.run([sys.executable, ROOT / "tools/fill_weights.py", name, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    return folder / f"{name}.onnx"


def memory(model, build_limit, shapes, larger_forms=0):
    """Peak memory of a build and of a run of its engine. `build_limit` maps bytes of weights to bytes allowed; a run may take
    1.15 times the weights and 30 MB, and the bytes by which weights grow in the form that their kernel wants."""
    engine = WORK / (model().stem + ".resources.tutti")
    document, seconds, built = measured_ok("build", model(), "-o", engine, "--shapes", shapes)
    weights = weights_of(engine)
    at_most("peak memory of the build in MB", built, build_limit(weights))
    _, _, ran = measured_ok("run", engine, "--random-inputs", 1, "--shapes", shapes)
    at_most("peak memory of a run in MB", ran, 1.15 * weights + 30 * MB + larger_forms)
    engine.unlink()
    return (f"{weights / MB:.0f} MB of weights: build {built / weights:.2f} x in {seconds:.1f} s ({document['times']['verify_s']:.1f} s of "
            f"verification), run {ran / weights:.2f} x")


def sparse(weights_bytes, width, allowance):
    folder = tempfile.TemporaryDirectory(dir=WORK)
    model = generated_models.sparse(folder.name, weights_bytes, width)
    with folder:
        return memory(lambda: model, lambda weights: 1.2 * weights + allowance, f"x0=8x{width}")


def compiles(maker, size, limit_s, limit_bytes):
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        document, seconds, peak = measured_ok("build", made(maker, folder, size), "-o", f"{folder}/out.tutti")
        at_most("seconds", seconds, limit_s, 1)
        at_most("peak memory in MB", peak, limit_bytes)
        return f"{document['onnx_nodes']} nodes in {seconds:.1f} s, {peak / MB:.0f} MB"


def too_deep(maker, levels):
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        code, text, seconds, _ = measured("build", made(maker, folder, levels), "-o", f"{folder}/out.tutti")
        if code != 2 or "deeper than" not in text:
            raise Failed(f"found exit code {code} and '{text[-300:]}', expected 2 and a hint at the depth")
        return f"refused in {seconds:.2f} s"


def bench_report():
    """Every documented field is there and fits the others."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        model = generated_models.sparse(folder, 64 * MB, 1024)
        measured_ok("build", model, "-o", f"{folder}/out.tutti")
        report, seconds, peak = measured_ok("bench", f"{folder}/out.tutti", "--shapes", "x0=8x1024", "--duration", 1, "--warmup", 0.2, "--profile",
                                            "--threads", 1)
    times, layers = report["latency_ms"], 64 * MB // (4 * 1024 * 1024)
    if not 0 < times["min"] <= times["p10"] <= times["p50"] <= times["p90"] <= times["p99"]:
        raise Failed(f"latencies are not in order: {times}")
    checks = {"runs": 1 <= report["runs"] and abs(report["runs"] * times["mean"] / 1e3 - 1) < 0.3,
              "throughput_per_s": abs(report["throughput_per_s"] * times["mean"] / 1e3 - 1) < 0.3,
              "device": report["device"] == "cpu", "threads": report["threads"] == 1,
              "load_ms": 0 < report["load_ms"] < seconds * 1e3,
              "first_run_ms": times["min"] < report["first_run_ms"] < seconds * 1e3,  # packs the weights
              "peak_rss_bytes": layers * 4 * 1024 * 1024 < report["peak_rss_bytes"] <= 1.05 * peak,
              "layers": len(report["layers"]) == layers and 0.3 < sum(layer["ms"] for layer in report["layers"]) / times["p50"] < 3}
    wrong = [name for name, holds in checks.items() if not holds]
    if wrong:
        raise Failed(f"{', '.join(wrong)} cannot be true: {json.dumps(report)[:900]}")
    return f"{report['runs']} runs of {times['p50']:.2f} ms, {len(report['layers'])} layers"


BERT = "input_ids=1x128,attention_mask=1x128"
CASES = [
    ("memory: sparse weights", lambda: sparse(200 * MB, 2048, PROGRAM_BYTES)),
    # Winograd's form of a 3x3 filter has 16 elements for 9: 7 more in 3 layers of 64 channels, 3 of 128 and 5 of 256.
    ("memory: resnet50", lambda: memory(functools.partial(filled_graph, "resnet50.dynamo"), lambda weights: 2.5 * weights, "image=1x3x224x224",
                                        larger_forms=7 * 4 * (3 * 64**2 + 3 * 128**2 + 5 * 256**2))),
    ("memory: bert_base", lambda: memory(functools.partial(filled_graph, "bert_base.ts"), lambda weights: 2.5 * weights, BERT)),
    ("chain of 100,000 nodes", lambda: compiles(generated_models.chain, 100_000, 20, 1000 * MB)),
    ("fan of 100,000 nodes", lambda: compiles(generated_models.fan, 100_000, 20, 1000 * MB)),
    ("64 loops in one another", lambda: compiles(generated_models.loops, 64, 5, 200 * MB)),
    ("64 branches in one another", lambda: compiles(generated_models.ifs, 64, 5, 200 * MB)),
    ("1,000 loops in one another", lambda: too_deep(generated_models.loops, 1000)),
    ("1,000 branches in one another", lambda: too_deep(generated_models.ifs, 1000)),
    ("100 branches in one another", lambda: too_deep(generated_models.ifs, 100)),
    ("bench report", bench_report),
]
FULL_CASES = [("memory: 3 GB of sparse weights", lambda: sparse(3 << 30, 4096, 0))]

if __name__ == "__main__":
    WORK.mkdir(parents=True, exist_ok=True)
    full = "--full" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--full"]
    main(CASES + (FULL_CASES if full else []))
