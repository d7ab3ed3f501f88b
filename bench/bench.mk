# The demo and the benchmarks; bench/README.md explains. OUTPUT, REPETITIONS, SECONDS_EACH, KEYS,
# BACKEND and more can be given in the environment: see the scripts. The packages come first, so
# that what is built can be built: hence the second make.

.PHONY: demo bench-serve
demo: ## show everything in about a minute: daemon, 10 M keys, redis-cli, counters, a clean stop
	@deploy/deps build redis-tools curl
	@$(MAKE) --no-print-directory all
	@bench/demo.sh $(BUILD)

bench-serve: ## compare with redis-server side by side, into output/<time>/serve
	@deploy/deps build redis-server redis-tools curl jq
	@$(MAKE) --no-print-directory all
	@bench/serve/compare.sh $(BUILD)
