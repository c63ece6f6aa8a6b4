// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/nl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel sizes dumps according to the read buffer, up to 32 KiB (netlink_recvmsg()). */
#define NL_ANSWER_SIZE 32768

struct nlmsghdr *nl_header(char *buf, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh;

	/* libmnl does not clear attribute padding, and the kernel would receive it */
	memset(buf, 0, NL_REQUEST_SIZE);
	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = 1;
	return nlh;
}

static int open_socket(const struct netns *ns, int protocol, struct mnl_socket **nl)
{
	int saved = netns_push(ns);
	int ret = 0;

	*nl = NULL;
	if (saved < 0)
		return saved;
	*nl = mnl_socket_open2(protocol, SOCK_CLOEXEC);
	if (!*nl)
		ret = -errno;
	netns_pop(saved);
	if (!ret && mnl_socket_bind(*nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		ret = -errno;
		mnl_socket_close(*nl);
		*nl = NULL;
	}
	return ret;
}

static int ask(struct mnl_socket *nl, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	_Alignas(struct nlmsghdr) char buf[NL_ANSWER_SIZE];
	int run = MNL_CB_OK, ret = 0;

	/* A dump ends with NLMSG_DONE, any other request with the acknowledgement. */
	if ((nlh->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		nlh->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (run > MNL_CB_STOP) {
		ssize_t n = mnl_socket_recvfrom(nl, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		run = n < 0 ? MNL_CB_ERROR
			    : mnl_cb_run(buf, n, 1, mnl_socket_get_portid(nl), cb, arg);
		if (run == MNL_CB_ERROR)
			ret = -errno;
	}
	return ret;
}

int nl_query_bus(const struct netns *ns, int protocol, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	struct mnl_socket *nl;
	int ret = open_socket(ns, protocol, &nl);

	if (ret)
		return ret;
	ret = ask(nl, nlh, cb, arg);
	mnl_socket_close(nl);
	return ret;
}

int nl_query(const struct netns *ns, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	return nl_query_bus(ns, NETLINK_ROUTE, nlh, cb, arg);
}

int nl_dump(const struct netns *ns, int protocol, struct nlmsghdr *nlh, mnl_cb_t cb, struct list *l)
{
	unsigned before = l->n;
	int ret;

	do {
		l->n = before;
		ret = nl_query_bus(ns, protocol, nlh, cb, l);
	} while (ret == -EINTR);
	if (!ret)
		return (int)l->n;
	l->n = before;
	if (!before)
		list_free(l);
	return ret;
}

int nl_ioctl_socket(const struct netns *ns)
{
	int saved = netns_push(ns);
	int fd;

	if (saved < 0)
		return saved;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fd = -errno;
	netns_pop(saved);
	return fd;
}

int nl_ioctl(const struct netns *ns, const char *ifname, unsigned long request, struct ifreq *ifr)
{
	int fd, ret;

	if (strlen(ifname) >= sizeof(ifr->ifr_name))
		return -ENODEV;
	fd = nl_ioctl_socket(ns);
	if (fd < 0)
		return fd;
	strcpy(ifr->ifr_name, ifname);
	ret = ioctl(fd, request, ifr);
	if (ret < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int nl_ifindex(const struct netns *ns, const char *ifname)
{
	struct ifreq ifr = {.ifr_ifindex = 0};
	/* the ioctl resolves an alias such as "eth0:1" to eth0 */
	int ret = strchr(ifname, ':') ? -ENODEV : nl_ioctl(ns, ifname, SIOCGIFINDEX, &ifr);

	return ret ? ret : ifr.ifr_ifindex;
}

const struct nlattr *nl_attr(const struct nlmsghdr *nlh, size_t header, uint16_t type)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, header)
	{
		if (mnl_attr_get_type(a) == type)
			return a;
	}
	return NULL;
}

const struct nlattr *nl_nested(const struct nlattr *in, uint16_t type)
{
	const struct nlattr *a;

	if (!in)
		return NULL;
	mnl_attr_for_each_nested(a, in)
	{
		if (mnl_attr_get_type(a) == type)
			return a;
	}
	return NULL;
}

void nl_copy(const struct nlattr *a, void *to, size_t size)
{
	size_t len = a ? mnl_attr_get_payload_len(a) : 0;

	memset(to, 0, size);
	if (len)
		memcpy(to, mnl_attr_get_payload(a), len < size ? len : size);
}

uint64_t nl_uint(const struct nlattr *a)
{
	switch (a ? mnl_attr_get_payload_len(a) : 0) {
	case sizeof(uint8_t):
		return mnl_attr_get_u8(a);
	case sizeof(uint16_t):
		return mnl_attr_get_u16(a);
	case sizeof(uint32_t):
		return mnl_attr_get_u32(a);
	case sizeof(uint64_t):
		return mnl_attr_get_u64(a);
	}
	return 0;
}

void nl_text(const struct nlattr *a, char *buf, size_t size)
{
	snprintf(buf, size, "%s", a ? mnl_attr_get_str(a) : "");
}

bool nl_mac(const struct nlattr *a, uint8_t mac[6])
{
	bool is = a && mnl_attr_get_payload_len(a) == 6;

	if (is)
		memcpy(mac, mnl_attr_get_payload(a), 6);
	return is;
}

struct nlmsghdr *genl_header(char *buf, int family, uint8_t command, uint16_t flags)
{
	struct nlmsghdr *nlh = nl_header(buf, (uint16_t)family, flags);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	genl->cmd = command;
	genl->version = 1;
	return nlh;
}

struct family {
	const char *name;
	int id;
};

static int on_family(const struct nlmsghdr *nlh, void *arg)
{
	char name[GENL_NAMSIZ];
	struct family *family = arg;

	nl_text(nl_attr(nlh, GENL_HDRLEN, CTRL_ATTR_FAMILY_NAME), name, sizeof(name));
	if (!strcmp(name, family->name))
		family->id = (int)nl_uint(nl_attr(nlh, GENL_HDRLEN, CTRL_ATTR_FAMILY_ID));
	return MNL_CB_OK;
}

/*
 * Queries all families. Querying by name would load a missing family (ctrl_getfamily()) and, with
 * Open vSwitch, also connection tracking, so a read-only command would change the host.
 */
int genl_family(const struct netns *ns, const char *name)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = genl_header(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_DUMP);
	struct family family = {name, -ENOENT};
	int ret = nl_query_bus(ns, NETLINK_GENERIC, nlh, on_family, &family);

	return ret ? ret : family.id;
}
