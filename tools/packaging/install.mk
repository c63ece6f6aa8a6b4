# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Manuals, completion, and what is put where.

MANDIR  ?= $(PREFIX)/share/man
DOCDIR  ?= $(PREFIX)/share/doc/$(NAME)
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR ?= $(PREFIX)/lib/systemd/system
INSTALL ?= install
PROGRAM ?= $(B)/$(NAME)
# What runs the program where it is built for another machine: the manuals are made of what it says.
EXEC    ?= $(if $(CROSS_COMPILE),qemu-$(MACHINE) $(SYSROOT:%=-L %))
# The date of manuals: that of the commit, or of a tarball's files.
SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct -- . 2>/dev/null),$(shell stat -c %Y \
	CHANGELOG.md))

DOCUMENTS := check help lab recv report run search selftest send sweep trace
UNIT_FILE := $(NAME)-export.service
MANUALS  := $(patsubst tools/man/%.scd,%,$(wildcard tools/man/*.scd))
man_file  = $(DESTDIR)$(MANDIR)/man$(subst .,,$(suffix $(1)))/$(1)

$(B)/help.json: $(PROGRAM)
	$(Q)$(EXEC) $< help --json > $@

$(B)/schema/made: $(PROGRAM)
	$(Q)mkdir -p $(@D)
	$(Q)for name in $(DOCUMENTS); do \
		$(EXEC) $< help --schema $$name > $(@D)/$$name.schema.json || exit 1; done
	$(Q)touch $@

$(B)/man/made: $(B)/help.json $(B)/schema/made tools/man/generate $(wildcard tools/man/*.scd tools/proven.*)
	$(call say,MAN,$(@D))
	$(Q)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) tools/man/generate $< $(@D)
	$(Q)touch $@

$(B)/completion/made: $(B)/help.json $(wildcard tools/completion/*)
	$(call say,COMPL,$(@D))
	$(Q)tools/completion/generate $< $(@D)
	$(Q)touch $@

.PHONY: man html completion
man: $(B)/man/made

# Ends with the names of the missing packages, PROGRAM:PACKAGE each, and of those that `unmet` adds.
define require
$(Q)missing='$(unmet)'; for each in $1; do command -v $${each%:*} > /dev/null || \
	missing="$$missing $${each#*:}"; done; [ -z "$$missing" ] || { printf '%s\n' \
	"make $@ needs packages:$$missing; install them with: tools/setup package" >&2; exit 1; }
endef

# The manuals as pages for a browser.
html:
	$(call require,mandoc:mandoc scdoc:scdoc python3:python3)
	+$(Q)$(MAKE) --no-print-directory man
	$(Q)mkdir -p $(B)/html
	$(call say,HTML,$(B)/html)
	$(Q)for page in $(MANUALS); do mandoc -T html -O man=%N.%S.html $(B)/man/$$page \
		> $(B)/html/$$page.html || exit 1; done
completion: $(B)/completion/made

.PHONY: install
install: $(PROGRAM) man completion $(B)/schema/made
	$(INSTALL) -Dm755 $(PROGRAM) $(DESTDIR)$(SBINDIR)/$(NAME)
	$(INSTALL) -d $(addprefix $(DESTDIR)$(DATADIR)/,schema presets prometheus grafana otel wireshark)
	$(INSTALL) -m644 $(DOCUMENTS:%=$(B)/schema/%.schema.json) $(DESTDIR)$(DATADIR)/schema
	$(INSTALL) -m644 $(wildcard tools/presets/*.txt) $(DESTDIR)$(DATADIR)/presets
	$(INSTALL) -m644 $(wildcard tools/prometheus/*) $(DESTDIR)$(DATADIR)/prometheus
	$(INSTALL) -m644 $(wildcard tools/grafana/*) $(DESTDIR)$(DATADIR)/grafana
	$(INSTALL) -m644 $(wildcard tools/otel/*) $(DESTDIR)$(DATADIR)/otel
	$(INSTALL) -m644 $(wildcard tools/wireshark/*) $(DESTDIR)$(DATADIR)/wireshark
	$(INSTALL) -Dm644 tools/systemd/$(UNIT_FILE) $(DESTDIR)$(UNITDIR)/$(UNIT_FILE)
	sed -i 's,^ExecStart=/usr/sbin/,ExecStart=$(SBINDIR)/,' $(DESTDIR)$(UNITDIR)/$(UNIT_FILE)
	$(foreach page,$(MANUALS),$(INSTALL) -Dm644 $(B)/man/$(page) $(call man_file,$(page)) &&) :
	$(INSTALL) -Dm644 $(B)/completion/$(NAME) $(DESTDIR)$(BASHDIR)/$(NAME)
	$(INSTALL) -Dm644 $(B)/completion/_$(NAME) $(DESTDIR)$(ZSHDIR)/_$(NAME)
	$(INSTALL) -Dm644 $(B)/completion/$(NAME).fish $(DESTDIR)$(FISHDIR)/$(NAME).fish
	$(INSTALL) -d $(DESTDIR)$(DOCDIR)
	$(INSTALL) -m644 README.md CHANGELOG.md LICENSE $(DESTDIR)$(DOCDIR)

# What install made, and directories that are its own; those that it shares stay.
.PHONY: uninstall
uninstall:
	rm -f $(DESTDIR)$(SBINDIR)/$(NAME) $(foreach page,$(MANUALS),$(call man_file,$(page)))
	rm -f $(DESTDIR)$(BASHDIR)/$(NAME) $(DESTDIR)$(ZSHDIR)/_$(NAME)
	rm -f $(DESTDIR)$(FISHDIR)/$(NAME).fish $(DESTDIR)$(UNITDIR)/$(UNIT_FILE)
	rm -rf $(DESTDIR)$(DATADIR) $(DESTDIR)$(DOCDIR)
