# Tests: what is linked with what, and the targets. tests/run runs them; tests/README.md explains.
#   tests/{table,proto,tls,cluster,client,server,load,bench}/test_*.c  one program a file
#   tests/integration/test_*.py                      the daemon and its peers, TAP
#   tests/integration/peer_*.c                       C programs those start
#   tests/fuzz/fuzz_*.c                              libFuzzer
#   tests/lint/                                      rules of the source tree
# The tests are written for Criterion. tests/support/criterion/criterion.h and the runner tests/support/inproc.c replace it.

.PHONY: test-deps test lint check hook tests
test-deps: ## install the Debian packages that STAGES of the tests need, if any is missing
	@deploy/deps test $(STAGES)

# STAGES: any of lint unit integration address thread emulator fuzz; ONLY: a pattern of suite names, and only
# what these need is built.
test: test-deps ## build and test everything that needs no GPU
	@tests/run $(if $(ONLY),--only '$(ONLY)') $(STAGES)

lint: ## check format and rules of the source tree, and run the static analysers
	@deploy/deps test lint
	@tests/run lint

check: ## the part of lint that takes seconds: format, conventions, prose, figures
	@deploy/deps test check
	@tests/run check

# An existing hook stays unchanged.
hook: ## let git run `make check` before each commit
	@hook=$$(git rev-parse --git-path hooks/pre-commit) && mkdir -p "$${hook%/*}" && \
	  if [ -e "$$hook" ]; then echo "make hook: $$hook exists already; add this line to it: make check" >&2; exit 1; fi && \
	  printf '#!/bin/sh\nexec make --no-print-directory check\n' >"$$hook" && chmod +x "$$hook" && \
	  echo "$$hook runs make check before each commit; git commit --no-verify skips it"

# --- what tests/run builds -----------------------------------------------------------------------
# Under ThreadSanitizer: where threads meet. (What regions and rings share with clients region_attacks uses too, with more at once;
# the large batches of test_parallel.c are in concurrent and changing; sherwood-load's threads are in load/test_run.)
# A name that no test has is kept, and fails the stage.
THREAD_SRC := $(foreach n,concurrent changing rows cuckoo_concurrent cuckoo_engine cache_concurrent growth \
  robin_hood combined sets phase_lock gate watched pool id_threads write_combiner combiner_launches many_tables shared_reads server resp_batch image row_threads cow_guard restore input http loop run tls stream block_writer,$(or $(filter %/test_$n.c,$(TEST_SRC)),tests/test_$n.c))
# Tests that do much themselves, most of them in the inline functions of the table: they are optimised, and the other tests are not.
SLOW_TESTS := $(patsubst %,tests/table/test_%.c,hints jump rebuild robin_hood cuckoo_concurrent) tests/server/test_ha_rules.c
# Tests that replace functions of a library of ours, or of libc.
REPLACING_TESTS := $(patsubst %,tests/%.c,table/test_dispatch proto/test_no_allocation server/test_flight server/test_ha_rules server/test_spare_fd server/test_tables_power)
# The tests of the stage are one program a folder (see below), with SAN or TESTS_BY_FOLDER=1. With SAN they are also joined before they
# are compiled, except the slow ones.
BY_FOLDER := $(if $(SHAPE),,$(SAN)$(TESTS_BY_FOLDER))
FOLDER_TESTS := $(filter-out $(REPLACING_TESTS),$(if $(filter thread,$(SAN)),$(filter $(THREAD_SRC),$(TEST_SRC)),$(if $(BY_FOLDER),$(TEST_SRC))))
JOINED_TESTS := $(if $(SAN),$(filter-out $(SLOW_TESTS),$(FOLDER_TESTS)))
ifneq ($(SAN),)
JOINED += $(shell tests/join $(BUILD)/gen/joined_tests $(JOINED_TESTS))
endif
TEST_OBJ := $(patsubst $(BUILD)/gen/%.c,$(BUILD)/obj/gen/%.o,$(filter $(BUILD)/gen/joined_tests/%,$(JOINED))) \
  $(call obj,$(filter-out $(JOINED_TESTS),$(TEST_SRC)))
SUPPORT_OBJ := $(call obj,$(filter-out tests/support/inproc.c,$(SUPPORT_SRC)))
RUNNER_OBJ := $(call obj,tests/support/inproc.c)
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(TEST_SRC))
# Programs that are run again, on another engine: groups@cuckoo.
ENGINE_TESTS := $(shell sed -n 's/^\([a-z_]*\) \([a-z_]*\)$$/\1@\2/p' tests/table/engines.txt)
PEERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/integration/peer_*.c))

# The modules of the programs, without their main.
$(BUILD)/libsupport.a: $(SUPPORT_OBJ)
$(BUILD)/libload.a: $(call obj,$(filter-out bench/load/main.c,$(LOAD_SRC)))
$(BUILD)/libcli.a: $(call units,$(filter-out client/cli/main.c,$(CLI_SRC)))

