# The front door: `make demo` and `make test` do everything, from installing what is missing on.
# The build itself is CMake's; the presets in CMakePresets.json work without this file.

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
# More settings for CMake, as in: make test CMAKE_FLAGS=-DWEFT_CUDA=OFF
CMAKE_FLAGS ?=
# CUDA code is compiled for these architectures: by default for this machine's first GPU, without one for sm_90. All that
# weft supports, ARCHITECTURES=all, take six times as long and as much room; "80;90" names two.
gpu := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -cd 0-9)
ARCHITECTURES ?= $(or $(gpu),90)
# What `make build` makes runs and is measured here: the peers of `weft bench` get this machine's instructions. A package
# is for other machines as well.
native = $(if $(filter release package,$(1)),'-DCMAKE_CUDA_ARCHITECTURES=$(ARCHITECTURES)') \
  $(if $(filter release,$(1)),-DWEFT_PEERS_NATIVE=ON $(cuda)) $(if $(filter dev,$(1)),$(shapes))
# Without a GPU the command is built for the CPU alone (CMAKE_FLAGS=-DWEFT_CUDA=ON builds CUDA code all the same), and the
# tests' build only checks that CUDA code compiles: fewer shapes, no f64, and none of what only comparisons use.
cuda = $(if $(gpu),-DWEFT_CUDA=AUTO,-DWEFT_CUDA=OFF)
shapes = $(if $(gpu),-DWEFT_CUDA_SHAPES=all -DWEFT_ABLATIONS=ON -DWEFT_CUDA_F64=ON,-DWEFT_CUDA_SHAPES=few -DWEFT_CUDA_F64=OFF)

# Ninja where it is there and the folder is new; an existing folder keeps the generator it has.
generator = $(if $(wildcard build/$(1)/CMakeCache.txt),,$(if $(shell command -v ninja 2>/dev/null),-G Ninja))
# $(call build,PRESET,TARGETS): configure, then build the targets, or everything where none is named.
define build
	@echo "configuring build/$(1)"
	@cmake --preset $(1) $(call generator,$(1)) --log-level=NOTICE $(call native,$(1)) $(CMAKE_FLAGS) >/dev/null
	@cmake --build build/$(1) --parallel $(JOBS) $(if $(2),--target $(2))
endef

weft := build/release/bin/weft
sources = git ls-files -co --exclude-standard -- '*.cpp' '*.hpp' '*.cu' '*.cuh'

.DEFAULT_GOAL := help
.PHONY: help bootstrap build build-tests demo test test-python wheel test-wheel fuzz sanitize tsan bench install package docs performance format tidy clean

help: ## show this list
	@echo "weft: sparse kernels for graph neural networks"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "Start with make demo. Settings: JOBS=$(JOBS) PREFIX=$(PREFIX) CMAKE_FLAGS=$(CMAKE_FLAGS)"

bootstrap: ## install the packages that are missing
	@scripts/bootstrap

build: bootstrap ## build the library and the weft command: build/release/bin/weft
	@$(if $(gpu),,echo "no GPU here: the command is built for the CPU; CMAKE_FLAGS=-DWEFT_CUDA=ON adds CUDA")
	$(call build,release,weft weft_cli)

demo: build ## build, then show what weft does
	@scripts/demo $(weft)

build-tests: bootstrap
	$(call build,dev)

# Each reader's fuzz target runs so long in a test run, and so long by itself.
TEST_FUZZ_SECONDS ?= 2
FUZZ_SECONDS ?= 600
test: build-tests ## build everything, fuzz every reader for TEST_FUZZ_SECONDS (2), run all tests
	@JOBS=$(JOBS) scripts/fuzz $(TEST_FUZZ_SECONDS)
	@ctest --preset dev --parallel $(JOBS)

test-python: bootstrap ## build the PyTorch operators and test them; installs torch unless WEFT_PYTHON names a Python with it
	@JOBS=$(JOBS) CMAKE_FLAGS="$(CMAKE_FLAGS)" scripts/test-python

# A wheel is for other machines: its CUDA code is for all architectures unless some are asked for.
wheel: bootstrap ## build wheels of the Python package in build/wheels: for the CPU, and for CUDA where a toolkit is
	@JOBS=$(JOBS) CMAKE_FLAGS="$(CMAKE_FLAGS)" ARCHITECTURES="$(if $(filter file,$(origin ARCHITECTURES)),all,$(ARCHITECTURES))" scripts/wheel

test-wheel: ## install the wheel for the CPU into fresh environments of each Python here, or of PYTHONS, and test it
	@scripts/test-wheel $(PYTHONS)

fuzz: bootstrap ## fuzz every reader for FUZZ_SECONDS (600)
	@JOBS=$(JOBS) scripts/fuzz $(FUZZ_SECONDS)

sanitize: bootstrap ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call build,asan)
	@ctest --preset asan --parallel $(JOBS)

# Address randomisation wider than ThreadSanitizer expects ends in "unexpected memory mapping".
tsan: bootstrap ## the tests under ThreadSanitizer
	$(call build,tsan)
	@$(shell setarch -R true 2>/dev/null && echo setarch -R) ctest --preset tsan --parallel $(JOBS)

bench: build ## measure the CPU operators beside their peers on this machine
	@scripts/bench $(weft)

install: build ## install under PREFIX
	@cmake --install build/release --prefix $(PREFIX)

package: bootstrap ## build a Debian package of the command and the shared libraries
	$(call build,package)
	@cd build/package && cpack -G DEB >/dev/null && ls -1 "$$PWD"/*.deb

docs: bootstrap ## write the API reference from the headers: build/docs/html/index.html
	@command -v doxygen >/dev/null || { echo "make docs needs doxygen: apt-get install doxygen" >&2; exit 1; }
	@mkdir -p build/docs && doxygen docs/Doxyfile && echo "build/docs/html/index.html"

performance: ## write docs/performance.md, the chart and the README's table from bench/records
	@scripts/performance

format: ## lay out the sources with clang-format
	@command -v clang-format >/dev/null || { echo "make format needs clang-format: apt-get install clang-format" >&2; exit 1; }
	@$(sources) | xargs clang-format -i

tidy: bootstrap ## check the sources with clang-tidy
	@command -v clang-tidy >/dev/null || { echo "make tidy needs clang-tidy: apt-get install clang-tidy" >&2; exit 1; }
	@cmake --preset cpu-only $(call generator,cpu-only) --log-level=NOTICE $(CMAKE_FLAGS) >/dev/null
	@git ls-files -co --exclude-standard -- 'src/*.cpp' 'tools/*.cpp' | xargs -P $(JOBS) -n 1 clang-tidy --quiet -p build/cpu-only

clean: ## remove everything that was built
	rm -rf build
