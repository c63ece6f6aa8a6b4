// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What pktledger asks of libmnl, of which Debian has no archive: the same functions, by its header.
 * Only the static program has them; `selftest` of that program is their test.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdlib.h>
#include <string.h>

struct mnl_socket {
	int fd;
	struct sockaddr_nl addr;
};

struct mnl_socket *mnl_socket_open2(int bus, int flags)
{
	struct mnl_socket *nl = calloc(1, sizeof(*nl));

	if (!nl)
		return NULL;
	nl->fd = socket(AF_NETLINK, SOCK_RAW | flags, bus);
	if (nl->fd < 0) {
		free(nl);
		return NULL;
	}
	return nl;
}

int mnl_socket_bind(struct mnl_socket *nl, unsigned int groups, pid_t pid)
{
	socklen_t size = sizeof(nl->addr);

	nl->addr = (struct sockaddr_nl){
		.nl_family = AF_NETLINK,
		.nl_groups = groups,
		.nl_pid = pid,
	};
	if (bind(nl->fd, (struct sockaddr *)&nl->addr, size) < 0)
		return -1;
	return getsockname(nl->fd, (struct sockaddr *)&nl->addr, &size);
}

int mnl_socket_close(struct mnl_socket *nl)
{
	int rc = close(nl->fd);

	free(nl);
	return rc;
}

unsigned int mnl_socket_get_portid(const struct mnl_socket *nl)
{
	return nl->addr.nl_pid;
}

ssize_t mnl_socket_sendto(const struct mnl_socket *nl, const void *req, size_t size)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

	return sendto(nl->fd, req, size, 0, (struct sockaddr *)&kernel, sizeof(kernel));
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t size)
{
	ssize_t got = recv(nl->fd, buf, size, MSG_TRUNC);

	if (got > (ssize_t)size) {
		errno = ENOSPC;
		return -1;
	}
	return got;
}

/* Messages */

struct nlmsghdr *mnl_nlmsg_put_header(void *buf)
{
	struct nlmsghdr *nlh = buf;

	*nlh = (struct nlmsghdr){.nlmsg_len = MNL_NLMSG_HDRLEN};
	return nlh;
}

void *mnl_nlmsg_put_extra_header(struct nlmsghdr *nlh, size_t size)
{
	void *at = mnl_nlmsg_get_payload_tail(nlh);

	nlh->nlmsg_len += MNL_ALIGN(size);
	return memset(at, 0, MNL_ALIGN(size));
}

void *mnl_nlmsg_get_payload(const struct nlmsghdr *nlh)
{
	return (char *)nlh + MNL_NLMSG_HDRLEN;
}

void *mnl_nlmsg_get_payload_offset(const struct nlmsghdr *nlh, size_t offset)
{
	return (char *)nlh + MNL_NLMSG_HDRLEN + MNL_ALIGN(offset);
}

void *mnl_nlmsg_get_payload_tail(const struct nlmsghdr *nlh)
{
	return (char *)nlh + MNL_ALIGN(nlh->nlmsg_len);
}

static int control_message(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);

	if (nlh->nlmsg_type == NLMSG_DONE)
		return MNL_CB_STOP;
	if (nlh->nlmsg_type != NLMSG_ERROR)
		return MNL_CB_OK;
	if (nlh->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(*e)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	errno = abs(e->error);
	return e->error ? MNL_CB_ERROR : MNL_CB_STOP;
}

static int errno_of_message(const struct nlmsghdr *nlh, unsigned int seq, unsigned int portid)
{
	if (nlh->nlmsg_pid && portid && nlh->nlmsg_pid != portid)
		return ESRCH;
	if (nlh->nlmsg_seq && seq && nlh->nlmsg_seq != seq)
		return EPROTO;
	return nlh->nlmsg_flags & NLM_F_DUMP_INTR ? EINTR : 0;
}

