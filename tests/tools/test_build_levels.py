"""Builds that were not verified are counted, and need a reason."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import build_levels  # noqa: E402


class BuildLevels(unittest.TestCase):
    def noted(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "builds.tsv"
            path.write_text(text)
            return build_levels.read(path)

    def test_counts_levels_and_repeats_reasons(self):
        builds = self.noted("fast\t\nfull\t\nfast\t\noff\tonly its size is looked at\n")
        self.assertEqual(build_levels.summary(builds), "builds: 2 verified fast, 1 full, 1 off (1 x only its size is looked at)")
        self.assertEqual(build_levels.unexplained(builds), 0)

    def test_finds_builds_without_a_reason(self):
        builds = self.noted("fast\t\noff\t\nunknown\t\n")
        self.assertEqual(build_levels.unexplained(builds), 2)
        self.assertIn("NO REASON GIVEN", build_levels.summary(builds))

    def test_a_missing_log_means_no_builds(self):
        self.assertEqual(build_levels.summary(build_levels.read(pathlib.Path("/nonexistent/log"))), "builds: 0 verified fast, 0 full, 0 off")


if __name__ == "__main__":
    unittest.main()
