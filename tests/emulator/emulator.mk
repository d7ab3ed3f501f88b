# The kernels of table/ compiled for the CPU and run under interleavings drawn at random, without CUDA:
# README.md.
#   make emulator   build/emulator/test_table_gpu, and the other programs of tests/gpu

EMU := $(BUILD)/emulator
EMU_CXX := g++
EMU_SRC := $(wildcard tests/emulator/*.cpp)
EMU_CUDA := $(CUDA_SRC)
# Engines whose kernels are not here answer as a host without a GPU.
EMU_ABSENT := $(filter-out $(addsuffix absent.c,$(sort $(dir $(EMU_CUDA)))),$(CUDA_ABSENT))
EMU_INCLUDE := -Itests/emulator/include
EMU_FLAGS := -std=c++17 -g1 -pthread $(MACHINE) -D_GNU_SOURCE
# The emulated GPU has two multiprocessors. Small batches of several tables run side by side, and larger ones alone.
# Launch buffers are few, and the kernels assert that no two launches have one at a time.
EMU_LANES := -DSW_CUDA_LANES_MAX=2 -DSW_CUDA_LANE_OPERATIONS=4096 -DSW_CUDA_LAUNCH_BUFFERS_MAX=3 -DSW_CUDA_LAUNCH_CHECKS
# The compiler tells hooks.cpp of each access of memory; its own runtime is not linked.
EMU_KERNEL_FLAGS := $(EMU_FLAGS) -O1 -Wno-psabi -fno-strict-aliasing -fsanitize=thread -U__SANITIZE_THREAD__ \
  --param tsan-distinguish-volatile=1 --param tsan-instrument-func-entry-exit=0 \
  -D__CUDACC__ -D__CUDA_ARCH__=900 $(EMU_LANES) -include cuda_runtime.h $(EMU_INCLUDE) -I$(EMU)/src -I. $(SHAPE_FLAGS)

# The code of the oldest GPU: it writes 128-bit slots under a lock (wide.cuh). Two short suites run it, so it is optimised less.
EMU_OLDER := -U__CUDA_ARCH__ -D__CUDA_ARCH__=750

# The files that rewrite.py translates. It runs each time, and writes only the files that changed.
EMU_REWRITTEN := $(wildcard $(foreach d,table table/* table/*/cuda table/*/cuda/* tests/gpu,\
  $(foreach e,h inl cu cuh,$(d)/*.$(e)))) $(wildcard client/cuda/direct_* tests/support/cuda_driver/*.cu)
$(EMU)/rewritten: tests/emulator/rewrite.py FORCE
	@mkdir -p $(@D)
	@python3 $< $(EMU)/src $(EMU_REWRITTEN)
	@touch $@
# Files that did not change keep their time. Make would delete them, as nothing but a rule of patterns names
# them, and the next make would compile all of them again.
$(EMU)/src/%: $(EMU)/rewritten ;
.PRECIOUS: $(EMU)/src/%

EMU_OBJ := $(patsubst %.cpp,$(EMU)/obj/%.o,$(EMU_SRC)) $(patsubst %.cu,$(EMU)/obj/%.cu.o,$(EMU_CUDA)) \
  $(call obj,$(TABLE_SRC) $(HOST_SRC) $(EMU_ABSENT))
$(EMU)/obj/%.cu.o: $(EMU)/src/%.cu tests/emulator/emulator.mk
	@mkdir -p $(@D)
	@echo "  EMU  $*.cu"
	@$(EMU_CXX) $(EMU_KERNEL_FLAGS) -MMD -MP -c -o $@ -x c++ $<
$(EMU)/obj/tests/emulator/%.o: tests/emulator/%.cpp
	@mkdir -p $(@D)
	@echo "  CXX  $<"
	@$(EMU_CXX) $(EMU_FLAGS) -Wall -Wextra -O2 $(EMU_INCLUDE) -MMD -MP -c -o $@ $<
$(EMU)/libemulated.a: $(EMU_OBJ)
	@rm -f $@
	ar qcs $@ $^

# The same kernels as on the oldest GPU. The cache's are left out, because they never write 128 bits at once.
$(EMU)/older/%.cu.o: $(EMU)/src/%.cu tests/emulator/emulator.mk
	@mkdir -p $(@D)
	@echo "  EMU  $*.cu, older"
	@$(EMU_CXX) $(EMU_KERNEL_FLAGS) -Og $(EMU_OLDER) -MMD -MP -c -o $@ -x c++ $<
$(EMU)/older/runtime.o: tests/emulator/runtime.cpp
	@mkdir -p $(@D)
	@$(EMU_CXX) $(EMU_FLAGS) $(EMU_OLDER) -Wall -Wextra -O2 $(EMU_INCLUDE) -MMD -MP -c -o $@ $<
EMU_AS_EVER := $(filter $(EMU)/obj/table/cache/%,$(EMU_OBJ))
$(EMU)/libemulated_older.a: $(EMU_AS_EVER) $(patsubst $(EMU)/obj/%.cu.o,$(EMU)/older/%.cu.o,$(filter-out %/runtime.o $(EMU_AS_EVER),$(EMU_OBJ))) \
  $(EMU)/older/runtime.o
	@rm -f $@
	ar qcs $@ $^

# The suite of tests/table.
EMU_SUITE := $(CUDA_SUITE:%=suite_%)
$(EMU_SUITE:%=$(EMU)/%): $(EMU)/suite_%: $(CUDA_SUITE_OBJ) $(BUILD)/obj/tests/table/test_%.o $(EMU)/libemulated.a
	$(EMU_CXX) -pthread $(TEST_LD) -o $@ $^ -lm

EMU_TESTS := test_failing test_tables_memory test_image_reads test_read_launches test_write_calls test_growth_memory test_table_gpu test_write_path_gpu test_rows_gpu test_cuckoo_engine_gpu test_cache_gpu test_shared_gpu
$(EMU)/test_table_gpu: $(call obj,tests/gpu/test_table_gpu.c) $(GPU_COMMON) $(EMU)/libemulated.a
$(EMU)/test_failing: EMU_LINK := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(EMU)/test_image_reads: EMU_LINK := -Wl,--wrap=sw_memory_map_touched
$(EMU)/test_read_launches: EMU_LINK := -Wl,--wrap=cudaSetDevice
$(EMU)/test_write_calls: EMU_LINK := -Wl,--wrap=cudaMalloc
$(EMU)/test_tables_memory $(EMU)/test_failing $(EMU)/test_image_reads $(EMU)/test_read_launches $(EMU)/test_write_calls $(EMU)/test_growth_memory: $(EMU)/%: $(BUILD)/obj/tests/emulator/%.o $(EMU)/libemulated.a
$(EMU)/test_write_path_gpu $(EMU)/test_rows_gpu $(EMU)/test_shared_gpu: $(EMU)/%: $(EMU)/obj/tests/gpu/%.cu.o $(EMU)/libemulated.a
$(EMU)/test_cuckoo_engine_gpu: $(call obj,tests/gpu/test_cuckoo_engine_gpu.c) $(GPU_COMMON) $(EMU)/libemulated.a
$(EMU)/test_cache_gpu: $(CACHE_GPU_TEST:$(BUILD)/libtable.a=$(EMU)/libemulated.a)
EMU_TESTS += test_table_gpu_older test_cuckoo_engine_gpu_older
$(EMU)/test_table_gpu_older: $(call obj,tests/gpu/test_table_gpu.c) $(GPU_COMMON) $(EMU)/libemulated_older.a
$(EMU)/test_cuckoo_engine_gpu_older: $(call obj,tests/gpu/test_cuckoo_engine_gpu.c) $(GPU_COMMON) $(EMU)/libemulated_older.a
$(EMU)/test_%:
	$(EMU_CXX) -pthread $(TEST_LD) $(EMU_LINK) -o $@ $^ -lm

# The daemon with the CUDA backend on the emulator, and a driver's library that says what a file does (nvml).
$(EMU)/sherwoodd: $(call obj,server/main.c) $(BUILD)/libserver.a $(EMU)/libemulated.a $(BUILD)/libtls.a $(BUILD)/libproto.a $(BUILD)/libcluster.a
	$(EMU_CXX) -pthread -o $@ $^ $(SERVER_LIBS)
$(EMU)/nvml/libnvidia-ml.so.1: tests/support/nvml/fake_nvml.c
	@mkdir -p $(@D)
	$(CC) $(REAL_CPPFLAGS) $(REAL_CFLAGS) -shared -Wl,-z,nodelete -o $@ $<
# CUDA's driver for libsherwood-cuda, which finds a loaded library by this name of its own.
# It has an emulator of its own, for the kernel of direct reads.
EMU_DRIVER := $(patsubst %.cpp,$(EMU)/driver/%.o,$(EMU_SRC)) $(patsubst %.c,$(EMU)/driver/%.o,$(wildcard tests/support/cuda_driver/*.c)) \
  $(EMU)/driver/direct_kernel.o
$(EMU)/driver/%.o: %.cpp
	@mkdir -p $(@D)
	@echo "  CXX  $<, for the driver"
	@$(EMU_CXX) $(EMU_FLAGS) -fPIC -Wall -Wextra -O2 $(EMU_INCLUDE) -MMD -MP -c -o $@ $<
$(EMU)/driver/%.o: %.c
	@mkdir -p $(@D)
	@$(CC) $(REAL_CPPFLAGS) $(REAL_CFLAGS) -Wno-missing-prototypes -MMD -MP -c -o $@ $<
$(EMU)/driver/direct_kernel.o: $(EMU)/src/tests/support/cuda_driver/direct_kernel.cu tests/emulator/emulator.mk
	@mkdir -p $(@D)
	@$(EMU_CXX) $(EMU_KERNEL_FLAGS) -fPIC -MMD -MP -c -o $@ -x c++ $<
$(EMU)/driver/libcuda.so.1: $(EMU_DRIVER)
	$(EMU_CXX) -pthread -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -o $@ $^
.PHONY: emulated-daemon
emulated-daemon: $(EMU)/sherwoodd $(EMU)/nvml/libnvidia-ml.so.1 $(EMU)/driver/libcuda.so.1 $(BUILD)/python/libsherwood-cuda.so.$(SOVERSION)

# Displacement chains of two lanes, one a block, in buckets of two slots, for test_chains.cu; and the same without what
# makes them right.
EMU_CHAINS := chains chains_without_locks chains_one_lock chains_unchecked chains_short_unchecked
EMU_TINY := --set LANES=2 --set SW_CUDA_BLOCK=2
$(EMU)/chains/src: EMU_REPLACE :=
$(EMU)/chains_without_locks/src: EMU_REPLACE := --replace 'return (was & bit) == 0;' 'return true;'
# The lock of a range is released before the next one's is taken.
$(EMU)/chains_one_lock/src: EMU_REPLACE := --replace 'sw_unlock_bit(device.locks, step.lock - 1);' ';' \
  --replace 'if (!keeps) {' 'if (true) {'
# Direct writes (--direct): a free slot is taken without a compare-and-swap, and a slot is cleared whatever lies behind it.
$(EMU)/chains_unchecked/src: EMU_REPLACE := --replace 'const struct RH(slot) was = RH(slot_cas)(gap, RH(slot_empty)(), entry);' \
  'const struct RH(slot) was = RH(slot_empty)(); RH(slot_store)(gap, entry);' \
  --replace '!W::is_boundary(view, next)' 'false'
# Short displacements (--short): no compare-and-swap, and no locks.
$(EMU)/chains_short_unchecked/src: EMU_REPLACE := --replace 'struct RH(slot) was = RH(slot_cas)(bucket + max, top, *carried);' \
  'struct RH(slot) was = top; RH(slot_store)(bucket + max, *carried);' --replace 'return (was & bit) == 0;' 'return true;'
$(EMU_CHAINS:%=$(EMU)/%/src): tests/emulator/rewrite.py tests/emulator/test_chains.cu table/robin_hood/cuda/displacement/displace.cu table/device/reduce.cuh table/device/lock_bits.cuh \
  $(addprefix table/robin_hood/cuda/displacement/,chain.cuh displace.cuh displace_short.cu insert.cuh) \
  table/robin_hood/cuda/writes/range_direct.cuh table/robin_hood/robin_hood.inl
	python3 $< $(EMU_TINY) $(EMU_REPLACE) $@ $(filter-out $<,$^)
	@touch $@
$(EMU_CHAINS:%=$(EMU)/%/test_chains.o): $(EMU)/%/test_chains.o: $(EMU)/%/src | $(EMU)/rewritten
	@echo "  EMU  $*"
	@$(EMU_CXX) -I$</ $(EMU_KERNEL_FLAGS) -DSW_BUCKET_SLOTS=2 -Itests/emulator -MMD -MP -c -o $@ -x c++ $</tests/emulator/test_chains.cu
$(EMU_CHAINS:%=$(EMU)/test_%): $(EMU)/test_%: $(EMU)/%/test_chains.o $(EMU)/obj/table/device/code.cu.o $(filter $(EMU)/obj/tests/emulator/%,$(EMU_OBJ))
EMU_TESTS += $(EMU_CHAINS:%=test_%)

# What 128-bit slots are written by below compute capability 9.0, for test_wide.cu; and the same without
# locks.
EMU_WIDES := wide wide_without_locks
$(EMU)/wide/src: EMU_REPLACE :=
$(EMU)/wide_without_locks/src: EMU_REPLACE := --replace 'return (was & bit) == 0;' 'return true;'
$(EMU_WIDES:%=$(EMU)/%/src): tests/emulator/rewrite.py tests/emulator/test_wide.cu table/device/wide.cuh table/device/lock_bits.cuh
	python3 $< $(EMU_REPLACE) $@ $(filter-out $<,$^)
	@touch $@
$(EMU_WIDES:%=$(EMU)/%/test_wide.o): $(EMU)/%/test_wide.o: $(EMU)/%/src | $(EMU)/rewritten
	@echo "  EMU  $*"
	@$(EMU_CXX) -I$</ $(EMU_KERNEL_FLAGS) $(EMU_OLDER) -Itests/emulator -MMD -MP -c -o $@ -x c++ $</tests/emulator/test_wide.cu
$(EMU_WIDES:%=$(EMU)/test_%): $(EMU)/test_%: $(EMU)/%/test_wide.o $(filter $(EMU)/obj/tests/emulator/%,$(EMU_OBJ))
EMU_TESTS += $(EMU_WIDES:%=test_%)

EMU_TESTS += $(EMU_SUITE)

.PHONY: emulator
emulator: $(EMU_TESTS:%=$(EMU)/%) ## the GPU tests with kernels emulated on the CPU
-include $(shell find $(EMU) -name '*.d' 2>/dev/null)
