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

# Everything is linked in, so the program runs on a host without its libraries and without libc. No TLS.
STRIP       ?= $(CROSS_COMPILE)strip
OBJCOPY     ?= $(CROSS_COMPILE)objcopy
STATIC_LIBS := xdp bpf elf z json-c cap-ng pcap ncursesw tinfo microhttpd seccomp
STATIC      := $(RELEASE)-linux-$(MACHINE)
make_static  = +$(Q)$(MAKE) --no-print-directory TLS= B=$(B)/static

.PHONY: static
static:
	$(make_static) $(B)/static/$(NAME)-static
	$(Q)cp $(B)/static/$(NAME)-static $(B)/

# libc.a warns about each function that looks up names, because name services other than "files" and
# "dns" are shared objects. Both are part of libc.a since glibc 2.34, and names.c allows no other
# service. So the warnings do not apply: copies of these objects without the warning are linked.
NAME_SERVICE := getaddrinfo gethstbynm getnetbynm_r getprtname_r getpwuid initgroups
$(B)/names.a: $(shell $(CC) -print-file-name=libc.a)
	$(Q)rm -rf $@ $(B)/names && mkdir -p $(B)/names
	$(Q)cd $(B)/names && $(AR) x $< $(NAME_SERVICE:%=%.o)
	$(Q)for object in $(NAME_SERVICE:%=$(B)/names/%.o); do \
		$(OBJCOPY) -w -R '.gnu.warning.*' $$object || exit 1; done
	$(Q)$(AR) rcs $@ $(NAME_SERVICE:%=$(B)/names/%.o)

$(B)/$(NAME)-static: $(B)/user/main.o $(patsubst %.c,$(B)/%.o,$(wildcard tools/packaging/*.c)) $(LIB) \
		$(B)/names.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(filter-out -pie,$(LDFLAGS)) -static-pie $(filter-out %/names.a,$^) \
		-Wl,--fatal-warnings -Wl,--start-group $(STATIC_LIBS:%=-l%) $(B)/names.a -Wl,--end-group \
		-lm -pthread -o $@
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
	$(Q)$(INSTALL) -m755 tools/packaging/install.sh $(B)/static/to/usr/local/
	$(call say,DIST,$(B)/$(STATIC).tar.gz)
	$(Q)tar -c -C $(B)/static/to/usr/local --transform='s,^\.,$(STATIC),' --sort=name \
		--format=ustar --mtime=@$(SOURCE_DATE_EPOCH) --owner=root:0 --group=root:0 \
		--mode=u+w,go-w . | gzip -9n > $(B)/$(STATIC).tar.gz

# Debian's tools work on a tree of their own, made from the tarball. For another machine:
# `make deb CROSS_COMPILE=aarch64-linux-gnu-`, with the :arm64 packages that it needs (apt build-dep).
DEB := $(B)/deb/$(RELEASE)
.PHONY: deb
deb: unmet = $(shell tools/packaging/unmet $(if $(CROSS_COMPILE),-a$(ARCH) -Pcross))
deb:
	$(call require,git:git dpkg-buildpackage:dpkg-dev)
	+$(Q)$(MAKE) --no-print-directory dist
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

# An RPM package from the same tarball. Debian's rpm does not know Debian's packages, hence --nodeps,
# and its script that compresses manuals requires another shell than Debian's: the spec does it.
RPM := $(B)/rpm
.PHONY: rpm
rpm: dist
	$(Q)command -v rpmbuild > /dev/null || { \
		echo "make rpm: rpmbuild is missing: ./tools/setup release installs it" >&2; exit 1; }
	$(call say,RPM,$(RPM))
	$(Q)rm -rf $(RPM) && mkdir -p $(RPM)
	$(Q)sed -e 's/@VERSION@/$(VERSION)/' -e "s/@DATE@/$$(LC_ALL=C date -u \
		-d @$(SOURCE_DATE_EPOCH) '+%a %b %d %Y')/" tools/packaging/$(NAME).spec > $(RPM)/$(NAME).spec
	$(Q)env -u MAKEFLAGS -u B SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) rpmbuild --quiet -ba --nodeps \
		-D "_topdir $(abspath $(RPM))" -D "_sourcedir $(abspath $(B))" \
		-D '_buildhost localhost' -D 'use_source_date_epoch_as_buildtime 1' \
		-D '__os_install_post %{nil}' $(RPM)/$(NAME).spec
	$(Q)ls $(RPM)/RPMS/*/*.rpm $(RPM)/SRPMS/*.rpm

# A container image of the static program, and the same as a file for `podman load`.
BUILDAH ?= buildah
IMAGE   := $(STATIC)-image.tar
.PHONY: image
image: dist-static
	$(Q)command -v $(firstword $(BUILDAH)) > /dev/null || { \
		echo "make image: buildah is missing: ./tools/setup release installs it" >&2; exit 1; }
	$(call say,IMAGE,$(B)/$(IMAGE))
	$(Q)rm -rf $(B)/image $(B)/$(IMAGE)
	$(Q)$(INSTALL) -Dm755 $(B)/static/$(NAME)-static $(B)/image/usr/sbin/$(NAME)
	$(Q)$(INSTALL) -Dm644 LICENSE $(B)/image/usr/share/doc/$(NAME)/LICENSE
	$(Q)$(INSTALL) -d $(B)/image/etc $(addprefix $(B)/image/,dev proc run sys tmp)
	$(Q)$(BUILDAH) build --quiet --timestamp $(SOURCE_DATE_EPOCH) --label \
		org.opencontainers.image.version=$(VERSION) --tag $(NAME):$(VERSION) \
		--file tools/packaging/Containerfile.static $(B)/image > /dev/null
	$(Q)$(BUILDAH) push --quiet $(NAME):$(VERSION) docker-archive:$(B)/$(IMAGE):$(NAME):$(VERSION)

# Everything that a release of this machine consists of, in one directory.
RELEASED := $(B)/release
.PHONY: release
release: dist dist-static deb rpm image
	$(Q)rm -rf $(RELEASED) && mkdir -p $(RELEASED)
	$(Q)cp $(TARBALL) $(B)/$(STATIC).tar.gz $(B)/$(IMAGE) $(B)/deb/*.deb $(RPM)/RPMS/*/*.rpm \
		$(RPM)/SRPMS/*.rpm $(RELEASED)
	+$(Q)$(MAKE) --no-print-directory checksums

.PHONY: checksums
checksums:
	$(Q)cd $(RELEASED) && rm -f SHA256SUMS && sha256sum * > SHA256SUMS && cat SHA256SUMS

# The newest section of CHANGELOG.md, as the text of a release.
.PHONY: notes
notes:
	@awk '/^## / { sections++; next } sections == 1' CHANGELOG.md
