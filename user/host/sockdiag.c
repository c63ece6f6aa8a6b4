// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/sockdiag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/xdp_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file.h"
#include "host/nl.h"

struct reading_rows {
	uint16_t port;
	sockmem_cb each;
	void *arg;
};

static int on_socket(const struct nlmsghdr *nlh, void *data)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	const struct reading_rows *to = data;
	struct sockmem_row row = {.inode = m->idiag_inode,
				  .cookie = (uint64_t)m->id.idiag_cookie[1] << 32 |
					    m->id.idiag_cookie[0],
				  .family = m->idiag_family,
				  .port = ntohs(m->id.idiag_sport),
				  .connected = m->id.idiag_dport,
				  .peer_port = ntohs(m->id.idiag_dport)};
	uint32_t mem[SK_MEMINFO_VARS];

	memcpy(row.address, m->id.idiag_src, sizeof(row.address));
	memcpy(row.peer, m->id.idiag_dst, sizeof(row.peer));
	nl_copy(nl_attr(nlh, sizeof(*m), INET_DIAG_SKMEMINFO), mem, sizeof(mem));
	row.rmem = mem[SK_MEMINFO_RMEM_ALLOC];
	row.rcvbuf = mem[SK_MEMINFO_RCVBUF];
	row.sndbuf = mem[SK_MEMINFO_SNDBUF];
	row.drops = mem[SK_MEMINFO_DROPS];
	row.md5 = nl_attr(nlh, sizeof(*m), INET_DIAG_MD5SIG); /* tcp_diag_get_aux() */
	if (m->idiag_state == TCP_LISTEN) {
		row.waiting = m->idiag_rqueue;
		row.room = m->idiag_wqueue;
	}
	if (!to->port || to->port == row.port)
		to->each(to->arg, &row);
	return MNL_CB_OK;
}

static int read_sockets(const struct netns *ns, int family, int protocol, uint32_t states,
			struct reading_rows *to)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
	struct inet_diag_req_v2 *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	int ret = family == AF_UNSPEC ? read_sockets(ns, AF_INET, protocol, states, to) : 0;

	if (ret)
		return ret;
	req->sdiag_family = (uint8_t)(family == AF_UNSPEC ? AF_INET6 : family);
	req->sdiag_protocol = (uint8_t)protocol;
	req->idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1);
	if (protocol == IPPROTO_TCP) /* and with it INET_DIAG_MD5SIG (inet_sk_diag_fill()) */
		req->idiag_ext |= 1 << (INET_DIAG_INFO - 1);
	req->idiag_states = states;
	req->id.idiag_sport = htons(to->port);
	return nl_query_bus(ns, NETLINK_SOCK_DIAG, nlh, on_socket, to);
}

int sockmem_udp(const struct netns *ns, int family, uint16_t port, sockmem_cb each, void *arg)
{
	return read_sockets(ns, family, IPPROTO_UDP, ~0U, &(struct reading_rows){port, each, arg});
}

int sockmem_tcp(const struct netns *ns, uint32_t states, sockmem_cb each, void *arg)
{
	return read_sockets(ns, AF_UNSPEC, IPPROTO_TCP, states,
			    &(struct reading_rows){0, each, arg});
}

int sockmem_files(const struct netns *ns, sockmem_cb each, void *arg)
{
	static const struct {
		const char *path;
		int family;
	} files[] = {{"/proc/thread-self/net/udp", AF_INET},
		     {"/proc/thread-self/net/udp6", AF_INET6}};
	int saved = netns_push(ns), ret = 0;

	if (saved < 0)
		return saved;
	for (unsigned i = 0; i < 2; i++) {
		char *text;
		size_t len;
		int rc = file_read(files[i].path, &text, &len);

		if (rc) {
			ret = rc == -ENOENT ? ret : rc;
			continue;
		}
		sockmem_parse(text, len, files[i].family, each, arg);
		free(text);
	}
	netns_pop(saved);
	return ret;
}

static int on_xsk(const struct nlmsghdr *nlh, void *arg)
{
	const struct xdp_diag_msg *msg = mnl_nlmsg_get_payload(nlh);
	struct xsk_info *x = list_add(arg);
	struct xdp_diag_umem umem;
	struct xdp_diag_info info;
	struct xdp_diag_stats st;

	x->inode = msg->xdiag_ino;
	nl_copy(nl_attr(nlh, sizeof(*msg), XDP_DIAG_INFO), &info, sizeof(info));
	x->ifindex = info.ifindex;
	x->queue = info.queue_id;
	nl_copy(nl_attr(nlh, sizeof(*msg), XDP_DIAG_UMEM), &umem, sizeof(umem));
	x->zero_copy = umem.flags & XDP_DU_F_ZEROCOPY;
	nl_copy(nl_attr(nlh, sizeof(*msg), XDP_DIAG_STATS), &st, sizeof(st));
	x->rx_dropped = st.n_rx_dropped;
	x->rx_invalid_descs = st.n_rx_invalid;
	x->rx_ring_full = st.n_rx_full;
	x->rx_fill_ring_empty = st.n_fill_ring_empty;
	x->tx_invalid_descs = st.n_tx_invalid;
	x->tx_ring_empty = st.n_tx_ring_empty;
	/* An unbound socket has no interface (some versions of xsk_diag_fill() omit it). */
	if (!x->ifindex)
		((struct list *)arg)->n--;
	return MNL_CB_OK;
}

int xsk_diag_read(const struct netns *ns, struct xsk_info **list)
{
	struct list rows = {.size = sizeof(**list)};
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
	struct xdp_diag_req *req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	int n;

	req->sdiag_family = AF_XDP;
	req->xdiag_show = XDP_SHOW_INFO | XDP_SHOW_UMEM | XDP_SHOW_STATS;
	n = nl_dump(ns, NETLINK_SOCK_DIAG, nlh, on_xsk, &rows);
	*list = rows.at;
	if (n == -ENOENT || n == -EINVAL)
		return -EOPNOTSUPP;
	for (int i = 0; i < n; i++)
		(*list)[i].netns = ns ? ns->inum : 0;
	return n;
}

int xsk_count(const struct netns *ns)
{
	int saved = netns_push(ns), n = 0, ret;
	char *text, *row;

	if (saved < 0)
		return saved;
	ret = file_read("/proc/thread-self/net/protocols", &text, NULL);
	netns_pop(saved);
	if (ret)
		return ret;
	row = strstr(text, "\nXDP ");
	if (row)
		sscanf(row, " XDP %*u %d", &n);
	free(text);
	return n;
}
