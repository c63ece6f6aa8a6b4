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

# All linked in but for libc, which finds its parts at run time, and what has no archive here.
STRIP       ?= strip
STATIC_LIBS := xdp bpf elf z json-c cap-ng pcap ncursesw tinfo mnl microhttpd nettle
archive_of   = $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a))
ARCHIVES     = $(foreach lib,$(STATIC_LIBS),$(call archive_of,$(lib)))
NO_ARCHIVE   = $(foreach lib,$(STATIC_LIBS),$(if $(call archive_of,$(lib)),,$(lib)))

.PHONY: static
static: $(B)/$(NAME)-static
$(B)/$(NAME)-static: $(B)/user/main.o $(patsubst %.c,$(B)/%.o,$(wildcard tools/packaging/*.c)) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ \
		-Wl,--start-group $(ARCHIVES) -Wl,--end-group $(NO_ARCHIVE:%=-l%) -lm -pthread -o $@
	$(Q)$(STRIP) $@
	@echo '$@ needs of its host:'
	$(Q)readelf -d $@ | sed -n 's/.*NEEDED.*\[\(.*\)\]/  \1/p'

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
	$(Q)tools/packaging/deb-changelog $(NAME) $(VERSION) > $(DEB)/debian/changelog
	$(Q)cd $(DEB) && env -u MAKEFLAGS -u B dpkg-buildpackage -us -uc
	$(Q)ls $(B)/deb/*.deb
