// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The root qdisc of a device. Its value is "default fq_codel limit 10240" where the kernel has
 * chosen it, "pfifo handle 8001: limit 1000" where somebody has set it up. Two changes can be
 * undone to the letter: another limit for one that was set up (all else of it stays), and one of
 * our own in place of the kernel's (which comes back when ours is removed).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/change_parts.h"
#include "host/netdev.h"
#include "host/nl.h"

#define OUR_HANDLE 0x10000 /* "1:"; beside a default qdisc no handle is in use */

static int print(const struct netdev_qdisc *q, char value[JOURNAL_VALUE_SIZE])
{
	int n;

	if (q->handle)
		n = snprintf(value, JOURNAL_VALUE_SIZE, "%s handle %x:", q->kind, q->handle >> 16);
	else
		n = snprintf(value, JOURNAL_VALUE_SIZE, "default %s", q->kind);
	if (q->limited)
		snprintf(value + n, JOURNAL_VALUE_SIZE - n, " limit %u", q->limit);
	return 0;
}

/* The same text, and "KIND" and "KIND limit N" without a handle. */
static int parse(const char *value, struct netdev_qdisc *q, bool *is_default)
{
	const char *at = value;
	int end = 0;

	memset(q, 0, sizeof(*q));
	*is_default = !strncmp(at, "default ", 8);
	if (*is_default)
		at += 8;
	if (strlen(at) >= JOURNAL_VALUE_SIZE || strpbrk(at, "-+") ||
	    sscanf(at, "%15[a-z_]%n", q->kind, &end) != 1)
		return -EINVAL;
	at += end;
	if (!strncmp(at, " handle ", 8)) {
		if (*is_default || sscanf(at, " handle %x:%n", &q->handle, &end) != 1 ||
		    !q->handle || q->handle > UINT16_MAX)
			return -EINVAL;
		q->handle <<= 16;
		at += end;
	}
	if (!strncmp(at, " limit ", 7)) {
		if (sscanf(at, " limit %u%n", &q->limit, &end) != 1)
			return -EINVAL;
		q->limited = true;
		at += end;
	}
	return *at ? -EINVAL : 0;
}

int change_qdisc_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE])
{
	int ret = nl_ifindex(at->ns, at->ifname);
	struct netdev_qdisc q;

	if (ret >= 0)
		ret = netdev_qdisc_root(at->ns, ret, &q);
	return ret ? ret : print(&q, value);
}

int change_qdisc_check(const struct change_at *at, const char *old, const char *wanted,
		       char value[JOURNAL_VALUE_SIZE])
{
	bool was_default, to_default;
	struct netdev_qdisc was, q;
	int ret = parse(old, &was, &was_default);

	(void)at;
	if (!ret)
		ret = parse(wanted, &q, &to_default);
	if (ret || q.handle || to_default || q.limited != netdev_qdisc_limited(q.kind) ||
	    (q.limited && !q.limit))
		return -EINVAL;
	if (!was_default && strcmp(was.kind, q.kind))
		return -EDOM;
	if (was_default && !strcmp(was.kind, q.kind) && was.limited == q.limited &&
	    was.limit == q.limit)
		q.handle = 0; /* it is so already */
	else
		q.handle = was_default ? OUR_HANDLE : was.handle;
	return print(&q, value);
}

int change_qdisc_write(const struct change_at *at, const char *value)
{
	int ifindex = nl_ifindex(at->ns, at->ifname), ret;
	struct netdev_qdisc now, q;
	bool to_default;

	if (ifindex < 0)
		return ifindex;
	ret = parse(value, &q, &to_default);
	if (!ret)
		ret = netdev_qdisc_root(at->ns, ifindex, &now);
	if (ret)
		return ret;
	if (to_default)
		return now.handle ? netdev_qdisc_del(at->ns, ifindex) : 0;
	if (now.handle == q.handle && !strcmp(now.kind, q.kind))
		return netdev_qdisc_change(at->ns, ifindex, &q);
	return netdev_qdisc_replace(at->ns, ifindex, &q);
}

void change_qdisc_command(const struct change_at *at, const char *from, const char *to, char *buf,
			  size_t size)
{
	bool from_default, to_default;
	struct netdev_qdisc was, q;
	char ifname[64];
	int n;

	change_quote(at->ifname, ifname, sizeof(ifname));
	*buf = '\0';
	if (parse(from, &was, &from_default) || parse(to, &q, &to_default))
		return;
	if (to_default) {
		snprintf(buf, size, "tc qdisc del dev %s root", ifname);
		return;
	}
	n = snprintf(buf, size, "tc qdisc %s dev %s root handle %x: %s",
		     from_default ? "replace" : "change", ifname, q.handle >> 16, q.kind);
	if (q.limited && n < (int)size)
		snprintf(buf + n, size - n, " limit %u", q.limit);
}
