# The demo and the benchmarks; bench/README.md explains. The demos read KEYS and BACKEND from the environment. A target
# first installs the packages that its programs need, and then builds the programs by a second make.

.PHONY: demo demo-cluster bench-serve
demo: ## show everything in about a minute: daemon, 10 M keys, redis-cli, counters, a clean stop
	@deploy/deps build redis-tools curl
	@$(MAKE) --no-print-directory all
	@bench/demo.sh $(BUILD)

demo-cluster: ## show a cluster in about a minute: a daemon on each GPU (or two on the CPU), loads, redis-cli, slots that move
	@deploy/deps build redis-tools
	@$(MAKE) --no-print-directory all
	@bench/demo-cluster.sh $(BUILD)

bench-serve: ## compare with redis-server side by side, into output/<time>/serve
	@deploy/deps build redis-server redis-tools
	@$(MAKE) --no-print-directory all
	@bench/serve/compare.py --build $(BUILD) $(if $(OUTPUT),--output $(OUTPUT)) $(BENCH_ARGS)

# The daemon with a table that stores nothing (bench/serve/null_table.c) shows the cost of sockets.
.PHONY: sherwoodd-null
sherwoodd-null: $(BUILD)/sherwoodd-null ## build the daemon without a table: build/sherwoodd-null
$(BUILD)/sherwoodd-null: $(call obj,bench/serve/null_table.c server/main.c) $(BUILD)/libserver.a $(BUILD)/libtable.a $(BUILD)/libtls.a $(BUILD)/libproto.a $(BUILD)/libcluster.a
	$(CC) $(PIE) $(REAL_LDFLAGS) -o $@ $^ $(SERVER_LIBS)

