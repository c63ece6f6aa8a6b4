# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What needs a build of its own: sanitizers, fuzzing; and what looks at the code or at its memory.
# `make hardening` does what must pass, and is part of `make test-all`.

# Address and undefined behaviour sanitizers; one build for all that runs with them.
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
SANITIZED   = $(MAKE) --no-print-directory HARDENING= HARDENING_LD= WERROR= B=$(B)/sanitized \
	CC="$(CLANG)" CFLAGS='-O1 -g -fsanitize=fuzzer-no-link $(SANITIZERS)'
FUZZ_RUNS  ?= 20000
FUZZ       := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/fuzz/*.c))
UNIT_ONLY  := $(filter $(B)/tests/unit/%,$(UNIT))
# What lives as long as the program is no leak; a process that was forked says nothing.
# A struct site on the stack of a test is more than a frame has otherwise.
VALGRIND   ?= valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \
	--max-stackframe=4194304 \
	--child-silent-after-fork=yes --suppressions=tests/unit/valgrind.supp

# One after the other: two of them build in the same directory.
.PHONY: hardening
hardening:
	+$(Q)for part in compilers fuzz sanitize tsan valgrind analyze; do \
		$(MAKE) --no-print-directory $$part || exit 1; done

# Other compilers and levels have other warnings, which are errors here as well.
.PHONY: compilers
compilers:
	+$(Q)$(MAKE) --no-print-directory B=$(B)/clang CC="$(CLANG)" all
	+$(Q)$(MAKE) --no-print-directory B=$(B)/O0 CFLAGS='-O0 -g' all
	+$(Q)$(MAKE) --no-print-directory B=$(B)/lto CFLAGS='-O3 -flto=auto' all

# What is built so is slower: all limits of time are this many times longer.
SLOWLY := PKTLEDGER_TEST_PATIENCE=3

# The unit tests and those of the BPF programs' user space.
.PHONY: sanitize
sanitize:
	+$(Q)$(SANITIZED) test-programs
	$(Q)$(SLOWLY) ASAN_OPTIONS=detect_stack_use_after_return=1 B=$(B)/sanitized tests/run \
		unit/ bpf/

# Races of threads, in what has any: senders and receivers, the carrier of a tap, readers of rules
# and symbols. A report fails also where no test looks at how a command ended.
THREADED := unit/traffic unit/drops/ksym unit/drops/owners unit/experiment \
	bpf/xsk bpf/gen bpf/sink bpf/watch net/run net/export net/to net/top
RACES     = $(abspath $(B)/tsan/races)
.PHONY: tsan
tsan:
	$(Q)rm -rf $(RACES) && mkdir -p $(RACES)
	+$(Q)TSAN_OPTIONS=log_path=$(RACES)/of $(SLOWLY) PKTLEDGER_TEST_CROWDED=1 \
		$(MAKE) --no-print-directory HARDENING= HARDENING_LD= WERROR= B=$(B)/tsan CC="$(CLANG)" \
		CFLAGS='-O1 -g -fsanitize=thread' TESTS="$(THREADED)" test; rc=$$?; \
		cat $(RACES)/* 2>/dev/null && exit 1; exit $$rc

# Once for each program as it is, as many at a time as -j says.
VALGRINDED := $(UNIT_ONLY:$(B)/tests/unit/%=$(B)/valgrind/%.ok)
.PHONY: valgrind
valgrind: $(VALGRINDED)
$(B)/valgrind/%.ok: $(B)/tests/unit/% tests/unit/valgrind.supp | all
	$(call say,MEMORY,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(VALGRIND) $< > $@.log 2>&1 || [ $$? -eq 77 ] || { cat $@.log; exit 1; } # 77: skipped
	$(Q)touch $@

# The analyzer that scan-build drives, file by file. It takes -errno for any number, also 0: where
# it goes wrong by that, a NOLINT says so. What is generated is bpftool's, and not looked at.
CLANG_TIDY ?= $(or $(shell command -v clang-tidy),clang-tidy-14)
CHECKS     := -*,clang-analyzer-core.*,clang-analyzer-deadcode.*,clang-analyzer-unix.*
ANALYZED := $(SRC:%.c=$(B)/analyzed/%.ok)
.PHONY: analyze
analyze: $(ANALYZED)
$(B)/analyzed/%.ok: %.c | $(SKEL)
	$(call say,ANALYZE,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG_TIDY) --quiet --checks='$(CHECKS)' --warnings-as-errors='*' $< -- \
		$(CFLAGS:-I$(B)=-isystem $(B)) --no-system-header-prefix=bpf/
	$(Q)$(CLANG) $(CFLAGS) -M -MP -MT $@ -MF $@.d $< && touch $@

# libFuzzer on each parser, each for a fixed number of runs from the same seed; without a network,
# since libpcap would ask for names.
.PHONY: fuzz
fuzz:
	+$(Q)$(SANITIZED) fuzz-programs
	$(Q)B=$(B)/sanitized FUZZ_RUNS=$(FUZZ_RUNS) tests/fuzz/run

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ)
$(B)/tests/fuzz/%: tests/fuzz/%.c $(LIB) | $(SKEL)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer -MMD -MP -MT $@ -MF $@.d $< $(LIB) $(LDLIBS) -o $@

-include $(wildcard $(B)/analyzed/*/*.d $(B)/analyzed/*/*/*.d)
