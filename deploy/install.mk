# make install [PREFIX=/usr/local] [DESTDIR=]: programs, client library, man pages, units.
#   bin/                    sherwoodd, sherwood-cli, sherwood-load
#   include/ LIBDIR/        sherwood.h, libsherwood.so (and soname links), libsherwood.a, sherwood.pc, and
#                           the same of libsherwood-cuda, without an archive; LIBDIR is PREFIX/lib
#   share/man/              man pages, made from deploy/man/*.scd by scdoc
#   share/doc/sherwood/     examples
#   lib/systemd/, sysusers.d, tmpfiles.d   the files of deploy/, with @PREFIX@ replaced
#   SYSCONFDIR/sherwood/    sherwood.conf, unless there is one already
# DESTDIR is the folder of a package under construction; no installed file contains it. make install enables and
# starts nothing, and adds no user: the package or the operator does that.

SYSCONFDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)
INSTALL_ROOT = $(DESTDIR)$(PREFIX)
LIBDIR ?= $(PREFIX)/lib
INSTALL_LIB = $(DESTDIR)$(LIBDIR)
SCDOC := $(shell command -v scdoc 2>/dev/null)

MAN_SCD := $(wildcard deploy/man/*.scd)
MAN_PAGES = $(wildcard $(addprefix deploy/man/*.,1 3 5 7 8)) \
            $(if $(SCDOC),$(patsubst deploy/man/%.scd,$(BUILD)/man/%,$(MAN_SCD)))
UNITS := $(wildcard deploy/*.service deploy/*.socket deploy/systemd/*.service deploy/systemd/*.socket)
SYSUSERS := $(wildcard deploy/sysusers.d/*.conf deploy/*.sysusers deploy/systemd/*.sysusers)
TMPFILES := $(wildcard deploy/tmpfiles.d/*.conf deploy/*.tmpfiles deploy/systemd/*.tmpfiles)

$(BUILD)/man/%: deploy/man/%.scd
	@mkdir -p $(@D)
	scdoc < $< > $@
$(BUILD)/sherwood-cuda.pc: client/cuda/sherwood-cuda.pc.in
$(BUILD)/sherwood.pc: client/sherwood.pc.in
$(BUILD)/sherwood.pc $(BUILD)/sherwood-cuda.pc: FORCE
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${exec_prefix}/%)|' -e 's|@VERSION@|$(VERSION)|' $(filter %.in,$^) > $@

# In install_filled: a file, a folder, a name.
define install_filled
	install -d $(INSTALL_ROOT)/$(2)
	sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' $(1) > $(INSTALL_ROOT)/$(2)/$(3)
	chmod 644 $(INSTALL_ROOT)/$(2)/$(3)

endef

.PHONY: install install-programs install-library install-man install-system
install: install-programs install-library install-man install-system ## install into DESTDIR and PREFIX

install-programs: all
	install -d $(INSTALL_ROOT)/bin
	install -m 755 $(PROGRAMS) $(INSTALL_ROOT)/bin/

install-library: all $(BUILD)/sherwood.pc $(BUILD)/sherwood-cuda.pc
	install -d $(INSTALL_ROOT)/include $(INSTALL_LIB)/pkgconfig $(INSTALL_ROOT)/share/doc/sherwood/examples
	install -m 644 client/sherwood.h client/sherwood-words.h client/sherwood-times.h client/sherwood-regions.h client/sherwood-cluster.h client/sherwood-replicas.h \
	    client/sherwood-tables.h client/sherwood-trace.h client/sherwood-cuda.h $(INSTALL_ROOT)/include/
	install -m 644 $(BUILD)/libsherwood.a $(INSTALL_LIB)/
	for name in libsherwood libsherwood-cuda; do \
	  install -m 755 $(BUILD)/$$name.so.$(VERSION) $(INSTALL_LIB)/ && \
	  ln -sf $$name.so.$(VERSION) $(INSTALL_LIB)/$$name.so.$(SOVERSION) && \
	  ln -sf $$name.so.$(VERSION) $(INSTALL_LIB)/$$name.so || exit 1; done
	install -m 644 $(BUILD)/sherwood.pc $(BUILD)/sherwood-cuda.pc $(INSTALL_LIB)/pkgconfig/
	install -m 644 $(wildcard client/examples/*.c) $(INSTALL_ROOT)/share/doc/sherwood/examples/

install-man: $(MAN_PAGES)
	@$(if $(and $(MAN_SCD),$(if $(SCDOC),,x)),echo "install: left out the man pages: scdoc is not installed")
	$(foreach p,$(MAN_PAGES),install -D -m 644 $(p) $(INSTALL_ROOT)/share/man/man$(patsubst .%,%,$(suffix $(p)))/$(notdir $(p)) &&) true

install-system:
	$(foreach u,$(UNITS),$(call install_filled,$(u),lib/systemd/system,$(notdir $(u))))
	sed -f deploy/template.sed $(INSTALL_ROOT)/lib/systemd/system/sherwoodd.service > '$(INSTALL_ROOT)/lib/systemd/system/sherwoodd@.service'
	chmod 644 '$(INSTALL_ROOT)/lib/systemd/system/sherwoodd@.service'
	$(foreach u,$(SYSUSERS),$(call install_filled,$(u),lib/sysusers.d,$(basename $(notdir $(u))).conf))
	$(foreach u,$(TMPFILES),$(call install_filled,$(u),lib/tmpfiles.d,$(basename $(notdir $(u))).conf))
	@if [ -f deploy/sherwood.conf ]; then \
	  to=$(DESTDIR)$(SYSCONFDIR)/sherwood/sherwood.conf; \
	  if [ -e "$$to" ]; then echo "install: $$to exists, and stays unchanged"; \
	  else install -D -m 644 deploy/sherwood.conf "$$to"; fi; fi

# Generates files of the source tree. Tests fail if one is old. The operations' enums come first: the
# daemon needs them, and the rest is generated from the daemon.
.PHONY: docs
docs: ## write the enums of operations, sherwood.conf, the pages of deploy/docs/ref, the man page's options and commands, the list of symbols, and the pictures
	@proto/ops/write
	@deploy/docs/pictures/draw
	@$(MAKE) --no-print-directory $(BUILD)/sherwoodd $(BUILD)/libsherwood.so $(BUILD)/libsherwood-cuda.so
	@deploy/generate $(BUILD)

.PHONY: site
site: ## build the documentation site in build/site (Sphinx from PyPI, pinned by hashes), and check its own links
	@deploy/deps build python3-venv
	@deploy/docs/site $(BUILD)

.PHONY: site-links
site-links: site ## build the site, and fetch each link to another host; needs the network
	@deploy/docs/links $(BUILD)/site --external
