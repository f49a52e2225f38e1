"""The checks in tools/ find what they are for, on small trees made here."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_tool(self, tool, *args):
        command = [sys.executable, TOOLS / tool, "--root", self.root, *args]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class CheckLayers(CheckTest):
    def setUp(self):
        super().setUp()
        for header in ("base/error.h", "ir/graph.h", "onnx/import.h", "backend/kernel.h", "backends/cpu/kernels.h",
                       "compile/compiler.h", "runtime/engine.h"):
            self.write(f"src/{header}", "#pragma once\n")

    def fault_of(self, file, include):
        self.write(file, f"#include {include}\n")
        code, text = self.run_tool("check_layers")
        (self.root / file).unlink()
        return text if code else ""

    def test_accepts_includes_that_point_down(self):
        self.assertEqual(self.fault_of("src/ir/a.cpp", '"base/error.h"'), "")
        self.assertEqual(self.fault_of("src/ir/a.cpp", "<vector>"), "")
        self.assertEqual(self.fault_of("src/base/a.cpp", "<sys/mman.h>"), "")
        self.assertEqual(self.fault_of("src/builtin/a.cpp", '"backends/cpu/kernels.h"'), "")
        self.assertEqual(self.fault_of("apps/tutti/a.cpp", '"compile/compiler.h"'), "")

    def test_rejects_includes_that_point_up_or_sideways(self):
        self.assertIn("src/ir stands above src/base", self.fault_of("src/base/a.cpp", '"ir/graph.h"'))
        self.assertIn("src/onnx is for capi, apps only", self.fault_of("src/backend/a.cpp", '"onnx/import.h"'))
        self.assertIn("src/runtime stands a sibling of src/compile",
                      self.fault_of("src/compile/a.cpp", '"runtime/engine.h"'))

    def test_rejects_a_backend_named_by_a_pass_or_the_program(self):
        for file in ("src/compile/a.cpp", "src/exec/a.cpp", "apps/tutti/a.cpp"):
            self.assertIn("src/backends/cpu is for builtin only", self.fault_of(file, '"backends/cpu/kernels.h"'))

    def test_rejects_third_party_headers_outside_their_wrapper(self):
        self.assertEqual(self.fault_of("src/backends/cpu/onednn/a.cpp", "<dnnl.hpp>"), "")
        self.assertIn("belongs into src/backends/cpu/onednn/ only", self.fault_of("src/backends/cpu/a.cpp", "<dnnl.hpp>"))
        self.assertIn("belongs into src/base/log.cpp only", self.fault_of("src/ir/a.cpp", '"spdlog/spdlog.h"'))
        self.assertIn("not in the table", self.fault_of("src/ir/a.cpp", "<boost/any.hpp>"))

    def test_keeps_public_headers_apart(self):
        self.write("include/tutti/tutti.h", "#pragma once\n")
        self.assertEqual(self.fault_of("src/capi/a.cpp", "<tutti/tutti.h>"), "")
        self.assertEqual(self.fault_of("include/tutti/a.hpp", "<tutti/tutti.h>"), "")
        self.assertIn("<tutti/tutti.h> belongs into src/capi/", self.fault_of("src/runtime/a.cpp", "<tutti/tutti.h>"))
        self.assertIn("<tutti/tutti.h> belongs into src/capi/", self.fault_of("apps/tutti/a.cpp", '"tutti/tutti.h"'))
        self.assertIn("<base/error.h> is not in the table", self.fault_of("include/tutti/a.h", '"base/error.h"'))

    def test_rejects_folders_outside_the_table_and_files_that_do_not_exist(self):
        self.assertIn("is in no layer", self.fault_of("src/misc/a.cpp", "<vector>"))
        self.assertIn("does not exist", self.fault_of("src/ir/a.cpp", '"base/nothing.h"'))


class CheckSizes(CheckTest):
    def test_warns_and_fails_at_the_limits(self):
        self.write("src/base/short.cpp", "\n" * 400)
        self.write("src/base/long.cpp", "\n" * 600)
        code, text = self.run_tool("check_sizes")
        self.assertEqual(code, 0)
        self.assertIn("long.cpp: warning: 600 lines", text)
        self.assertNotIn("short.cpp", text)
        self.write("src/base/long.cpp", "\n" * 601)
        code, text = self.run_tool("check_sizes")
        self.assertEqual(code, 1)
        self.assertIn("long.cpp: error: 601 lines", text)


class CheckHeaders(CheckTest):
    def check(self):
        return self.run_tool("check_headers", "--cache", self.root / "cache", "--", "c++", "-std=c++20")

    def test_finds_a_header_that_needs_another(self):
        self.write("src/base/alone.h", "#pragma once\n#include <vector>\ninline std::vector<int> f() { return {}; }\n")
        self.assertEqual(self.check()[0], 0)
        self.write("src/base/needy.h", "#pragma once\ninline std::vector<int> g() { return {}; }\n")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("needy.h", text)
        self.assertIn("2 headers, 1 do not compile alone", text)

    def test_looks_again_when_an_included_file_changes(self):
        self.write("src/base/a.h", '#pragma once\n#include "b.h"\ninline int a() { return b(); }\n')
        self.write("src/base/b.h", "#pragma once\ninline int b() { return 1; }\n")
        self.assertEqual(self.check()[0], 0)
        self.assertEqual(self.check()[0], 0)
        self.write("src/base/b.h", "#pragma once\n")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("a.h", text)


if __name__ == "__main__":
    unittest.main()
