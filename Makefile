# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
NAME       := pktledger
PREFIX     ?= /usr/local
SBINDIR    ?= $(PREFIX)/sbin
DATADIR    ?= $(PREFIX)/share/$(NAME)
CC         ?= cc
# For another machine, as the kernel has it: make ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
# Where its libraries are not installed, but below a directory: SYSROOT=DIR.
ifneq ($(CROSS_COMPILE),)
ifeq ($(origin CC),default)
CC         := $(CROSS_COMPILE)gcc $(SYSROOT:%=--sysroot=%)
endif
ifneq ($(SYSROOT),)
PKG_CONFIG ?= PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
	PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(MACHINE)-linux-gnu/pkgconfig pkg-config
endif
PKG_CONFIG ?= $(CROSS_COMPILE)pkg-config
endif
MACHINE    := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
CLANG      ?= clang
BPFTOOL    ?= bpftool
LLVM_STRIP ?= llvm-strip
PKG_CONFIG ?= pkg-config
B          ?= build

VERSION := $(shell sed -n 's/^## \([0-9][^ ]*\).*/\1/p' CHANGELOG.md 2>/dev/null | head -n 1)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

PKGS   := libbpf libxdp json-c libmnl libcap-ng libpcap ncursesw libmicrohttpd zlib
# `make TLS=`: without GnuTLS; `recv --serve` has no tokens then.
TLS ?= gnutls
# `make SECCOMP=`: without libseccomp; what stays for days gives up capabilities only.
SECCOMP ?= libseccomp
PKGS += $(TLS) $(SECCOMP)
CFLAGS ?= -O2 -g
WERROR ?= -Werror
# A distribution that has flags of its own gives HARDENING= with them.
HARDENING ?= -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
HARDENING_LD ?= -pie -Wl,-z,relro,-z,now
override LDFLAGS += $(HARDENING_LD)
# The same source gives the same bytes, wherever it is built.
HERE := -ffile-prefix-map=$(CURDIR)=.
override CFLAGS += $(HARDENING) $(HERE) -std=gnu11 -Wall -Wextra $(WERROR) -Wshadow \
	-Wstrict-prototypes -D_GNU_SOURCE \
	$(if $(TLS),-DHAVE_TLS) $(if $(SECCOMP),-DHAVE_SECCOMP) \
	-DPKTLEDGER_VERSION='"$(VERSION)"' -Iinclude -Iuser -I$(B) -pthread \
	$(shell $(PKG_CONFIG) --cflags $(PKGS))
LDLIBS := $(shell $(PKG_CONFIG) --libs $(PKGS)) -lm -pthread

ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(MACHINE)))
# -target bpf loses the multiarch include directory (asm/types.h): keep it, and keep it last.
BPFFLAGS := -O2 -g $(HERE) -mcpu=v3 -target bpf -D__TARGET_ARCH_$(ARCH) -Wall -Werror \
	-Iinclude -Ibpf -idirafter $(SYSROOT)/usr/include/$(MACHINE)-linux-gnu

