# Sherwood. `make help` lists the targets. README.md explains the two that matter: run and test.
#
# Sources are found by folder, so adding a file needs no edit here:
#   table/*.c table/*/*.c table/*/cpu/*.c table/device/*.cu table/*/cuda/*.cu table/*/cuda/*/*.cu
#                                             -> libtable.a    (the table and its engines)
#   proto/*.c proto/sherwood.proto            -> libproto.a    (frames, RESP)
#   proto/host/*.c                            -> libtable.a and libsherwood (what the machine leaves to a process)
#   proto/tls/*.c                             -> libtls.a      (TLS streams over sockets)
#   proto/cluster/*.c                         -> libcluster.a  (slots, topologies)
#   server/*.c server/*/*.c                    -> libserver.a, sherwoodd (main.c)
#   client/*.c                                -> libsherwood.a, libsherwood.so
#   client/cuda/*.c                           -> libsherwood-cuda.so
#   client/cli/*.c                            -> sherwood-cli
#   bench/load/*.c                            -> sherwood-load
#   tests/<folder>/test_*.c                   -> tests/<folder>/test_*
#   tests/fuzz/fuzz_*.c                       -> fuzz/fuzz_*            (libFuzzer, clang)
# SAN=address|thread builds everything again under build/address, build/thread, without CUDA, up to a dozen files of a folder as one;
# BUCKET_SLOTS=2|8 builds tables of another shape under build/spb2, build/spb8.
# CFLAGS, CPPFLAGS and LDFLAGS, of the environment or the command line, are added to our own flags.
# NVCC= builds without CUDA where nvcc is installed. Objects are built again when flags change.
# ARCH says for which GPUs the CUDA code is compiled: sm_80, or several such names; native, those of this
# machine; all, every one from compute capability 7.5 on; compute_80, nothing but PTX, for the driver to
# compile. By default native, and sm_90 where there is no GPU: compiling for all takes seven times as long.
# NVCC_OPTIMIZE is -O3; nvcc of CUDA 13 compiles fastest with '-O3 --Ofast-compile=max', where nobody runs the kernels.
# NVCC_JOIN=1 compiles the kernels of most folders as one to three files. It halves the time, but a change compiles the whole folder.

VERSION := 0.1.0
SOVERSION := 0

SAN ?=
BUCKET_SLOTS ?= 4
SHAPE := $(filter-out 4,$(BUCKET_SLOTS))
BUILD := build$(if $(SHAPE),/spb$(SHAPE))$(if $(SAN),/$(SAN))
SHAPE_FLAGS := $(if $(SHAPE),-DSW_BUCKET_SLOTS=$(SHAPE))
ifeq ($(origin CC),default)
  CC := gcc
endif
PREFIX ?= /usr/local
DESTDIR ?=
NVCC ?= $(if $(SAN),,$(shell command -v nvcc 2>/dev/null || ls /usr/local/cuda/bin/nvcc 2>/dev/null))

, := ,
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
# -mcx16: 128-bit slots are written by cmpxchg16b. Every x86-64 since 2006 has it.
MACHINE := $(if $(filter x86_64,$(shell uname -m)),-mcx16)
OPTIMIZE := -O2 -g
# Builds for tests alone are built fast: reports name functions and lines, no variables.
ifeq ($(SAN),address)
  OPTIMIZE := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
else ifeq ($(SAN),thread)
  OPTIMIZE := -O1 -g1 -fsanitize=thread
else ifneq ($(SHAPE),)
  OPTIMIZE := -O1 -g1
endif
# libcurl is for --ha alone, which is refused where it is missing.
HAS_CURL := $(shell pkg-config --exists libcurl 2>/dev/null && echo yes)
PACKAGES := libuv libprotobuf-c libmicrohttpd inih libsystemd jansson openssl $(if $(HAS_CURL),libcurl)
PKG_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)

