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

# --- the timing study: Sherwood's table with keys in device memory (bench/timing/README.md) ------
.PHONY: bench-timing
ifneq ($(NVCC),)
TIMING_OBJ := $(call obj,$(wildcard bench/timing/*.c)) \
  $(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(wildcard bench/timing/*.cu))

bench-timing: $(BUILD)/timing ## build the timing study of the table on a GPU: build/timing --help
$(BUILD)/timing: $(TIMING_OBJ) $(BUILD)/libtable.a
	$(CC) $(LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm

# Into the bundle too; tests/gpu/gpu.mk has the recipe and the list of libraries.
$(BUNDLE)/timing: $(TIMING_OBJ) $(BUILD)/libtable.a
$(BUNDLE)/timing: BUNDLE_LIBS = $(CUDA_LIBS) -lm
bundle: $(BUNDLE)/timing
else
bench-timing:
	@echo "make $@ needs nvcc, which was not found: install the CUDA toolkit, or say NVCC=/path/to/nvcc" >&2; exit 1
endif
