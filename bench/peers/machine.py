"""What a figure depends on: the processor, its load, and the peaks it reaches in the same run."""

import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def fingerprint():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    field = lambda name: (re.search(rf"^{name}\s*: (.*)$", info, re.M) or ["", "unknown"])[1]
    interesting = [f for f in field("flags").split() if re.match(r"avx|fma|amx|f16c", f)]
    commit = subprocess.run(["git", "-C", HERE, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {"cpu": field("model name"), "features": interesting, "cores": os.cpu_count(), "kernel": platform.release(),
            "load_average": os.getloadavg(), "commit": commit,
            "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def peaks(thread_counts):
    """{threads: {"gflops", "copy_gb_s"}}; empty without a C compiler."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/peaks"
        command = [os.environ.get("CC", "cc"), "-O2", "-march=native", "-ffp-contract=fast", "-pthread", HERE / "peaks.c", "-o", program]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError):
            return {}
        return {n: json.loads(subprocess.run([program, str(n)], check=True, capture_output=True, text=True).stdout) for n in thread_counts}


def floor_ms(work, peak):
    """Every multiply-add of the definition at the peak, or every weight read once at the copy's rate. Winograd's transforms can go below."""
    return max(work["gflop"] / peak["gflops"] * 1e3, work["weight_mb"] / peak["copy_gb_s"])
