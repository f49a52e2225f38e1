"""fill_weights.py makes complete, seeded models."""

import hashlib
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "fill_weights.py"
GRAPH = "unet_lstm.ts"


def fill(out, *args):
    return subprocess.run([sys.executable, TOOL, "--out", out, *args], capture_output=True, text=True)


class FillWeights(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def digest(self, *args):
        self.assertEqual(fill(self.out, GRAPH, *args).returncode, 0)
        return hashlib.sha256((self.out / f"{GRAPH}.weights").read_bytes()).hexdigest()

    def test_values_depend_on_the_seed_alone(self):
        first = self.digest()
        self.assertNotEqual(self.digest("--seed", "1"), first)
        self.assertEqual(self.digest("--seed", "0"), first)

    def test_writes_every_external_tensor_with_finite_values(self):
        self.digest()
        model = onnx.load(self.out / f"{GRAPH}.onnx")
        for tensor in model.graph.initializer:
            values = onnx.numpy_helper.to_array(tensor)
            self.assertEqual(list(values.shape), list(tensor.dims))
            self.assertTrue(np.isfinite(values).all(), tensor.name)

    def test_names_the_graphs_when_one_is_unknown(self):
        done = fill(self.out, "nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no graph named nothing", done.stderr)
        self.assertIn(GRAPH, done.stderr)


if __name__ == "__main__":
    unittest.main()