# A test is a program of its own. With BY_FOLDER the tests of a folder are one program, all, and each test is a link to it: inproc.c
# runs the tests of the file that the program is named after. Other tests, and those that replace functions, keep a program.
OWN_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(filter-out $(FOLDER_TESTS),$(TEST_SRC)))
archives = $(patsubst %,$(BUILD)/lib%.a,$(1))
programs = $(if $(BY_FOLDER),$(BUILD)/tests/$(1)/all) $(filter $(BUILD)/tests/$(1)/%,$(OWN_PROGRAMS))
$(call programs,table): $(call archives,support table)
$(call programs,proto): $(call archives,support proto)
$(call programs,tls): $(call archives,support tls proto)
$(call programs,cluster): $(call archives,support cluster proto)
$(call programs,client): $(call archives,support cli client server table proto tls cluster)
$(call programs,server): $(call archives,support client server table proto tls cluster)
$(call programs,load): $(call archives,support load client server table proto tls cluster)
# The timing study's host code; host_arrays.c replaces its device code. Of memory_bandwidth the command line.
$(BUILD)/libtiminghost.a: $(call obj,bench/memory_bandwidth/options.c $(filter-out %/main.c %/ceilings.c,$(wildcard bench/timing/*.c)) tests/bench/host_arrays.c)
# The cuckoo study without its device.
$(BUILD)/libcuckoobench.a: $(call obj,$(filter-out %/main.c,$(wildcard bench/cuckoo/*.c)))
$(call programs,bench): $(call archives,support timinghost cuckoobench studyhost table)

# <criterion/criterion.h> is ours.
CRITERION_OBJ := $(TEST_OBJ) $(SUPPORT_OBJ) $(call obj,$(SUPPORT_SRC) tests/instructions/paths.c)
$(CRITERION_OBJ): REAL_CPPFLAGS += -Itests/support
$(CRITERION_OBJ): tests/support/criterion/criterion.h

# Tests are compiled without optimisation, which takes a fifth of the time and makes few of them slower: what they test is optimised.
# An -O in CFLAGS overrides this. FORTIFY needs an optimiser.
ifeq ($(filter -O%,$(CFLAGS)),)
FAST_OBJ := $(filter-out $(call obj,$(SLOW_TESTS)),$(TEST_OBJ))
$(FAST_OBJ): REAL_CFLAGS += -O0
$(FAST_OBJ): REAL_CPPFLAGS += -U_FORTIFY_SOURCE
endif

# Over a hundred programs are linked. gold, of the binutils, takes a third of the time.
TEST_LD := $(shell $(CC) -fuse-ld=gold -Wl,--version >/dev/null 2>&1 && echo -fuse-ld=gold)
TEST_LIBS = $(SERVER_LIBS) $(CLIENT_LIBS) -lhiredis -ledit
TEST_FOLDERS := $(sort $(patsubst tests/%/,%,$(dir $(FOLDER_TESTS))))
TEST_PROGRAMS := $(OWN_PROGRAMS) $(TEST_FOLDERS:%=$(BUILD)/tests/%/all)
$(OWN_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o
$(REPLACING_TESTS:%.c=$(BUILD)/%): TEST_LD += -Wl,-z,muldefs
define TEST_FOLDER
$(BUILD)/tests/$(1)/all: $(filter $(BUILD)/obj/gen/joined_tests/tests/$(1)/% $(call obj,$(filter tests/$(1)/%,$(FOLDER_TESTS))),$(TEST_OBJ))
$(filter-out $(OWN_PROGRAMS),$(filter $(BUILD)/tests/$(1)/%,$(UNIT_TESTS))): $(BUILD)/tests/$(1)/all
	@ln -f $$< $$@
endef
$(foreach folder,$(TEST_FOLDERS),$(eval $(call TEST_FOLDER,$(folder))))
$(TEST_PROGRAMS): $(RUNNER_OBJ)
	@mkdir -p $(@D)
	@rm -f $@ # it may be a link to the program of its folder
	$(CC) $(REAL_LDFLAGS) $(TEST_LD) -Wl,--as-needed -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(TEST_LIBS)
# Preloaded into a daemon: one lets its file calls fail, the other one changes its time of day.
PRELOADED := $(patsubst %,$(BUILD)/tests/lib%.so,faults wall_clock)
$(PRELOADED): $(BUILD)/tests/lib%.so: tests/integration/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -Wextra -Werror -fPIC -shared -o $@ $< -ldl
$(PEERS): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(call archives,sherwood)
	@mkdir -p $(@D)
	$(CC) $(REAL_LDFLAGS) -o $@ $^ $(CLIENT_LIBS) -lhiredis

# tests/instructions/count counts its instructions.
INSTRUCTIONS := $(BUILD)/tests/instructions/paths
$(INSTRUCTIONS): $(call obj,tests/instructions/paths.c tests/support/must.c) $(call archives,server table proto tls cluster)
	@mkdir -p $(@D)
	$(CC) $(REAL_LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(SERVER_LIBS)

# These suites hold for buckets of any size. They also run with bucket sizes other than 4 slots, on the CPU.
SHAPES := 2 8
SHAPE_SUITES := check groups hints jump operations parallel rebuild robin_hood scan
SHAPE_TESTS := $(if $(SAN)$(SHAPE),,$(foreach s,$(SHAPES),$(SHAPE_SUITES:%=$(BUILD)/tests/table_spb$(s)/test_%)))
.PHONY: shape-tests
shape-tests:
	@for s in $(SHAPES); do \
	  $(MAKE) --no-print-directory BUCKET_SLOTS=$$s NVCC= BUILD=$(BUILD)/cpu/spb$$s \
	    $(SHAPE_SUITES:%=$(BUILD)/cpu/spb$$s/tests/table/test_%) || exit 1; \
	  mkdir -p $(BUILD)/tests/table_spb$$s && \
	  cp -f $(SHAPE_SUITES:%=$(BUILD)/cpu/spb$$s/tests/table/test_%) $(BUILD)/tests/table_spb$$s/ || exit 1; \
	done

# Everything the stages unit and integration (plain or sanitized) run.
tests: all $(UNIT_TESTS) $(INSTRUCTIONS) $(if $(SHAPE_TESTS),shape-tests) $(PEERS) $(PRELOADED) sherwoodd-null emulated-daemon durability-ceilings ## build the tests
.PHONY: unit-tests print-unit-tests print-address-tests
unit-tests: $(UNIT_TESTS)
print-unit-tests print-address-tests:
	@printf '%s\n' $(UNIT_TESTS) $(ENGINE_TESTS:%=$(BUILD)/tests/table/test_%) $(SHAPE_TESTS)
generated: $(GEN)

# --- fuzzers -------------------------------------------------------------------------------------
FUZZ_CC := clang-14
FUZZ_FLAGS := -std=c11 -O1 -g1 -fno-omit-frame-pointer $(MACHINE) -fsanitize=fuzzer-no-link,address,undefined \
              -fno-sanitize-recover=undefined
FUZZERS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(FUZZ_SRC))
# The objects that a fuzzer is linked from.
FUZZED_OBJ := $(patsubst %.c,build/fuzz/obj/%.o,$(PROTO_SRC) $(TLS_SRC) proto/cluster/slot.c $(HOST_SRC) $(CLIENT_SRC) tests/fuzz/memory_server.c \
  $(wildcard server/users/*.c server/region/*.c)) build/fuzz/obj/gen/proto/sherwood.pb-c.o
fuzzers: $(FUZZERS)
$(FUZZERS): build/fuzz/%: build/fuzz/obj/tests/fuzz/%.o build/fuzz/libfuzzed.a
	$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ -lprotobuf-c -luv -lssl -lcrypto
build/fuzz/libfuzzed.a: $(FUZZED_OBJ)
	@rm -f $@
	ar qcs $@ $^
build/fuzz/obj/gen/%.o: $(BUILD)/gen/%.c tests/tests.mk
	@mkdir -p $(@D)
	@$(FUZZ_CC) $(FUZZ_FLAGS) $(OWN_CPPFLAGS) -c -o $@ $<
build/fuzz/obj/%.o: %.c tests/tests.mk | $(GEN)
	@mkdir -p $(@D)
	@echo "  FUZZ  $<"
	@$(FUZZ_CC) $(FUZZ_FLAGS) $(OWN_CPPFLAGS) -MMD -MP -c -o $@ $<
-include $(shell find build/fuzz/obj -name '*.d' 2>/dev/null)
print-fuzzers:
	@printf '%s\n' $(FUZZERS)
.PHONY: fuzzers generated print-fuzzers

# --- selections ----------------------------------------------------------------------------------
THREAD_INTEGRATION := $(patsubst %,tests/integration/test_%.py,rmw watched clients client_pause monitor engines log plans region_attacks cluster replica replica_files ha row_moves shard_moves traces)
# Under AddressSanitizer: the scripts that attack the daemon.
ADDRESS_INTEGRATION := $(patsubst %,tests/integration/test_%.py,bad_resp bad_frames segments frame_rmw limits input_memory lifecycle redis_py clients client_pause monitor metrics engines commands transactions scan log tls http_tls regions region_attacks cluster replica)
.PHONY: thread-tests peers print-thread-tests print-thread-integration print-address-integration
thread-tests: $(THREAD_SRC:%.c=$(BUILD)/%)
peers: $(PEERS) $(PRELOADED)
print-thread-tests:
	@printf '%s\n' $(THREAD_SRC:%.c=$(BUILD)/%) $(addprefix $(BUILD)/tests/table/test_,$(filter concurrent@% image@rows,$(ENGINE_TESTS)))
print-thread-integration:
	@printf '%s\n' $(THREAD_INTEGRATION)
print-address-integration:
	@printf '%s\n' $(ADDRESS_INTEGRATION)

.PHONY: format
format: ## format the sources with clang-format
	@tests/lint/sources -0 c h inl cu cuh | xargs -0 clang-format -i
