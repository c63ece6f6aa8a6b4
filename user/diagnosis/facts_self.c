// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_self.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/caps.h"
#include "host/nl.h"
#include "drops/reason.h"

#define ARGS_WITH_SOCKET 4 /* of trace_kfree_skb() */

/* Without the right to open one it is there all the same. */
static bool has_af_xdp(void)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno == EPERM;
	close(fd);
	return true;
}

void facts_self_read(const struct netns *ns, struct facts_self *self)
{
	static const int wanted[] = {CAP_BPF,	  CAP_PERFMON,	 CAP_NET_ADMIN,
				     CAP_NET_RAW, CAP_SYS_ADMIN, CAP_SYS_PTRACE};
	struct error ignored = {};
	struct reasons *reasons;

	memset(self, 0, sizeof(*self));
	self->btf = !access("/sys/kernel/btf/vmlinux", R_OK);
	caps_missing(wanted, sizeof(wanted) / sizeof(wanted[0]), self->missing_caps,
		     sizeof(self->missing_caps));
	if (self->btf && !reasons_open(&reasons, NULL, &ignored)) {
		self->reasons = reasons_count(reasons);
		self->drop_socket = reasons_kfree_args(reasons) >= ARGS_WITH_SOCKET;
		reasons_free(reasons);
	}
	self->af_xdp = has_af_xdp();
	self->xdp_features = genl_family(ns, "netdev") >= 0;
}
