# The demo and the benchmarks; bench/README.md explains. OUTPUT, REPETITIONS, SECONDS_EACH, KEYS,
# BACKEND and more can be given in the environment: see the scripts. The packages come first, so
# that what is built can be built: hence the second make.

.PHONY: demo bench-serve
demo: ## show everything in about a minute: daemon, 10 M keys, redis-cli, counters, a clean stop
	@deploy/deps build redis-tools curl
	@$(MAKE) --no-print-directory all
	@bench/demo.sh $(BUILD)

bench-serve: ## compare with redis-server side by side, into output/<time>/serve
	@deploy/deps build redis-server redis-tools curl jq
	@$(MAKE) --no-print-directory all
	@bench/serve/compare.sh $(BUILD)

include bench/peers/peers.mk

# --- the timing study: Sherwood's table with keys in device memory (bench/timing/README.md) ------
.PHONY: bench-timing
ifneq ($(NVCC),)
TIMING_OBJ := $(call obj,$(wildcard bench/timing/*.c)) \
  $(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(wildcard bench/timing/*.cu))

# The commit for run_info.txt, in a file that changes when the commit does.
.PHONY: timing-always
$(BUILD)/obj/bench/timing/commit: timing-always
	@mkdir -p $(@D)
	@c=$$(git describe --always --dirty --abbrev=12 2>/dev/null || echo 'not known'); \
	  echo "$$c" | cmp -s - $@ || echo "$$c" >$@
$(BUILD)/obj/bench/timing/run_info.o: $(BUILD)/obj/bench/timing/commit
$(BUILD)/obj/bench/timing/run_info.o: CPPFLAGS += -DSW_TIMING_COMMIT='"$(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo 'not known')"'

bench-timing: $(BUILD)/timing ## build the timing study of the table on a GPU: build/timing --help
$(BUILD)/timing: $(TIMING_OBJ) $(PEER_OBJ) $(BUILD)/libtable.a
	$(CC) $(LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm

# Into the bundle too; tests/gpu/gpu.mk has the recipe and the list of libraries.
$(BUNDLE)/timing: $(TIMING_OBJ) $(PEER_OBJ) $(BUILD)/libtable.a
$(BUNDLE)/timing: BUNDLE_LIBS = $(CUDA_LIBS) -lm
bundle: $(BUNDLE)/timing
else
bench-timing:
	@echo "make $@ needs nvcc, which was not found: install the CUDA toolkit, or say NVCC=/path/to/nvcc" >&2; exit 1
endif

# --- the memory bandwidth study (bench/memory_bandwidth/README.md), both studies (bench/run) ------
# BENCH_ARGS: of bench/run. The peers of the timing study are built in if their folders are given.
BENCH_ARGS ?= --all
.PHONY: bench bench-memory-bandwidth
bench: bench-timing bench-memory-bandwidth ## build and run both studies on a GPU: make bench BENCH_ARGS="--all --quick"
	@bench/run --build $(BUILD) $(BENCH_ARGS)

ifneq ($(NVCC),)
# Memory, keys and the device are the timing study's: its files except main.c, of which the linker
# takes those it needs.
$(BUILD)/libtiming.a: $(filter-out %/main.o,$(TIMING_OBJ))
MEMORY_BANDWIDTH_OBJ := $(call obj,$(wildcard bench/memory_bandwidth/*.c)) \
  $(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(wildcard bench/memory_bandwidth/*.cu)) $(BUILD)/libtiming.a

bench-memory-bandwidth: $(BUILD)/memory_bandwidth ## build the memory bandwidth study on a GPU: build/memory_bandwidth --help
$(BUILD)/memory_bandwidth: $(MEMORY_BANDWIDTH_OBJ) $(BUILD)/libtable.a
	$(CC) $(LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm

# Into the bundle, with bench/run and what it plots with.
$(BUNDLE)/memory_bandwidth: $(MEMORY_BANDWIDTH_OBJ) $(BUILD)/libtable.a
$(BUNDLE)/memory_bandwidth: BUNDLE_LIBS = $(CUDA_LIBS) -lm
.PHONY: bundle-run
bundle-run:
	@mkdir -p $(BUNDLE)/plot
	cp bench/run $(BUNDLE)/
	for plot in $(wildcard bench/*/plot.gp); do cp $$plot $(BUNDLE)/plot/$$(basename $$(dirname $$plot)).gp || exit 1; done
bundle: $(BUNDLE)/memory_bandwidth bundle-run
else
bench-memory-bandwidth:
	@echo "make $@ needs nvcc, which was not found: install the CUDA toolkit, or say NVCC=/path/to/nvcc" >&2; exit 1
endif