# The study of served rates (bench/serve/README.md) in the bundle, and redis-server with its libraries, which
# machines with a GPU may not have.
ifneq ($(NVCC),)
$(BUNDLE)/sherwoodd-null: $(call obj,bench/serve/null_table.c server/main.c) $(BUILD)/libserver.a $(BUILD)/libtable.a $(BUILD)/libtls.a $(BUILD)/libproto.a $(BUILD)/libcluster.a
$(BUNDLE)/sherwoodd-null: BUNDLE_LIBS = $(SERVER_LIBS)
.PHONY: bundle-serve bundle-redis
bundle-serve:
	@mkdir -p $(BUNDLE)/serve
	cp bench/serve/*.py bench/serve/plot.gp bench/scale/gpus.py bench/gate/*.py $(BUNDLE)/serve/
bundle-files: $(BUNDLE)/sherwoodd-null bundle-serve
bundle-redis: ## build/bundle/redis: redis-server of this machine, for the study of served rates
	@deploy/deps build redis-server
	@mkdir -p $(BUNDLE)/redis/lib
	cp -L $$(command -v redis-server) $(BUNDLE)/redis/
	for library in $$(ldd $(BUNDLE)/redis/redis-server | awk '$$2 == "=>" && $$3 ~ /^\// {print $$3}'); do \
	  basename $$library | grep -Eq '$(NOT_BUNDLED)' || cp -L $$library $(BUNDLE)/redis/lib/ || exit 1; \
	done
endif

# All of it; about ten minutes.
.PHONY: bench-served
bench-served: sherwoodd-null ## measure the rates that clients get, for every kind of load, into output/<time>/served
	@deploy/deps build redis-server gnuplot-nox
	@$(MAKE) --no-print-directory all
	@bench/serve/served.py --build $(BUILD)
.PHONY: bench-host
bench-host: $(BUILD)/random-lines ## measure gets and sets of a table in host memory by socket, beside random lines of memory, into output/<time>/served
	@$(MAKE) --no-print-directory all
	@bench/serve/served.py --build $(BUILD) --parts host --backend cpu --frames 1Ki,4Ki,64Ki

# The study of durability: OUTPUT must be on the disk that is measured. Its ceilings are a program of their own.
CEILINGS_OBJ := $(call obj,bench/serve/ceilings/main.c)
.PHONY: durability-ceilings
durability-ceilings: $(BUILD)/durability-ceilings
$(BUILD)/durability-ceilings: $(CEILINGS_OBJ) $(BUILD)/libproto.a $(BUILD)/libtable.a
	$(CC) $(PIE) $(REAL_LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm
ifneq ($(NVCC),)
$(BUNDLE)/durability-ceilings: $(CEILINGS_OBJ) $(BUILD)/libproto.a $(BUILD)/libtable.a
$(BUNDLE)/durability-ceilings: BUNDLE_LIBS = $(CUDA_LIBS) -lm
bundle-files: $(BUNDLE)/durability-ceilings
endif
# Random lines of host memory: the ceiling of the part `host` of served.py.
LINES_OBJ := $(call obj,bench/serve/ceilings/random_lines.c)
$(BUILD)/random-lines: $(LINES_OBJ) $(BUILD)/libtable.a
	$(CC) $(PIE) $(REAL_LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm
ifneq ($(NVCC),)
$(BUNDLE)/random-lines: $(LINES_OBJ) $(BUILD)/libtable.a
$(BUNDLE)/random-lines: BUNDLE_LIBS = $(CUDA_LIBS) -lm
bundle-files: $(BUNDLE)/random-lines
endif
.PHONY: bench-durability
bench-durability: ## measure the cost of the log and of snapshots, and plain programs on the same disk, into output/<time>/durability
	@deploy/deps build redis-server
	@$(MAKE) --no-print-directory all durability-ceilings
	@bench/serve/durability.py --build $(BUILD) $(if $(OUTPUT),--output $(OUTPUT))

.PHONY: bench-gpus
bench-gpus: sherwoodd-null ## compare all GPUs of this host with one of them, by sockets, regions and CUDA IPC, into output/<time>/scale
	@$(MAKE) --no-print-directory all $(if $(NVCC),$(BUILD)/tests/gpu/test_attach_gpu)
	@bench/scale/gpus.py --build $(BUILD) $(if $(OUTPUT),--output $(OUTPUT))

.PHONY: bench-scaling
bench-scaling: ## compute a model of clusters of up to 1,024 nodes from the curve of one node, into output/<time>/scaling
	@deploy/deps build python3-numpy gnuplot-nox
	@$(MAKE) --no-print-directory all
	@bench/scale/model.py --build $(BUILD) $(if $(OUTPUT),--output $(OUTPUT))

# BASE: a folder with the programs of another build. BENCH_ARGS: options of gate.py.
.PHONY: bench-gate
bench-gate: ## compare the rates of this build with those of the build in BASE=DIR in turns; fails below 0.95
	@[ -n "$(BASE)" ] || { echo "make bench-gate needs BASE=DIR: the folder with the programs of another build (bench/gate/README.md)" >&2; exit 1; }
	@$(MAKE) --no-print-directory all bench-rows bench-cache bench-cuckoo $(if $(NVCC),bench-timing $(BUILD)/tests/gpu/test_attach_gpu)
	@bench/gate/gate.py --build $(BUILD) --base $(BASE) $(BENCH_ARGS)

include bench/peers/peers.mk

# --- what the studies share (bench/study): options, reports, the device ----------------------------
# The commit for run_info.txt, in a file that changes when the commit does.
.PHONY: study-always
$(BUILD)/obj/bench/study/commit: study-always
	@mkdir -p $(@D)
	@c=$$(git describe --always --dirty --abbrev=12 2>/dev/null || echo 'not known'); \
	  echo "$$c" | cmp -s - $@ || echo "$$c" >$@
$(BUILD)/obj/bench/study/report.o: $(BUILD)/obj/bench/study/commit
$(BUILD)/obj/bench/study/report.o: REAL_CPPFLAGS += -DSW_STUDY_COMMIT='"$(shell git describe --always --dirty --abbrev=12 2>/dev/null || echo 'not known')"'
STUDY_HOST_OBJ := $(call obj,$(filter-out %/span_absent.c,$(wildcard bench/study/*.c)) proto/decimal.c)
STUDY_ABSENT_OBJ := $(call obj,bench/study/span_absent.c)
$(BUILD)/libstudy.a: $(STUDY_HOST_OBJ) $(if $(NVCC),$(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(wildcard bench/study/*.cu)),$(STUDY_ABSENT_OBJ))
# For tests: nvcc takes 20 s for Thrust and cuRAND.
$(BUILD)/libstudyhost.a: $(STUDY_HOST_OBJ) $(STUDY_ABSENT_OBJ)

# --- the timing study: Sherwood's table with keys in device memory (bench/timing/README.md) ------
.PHONY: bench-timing
ifneq ($(NVCC),)
TIMING_OBJ := $(call obj,$(wildcard bench/timing/*.c)) \
  $(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(wildcard bench/timing/*.cu))

bench-timing: $(BUILD)/timing ## build the timing study of the table on a GPU: build/timing --help
$(BUILD)/timing: $(TIMING_OBJ) $(PEER_OBJ) $(BUILD)/libstudy.a $(BUILD)/libtable.a
	$(CC) $(REAL_LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm

# Into the bundle too; tests/gpu/gpu.mk has the recipe and the list of libraries.
$(BUNDLE)/timing: $(TIMING_OBJ) $(PEER_OBJ) $(BUILD)/libstudy.a $(BUILD)/libtable.a
$(BUNDLE)/timing: BUNDLE_LIBS = $(CUDA_LIBS) -lm
bundle-files: $(BUNDLE)/timing
else
bench-timing:
	@echo "make $@ needs nvcc, which was not found: install the CUDA toolkit, or set NVCC=/path/to/nvcc" >&2; exit 1
endif

# --- the memory bandwidth study (bench/memory_bandwidth/README.md), all that bench/run runs ----------
# BENCH_ARGS: of bench/run. The peers of the studies are built in if their folders are given.
BENCH_ARGS ?= --all
.PHONY: bench bench-memory-bandwidth
bench: bench-timing bench-memory-bandwidth bench-cuckoo bench-cache bench-rows ## build and run the studies on a GPU: make bench BENCH_ARGS="--all --quick"
	@bench/run --build $(BUILD) $(BENCH_ARGS)

ifneq ($(NVCC),)
MEMORY_BANDWIDTH_OBJ := $(call obj,$(wildcard bench/memory_bandwidth/*.c)) \
  $(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(wildcard bench/memory_bandwidth/*.cu)) $(BUILD)/libstudy.a

bench-memory-bandwidth: $(BUILD)/memory_bandwidth ## build the memory bandwidth study on a GPU: build/memory_bandwidth --help
$(BUILD)/memory_bandwidth: $(MEMORY_BANDWIDTH_OBJ) $(BUILD)/libtable.a
	$(CC) $(REAL_LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm

# Into the bundle, with bench/run and what it plots with.
$(BUNDLE)/memory_bandwidth: $(MEMORY_BANDWIDTH_OBJ) $(BUILD)/libtable.a
$(BUNDLE)/memory_bandwidth: BUNDLE_LIBS = $(CUDA_LIBS) -lm
.PHONY: bundle-run
bundle-run:
	@mkdir -p $(BUNDLE)/plot
	cp bench/run $(BUNDLE)/
	for plot in $(wildcard bench/*/plot.gp); do cp $$plot $(BUNDLE)/plot/$$(basename $$(dirname $$plot)).gp || exit 1; done
