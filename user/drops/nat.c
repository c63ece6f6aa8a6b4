// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/nat.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/netfilter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "drops/nftrules.h"
#include "host/caps.h"

/* Since Linux 6.4, missing from the Linux 6.1 headers. */
#define PROG_TYPE_NETFILTER 32		  /* enum bpf_prog_type */
#define ATTACH_NETFILTER    45		  /* enum bpf_attach_type */
#define LAST		    (INT_MAX - 2) /* IPv6's conntrack runs after it (nf_confirm()) */
#define PRIORITIES	    64 /* up to LAST; two programs on a hook cannot share one (EBUSY) */

static const uint32_t families[] = {NFPROTO_IPV4, NFPROTO_IPV6};

struct place {
	struct netns ns;
	int link[2]; /* by `families`; -1: not attached */
};

struct nat {
	struct list places; /* struct place */
	bool able;	    /* the kernel has such links and we may create them */
};

static int look_at(void *arg, const struct netns *ns)
{
	struct nat *n = arg;
	int fd;

	if (list_find(&n->places, offsetof(struct place, ns.inum), &ns->inum, sizeof(ns->inum)) ||
	    (nft_chains(ns, "nat") <= 0 && !netns_has_xtable(ns, "nat")))
		return 0;
	fd = fcntl(ns->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	*(struct place *)list_add(&n->places) =
		(struct place){{.fd = fd, .sysfs = -1, .inum = ns->inum}, {-1, -1}};
	return 0;
}

struct nat *nat_find(const struct reasons *r)
{
	const int needed = CAP_NET_ADMIN;
	char missing[32];
	struct nat *n;

	if (access("/sys/module/nf_nat", F_OK) && !reasons_has_function(r, "nf_nat_setup_info"))
		return NULL;
	n = mem_new(n);
	n->places.size = sizeof(struct place);
	n->able = reasons_has_function(r, "bpf_nf_link_attach") &&
		  !caps_missing(&needed, 1, missing, sizeof(missing));
	netns_each(look_at, n);
	if (n->places.n)
		return n;
	nat_close(n);
	return NULL;
}

void nat_prepare(const struct nat *n, struct bpf_program *prog)
{
	if (!n || !n->able)
		return;
	bpf_program__set_type(prog, (enum bpf_prog_type)PROG_TYPE_NETFILTER);
	bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)ATTACH_NETFILTER);
	bpf_program__set_autoload(prog, true);
	bpf_program__set_autoattach(prog, false);
}

/*
 * Attaches in the thread's namespace, as late in the hook as possible. Returns a descriptor, or -1.
 */
static int attach(int prog, uint32_t family)
{
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint32_t pf, hooknum;
		int32_t priority;
		uint32_t netfilter_flags;
	} link = {
		.prog_fd = (uint32_t)prog,
		.attach_type = ATTACH_NETFILTER,
		.pf = family,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = LAST,
	};
	int fd;

	do
		fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link));
	while (fd < 0 && errno == EBUSY && link.priority-- > LAST - PRIORITIES);
	return fd;
}

void nat_attach(struct nat *n, const struct bpf_program *prog)
{
	struct place *p = n ? n->places.at : NULL;

	for (unsigned i = 0; p && i < n->places.n; i++) {
		int saved = n->able ? netns_push(&p[i].ns) : -1;

		for (unsigned f = 0; f < 2 && saved >= 0; f++)
			p[i].link[f] = attach(bpf_program__fd(prog), families[f]);
		netns_pop(saved);
		netns_close(&p[i].ns);
	}
}

unsigned nat_unseen(const struct nat *n)
{
	const struct place *p = n ? n->places.at : NULL;
	unsigned unseen = 0;

	for (unsigned i = 0; p && i < n->places.n; i++)
		unseen += p[i].link[0] < 0 || p[i].link[1] < 0;
	return unseen;
}

unsigned nat_read(const struct bpf_map *map, struct nat_translation *out, unsigned n)
{
	struct watch_flow key, *prev = NULL;
	int fd = bpf_map__fd(map);
	unsigned have = 0;
	uint64_t packets;

	while (!bpf_map_get_next_key(fd, prev, &key)) {
		unsigned at = have;

		prev = &key;
		if (bpf_map_lookup_elem(fd, &key, &packets))
			continue;
		while (at && out[at - 1].packets < packets)
			at--;
		if (at == n)
			continue;
		have += have < n;
		memmove(&out[at + 1], &out[at], (have - 1 - at) * sizeof(*out));
		out[at] = (struct nat_translation){
			.kind = (enum nat_kind)key.pad,
			.from = num_endpoint_of(key.family, key.src, ntohs(key.src_port)),
			.to = num_endpoint_of(key.family, key.dst, ntohs(key.dst_port)),
			.packets = packets,
		};
	}
	return have;
}

void nat_close(struct nat *n)
{
	struct place *p = n ? n->places.at : NULL;

	if (!n)
		return;
	for (unsigned i = 0; i < n->places.n; i++) {
		netns_close(&p[i].ns);
		fd_close(&p[i].link[0]);
		fd_close(&p[i].link[1]);
	}
	list_free(&n->places);
	free(n);
}