# Hardening of programs that talk to strangers. The sanitizers do more, and do not like all of it.
# FORTIFY wants optimised code; one that the user defines takes the place of ours.
has_flag = $(shell $(CC) -Werror $(1) -x c -fsyntax-only /dev/null 2>/dev/null && echo '$(1)')
ifeq ($(SAN),)
  OPTIMIZED := $(filter-out -O0,$(lastword $(filter -O%,$(OPTIMIZE) $(CFLAGS))))
  HARDEN_CPP := $(if $(OPTIMIZED),$(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
  HARDEN_C := $(foreach f,-fstack-protector-strong -fstack-clash-protection,$(call has_flag,$(f)))
  HARDEN_LD := -Wl,-z,relro,-z,now
  PIE := -pie
endif

# Nobody replaces functions of ours at run time, so those of one file may call each other directly.
# Those of the user come last, so that -O3 beats our -O2. What gcc thinks uninitialised depends on how
# far it optimises: at a level that nobody tried here it is a warning, and no error.
OWN_CPPFLAGS := -D_GNU_SOURCE -DSHERWOOD_VERSION='"$(VERSION)"' -I. -I$(BUILD)/gen $(SHAPE_FLAGS) $(if $(HAS_CURL),-DSW_HAS_CURL) $(if $(SAN),-DSHERWOOD_CHECKS)
REAL_CPPFLAGS := $(OWN_CPPFLAGS) $(HARDEN_CPP) $(CPPFLAGS)
REAL_CFLAGS := -std=c11 $(OPTIMIZE) $(MACHINE) $(WARNINGS) $(HARDEN_C) -pthread -fPIC -fno-semantic-interposition $(if $(filter -O%,$(CFLAGS)),-Wno-error=maybe-uninitialized) $(CFLAGS)
REAL_LDFLAGS := -pthread $(filter -fsanitize%,$(OPTIMIZE)) $(HARDEN_LD) $(LDFLAGS)
FLAGS := $(CC) $(REAL_CPPFLAGS) $(PKG_CFLAGS) $(REAL_CFLAGS) $(REAL_LDFLAGS) $(if $(NVCC),with,without) CUDA

# --- sources -------------------------------------------------------------------------------------
TABLE_SRC := $(wildcard table/*.c table/*/*.c table/*/cpu/*.c)
PROTO_SRC := $(wildcard proto/*.c)
HOST_SRC := $(wildcard proto/host/*.c)
TLS_SRC := $(wildcard proto/tls/*.c)
CLUSTER_SRC := $(wildcard proto/cluster/*.c)
SERVER_SRC := $(filter-out server/main.c,$(wildcard server/*.c server/*/*.c))
CLIENT_SRC := $(wildcard client/*.c)
CLIENT_CUDA_SRC := $(wildcard client/cuda/*.c)
CLI_SRC := $(wildcard client/cli/*.c)
LOAD_SRC := $(wildcard bench/load/*.c) client/cli/login.c client/cli/lines.c client/cli/output.c bench/study/options.c bench/study/lists.c
TEST_SRC := $(wildcard tests/table/test_*.c tests/proto/test_*.c tests/tls/test_*.c tests/cluster/test_*.c tests/client/test_*.c tests/server/test_*.c tests/load/test_*.c tests/bench/test_*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
CUDA_SRC := $(wildcard table/device/*.cu table/*/cuda/*.cu table/*/cuda/*/*.cu)
CUDA_ABSENT := $(wildcard table/*/cuda/absent.c)
GPU_TEST_SRC := $(wildcard tests/gpu/*.cu tests/gpu/*.c)

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
# Only tests use the sanitized builds. There tests/join joins up to a dozen files of a folder, which are compiled as one. Each file
# whose functions a test replaces stays one. units FILES: the objects of whole folders.
ifneq ($(SAN),)
  REPLACED_SRC := $(patsubst %,table/%.c,engine image table) server/ha/member.c
  JOINED := $(shell tests/join $(BUILD)/gen/joined $(filter-out %/main.c $(REPLACED_SRC),\
    $(TABLE_SRC) $(PROTO_SRC) $(TLS_SRC) $(SERVER_SRC) $(CLIENT_SRC) $(CLI_SRC)))
  units = $(patsubst $(BUILD)/gen/%.c,$(BUILD)/obj/gen/%.o,$(filter $(foreach d,$(sort $(dir $(1))),$(BUILD)/gen/joined/$(d)joined_%),$(JOINED))) \
    $(call obj,$(filter $(REPLACED_SRC),$(1)))
else
  units = $(obj)
endif
GEN := $(BUILD)/gen/proto/sherwood.pb-c.h
CLIENT_CUDA_OBJ := $(call obj,$(CLIENT_CUDA_SRC) proto/operation.c proto/value_type.c) $(BUILD)/obj/gen/client/cuda/direct_image.o

ifneq ($(NVCC),)
  NVCC_OPTIMIZE ?= -O3
  # The folders whose files have no static names in common. Of the others tests/join joins what it can. The cache's files use tiles of
  # different sizes, so each is compiled alone.
  CUDA_JOINED := $(if $(NVCC_JOIN),table/device $(patsubst %,table/robin_hood/cuda/%,displacement images launch rows times))
  CUDA_OTHERS := $(filter-out $(CUDA_JOINED:%=%/%.cu),$(CUDA_SRC))
  CUDA_UNITS := $(if $(NVCC_JOIN),$(shell tests/join $(BUILD)/gen/joined $(filter-out table/cache/%,$(CUDA_OTHERS))))
  CUDA_OBJ := $(patsubst %,$(BUILD)/obj/%.o,$(CUDA_JOINED:%=%/joined.cu) \
    $(if $(NVCC_JOIN),$(CUDA_UNITS:$(BUILD)/%=%) $(filter table/cache/%,$(CUDA_OTHERS)),$(CUDA_OTHERS)))
  CUDA_HOME := $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
  CUDA_LIBS := -L$(CUDA_HOME)/lib64 -lcudart_static -lstdc++ -lrt -ldl
  NATIVE_ARCH := $(if $(wildcard /dev/nvidiactl),$(patsubst %,sm_%,$(subst .,,$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u))))
  ARCH ?= $(or $(NATIVE_ARCH),sm_90)
  # Code of each generation that its other members also run, and PTX for newer ones and those between.
  ALL_ARCH := sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120
  ALL_PTX := compute_90
  ARCHES := $(foreach a,$(ARCH),$(if $(filter all,$a),$(ALL_ARCH) $(ALL_PTX),$(if $(filter native,$a),$(or $(NATIVE_ARCH),\
    $(error ARCH=native: nvidia-smi shows no GPU here; say ARCH=sm_80 or ARCH=all)),$a)))
  ifneq ($(filter-out sm_% compute_%,$(ARCHES)),)
    $(error ARCH=$(ARCH): native, all, or names like sm_80 and compute_80)
  endif
  # One architecture by its name comes with its PTX.
  GENCODE := $(if $(filter 1,$(words $(ARCHES))),$(ARCHES:sm_%=compute_%)) $(ARCHES)
  GENCODE := $(foreach a,$(sort $(GENCODE)),-gencode arch=$(a:sm_%=compute_%)$(,)code=$a) $(if $(filter sm_%,$(ARCHES)),,-DSW_CUDA_ONLY_PTX)
  # host code is C++17 here; the ABI with C is table/backend.h
  NVCCFLAGS := -std=c++17 $(NVCC_OPTIMIZE) $(if $(SHAPE),-Xfatbin -compress-all,-lineinfo) $(GENCODE) -D_GNU_SOURCE -I. $(SHAPE_FLAGS) -Xcompiler -fPIC,-Wall,-Wextra,-pthread \
               --expt-relaxed-constexpr -Werror all-warnings
  TABLE_OBJ := $(call obj,$(TABLE_SRC)) $(CUDA_OBJ)
else
  CUDA_LIBS :=
  TABLE_OBJ := $(call units,$(TABLE_SRC)) $(call obj,$(CUDA_ABSENT))
endif

include $(wildcard tests/gpu/gpu.mk) $(wildcard tests/emulator/emulator.mk) $(wildcard deploy/install.mk deploy/debian.mk) $(wildcard tests/tests.mk) $(wildcard bench/bench.mk) $(wildcard client/python/python.mk client/nve/nve.mk)

# --- programs ------------------------------------------------------------------------------------
PROGRAMS := $(if $(wildcard server/main.c),$(BUILD)/sherwoodd) $(if $(CLI_SRC),$(BUILD)/sherwood-cli) \
            $(if $(LOAD_SRC),$(BUILD)/sherwood-load)
LIBS_PUBLIC := $(if $(CLIENT_SRC),$(BUILD)/libsherwood.a $(BUILD)/libsherwood.so $(BUILD)/libsherwood-cuda.so)

.PHONY: all
all: $(PROGRAMS) $(LIBS_PUBLIC) ## build the daemon, the tools and the client library
	@$(if $(NVCC),,echo 'CPU-only build: nvcc was not found.')

# nvcc compiles its host code with g++.
.PHONY: deps
deps: ## install the Debian packages that building needs, if any is missing
	@deploy/deps build $(if $(NVCC),g++)

# A second make, because pkg-config and protoc-c may be there only now.
.PHONY: run
run: deps ## build, and run the daemon in the foreground: make run ARGS="--port 7000"
	@$(MAKE) --no-print-directory all
	@exec $(BUILD)/sherwoodd $(ARGS)

$(BUILD)/libtable.a: $(TABLE_OBJ) $(call obj,$(HOST_SRC))
$(BUILD)/libproto.a: $(call units,$(PROTO_SRC)) $(BUILD)/obj/gen/proto/sherwood.pb-c.o
$(BUILD)/libtls.a: $(call units,$(TLS_SRC))
$(BUILD)/libcluster.a: $(call obj,$(CLUSTER_SRC))
$(BUILD)/libserver.a: $(call units,$(SERVER_SRC)) $(BUILD)/obj/gen/status_page.o
$(BUILD)/libclient.a: $(call units,$(CLIENT_SRC)) $(call obj,$(HOST_SRC))
$(BUILD)/lib%.a:
	@mkdir -p $(@D)
	@rm -f $@
	ar qcs $@ $(filter %.o,$^)

# What a user links: the client and the codec in one archive, and as a shared library.
$(BUILD)/libsherwood.a: $(call units,$(CLIENT_SRC) $(PROTO_SRC) $(TLS_SRC)) $(call obj,$(HOST_SRC) proto/cluster/slot.c) $(BUILD)/obj/gen/proto/sherwood.pb-c.o
$(BUILD)/libsherwood.so.$(VERSION): $(call units,$(CLIENT_SRC) $(PROTO_SRC) $(TLS_SRC)) $(call obj,$(HOST_SRC) proto/cluster/slot.c) $(BUILD)/obj/gen/proto/sherwood.pb-c.o
	$(CC) -shared $(REAL_LDFLAGS) -Wl,-soname,libsherwood.so.$(SOVERSION) -Wl,--exclude-libs,ALL \
	  $(if $(wildcard client/sherwood.map),-Wl$(,)--version-script=client/sherwood.map) -o $@ $(filter %.o,$^) -lprotobuf-c -lssl -lcrypto
$(BUILD)/libsherwood.so: $(BUILD)/libsherwood.so.$(VERSION)
	ln -sf libsherwood.so.$(VERSION) $(BUILD)/libsherwood.so.$(SOVERSION)
	ln -sf libsherwood.so.$(VERSION) $@
# The kernel of direct reads, as PTX in a string: the driver compiles it for any GPU from 7.5 on. It is empty without nvcc.
$(BUILD)/gen/client/cuda/direct_get.ptx: client/cuda/direct_get.cu $(BUILD)/nvccflags
	@mkdir -p $(@D)
	@echo "  NVCC  $<"
	@$(if $(NVCC),$(NVCC) -std=c++17 -O3 -ptx -arch=compute_75 -D_GNU_SOURCE -I. --expt-relaxed-constexpr -Werror all-warnings -MMD -MP -MF $(@:.ptx=.d) -o $@ $<,: >$@)
$(BUILD)/gen/client/cuda/direct_image.c: $(BUILD)/gen/client/cuda/direct_get.ptx
	@(echo 'const char sw_cuda_direct_image[] = ""'; sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $<; echo ';') >$@
$(BUILD)/obj/gen/client/cuda/direct_image.o: $(BUILD)/gen/client/cuda/direct_image.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(REAL_CPPFLAGS) $(filter-out -W%,$(REAL_CFLAGS)) -w -c -o $@ $<
-include $(BUILD)/gen/client/cuda/direct_get.d
# It loads CUDA's driver itself, and needs nothing of CUDA to be built. nvcc adds direct reads.
$(BUILD)/libsherwood-cuda.so.$(VERSION): $(CLIENT_CUDA_OBJ) client/cuda/sherwood-cuda.map $(BUILD)/libsherwood.so
	$(CC) -shared $(REAL_LDFLAGS) -Wl,-z,nodelete -Wl,-soname,libsherwood-cuda.so.$(SOVERSION) \
	  -Wl,--version-script=client/cuda/sherwood-cuda.map -o $@ $(filter %.o,$^) -L$(BUILD) -lsherwood -ldl
$(BUILD)/libsherwood-cuda.so: $(BUILD)/libsherwood-cuda.so.$(VERSION)
	ln -sf libsherwood-cuda.so.$(VERSION) $(BUILD)/libsherwood-cuda.so.$(SOVERSION)
	ln -sf libsherwood-cuda.so.$(VERSION) $@

SERVER_LIBS := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) $(CUDA_LIBS) -lm
CLIENT_LIBS := $(shell pkg-config --libs libprotobuf-c jansson openssl 2>/dev/null) -lm

$(BUILD)/sherwoodd: $(call obj,server/main.c) $(BUILD)/libserver.a $(BUILD)/libtable.a $(BUILD)/libtls.a $(BUILD)/libproto.a $(BUILD)/libcluster.a
	$(CC) $(PIE) $(REAL_LDFLAGS) -o $@ $^ $(SERVER_LIBS)
$(BUILD)/sherwood-cli: $(call obj,client/cli/main.c) $(call units,$(filter-out %/main.c,$(CLI_SRC))) $(BUILD)/libclient.a $(BUILD)/libtls.a $(BUILD)/libproto.a $(BUILD)/libcluster.a
	$(CC) $(PIE) $(REAL_LDFLAGS) -o $@ $^ $(CLIENT_LIBS) -ledit
$(BUILD)/sherwood-load: $(call obj,$(LOAD_SRC)) $(BUILD)/libclient.a $(BUILD)/libtls.a $(BUILD)/libproto.a $(BUILD)/libcluster.a
	$(CC) $(PIE) $(REAL_LDFLAGS) -o $@ $^ $(CLIENT_LIBS)

# --- objects -------------------------------------------------------------------------------------
$(BUILD)/gen/proto/sherwood.pb-c.c: proto/sherwood.proto
	@mkdir -p $(BUILD)/gen
	protoc-c --c_out=$(BUILD)/gen proto/sherwood.proto
$(BUILD)/gen/proto/sherwood.pb-c.h: $(BUILD)/gen/proto/sherwood.pb-c.c
# Generated code is not held to our warnings.
$(BUILD)/obj/gen/proto/sherwood.pb-c.o: $(BUILD)/gen/proto/sherwood.pb-c.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(REAL_CPPFLAGS) $(filter-out -W%,$(REAL_CFLAGS)) -w -c -o $@ $<

# The status page of the HTTP port, joined from its parts and written as C.
$(BUILD)/gen/status_page.c: $(wildcard server/observe/status/*)
	@mkdir -p $(@D)
	server/observe/status/join >$@
$(BUILD)/obj/gen/status_page.o: $(BUILD)/gen/status_page.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(CC) $(REAL_CPPFLAGS) $(REAL_CFLAGS) -MMD -MP -c -o $@ $<

# What the last build was made with. A change of flags makes every object old.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS))' >$@
$(BUILD)/nvccflags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(NVCC) $(NVCCFLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(NVCC) $(NVCCFLAGS))' >$@
.PHONY: FORCE
FORCE:

# The table's functions run once a key, on arrays of fixed size, after requests have been checked: there
# the stack protector would cost 4 % of the instructions of a bulk frame.
$(call obj,$(TABLE_SRC)): REAL_CFLAGS += $(if $(HARDEN_C),-fno-stack-protector)

# Products and sums of rows are rounded one after the other; gcc would fuse them where the machine can.
$(call units,$(wildcard table/robin_hood/*.c table/robin_hood/cpu/ro*.c)): REAL_CFLAGS += -ffp-contract=off

# The keys of a frame are compared with the ranges of its user by vector instructions, which gcc 12 makes at
# -O2 only with a flag that calls them worth it.
$(call obj,server/users/ranges.c): REAL_CFLAGS += $(if $(SAN),,$(call has_flag,-fvect-cost-model=dynamic))

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(GEN)
	@mkdir -p $(@D)
	@echo "  CC  $<"
	@$(CC) $(REAL_CPPFLAGS) $(PKG_CFLAGS) $(REAL_CFLAGS) -MMD -MP -c -o $@ $<
# The warnings come where each file is compiled by itself.
$(BUILD)/obj/gen/joined%.o: $(BUILD)/gen/joined%.c $(BUILD)/flags | $(GEN)
	@mkdir -p $(@D)
	@echo "  CC  $<"
	@$(CC) $(REAL_CPPFLAGS) $(PKG_CFLAGS) $(REAL_CFLAGS) -w -MMD -MP -c -o $@ $<
$(BUILD)/obj/%.cu.o: %.cu $(BUILD)/nvccflags
	@mkdir -p $(@D)
	@echo "  NVCC  $<"
	@$(NVCC) $(NVCCFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/obj/gen/joined/%.cu.o: $(BUILD)/gen/joined/%.cu $(BUILD)/nvccflags
	@mkdir -p $(@D)
	@echo "  NVCC  $<"
	@$(NVCC) $(NVCCFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/obj/%/joined.cu.o: $(BUILD)/gen/%/joined.cu $(BUILD)/nvccflags
	@echo "  NVCC  $*/*.cu"
	@$(NVCC) $(NVCCFLAGS) -MMD -MP -c -o $@ $<
# Each file ends with its macros.
$(BUILD)/gen/%/joined.cu: FORCE
	@mkdir -p $(@D) $(BUILD)/obj/$*
	@for f in $(filter $*/%,$(CUDA_SRC)); do echo "#include \"$$f\""; sed -n 's/^#define \([A-Za-z_0-9]*\).*/#undef \1/p' $$f; done >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

.PHONY: clean
clean: ## remove everything built
	rm -rf build

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort | expand -t 16
