# The peers' hash tables of the timing study, and the cache of the cache study: an adapter is built
# for each library whose include folder is given, README.md says where to get them.
#   make bench-timing CUCO=/path/include WARPCORE=/path/include:/second/path BGHT=/path/include \
#     GPURHH=/path/include
#   make bench-cuckoo BGHT=/path/include
#   make bench-cache HKV=/path/include
# PEER_OBJ: objects of the timing study: the adapters and their list. CACHE_PEER_OBJ: objects of the
# cache study, whose list is bench/cache/libraries.c. CUCKOO_PEER_OBJ: objects of the cuckoo study, whose
# list is bench/cuckoo/libraries.c. VERSION_CUCO=.. and so on set the versions in run_info.txt of
# libraries without a git checkout.

CUCO ?=
WARPCORE ?=
BGHT ?=
GPURHH ?=
HKV ?=

PEERS := CUCO WARPCORE BGHT GPURHH
PEERS_GIVEN := $(strip $(foreach p,$(PEERS),$(if $($(p)),$(p))))
CACHE_PEERS_GIVEN := $(if $(HKV),HKV)
PEER_FILE_CUCO := cuco
PEER_FILE_WARPCORE := warpcore
PEER_FILE_BGHT := bght
PEER_FILE_GPURHH := gpurhh
PEER_FILE_HKV := hkv
PEER_NAME_CUCO := cuCollections
PEER_NAME_WARPCORE := warpcore
PEER_NAME_BGHT := BGHT
PEER_NAME_GPURHH := GPURobinHoodHashing
PEER_NAME_HKV := HierarchicalKV
# cuCollections' headers use device lambdas, warpcore's too. gpurhh's need C++20.
PEER_FLAGS_CUCO := --expt-extended-lambda
PEER_FLAGS_WARPCORE := --expt-extended-lambda
PEER_FLAGS_BGHT :=
PEER_FLAGS_GPURHH := -std=c++20
PEER_FLAGS_HKV :=

PEER_DIR := $(BUILD)/obj/bench/peers
PEER_LIST_OBJ := $(PEER_DIR)/list.o
PEER_OBJ := $(PEER_LIST_OBJ) $(foreach p,$(PEERS_GIVEN),$(PEER_DIR)/$(PEER_FILE_$(p)).cu.o)
CACHE_PEER_OBJ := $(foreach p,$(CACHE_PEERS_GIVEN),$(PEER_DIR)/$(PEER_FILE_$(p)).cu.o)
CACHE_PEER_LIST_OBJ := $(BUILD)/obj/bench/cache/libraries.o $(BUILD)/obj/bench/rows/libraries.o
# BGHT also has an adapter for the cuckoo study.
CUCKOO_PEERS_GIVEN := $(if $(NVCC),$(if $(BGHT),BGHT))
CUCKOO_PEER_OBJ := $(if $(CUCKOO_PEERS_GIVEN),$(PEER_DIR)/bght_cuckoo.cu.o)
CUCKOO_PEER_LIST_OBJ := $(BUILD)/obj/bench/cuckoo/libraries.o

$(foreach p,$(PEERS_GIVEN) $(CACHE_PEERS_GIVEN),$(foreach d,$(subst :, ,$($(p))),$(if $(wildcard $(d)/.),,$(error $(p): there is no folder $(d)))))

# The include folders of one, and its version: the commit of the first folder's repository.
peer_folders = $(subst :, ,$($(1)))
VERSION_CUCO ?= $(call peer_version,CUCO)
VERSION_WARPCORE ?= $(call peer_version,WARPCORE)
VERSION_BGHT ?= $(call peer_version,BGHT)
VERSION_GPURHH ?= $(call peer_version,GPURHH)
VERSION_HKV ?= $(call peer_version,HKV)
peer_version = $(shell git -C '$(firstword $(call peer_folders,$(1)))' describe --tags --always 2>/dev/null || echo 'version not known')

# A file for each object contains the folder and version that the object is built with: a change of either rebuilds it.
.PHONY: peers-always
$(PEER_DIR)/%.given: peers-always
	@mkdir -p $(@D)
	@echo '$(PEER_GIVEN)' | cmp -s - $@ || echo '$(PEER_GIVEN)' >$@
$(PEER_DIR)/list.given: PEER_GIVEN = $(PEERS_GIVEN)

$(PEER_LIST_OBJ): $(PEER_DIR)/list.given
$(PEER_LIST_OBJ): REAL_CPPFLAGS += $(patsubst %,-DSW_PEER_%,$(PEERS_GIVEN))
$(PEER_DIR)/cache_list.given: PEER_GIVEN = $(CACHE_PEERS_GIVEN)
$(CACHE_PEER_LIST_OBJ): $(PEER_DIR)/cache_list.given
$(CACHE_PEER_LIST_OBJ): REAL_CPPFLAGS += $(patsubst %,-DSW_PEER_%,$(CACHE_PEERS_GIVEN))
$(PEER_DIR)/cuckoo_list.given: PEER_GIVEN = $(CUCKOO_PEERS_GIVEN)
$(CUCKOO_PEER_LIST_OBJ): $(PEER_DIR)/cuckoo_list.given
$(CUCKOO_PEER_LIST_OBJ): REAL_CPPFLAGS += $(patsubst %,-DSW_PEER_%,$(CUCKOO_PEERS_GIVEN))

# Later flags win. The peers' headers are system headers: their warnings are not ours to fix.
define peer_rules
$(PEER_DIR)/$(PEER_FILE_$(1)).given: PEER_GIVEN = $($(1)) $$(VERSION_$(1))
$(PEER_DIR)/$(PEER_FILE_$(1)).cu.o $(PEER_DIR)/$(PEER_FILE_$(1))_cuckoo.cu.o: $(PEER_DIR)/$(PEER_FILE_$(1)).given
$(PEER_DIR)/$(PEER_FILE_$(1)).cu.o $(PEER_DIR)/$(PEER_FILE_$(1))_cuckoo.cu.o: NVCCFLAGS := $(if $(filter -std=%,$(PEER_FLAGS_$(1))),$(filter-out -std=%,$(NVCCFLAGS)),$(NVCCFLAGS)) \
  $(PEER_FLAGS_$(1)) $(patsubst %,-isystem %,$(call peer_folders,$(1))) \
  -DSW_PEER_VERSION='"$$(VERSION_$(1))"'
endef
$(foreach p,$(PEERS_GIVEN) $(CACHE_PEERS_GIVEN),$(eval $(call peer_rules,$(p))))

# Printed by targets that build the studies.
.PHONY: peers-notice cache-peers-notice cuckoo-peers-notice
peers-notice:
	@$(foreach p,$(filter-out $(PEERS_GIVEN),$(PEERS)),echo 'bench: $(p) is not set, $(PEER_NAME_$(p)) is skipped';) true
cache-peers-notice:
	@$(foreach p,$(filter-out $(CACHE_PEERS_GIVEN),HKV),echo 'bench: $(p) is not set, $(PEER_NAME_$(p)) is skipped';) true
cuckoo-peers-notice:
	@$(if $(BGHT),,echo 'bench: BGHT is not set, BGHT is skipped';) true
bench-timing: peers-notice
bench-cache: cache-peers-notice
