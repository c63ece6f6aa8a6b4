// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/xsk_diag.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/xdp_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "host/nl.h"

static void put_stats(struct xsk_info *x, const struct nlattr *a)
{
	struct xdp_diag_stats st = {0};
	size_t len = mnl_attr_get_payload_len(a);

	memcpy(&st, mnl_attr_get_payload(a), len < sizeof(st) ? len : sizeof(st));
	x->rx_dropped = st.n_rx_dropped;
	x->rx_invalid_descs = st.n_rx_invalid;
	x->rx_ring_full = st.n_rx_full;
	x->rx_fill_ring_empty = st.n_fill_ring_empty;
	x->tx_invalid_descs = st.n_tx_invalid;
	x->tx_ring_empty = st.n_tx_ring_empty;
}

static int on_socket(const struct nlmsghdr *nlh, void *arg)
{
	const struct xdp_diag_msg *msg = mnl_nlmsg_get_payload(nlh);
	struct xsk_info *x = nl_rows_add(arg);
	const struct xdp_diag_umem *umem;
	const struct xdp_diag_info *info;
	const struct nlattr *a;

	if (!x)
		return MNL_CB_STOP;
	x->cookie = (uint64_t)msg->xdiag_cookie[1] << 32 | msg->xdiag_cookie[0];
	x->inode = msg->xdiag_ino;
	mnl_attr_for_each(a, nlh, sizeof(*msg))
	{
		switch (mnl_attr_get_type(a)) {
		case XDP_DIAG_INFO:
			info = mnl_attr_get_payload(a);
			x->ifindex = info->ifindex;
			x->queue = info->queue_id;
			break;
		case XDP_DIAG_UMEM:
			umem = mnl_attr_get_payload(a);
			x->zero_copy = umem->flags & XDP_DU_F_ZEROCOPY;
			break;
		case XDP_DIAG_STATS:
			put_stats(x, a);
			break;
		}
	}
	return MNL_CB_OK;
}

/* An unbound socket has no device (xsk_diag_fill() may leave it out, by version). */
static int keep_bound(struct xsk_info *list, int n, const struct netns *ns)
{
	int kept = 0;

	for (int i = 0; i < n; i++) {
		if (!list[i].ifindex)
			continue;
		list[kept] = list[i];
		list[kept++].netns = ns ? ns->inum : 0;
	}
	return kept;
}

int xsk_diag_read(const struct netns *ns, struct xsk_info **list)
{
	struct nl_rows rows = {.size = sizeof(**list)};
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
	struct xdp_diag_req *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	int n;

	req->sdiag_family = AF_XDP;
	req->xdiag_show = XDP_SHOW_INFO | XDP_SHOW_UMEM | XDP_SHOW_STATS;
	n = nl_dump(ns, NETLINK_SOCK_DIAG, nlh, on_socket, &rows);
	*list = rows.at;
	if (n == -ENOENT || n == -EINVAL)
		return -EOPNOTSUPP;
	return n < 0 ? n : keep_bound(*list, n, ns);
}

int xsk_count(const struct netns *ns)
{
	int saved = netns_push(ns), n = 0;
	char line[256];
	FILE *f;

	if (saved < 0)
		return saved;
	f = fopen("/proc/thread-self/net/protocols", "re");
	if (!f)
		n = -errno;
	netns_pop(saved);
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "XDP %*u %d", &n) == 1)
			break;
	}
	if (f)
		fclose(f);
	return n;
}
