# make deb: Debian packages in build/deb, with the CUDA variant of the server where nvcc is.
.PHONY: deb
deb: ## build the Debian packages, into build/deb
	@deploy/deps deb $(if $(NVCC),g++)
	@ARCH='$(if $(filter command environment,$(firstword $(origin ARCH))),$(ARCH),all)' deploy/deb $(BUILD) '$(NVCC)'

.PHONY: release
release: ## check, test and build a release into build/release, and tag it; needs root and the network
	@deploy/release

.PHONY: test-packages
test-packages: ## build the packages twice, install them in a bare Debian, build the images; needs root and the network
	@tests/packages/run
