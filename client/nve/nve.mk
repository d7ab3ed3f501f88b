# SPDX-License-Identifier: MIT
#
# nve.mk - the plug-in for nv-embedding-cache, built on demand against the user's copy (README.md):
#
#     make nve NVE=/path/to/nv-embedding-cache NVE_LIB=/folder/of/libnve-common.so

CUDA_HOME ?= /usr/local/cuda
NVE_FLAGS ?= -DNVE_CACHE_LINE_SIZE=64 -DNVE_FEATURE_HT_PART_FNV1A=1 -DNVE_FEATURE_HT_MASK_64=1 -DNVE_FEATURE_HT_KEY_64=1
NVE_JSON ?= $(NVE)/third_party/json/single_include
NVE_BUILD = g++ -std=c++17 -O2 -fPIC -Wall -Wextra $(NVE_FLAGS) -Iclient -isystem $(NVE)/include \
  -isystem $(NVE_JSON) -isystem $(CUDA_HOME)/include
NVE_LINK = -L$(NVE_LIB) -lnve-common -L$(CUDA_HOME)/lib64 -lcudart

.PHONY: nve
nve: $(BUILD)/libsherwood.so ## build the plug-in for nv-embedding-cache (client/nve/README.md)
	@test -f '$(NVE)/include/plugin.hpp' || { echo 'make nve: there is no $(NVE)/include/plugin.hpp: set NVE=/path/to/nv-embedding-cache' >&2; exit 2; }
	@test -f '$(NVE_LIB)/libnve-common.so' || { echo 'make nve: there is no $(NVE_LIB)/libnve-common.so: set NVE_LIB to its folder' >&2; exit 2; }
	$(NVE_BUILD) -shared client/nve/table.cpp -o $(BUILD)/libnve-plugin-sherwood.so -L$(BUILD) -lsherwood $(NVE_LINK)
	$(NVE_BUILD) client/nve/check.cpp -o $(BUILD)/nve-check $(NVE_LINK)
