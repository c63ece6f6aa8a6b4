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

# All linked in, so that it runs on a host that has none of the libraries, nor libc. Without TLS.
STRIP       ?= $(CROSS_COMPILE)strip
STATIC_LIBS := xdp bpf elf z json-c cap-ng pcap ncursesw tinfo microhttpd seccomp
STATIC      := $(RELEASE)-linux-$(MACHINE)
make_static  = +$(Q)$(MAKE) --no-print-directory TLS= B=$(B)/static

.PHONY: static
static:
	$(make_static) $(B)/static/$(NAME)-static
	$(Q)cp $(B)/static/$(NAME)-static $(B)/

$(B)/$(NAME)-static: $(B)/user/main.o $(patsubst %.c,$(B)/%.o,$(wildcard tools/packaging/*.c)) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(filter-out -pie,$(LDFLAGS)) -static-pie $^ \
		-Wl,--start-group $(STATIC_LIBS:%=-l%) -Wl,--end-group -lm -pthread -o $@
	$(Q)$(STRIP) $@

$(B)/tools/%.o: tools/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

# A tarball of it, with the manuals and completion, for below any PREFIX; and with the licenses of what
# is linked in, where dpkg knows them.
LINKED = $$(realpath $(foreach lib,$(STATIC_LIBS) c,$$($(CC) -print-file-name=lib$(lib).a)))
.PHONY: dist-static
dist-static:
	$(Q)rm -rf $(B)/static/to && mkdir -p $(B)/static/to
	$(make_static) PROGRAM=$(B)/static/$(NAME)-static \
		DESTDIR=$(abspath $(B))/static/to PREFIX=/usr/local install > /dev/null
	$(Q)! command -v dpkg-query > /dev/null || for package in \
		$$(dpkg-query -S $(LINKED) | cut -d : -f 1 | sort -u); do \
		$(INSTALL) -Dm644 /usr/share/doc/$$package/copyright \
		$(B)/static/to/usr/local/share/doc/$(NAME)/libraries/$$package || exit 1; done
	$(call say,DIST,$(B)/$(STATIC).tar.gz)
	$(Q)tar -c -C $(B)/static/to/usr/local --transform='s,^\.,$(STATIC),' --sort=name \
		--format=ustar --mtime=@$(SOURCE_DATE_EPOCH) --owner=root:0 --group=root:0 \
		--mode=u+w,go-w . | gzip -9n > $(B)/$(STATIC).tar.gz

# Debian's tools work on a tree of their own, made from the tarball. For another machine:
# `make deb CROSS_COMPILE=aarch64-linux-gnu-`, with the :arm64 packages that it needs (apt build-dep).
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
	$(Q)cd $(DEB) && env -u MAKEFLAGS -u B dpkg-buildpackage -us -uc \
		$(if $(CROSS_COMPILE),-a$(ARCH) -Pcross)
	$(Q)ls $(B)/deb/*.deb
