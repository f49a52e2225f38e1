"""Takes oneDNN's library and headers out of downloaded wheels: unpack_wheels.py WHEEL_DIR PREFIX."""

import os
import pathlib
import shutil
import sys
import zipfile


def unpack_onednn_library(wheel, prefix):
    """One copy of the library (the wheel holds three) and the two usual links to it."""
    lib = prefix / "onednn" / "lib"
    lib.mkdir(parents=True, exist_ok=True)
    name = next(n for n in wheel.namelist() if n.endswith("/data/lib/libdnnl.so.3"))
    partial = lib / "libdnnl.so.3.partial"
    with wheel.open(name) as src, open(partial, "wb") as dst:
        shutil.copyfileobj(src, dst)
    os.chmod(partial, 0o755)
    os.replace(partial, lib / "libdnnl.so.3")
    link = lib / "libdnnl.so"
    link.unlink(missing_ok=True)
    link.symlink_to("libdnnl.so.3")


def unpack_onednn_headers(wheel, prefix):
    marker = "/data/include/"
    for name in wheel.namelist():
        if marker in name and not name.endswith("/"):
            target = prefix / "onednn" / "include" / name.split(marker, 1)[1]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(wheel.read(name))


UNPACKERS = {
    "onednn_cpu_gomp-": unpack_onednn_library,
    "onednn_devel_cpu_gomp-": unpack_onednn_headers,
}


def main():
    wheels, prefix = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for start, unpack in UNPACKERS.items():
        found = [p for p in wheels.iterdir() if p.name.startswith(start)]
        if len(found) != 1:
            sys.exit(f"error: expected one wheel {start}*.whl in {wheels}, found {len(found)}")
        with zipfile.ZipFile(found[0]) as wheel:
            unpack(wheel, prefix)


if __name__ == "__main__":
    main()
