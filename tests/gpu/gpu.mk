# The GPU tests, and a folder that carries them to a machine with a GPU.
#   make test-gpu        builds and runs the GPU tests here; fails where no CUDA device answers
#   make test-gpu-cases  runs its cases on two CPU tables: are the cases right?
#   make bundle          build/bundle: programs, the libraries they need, run-gpu-tests.sh; for the GPUs of
#                        ARCH. ARCH=compute_80 on a newer GPU tests what older ones run: nothing but PTX
#                        of 8.0 is there, and the driver compiles it

GPU_OUT := $(BUILD)/tests/gpu
GPU_COMMON := $(call obj,$(filter-out tests/gpu/test_%.c tests/gpu/bench_%.c,$(wildcard tests/gpu/*.c)) tests/support/random.c)

# The programs of tests/table that are not about the CPU backend alone. To run on CUDA they are linked a second time.
CUDA_SUITE := operations adversarial groups growth resize scan table concurrent many_tables shared_reads cuckoo_engine cache_engine \
  cache_growth cache_scores cache_concurrent cache_ids cache_retention image slot_filter rows row_sums row_sets row_strings row_parts row_numbers row_images row_threads row_readers \
  key_texts expiry expiry_pair expiry_suspend expiry_mean expiry_memory ids id_sets id_threads sets
CUDA_SUITE_OBJ := $(call obj,$(filter-out tests/support/fake_%,$(SUPPORT_SRC)))

.PHONY: test-gpu test-gpu-cases bundle
test-gpu-cases: $(GPU_OUT)/test_table_gpu ## run the cases of the GPU tests without a GPU
	$< --quick --few --cpu

$(GPU_OUT)/test_table_gpu: $(call obj,tests/gpu/test_table_gpu.c) $(GPU_COMMON) $(BUILD)/libtable.a
CUCKOO_ENGINE_GPU_TEST := $(call obj,tests/gpu/test_cuckoo_engine_gpu.c) $(GPU_COMMON) $(BUILD)/libtable.a
$(GPU_OUT)/test_cuckoo_engine_gpu: $(CUCKOO_ENGINE_GPU_TEST)
$(GPU_OUT)/test_write_path_gpu $(GPU_OUT)/test_rows_gpu $(GPU_OUT)/test_shared_gpu: $(GPU_OUT)/%: $(BUILD)/obj/tests/gpu/%.cu.o $(BUILD)/libtable.a
ATTACH_GPU_TEST := $(BUILD)/obj/tests/gpu/test_attach_gpu.cu.o $(CLIENT_CUDA_OBJ) $(BUILD)/libsherwood.a
$(GPU_OUT)/test_attach_gpu: $(ATTACH_GPU_TEST)
$(GPU_OUT)/test_attach_gpu: GPU_LIBS := -lprotobuf-c -lssl -lcrypto
CACHE_GPU_TEST := $(call obj,tests/gpu/test_cache_gpu.c $(wildcard tests/gpu/combined*.c) \
  $(wildcard tests/gpu/cache/*.c) tests/support/random.c) $(BUILD)/libtable.a
$(GPU_OUT)/test_cache_gpu: $(CACHE_GPU_TEST)
GPU_SUITE := $(CUDA_SUITE:%=suite_%)
$(GPU_SUITE:%=$(GPU_OUT)/%): $(GPU_OUT)/suite_%: $(CUDA_SUITE_OBJ) $(BUILD)/obj/tests/table/test_%.o $(BUILD)/libtable.a
$(GPU_OUT)/%:
	@mkdir -p $(@D)
	$(CC) $(REAL_LDFLAGS) -o $@ $^ $(GPU_LIBS) $(CUDA_LIBS) -lm

ifneq ($(NVCC),)
GPU_TESTS := test_table_gpu test_write_path_gpu test_rows_gpu test_cuckoo_engine_gpu test_cache_gpu \
  test_shared_gpu test_attach_gpu
test-gpu: $(BUILD)/sherwoodd $(GPU_TESTS:%=$(GPU_OUT)/%) $(GPU_SUITE:%=$(GPU_OUT)/%) ## run the tests of every engine on the GPU of this machine
	for suite in $(CUDA_SUITE:%=%@robin_hood) $(ENGINE_TESTS); do \
	  SW_TEST_BACKEND=cuda SW_TEST_ENGINE=$${suite#*@} $(GPU_OUT)/suite_$${suite%@*} || exit 1; done
	$(GPU_OUT)/test_table_gpu --full
	$(GPU_OUT)/test_write_path_gpu
	$(GPU_OUT)/test_rows_gpu
	$(GPU_OUT)/test_cuckoo_engine_gpu
	$(GPU_OUT)/test_cache_gpu
	$(GPU_OUT)/test_shared_gpu
	$(GPU_OUT)/test_attach_gpu $(BUILD)/sherwoodd

# The bundle's programs look for libraries beside themselves. RPATH, not RUNPATH: the libraries'
# own libraries lie there too.
BUNDLE := $(BUILD)/bundle
BUNDLE_LDFLAGS = $(PIE) $(REAL_LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/lib'
BUNDLE_PROGRAMS := $(patsubst %,$(BUNDLE)/%,$(GPU_TESTS) $(GPU_SUITE) \
  $(if $(wildcard server/main.c),sherwoodd) $(if $(LOAD_SRC),sherwood-load) $(if $(CLI_SRC),sherwood-cli))
# glibc is the machine's own; every other shared library goes along.
NOT_BUNDLED := ^(libc|libm|libpthread|libdl|librt|libresolv|ld-linux.*)\.so

$(BUNDLE)/test_table_gpu: $(call obj,tests/gpu/test_table_gpu.c) $(GPU_COMMON) $(BUILD)/libtable.a
$(BUNDLE)/test_cuckoo_engine_gpu: $(CUCKOO_ENGINE_GPU_TEST)
$(BUNDLE)/test_write_path_gpu $(BUNDLE)/test_rows_gpu $(BUNDLE)/test_shared_gpu: $(BUNDLE)/%: $(BUILD)/obj/tests/gpu/%.cu.o $(BUILD)/libtable.a
$(BUNDLE)/test_attach_gpu: $(ATTACH_GPU_TEST)
$(BUNDLE)/test_cache_gpu: $(CACHE_GPU_TEST)
$(GPU_SUITE:%=$(BUNDLE)/%): $(BUNDLE)/suite_%: $(CUDA_SUITE_OBJ) $(BUILD)/obj/tests/table/test_%.o $(BUILD)/libtable.a
$(BUNDLE)/sherwoodd: $(call obj,server/main.c) $(BUILD)/libserver.a $(BUILD)/libtable.a $(BUILD)/libtls.a $(BUILD)/libproto.a $(BUILD)/libcluster.a
$(BUNDLE)/sherwood-load: $(call obj,$(LOAD_SRC)) $(BUILD)/libclient.a $(BUILD)/libtls.a $(BUILD)/libproto.a $(BUILD)/libcluster.a
$(BUNDLE)/sherwood-cli: $(call obj,$(CLI_SRC)) $(BUILD)/libclient.a $(BUILD)/libtls.a $(BUILD)/libproto.a $(BUILD)/libcluster.a
$(GPU_TESTS:%=$(BUNDLE)/%): BUNDLE_LIBS = $(CUDA_LIBS) -lm
$(BUNDLE)/test_attach_gpu: BUNDLE_LIBS += -lprotobuf-c -lssl -lcrypto
$(GPU_SUITE:%=$(BUNDLE)/%): BUNDLE_LIBS = $(CUDA_LIBS) -lm
$(BUNDLE)/sherwoodd: BUNDLE_LIBS = $(SERVER_LIBS)
$(BUNDLE)/sherwood-load: BUNDLE_LIBS = $(CLIENT_LIBS)
$(BUNDLE)/sherwood-cli: BUNDLE_LIBS = $(CLIENT_LIBS) -ledit
$(BUNDLE)/%:
	@mkdir -p $(@D)
	$(CC) $(BUNDLE_LDFLAGS) -o $@ $^ $(BUNDLE_LIBS)

.PHONY: bundle-deps bundle-files
bundle-deps:
	@deploy/deps bundle

bundle: bundle-deps ## build/bundle: what a GPU machine needs to run the tests
	@$(MAKE) --no-print-directory bundle-files

bundle-files: $(BUNDLE_PROGRAMS) tests/gpu/run-gpu-tests.sh tests/table/engines.txt
	rm -rf $(BUNDLE)/lib
	mkdir -p $(BUNDLE)/lib
	cp tests/gpu/run-gpu-tests.sh tests/table/engines.txt $(BUNDLE)/
	for library in $$(ldd $(BUNDLE_PROGRAMS) | awk '$$2 == "=>" && $$3 ~ /^\// {print $$3}' | sort -u); do \
	  basename $$library | grep -Eq '$(NOT_BUNDLED)' || cp -L $$library $(BUNDLE)/lib/ || exit 1; \
	done
	ls -l $(BUNDLE) $(BUNDLE)/lib
else
test-gpu bundle:
	@echo "make $@ needs nvcc, which was not found: install the CUDA toolkit, or set NVCC=/path/to/nvcc" >&2; exit 1
endif
