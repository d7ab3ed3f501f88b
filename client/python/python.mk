# The Python package: `make wheel` builds it and checks it, `make python` unpacks it for the tests.
# The package's sources are put together in build/python/tree, as in a source distribution.

PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
PYTHON_SRC := $(filter-out client/python/csrc/% client/python/build/%,$(wildcard client/python/* client/python/src/sherwood/*))
PYTHON_C_SRC := $(wildcard client/*.[ch] proto/*.[ch]) proto/sherwood.proto Makefile

.PHONY: wheel python
wheel: build/python/wheel ## build the Python package, a wheel in build/dist/, and check it
python: build/python/lib

build/python/wheel: $(PYTHON_SRC) $(PYTHON_C_SRC)
	@mkdir -p build/python build/dist
	@rm -f build/dist/sherwood-*.whl
	@$(PYTHON) client/python/stage.py build/python/tree
	@cd build/python/tree && PYTHONWARNINGS=ignore $(PYTHON) setup.py --quiet build
	@cd build/python/tree && PYTHONWARNINGS=ignore $(PYTHON) setup.py --quiet bdist_wheel --dist-dir ../../dist \
	  --plat-name $$($(PYTHON) check_module.py build/lib*/sherwood/_native*.so)
	@if command -v auditwheel >/dev/null; then auditwheel show build/dist/sherwood-*.whl; fi
	@if command -v abi3audit >/dev/null; then abi3audit --strict build/dist/sherwood-*.whl; fi
	@ls build/dist/sherwood-*.whl
	@touch $@

build/python/lib: build/python/wheel
	@rm -rf $@
	@$(PYTHON) -m zipfile -e build/dist/sherwood-*.whl $@
	@touch $@
