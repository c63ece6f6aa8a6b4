# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A tarball, a Debian package, and one file to copy to a host.

RELEASE := $(NAME)-$(VERSION)
TARBALL := $(B)/$(RELEASE).tar.gz

# What is committed, and nothing of when or where: the same commit gives the same bytes.
.PHONY: dist
dist:
	$(call say,DIST,$(TARBALL))
	$(Q)mkdir -p $(B)
	$(Q)git -c tar.umask=0022 archive --format=tar --prefix=$(RELEASE)/ HEAD | gzip -9n > $(TARBALL)

# All linked in, and nothing asked of the host's libraries, if each has an archive; Debian has none of
# libmnl: `make static ARCHIVE_DIR=DIR` finds in DIR what was built by hand. Without TLS.
STRIP       ?= strip
STATIC_LIBS := xdp bpf elf z json-c cap-ng pcap ncursesw tinfo mnl microhttpd
archive_of   = $(or $(wildcard $(ARCHIVE_DIR:%=%/lib$(1).a)),$(filter /%,$(shell $(CC) -print-file-name=lib$(1).a)))
ARCHIVES     = $(foreach lib,$(STATIC_LIBS),$(call archive_of,$(lib)))
NO_ARCHIVE   = $(strip $(foreach lib,$(STATIC_LIBS),$(if $(call archive_of,$(lib)),,$(lib))))
LINK_STATIC  = $(if $(NO_ARCHIVE),$(NO_ARCHIVE:%=-l%),-static-pie)

.PHONY: static
static:
	+$(Q)$(MAKE) --no-print-directory TLS= B=$(B)/static $(B)/static/$(NAME)-static
	$(Q)mv $(B)/static/$(NAME)-static $(B)/
	@echo '$(B)/$(NAME)-static needs of its host:'
	$(Q)readelf -d $(B)/$(NAME)-static | sed -n 's/.*NEEDED.*\[\(.*\)\]/  \1/p' | grep . || echo '  nothing'

$(B)/$(NAME)-static: $(B)/user/main.o $(patsubst %.c,$(B)/%.o,$(wildcard tools/packaging/*.c)) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(if $(NO_ARCHIVE),$(LDFLAGS),$(filter-out -pie,$(LDFLAGS))) $^ \
		-Wl,--start-group $(ARCHIVES) -Wl,--end-group $(LINK_STATIC) -lm -pthread -o $@
	$(Q)$(STRIP) $@

$(B)/tools/%.o: tools/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

# Debian's tools work on a tree of their own, made from the tarball.
DEB := $(B)/deb/$(RELEASE)
.PHONY: deb
deb: dist
	$(call say,DEB,$(B)/deb)
	$(Q)rm -rf $(B)/deb && mkdir -p $(B)/deb
	$(Q)tar -xzf $(TARBALL) -C $(B)/deb
	$(Q)cp $(TARBALL) $(B)/deb/$(NAME)_$(VERSION).orig.tar.gz
	$(Q)cp -r $(DEB)/tools/packaging/deb $(DEB)/debian
	$(Q)cd $(DEB)/debian && debconf-updatepo
	$(Q)tools/packaging/deb-changelog $(NAME) $(VERSION) > $(DEB)/debian/changelog
	$(Q)cd $(DEB) && env -u MAKEFLAGS -u B dpkg-buildpackage -us -uc
	$(Q)ls $(B)/deb/*.deb