int mnl_cb_run(const void *buf, size_t size, unsigned int seq, unsigned int portid, mnl_cb_t cb,
	       void *data)
{
	const struct nlmsghdr *nlh = buf;
	int left = (int)size, rc = MNL_CB_OK;

	for (; rc > MNL_CB_STOP && NLMSG_OK(nlh, left); nlh = NLMSG_NEXT(nlh, left)) {
		errno = errno_of_message(nlh, seq, portid);
		if (errno)
			return MNL_CB_ERROR;
		if (nlh->nlmsg_type < NLMSG_MIN_TYPE)
			rc = control_message(nlh);
		else if (cb)
			rc = cb(nlh, data);
	}
	return rc;
}

/* Attributes */

uint16_t mnl_attr_get_type(const struct nlattr *attr)
{
	return attr->nla_type & NLA_TYPE_MASK;
}

uint16_t mnl_attr_get_payload_len(const struct nlattr *attr)
{
	return attr->nla_len - MNL_ATTR_HDRLEN;
}

void *mnl_attr_get_payload(const struct nlattr *attr)
{
	return (char *)attr + MNL_ATTR_HDRLEN;
}

uint8_t mnl_attr_get_u8(const struct nlattr *attr)
{
	return *(uint8_t *)mnl_attr_get_payload(attr);
}

uint16_t mnl_attr_get_u16(const struct nlattr *attr)
{
	return *(uint16_t *)mnl_attr_get_payload(attr);
}

uint32_t mnl_attr_get_u32(const struct nlattr *attr)
{
	return *(uint32_t *)mnl_attr_get_payload(attr);
}

uint64_t mnl_attr_get_u64(const struct nlattr *attr)
{
	uint64_t value; /* attributes are aligned to 4 bytes only */

	memcpy(&value, mnl_attr_get_payload(attr), sizeof(value));
	return value;
}

const char *mnl_attr_get_str(const struct nlattr *attr)
{
	return mnl_attr_get_payload(attr);
}

bool mnl_attr_ok(const struct nlattr *attr, int len)
{
	return len >= (int)sizeof(*attr) && attr->nla_len >= sizeof(*attr) && attr->nla_len <= len;
}

struct nlattr *mnl_attr_next(const struct nlattr *attr)
{
	return (struct nlattr *)((char *)attr + MNL_ALIGN(attr->nla_len));
}

void mnl_attr_put(struct nlmsghdr *nlh, uint16_t type, size_t len, const void *data)
{
	struct nlattr *attr = mnl_nlmsg_get_payload_tail(nlh);
	char *value = mnl_attr_get_payload(attr);

	*attr = (struct nlattr){.nla_type = type, .nla_len = MNL_ATTR_HDRLEN + len};
	if (len)
		memcpy(value, data, len);
	memset(value + len, 0, MNL_ALIGN(len) - len);
	nlh->nlmsg_len += MNL_ALIGN(attr->nla_len);
}

void mnl_attr_put_u8(struct nlmsghdr *nlh, uint16_t type, uint8_t data)
{
	mnl_attr_put(nlh, type, sizeof(data), &data);
}

void mnl_attr_put_u16(struct nlmsghdr *nlh, uint16_t type, uint16_t data)
{
	mnl_attr_put(nlh, type, sizeof(data), &data);
}

void mnl_attr_put_u32(struct nlmsghdr *nlh, uint16_t type, uint32_t data)
{
	mnl_attr_put(nlh, type, sizeof(data), &data);
}

void mnl_attr_put_u64(struct nlmsghdr *nlh, uint16_t type, uint64_t data)
{
	mnl_attr_put(nlh, type, sizeof(data), &data);
}

void mnl_attr_put_strz(struct nlmsghdr *nlh, uint16_t type, const char *data)
{
	mnl_attr_put(nlh, type, strlen(data) + 1, data);
}

struct nlattr *mnl_attr_nest_start(struct nlmsghdr *nlh, uint16_t type)
{
	struct nlattr *start = mnl_nlmsg_get_payload_tail(nlh);

	mnl_attr_put(nlh, type | NLA_F_NESTED, 0, NULL);
	return start;
}

void mnl_attr_nest_end(struct nlmsghdr *nlh, struct nlattr *start)
{
	start->nla_len = (char *)mnl_nlmsg_get_payload_tail(nlh) - (char *)start;
}
