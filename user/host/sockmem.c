// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/sockmem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_SIZE 32768

struct sockmem {
	struct mnl_socket *nl;
	unsigned seq;
	char buf[ANSWER_SIZE];
};

int sockmem_open(struct sockmem **sockmem, const struct netns *ns)
{
	struct sockmem *s = calloc(1, sizeof(*s));
	int saved, ret = 0;

	*sockmem = NULL;
	if (!s)
		return -ENOMEM;
	saved = netns_push(ns);
	if (saved < 0) {
		free(s);
		return saved;
	}
	s->nl = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	if (!s->nl)
		ret = -errno;
	netns_pop(saved);
	if (!ret && mnl_socket_bind(s->nl, 0, MNL_SOCKET_AUTOPID) < 0)
		ret = -errno;
	if (ret)
		sockmem_close(s);
	else
		*sockmem = s;
	return ret;
}

void sockmem_close(struct sockmem *s)
{
	if (!s)
		return;
	if (s->nl)
		mnl_socket_close(s->nl);
	free(s);
}

struct reading_rows {
	uint16_t port;
	void (*each)(void *arg, const struct sockmem_row *row);
	void *arg;
};

static int on_socket(const struct nlmsghdr *nlh, void *data)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	const struct reading_rows *to = data;
	struct sockmem_row row = {.inode = m->idiag_inode,
				  .family = m->idiag_family,
				  .port = ntohs(m->id.idiag_sport),
				  .connected = m->id.idiag_dport};
	const struct nlattr *attr;

	memcpy(row.address, m->id.idiag_src, sizeof(row.address));
	mnl_attr_for_each(attr, nlh, sizeof(*m))
	{
		const uint32_t *mem = mnl_attr_get_payload(attr);

		if (mnl_attr_get_type(attr) != INET_DIAG_SKMEMINFO ||
		    mnl_attr_get_payload_len(attr) <= SK_MEMINFO_DROPS * sizeof(*mem))
			continue;
		row.rmem = mem[SK_MEMINFO_RMEM_ALLOC];
		row.rcvbuf = mem[SK_MEMINFO_RCVBUF];
		row.drops = mem[SK_MEMINFO_DROPS];
	}
	if (!to->port || to->port == row.port)
		to->each(to->arg, &row);
	return MNL_CB_OK;
}

int sockmem_udp(struct sockmem *s, int family, uint16_t port,
		void (*each)(void *arg, const struct sockmem_row *row), void *arg)
{
	struct reading_rows to = {port, each, arg};
	struct inet_diag_req_v2 *req;
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(s->buf);
	int run = MNL_CB_OK;

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = ++s->seq;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->sdiag_family = (uint8_t)family;
	req->sdiag_protocol = IPPROTO_UDP;
	req->idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1);
	req->idiag_states = ~0U;
	req->id.idiag_sport = htons(port);
	if (mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (run > MNL_CB_STOP) {
		ssize_t n = mnl_socket_recvfrom(s->nl, s->buf, sizeof(s->buf));

		if (n < 0 && errno == EINTR)
			continue;
		run = n < 0 ? MNL_CB_ERROR
			    : mnl_cb_run(s->buf, (size_t)n, s->seq, mnl_socket_get_portid(s->nl),
					 on_socket, &to);
	}
	return run == MNL_CB_ERROR ? -errno : 0;
}
