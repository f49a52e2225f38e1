"""What is installed is enough to build and run other programs, and exports what is listed, nothing else."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TUTTI_BUILD_DIR", ROOT / "build/release"))
C_FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
CXX_FLAGS = ["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-pthread"]
WEIGHTS = np.array([[0.5, -1, 0.25], [1, 0, -0.5], [-0.75, 2, 0], [0.125, -0.25, 1]], np.float32)

folder = prefix = None


def run(*command, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{command[0]}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def write_model(path):
    """softmax(x @ WEIGHTS), x float32[batch,4]."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["logits"]), helper.make_node("Softmax", ["logits"], ["scores"], axis=-1)]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)], [onnx.numpy_helper.from_array(WEIGHTS, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def count_build():
    """For tools/run_tests: the examples build with the default verification."""
    if log := os.environ.get("TUTTI_BUILDS_LOG"):
        with open(log, "a") as file:
            file.write("fast\t\n")


def scores_of(row):
    powers = np.exp(np.asarray(row, np.float64) @ WEIGHTS)
    return powers / powers.sum()


def example_row():
    """The numbers that examples/c/run_engine.c makes up."""
    state, row = 1, []
    for _ in range(4):
        state = (state * 1664525 + 1013904223) % 2**32
        row.append((state >> 8) / 2**24)
    return row


def setUpModule():
    global folder, prefix
    folder = pathlib.Path(tempfile.mkdtemp())
    run("cmake", "--install", BUILD, "--prefix", folder / "first")
    prefix = folder / "moved"  # nothing may remember where it was installed
    (folder / "first").rename(prefix)
    write_model(folder / "m.onnx")


def tearDownModule():
    shutil.rmtree(folder)


class Libraries(unittest.TestCase):
    def test_export_what_is_listed(self):
        found = []
        for name in ("libtutti.so", "libtutti_compile.so"):
            lines = run("nm", "-D", "--defined-only", prefix / "lib" / name).splitlines()
            found += [f"{name} {line.split()[2]}" for line in lines if line.split()[1] != "A"]  # A: the version itself
        listed = (ROOT / "tests/tools/exported_symbols.txt").read_text().splitlines()
        self.assertEqual(sorted(found), sorted(line for line in listed if not line.startswith("#")))

    def test_keep_the_compiler_out_of_what_serves(self):
        def needed(name):
            return re.findall(r"NEEDED.*\[(\S+)\]", run("readelf", "-d", prefix / "lib" / name))
        self.assertFalse([n for n in needed("libtutti.so") if "protobuf" in n or "compile" in n])
        self.assertIn("libtutti.so.0", needed("libtutti_compile.so"))

    def test_headers_give_the_package_version(self):
        text = (prefix / "include/tutti/tutti.h").read_text()
        numbers = [re.search(rf"TUTTI_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        found = run("pkg-config", "--modversion", "tutti", PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))
        self.assertEqual(".".join(numbers), found.strip())


class Programs(unittest.TestCase):
    def pkg_config(self, package):
        flags = run("pkg-config", "--cflags", "--libs", package, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")).split()
        return [*flags, f"-Wl,-rpath,{prefix}/lib"]

    def check_programs(self, programs):
        """The three examples in a folder, on the small model."""
        engine = folder / f"{self.id()}.tutti"
        report = run(programs / "build_engine", folder / "m.onnx", engine)
        self.assertIn("verification: fast, ", report)
        row = scores_of(example_row())
        found = re.fullmatch(r"scores: float32\[1,3\]  largest: element (\d+), (\S+)\n", run(programs / "run_engine", engine))
        self.assertEqual(int(found[1]), row.argmax())
        self.assertAlmostEqual(float(found[2]), row.max(), places=5)
        text = run(programs / "many_threads", folder / "m.onnx", engine)
        self.assertEqual(re.findall(r"thread (\d): sum (\S+)", text), [(str(t), "1") for t in range(4)])
        count_build()
        count_build()

    def test_examples_build_with_cmake(self):
        out = folder / "cmake"
        out.mkdir()
        for language, flags in (("c", C_FLAGS), ("cpp", CXX_FLAGS)):
            name = {"c": "C", "cpp": "CXX"}[language]
            run("cmake", "-S", ROOT / "examples" / language, "-B", out / language, f"-DCMAKE_PREFIX_PATH={prefix}",
                f"-DCMAKE_{name}_FLAGS={' '.join(flags[1:])}", f"-DCMAKE_RUNTIME_OUTPUT_DIRECTORY={out}")
            run("cmake", "--build", out / language)
        self.check_programs(out)

    def test_examples_build_with_pkg_config(self):
        out = folder / "pkg-config"
        out.mkdir()
        run("cc", *C_FLAGS, ROOT / "examples/c/run_engine.c", "-o", out / "run_engine", *self.pkg_config("tutti"))
        run("cc", *C_FLAGS, ROOT / "examples/c/build_engine.c", "-o", out / "build_engine", *self.pkg_config("tutti_compile"))
        run("c++", *CXX_FLAGS, ROOT / "examples/cpp/many_threads.cpp", "-o", out / "many_threads", *self.pkg_config("tutti_compile"))
        self.check_programs(out)

    def test_the_program_of_the_documentation_runs(self):
        text = re.search(r"```c\n(.*?)```", (ROOT / "docs/c_api.md").read_text(), re.S)[1]
        (folder / "doc.c").write_text(text)
        run("cc", *C_FLAGS, folder / "doc.c", "-o", folder / "doc", *self.pkg_config("tutti"))
        run(prefix / "bin/tutti", "build", folder / "m.onnx", "-o", folder / "doc.tutti")
        count_build()
        found = [float(line) for line in run(folder / "doc", folder / "doc.tutti").split()]
        np.testing.assert_allclose(found, scores_of([1, 2, 3, 4]), rtol=1e-4)

    def test_the_example_of_the_readme_compiles(self):
        (folder / "readme.cpp").write_text(re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1])
        run("c++", *CXX_FLAGS, "-fsyntax-only", folder / "readme.cpp", *self.pkg_config("tutti"))


if __name__ == "__main__":
    unittest.main()
