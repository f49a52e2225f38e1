"""Where the repository's own C++ sources are; shared by the checks in this folder."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "apps", "include", "tests", "bench", "examples")
HEADERS = (".h", ".hpp", ".cuh")
SOURCES = (".cpp", ".cu")


def cpp_files(root, folders=FOLDERS, suffixes=HEADERS + SOURCES):
    """The files below the folders, as sorted paths relative to root."""
    found = []
    for folder in folders:
        found += [p.relative_to(root) for p in (root / folder).rglob("*") if p.suffix in suffixes and p.is_file()]
    return sorted(found)