# Those that can do without functions of the kernel itself are built a second time without them, for
# kernels that have none: bpf/skb.bpf.h.
OLD  := balance probe drops tcp test watch
BPF  := $(patsubst bpf/%.bpf.c,%,$(wildcard bpf/*.bpf.c)) $(OLD:%=%_old) watch_oldest
SKEL := $(BPF:%=$(B)/%.skel.h)
# The rooms of user/, each with its archive. A room uses itself and those before it in this list, no
# other: programs and unit tests are linked in that order, and tests/unit/test_rooms.py looks closer.
ROOMS := base host drops ledger traffic diagnosis monitor experiment report cli
TEXT  := $(patsubst user/%,$(B)/%.h,$(wildcard user/*/*.css user/*/*.js user/*/*.txt))
sources  = $(wildcard user/$1/*.c user/$1/*/*.c)
SRC   := user/main.c $(foreach room,$(ROOMS),$(call sources,$(room)))
LIB   = $(call needs,cli)
# The archives of a room and of all that it may use, lowest first on the right, as ld wants them.
below    = $(if $(filter $1,$(firstword $2)),$1,$(call below,$1,$(wordlist 2,99,$2)) $(firstword $2))
needs    = $(patsubst %,$(B)/lib/%.a,$(call below,$1,$(ROOMS)))
TESTS_OF = $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/unit/$1/*.c))
UNIT  := $(foreach room,$(ROOMS),$(call TESTS_OF,$(room))) \
	$(patsubst tests/%.c,$(B)/tests/%,$(wildcard $(addprefix tests/,bpf/*.c net/*.c)))

.PHONY: all
all: $(B)/$(NAME)

define bpf-program
$(call say,BPF,$@)
$(Q)mkdir -p $(@D)
$(Q)$(CLANG) $(BPFFLAGS) -MMD -MP -MT $@ -MF $@.d -c $< -o $@
$(Q)$(LLVM_STRIP) -g $@
endef
$(B)/%.bpf.o: bpf/%.bpf.c
	$(bpf-program)

$(OLD:%=$(B)/%_old.bpf.o): BPFFLAGS += -DWITHOUT_KFUNCS
$(OLD:%=$(B)/%_old.bpf.o): $(B)/%_old.bpf.o: bpf/%.bpf.c
	$(bpf-program)

# Linux 6.12 and older add the frames of called functions, 192 bytes here, and refuse more than 512.
$(B)/drops.bpf.o: BPFFLAGS += -Wframe-larger-than=320 -Wno-error=frame-larger-than

# For kernels without bpf_loop().
$(B)/watch_oldest.bpf.o: BPFFLAGS += -DWITHOUT_KFUNCS -DWITHOUT_LOOPS
$(B)/watch_oldest.bpf.o: bpf/watch.bpf.c
	$(bpf-program)

$(B)/%.skel.h: $(B)/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# Text that is part of the program, as a string of C.
$(B)/%.h: user/%
	$(call say,TEXT,$@)
	$(Q)mkdir -p $(@D)
	$(Q){ printf '"sha256-%s",\n' $$(for byte in $$(sha256sum < $< | cut -c1-64 | sed 's/../0x& /g'); \
		do printf "\\$$(printf %03o $$byte)"; done | base64); \
		sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $<; } > $@

$(B)/user/%.o: user/%.c | $(SKEL) $(TEXT)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# What names the version is compiled again when there is another.
$(patsubst %.c,$(B)/%.o,$(shell grep -rl PKTLEDGER_VERSION user)): $(B)/version
.PHONY: version-of-now
$(B)/version: version-of-now
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' > $@

# Thin, and made anew when a file comes or goes, which the directory's time tells.
define archive
$(B)/lib/$1.a: $(patsubst %.c,$(B)/%.o,$(call sources,$1)) $(wildcard user/$1 user/$1/*/.)
	$$(call say,AR,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $(AR) rcsT $$@ $$(filter %.o,$$^)
endef
$(foreach room,$(ROOMS),$(eval $(call archive,$(room))))

$(B)/$(NAME): $(B)/user/main.o $(call needs,cli)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# Compiled without optimization: it takes half the time, and what is tested is in the archives. Apart
# from linking, which has to be done again for each change of user/.
$(B)/tests/%.o: tests/%.c | $(SKEL)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -O0 -Itests -Itests/unit -MMD -MP -c $< -o $@

define test-program
$(call say,TEST,$@)
$(Q)$(CC) $(CFLAGS) $^ $(LDLIBS) -lcmocka -o $@
endef
define unit-tests
$(call TESTS_OF,$1): $(B)/tests/unit/$1/%: $(B)/tests/unit/$1/%.o $(B)/tests/cases.o \
		$(call needs,$1)
	$$(test-program)
endef
$(foreach room,$(ROOMS),$(eval $(call unit-tests,$(room))))

$(B)/tests/%: $(B)/tests/%.o $(B)/tests/cases.o $(call needs,cli)
	$(test-program)

.PHONY: run
run: all
	$(B)/$(NAME) run

.PHONY: test-programs
test-programs: all $(UNIT)

# With TESTS, only the programs whose names contain one of its words are linked.
program_named = $(foreach u,$(UNIT),$(if $(findstring $1,$(subst test_,,$(u:$(B)/tests/%=%))),$(u)))
.PHONY: test test-all
test test-all: all $(if $(TESTS),$(sort $(foreach w,$(TESTS),$(call program_named,$(w)))),$(UNIT))
	$(Q)B=$(B) PKTLEDGER_TEST=$(@:test-%=%) tests/run $(TESTS)
	+$(if $(TESTS),,$(if $(filter test-all,$@),$(Q)$(MAKE) --no-print-directory hardening))
	$(if $(TESTS),,$(if $(filter test-all,$@),$(Q)B=$(B) tests/kernels/run))

# On other kernels, in QEMU guests. They are downloaded once, into the user's cache directory.
.PHONY: test-kernels
test-kernels: test-programs
	$(Q)B=$(B) tests/kernels/run $(TESTS)

# Lines of user/ that the tests of TESTS run, unit/ and bpf/ unless said otherwise: of each file, and
# of each room. PKTLEDGER_TEST=all has the thorough cases, too. Needs lcov.
.PHONY: coverage
coverage:
	+$(Q)$(MAKE) --no-print-directory B=$(B)/coverage CFLAGS='-O0 -g --coverage' HARDENING=-fPIE \
		test-programs
	$(Q)find $(B)/coverage -name '*.gcda' -delete
	-$(Q)B=$(B)/coverage tests/run $(or $(TESTS),unit/ bpf/)
	$(Q)lcov -q -c -d $(B)/coverage -o $(B)/coverage/all.info
	$(Q)lcov -q -e $(B)/coverage/all.info '$(CURDIR)/user/*' -o $(B)/coverage/user.info
	$(Q)lcov --list $(B)/coverage/user.info
	$(Q)awk -F: '/^SF/ { sub(/.*\/user\//, ""); sub(/\/.*/, ""); room = $$0 } \
		/^LF/ { of[room] += $$2; all += $$2 } /^LH/ { hit[room] += $$2; run += $$2 } \
		END { for (r in of) printf "%-12s %5.1f%% of %d\n", r, 100 * hit[r] / of[r], of[r]; \
		printf "%-12s %5.1f%% of %d\n", "all rooms", 100 * run / all, all }' \
		$(B)/coverage/user.info

# For editors and clangd.
.PHONY: compile_commands
compile_commands: $(B)/compile_commands.json
$(B)/compile_commands.json: $(SRC) Makefile | $(SKEL) $(TEXT)
	$(call say,JSON,$@)
	$(Q){ echo '['; for f in $(SRC); do [ $$f = $(firstword $(SRC)) ] || echo ','; \
		printf '{"directory":"%s","file":"%s","arguments":[' $(CURDIR) $$f; \
		printf '"%s",' $(CC) $(subst ",\",$(CPPFLAGS) $(CFLAGS)) -c; printf '"%s"]}' $$f; \
		done; echo ']'; } > $@

.PHONY: bench
bench: all
	$(Q)B=$(B) tools/bench/bench $(BENCH)

# What the README shows; where what check, trace and top print has changed.
.PHONY: screens
screens: all
	$(Q)B=$(B) tools/screens tools/man/screens.svg

include tools/packaging/install.mk tools/packaging/dist.mk tests/fuzz/fuzz.mk

.PHONY: help
help:
	@echo 'make           build $(B)/$(NAME)'
	@echo 'make run       build it and run the main job (as root)'
	@echo 'make test      all tests, in about 3 minutes; TESTS="net/run unit" for some'
	@echo 'make test-all  the same with more cases and larger counts, and what follows'
	@echo 'make hardening other compilers, sanitizers, TSan, valgrind, fuzzing, the analyzer'
	@echo 'make test-kernels  tests on Debian 6.1, 6.12 and newest; TESTS="6.1 fault" for some'
	@echo 'make coverage  lines that unit and BPF tests run; TESTS="unit/ bpf/ net/": all'
	@echo 'make bench     speed next to peers (as root); BENCH="--against FILE": to an older build'
	@echo 'make install   into PREFIX=$(PREFIX), below DESTDIR; build first, without root'
	@echo 'make uninstall what install put there'
	@echo 'make man       the manuals, in $(B)/man; make html: in $(B)/html; make completion: for shells'
	@echo 'make screens   draws tools/man/screens.svg of what the program shows (as root)'
	@echo 'make deb       a Debian package; for arm64: make deb CROSS_COMPILE=aarch64-linux-gnu-'
	@echo 'make dist      a tarball of what is committed'
	@echo 'make compile_commands  $(B)/compile_commands.json for editors'
	@echo 'make static    $(B)/$(NAME)-static: one file for a host without the libraries'
	@echo 'make dist-static  a tarball of it, with manuals and completion; CROSS_COMPILE as with deb'
	@echo 'make clean     remove $(B)'
	@echo 'V=1 shows the commands, B=DIR builds elsewhere'

.PHONY: clean
clean:
	rm -rf $(B)

-include $(wildcard $(B)/*.d $(B)/user/*.d $(B)/user/*/*.d $(B)/user/*/*/*.d $(B)/tests/*/*.d $(B)/tests/*/*/*.d)
.SECONDARY:
.DELETE_ON_ERROR:
