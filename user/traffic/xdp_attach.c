// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/xdp_attach.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <string.h>

static int attach_error(const char *ifname, int ret, struct error *err)
{
	switch (ret) {
	case -EBUSY:
	case -EEXIST:
		return error_set(
			err, STATUS_UNABLE, ret,
			"detach it (ip link set dev IFACE xdp off), or use the engine socket",
			"another XDP program is attached to %s", ifname);
	case -EPERM:
		return error_set(err, STATUS_UNABLE, ret,
				 "run as root or with CAP_BPF and CAP_NET_ADMIN",
				 "no permission to attach an XDP program to %s", ifname);
	default:
		return error_set(err, STATUS_UNABLE, ret, "use the engine socket",
				 "cannot attach an XDP program to %s: %s", ifname, strerror(-ret));
	}
}

static int link_create(struct xdp_attached *at, int prog_fd, unsigned ifindex, __u32 mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = mode);

	at->link = bpf_link_create(prog_fd, (int)ifindex, BPF_XDP, &opts);
	return at->link < 0 ? at->link : 0;
}

int xdp_attach(struct xdp_attached *at, int prog_fd, const char *ifname, bool skb_mode,
	       struct error *err)
{
	unsigned ifindex = if_nametoindex(ifname);
	int ret = -EOPNOTSUPP;

	at->link = -1;
	at->native = false;
	if (!ifindex)
		return error_set(err, STATUS_FAILED, -ENODEV, NULL, "no interface %s here", ifname);
	if (!skb_mode) {
		ret = link_create(at, prog_fd, ifindex, XDP_FLAGS_DRV_MODE);
		at->native = !ret;
		if (ret == -EBUSY || ret == -EEXIST || ret == -EPERM)
			return attach_error(ifname, ret, err);
	}
	if (ret)
		ret = link_create(at, prog_fd, ifindex, XDP_FLAGS_SKB_MODE);
	return ret ? attach_error(ifname, ret, err) : 0;
}

bool xdp_device_gone(const struct xdp_attached *at)
{
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);

	return at->link >= 0 && !bpf_obj_get_info_by_fd(at->link, &info, &len) && !info.xdp.ifindex;
}