bundle-files: $(BUNDLE)/memory_bandwidth bundle-run
else
bench-memory-bandwidth:
	@echo "make $@ needs nvcc, which was not found: install the CUDA toolkit, or set NVCC=/path/to/nvcc" >&2; exit 1
endif

# --- the cuckoo study (bench/cuckoo/README.md) ---------------------------------------------------
# Without nvcc it has the CPU backend only.
CUCKOO_BENCH_OBJ := $(call obj,$(filter-out %/main.c %/device_absent.c,$(wildcard bench/cuckoo/*.c)))
ifneq ($(NVCC),)
CUCKOO_BENCH_OBJ += $(CUCKOO_PEER_OBJ) \
  $(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(wildcard bench/cuckoo/*.cu))
else
CUCKOO_BENCH_OBJ += $(call obj,bench/cuckoo/device_absent.c)
endif
CUCKOO_BENCH_OBJ += $(BUILD)/libstudy.a

.PHONY: bench-cuckoo
bench-cuckoo: cuckoo-peers-notice $(BUILD)/cuckoo ## build the cuckoo study: build/cuckoo --help
$(BUILD)/cuckoo: $(call obj,bench/cuckoo/main.c) $(CUCKOO_BENCH_OBJ) $(BUILD)/libtable.a
	$(CC) $(REAL_LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm
ifneq ($(NVCC),)
$(BUNDLE)/cuckoo: $(call obj,bench/cuckoo/main.c) $(CUCKOO_BENCH_OBJ) $(BUILD)/libtable.a
$(BUNDLE)/cuckoo: BUNDLE_LIBS = $(CUDA_LIBS) -lm
bundle-files: $(BUNDLE)/cuckoo
endif

# --- the cache study (bench/cache/README.md) -------------------------------------------------------
# Without nvcc it has the CPU backend only.
CACHE_BENCH_HOST_OBJ := $(call obj,$(filter-out %/main.c %/device_absent.c,$(wildcard bench/cache/*.c)))
ifneq ($(NVCC),)
CACHE_BENCH_OBJ := $(CACHE_BENCH_HOST_OBJ) $(CACHE_PEER_OBJ) $(patsubst %,$(BUILD)/obj/%.o,$(wildcard bench/cache/*.cu))
else
CACHE_BENCH_OBJ := $(CACHE_BENCH_HOST_OBJ) $(call obj,bench/cache/device_absent.c)
endif
CACHE_BENCH_OBJ += $(BUILD)/libstudy.a

.PHONY: bench-cache
bench-cache: $(BUILD)/cache ## build the cache study: build/cache --help
$(BUILD)/cache: $(call obj,bench/cache/main.c) $(CACHE_BENCH_OBJ) $(BUILD)/libtable.a
	$(CC) $(REAL_LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm
ifneq ($(NVCC),)
$(BUNDLE)/cache: $(call obj,bench/cache/main.c) $(CACHE_BENCH_OBJ) $(BUILD)/libtable.a
$(BUNDLE)/cache: BUNDLE_LIBS = $(CUDA_LIBS) -lm
bundle-files: $(BUNDLE)/cache
endif

# Its test: the study without its device.
$(BUILD)/libcachebench.a: $(CACHE_BENCH_HOST_OBJ) $(call obj,bench/cache/device_absent.c)
$(if $(BY_FOLDER),$(BUILD)/tests/bench/all,$(BUILD)/tests/bench/test_cache_study): $(BUILD)/libcachebench.a \
  $(if $(CACHE_PEER_OBJ),$(CACHE_PEER_OBJ) $(BUILD)/obj/bench/study/device.cu.o)

# --- the study of rows (bench/rows/README.md) --------------------------------------------------------
# Without nvcc it has the CPU backend only.
ROWS_BENCH_HOST_OBJ := $(call obj,$(filter-out %/main.c %/device_absent.c,$(wildcard bench/rows/*.c)) bench/cache/sherwood.c bench/load/zipf.c)
ifneq ($(NVCC),)
ROWS_BENCH_OBJ := $(ROWS_BENCH_HOST_OBJ) $(CACHE_PEER_OBJ) $(patsubst %,$(BUILD)/obj/%.o,$(wildcard bench/rows/*.cu))
else
ROWS_BENCH_OBJ := $(ROWS_BENCH_HOST_OBJ) $(call obj,bench/rows/device_absent.c)
endif
ROWS_BENCH_OBJ += $(BUILD)/libstudy.a

.PHONY: bench-rows
bench-rows: $(BUILD)/rows ## build the study of rows: build/rows --help
$(BUILD)/rows: $(call obj,bench/rows/main.c) $(ROWS_BENCH_OBJ) $(BUILD)/libtable.a
	$(CC) $(REAL_LDFLAGS) -o $@ $^ $(CUDA_LIBS) -lm
ifneq ($(NVCC),)
$(BUNDLE)/rows: $(call obj,bench/rows/main.c) $(ROWS_BENCH_OBJ) $(BUILD)/libtable.a
$(BUNDLE)/rows: BUNDLE_LIBS = $(CUDA_LIBS) -lm
bundle-files: $(BUNDLE)/rows
endif

# Its test: the study without its device.
$(BUILD)/librowsbench.a: $(ROWS_BENCH_HOST_OBJ) $(call obj,bench/rows/device_absent.c)
$(if $(BY_FOLDER),$(BUILD)/tests/bench/all,$(BUILD)/tests/bench/test_rows_study): $(BUILD)/librowsbench.a \
  $(if $(CACHE_PEER_OBJ),$(CACHE_PEER_OBJ) $(BUILD)/obj/bench/study/device.cu.o)

# --- the tuner of kernels (bench/tune/README.md) ---------------------------------------------------
# A study with other constants in one file of the library. bench/tune/search.py sets STUDY, SOURCE, DEFINES and
# PROGRAM. The new object replaces the one in the archive.
TUNE_OBJ_timing = $(TIMING_OBJ) $(PEER_OBJ)
TUNE_OBJ_cuckoo = $(call obj,bench/cuckoo/main.c) $(CUCKOO_BENCH_OBJ)
TUNE_OBJ_cache = $(call obj,bench/cache/main.c) $(CACHE_BENCH_OBJ)
TUNE_OBJ_rows = $(call obj,bench/rows/main.c) $(ROWS_BENCH_OBJ)

.PHONY: bench-tune tune-objects tune-variant
ifneq ($(NVCC),)
bench-tune: ## search for faster constants of the CUDA kernels on this machine's GPU: an hour
	bench/tune/search.py --make '$(MAKE) BUILD=$(BUILD) NVCC=$(NVCC)' --folder $(BUILD)/tune --results $(BUILD)/tune/results.csv
	bench/tune/analyze.py --results $(BUILD)/tune/results.csv --coverage --top 5
# Once, before variants are built side by side.
tune-objects: $(TUNE_OBJ_$(STUDY)) $(BUILD)/libstudy.a $(BUILD)/libtable.a
tune-variant: $(TUNE_OBJ_$(STUDY)) $(BUILD)/libstudy.a $(BUILD)/libtable.a
	@mkdir -p $(dir $(PROGRAM))
	$(NVCC) $(NVCCFLAGS) -DSW_TUNE $(DEFINES) -c -o $(PROGRAM).o $(SOURCE)
	$(CC) $(REAL_LDFLAGS) -s -o $(PROGRAM).new $(PROGRAM).o $^ $(CUDA_LIBS) -lm
	rm $(PROGRAM).o && mv $(PROGRAM).new $(PROGRAM)
else
bench-tune tune-objects tune-variant:
	@echo "make $@ needs nvcc, which was not found: install the CUDA toolkit, or set NVCC=/path/to/nvcc" >&2; exit 1
endif
