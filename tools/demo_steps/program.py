"""Calls the tutti program: builds engines, runs them on arrays, times them."""
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("TUTTI", ROOT / "build/release/bin/tutti"))
MODELS = ROOT / "models"
WORK = ROOT / "build/demo"


class Failed(RuntimeError):
    """The program answered with an error; its text is the message."""


def call(*arguments):
    """Runs `tutti ARGUMENTS --json` and returns the document."""
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    document = json.loads(done.stdout) if done.stdout.strip() else {}
    if done.returncode != 0:
        error = document.get("error", {})
        raise Failed(f"tutti {arguments[0]}: {error.get('where', '')} {error.get('message', done.stderr)}")
    return document


class Engine:
    """One compiled model."""

    def __init__(self, model, shapes=None):
        WORK.mkdir(parents=True, exist_ok=True)
        self.model = MODELS / model
        self.path = WORK / (model.replace("/", "_").removesuffix(".onnx") + ".tutti")
        self.shapes = ["--shapes", shapes] if shapes else []
        self.report = call("build", self.model, "-o", self.path, *self.shapes)

    def run(self, **inputs):
        """Outputs by name. Input names may hold characters that Python's do not: pass them as a dict with **."""
        with tempfile.TemporaryDirectory(dir=WORK) as folder:
            arguments = []
            for index, (name, value) in enumerate(inputs.items()):
                np.save(f"{folder}/in{index}.npy", value)
                arguments += ["--input", f"{name}={folder}/in{index}.npy"]
            document = call("run", self.path, *arguments, "--output-dir", folder)
            return {output["name"]: np.load(output["file"]) for output in document["outputs"]}

    def latency_ms(self, seconds=1.0):
        """Median time of one run at the shapes given to the constructor."""
        document = call("bench", self.path, *self.shapes, "--warmup", 0.2, "--duration", seconds)
        return document["latency_ms"]["p50"]

    def line(self):
        """One row of the closing table."""
        verified = self.report["verification"]
        return (f"  {self.model.parent.name:<22} {self.model.stat().st_size / 1e6:8.1f} MB {self.path.stat().st_size / 1e6:8.1f} MB"
                f" {self.report['seconds']:8.2f} s   {verified['steps_checked']:6d} steps ok {self.latency_ms():9.2f} ms")
