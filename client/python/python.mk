# The Python package. stage.py copies its sources to build/python/KIND, as in a source distribution, and
# they are built there. KIND is how the package links OpenSSL and protobuf-c (build_ffi.py). A wheel of KIND static also has
# libsherwood-cuda, with the objects of libsherwood in it.
#   make wheel    build/dist/sherwood-*.whl, which needs no library but glibc: KIND static
#   make python   build/python/lib, for the tests and the Debian package: KIND system, which is built in seconds

PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
WHEEL_TLS ?= static
PYTHON_SRC := $(wildcard $(addprefix client/python/,*.py *.[ch] *.toml *.md LICENSE* MANIFEST.in src/sherwood/*.py src/sherwood/*.pyi))
PYTHON_C_SRC := $(wildcard proto/ops/*.h proto/ops/*.inl client/*.[ch] proto/*.[ch] proto/tls/*.[ch]) proto/sherwood.proto Makefile

# Installs what the wheel of a static module needs, by deploy/deps, if the machine has apt-get.
.PHONY: wheel-deps
wheel-deps:
	@deploy/deps wheel
	@$(PYTHON) -c 'import cffi, setuptools, wheel' 2>/dev/null || { \
	  echo "make wheel: $(PYTHON) lacks cffi, setuptools or wheel: run apt-get install python3-cffi" \
	    "python3-setuptools python3-wheel, or: $(PYTHON) -m pip install cffi setuptools wheel" >&2; exit 1; }

CUDA_BUNDLED := $(BUILD)/python/libsherwood-cuda.so.$(SOVERSION)
# Attaching is for Unix sockets, so the library has no TLS. protobuf-c is the static library of the compiler's folders.
$(CUDA_BUNDLED): $(CLIENT_CUDA_OBJ) $(call obj,client/python/no_tls.c) $(BUILD)/libsherwood.a client/cuda/sherwood-cuda.map
	@mkdir -p $(@D)
	$(CC) -shared -s $(REAL_LDFLAGS) -Wl,-z,nodelete -Wl,-soname,$(@F) -Wl,--version-script=client/cuda/sherwood-cuda.map \
	  -o $@ $(filter %.o %.a,$^) $$($(CC) -print-file-name=libprotobuf-c.a) -ldl

# $(call build_wheel,KIND,FOLDER): builds a wheel in FOLDER, for the platforms that can load its module.
define build_wheel
	@mkdir -p $(2)
	@rm -f $(2)/sherwood-*.whl
	@$(PYTHON) client/python/stage.py build/python/$(1)
	@if [ $(1) = static ]; then cp /usr/share/common-licenses/Apache-2.0 build/python/$(1)/LICENSE.openssl && \
	  cp $(CUDA_BUNDLED) build/python/$(1)/src/sherwood/; fi
	@cd build/python/$(1) && export SHERWOOD_TLS=$(1) PYTHONWARNINGS=ignore && \
	  $(PYTHON) setup.py --quiet build && \
	  $(PYTHON) setup.py --quiet bdist_wheel --dist-dir $(abspath $(2)) \
	    --plat-name $$($(PYTHON) check_module.py build/lib*/sherwood/*.so*)
endef

.PHONY: wheel python
wheel: wheel-deps $(PYTHON_SRC) $(PYTHON_C_SRC) $(if $(filter static,$(WHEEL_TLS)),$(CUDA_BUNDLED)) ## build the Python package, a wheel in build/dist/
	$(call build_wheel,$(WHEEL_TLS),build/dist)
	@if command -v auditwheel >/dev/null; then auditwheel show build/dist/sherwood-*.whl; fi
	@if command -v abi3audit >/dev/null; then abi3audit --strict build/dist/sherwood-*.whl; fi
	@ls build/dist/sherwood-*.whl

python: build/python/lib
build/python/lib: $(PYTHON_SRC) $(PYTHON_C_SRC)
	$(call build_wheel,system,build/python/dist)
	@rm -rf $@
	@$(PYTHON) -m zipfile -e build/python/dist/sherwood-*.whl $@
	@touch $@
