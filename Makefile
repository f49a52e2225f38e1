# Everything a person or CI types. The build itself is CMake's: see CMakePresets.json.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
export TUTTI_DEPS_DIR ?= $(CURDIR)/.deps
PYTHON = $(TUTTI_DEPS_DIR)/python/bin/python3

.DEFAULT_GOAL := all
.PHONY: all deps demo test conformance peers-cpu sanitize fuzz bench format lint install clean

all: build-release

deps:
	@tools/deps.sh

# One configure-and-build per preset; CMake itself notices later changes.
configure = @cmake --preset $(1) $(if $(wildcard build/$(1)/CMakeCache.txt),>/dev/null)
build-%: deps
	$(call configure,$*)
	@cmake --build build/$* -j $(JOBS)

test: build-release
	@tools/run_tests build/release --jobs $(JOBS)

sanitize: build-asan build-tsan
	@tools/run_tests build/asan --jobs $(JOBS)
	@tools/run_tests build/tsan --jobs $(JOBS)

# Targets whose work a script does; a script that is not in the tree yet is an error, never a silent success.
script = @if [ -x $(1) ]; then exec $(1) $(2); else echo "error: make $@: not built yet ($(1) is missing)" >&2; exit 1; fi

# The program alone: the tests are built when they are asked for.
demo: deps
	$(call configure,release)
	@cmake --build build/release --target tutti -j $(JOBS)
	$(call script,tools/demo)
conformance: build-release
	$(call script,tools/conformance)
peers-cpu: build-release
	$(call script,bench/peers_cpu)
bench: build-release
	$(call script,bench/run)
fuzz: deps
	$(call script,tools/fuzz)

format:
	@git ls-files --cached --others --exclude-standard '*.h' '*.hpp' '*.c' '*.cpp' '*.cu' '*.cuh' | xargs -r clang-format-16 -i

lint: build-release
	@tools/lint build/release --jobs $(JOBS)

install: build-release
	@cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
