// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/qstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "host/genl.h"
#include "host/nl.h"

/* include/uapi/linux/netdev.h, which Debian 12 does not have. */
#define NETDEV_FAMILY		  "netdev"
#define NETDEV_CMD_DEV_GET	  1
#define NETDEV_CMD_QSTATS_GET	  12
#define NETDEV_QSTATS_SCOPE_QUEUE 1

enum {
	NETDEV_A_DEV_IFINDEX = 1,
	NETDEV_A_DEV_XDP_FEATURES = 3,
	NETDEV_A_DEV_XDP_ZC_MAX_SEGS,
	NETDEV_A_DEV_XDP_RX_METADATA,
	NETDEV_A_DEV_XSK_FEATURES
};

enum {
	NETDEV_A_QSTATS_IFINDEX = 1,
	NETDEV_A_QSTATS_QUEUE_TYPE,
	NETDEV_A_QSTATS_QUEUE_ID,
	NETDEV_A_QSTATS_SCOPE
};

static const struct {
	uint16_t attribute;
	const char *name;
} known[QSTATS] = {
	[QSTAT_RX_PACKETS] = {8, "rx-packets"},
	[QSTAT_RX_BYTES] = {9, "rx-bytes"},
	[QSTAT_TX_PACKETS] = {10, "tx-packets"},
	[QSTAT_TX_BYTES] = {11, "tx-bytes"},
	[QSTAT_RX_ALLOC_FAIL] = {12, "rx-alloc-fail"},
	[QSTAT_RX_HW_DROPS] = {13, "rx-hw-drops"},
	[QSTAT_RX_HW_DROP_OVERRUNS] = {14, "rx-hw-drop-overruns"},
	[QSTAT_RX_CSUM_BAD] = {18, "rx-csum-bad"},
	[QSTAT_RX_HW_DROP_RATELIMITS] = {23, "rx-hw-drop-ratelimits"},
	[QSTAT_TX_HW_DROPS] = {24, "tx-hw-drops"},
	[QSTAT_TX_HW_DROP_ERRORS] = {25, "tx-hw-drop-errors"},
	[QSTAT_TX_HW_DROP_RATELIMITS] = {32, "tx-hw-drop-ratelimits"},
	[QSTAT_TX_STOP] = {33, "tx-stop"},
};

const char *qstat_name(enum qstat q)
{
	return known[q].name;
}

/* Netlink's "uint": 32 or 64 bits, as the value needs. */
static uint64_t attr_uint(const struct nlattr *a)
{
	return mnl_attr_get_payload_len(a) == sizeof(uint64_t) ? mnl_attr_get_u64(a)
							       : mnl_attr_get_u32(a);
}

static bool is_uint(const struct nlattr *a)
{
	uint16_t len = mnl_attr_get_payload_len(a);

	return len == sizeof(uint32_t) || len == sizeof(uint64_t);
}

static void put_qstat(struct qstats *q, const struct nlattr *a)
{
	switch (mnl_attr_get_type(a)) {
	case NETDEV_A_QSTATS_IFINDEX:
		q->ifindex = (unsigned)attr_uint(a);
		return;
	case NETDEV_A_QSTATS_QUEUE_TYPE:
		q->tx = attr_uint(a) == 1;
		return;
	case NETDEV_A_QSTATS_QUEUE_ID:
		q->queue = (int)attr_uint(a);
		return;
	}
	for (unsigned i = 0; i < QSTATS; i++) {
		if (known[i].attribute != mnl_attr_get_type(a))
			continue;
		q->present |= 1u << i;
		q->value[i] = attr_uint(a);
	}
}

static int on_qstats(const struct nlmsghdr *nlh, void *arg)
{
	struct qstats *q = nl_rows_add(arg);
	const struct nlattr *a;

	if (!q)
		return MNL_CB_STOP;
	q->queue = -1;
	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr))
	{
		if (is_uint(a))
			put_qstat(q, a);
	}
	return MNL_CB_OK;
}

static int on_features(const struct nlmsghdr *nlh, void *arg)
{
	struct xdp_features *f = nl_rows_add(arg);
	const struct nlattr *a;

	if (!f)
		return MNL_CB_STOP;
	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr))
	{
		if (!is_uint(a))
			continue;
		switch (mnl_attr_get_type(a)) {
		case NETDEV_A_DEV_IFINDEX:
			f->ifindex = (unsigned)attr_uint(a);
			break;
		case NETDEV_A_DEV_XDP_FEATURES:
			f->features = attr_uint(a);
			break;
		case NETDEV_A_DEV_XDP_ZC_MAX_SEGS:
			f->zc_max_segs = (uint32_t)attr_uint(a);
			break;
		case NETDEV_A_DEV_XDP_RX_METADATA:
			f->rx_metadata = attr_uint(a);
			break;
		case NETDEV_A_DEV_XSK_FEATURES:
			f->xsk_features = attr_uint(a);
			break;
		}
	}
	return MNL_CB_OK;
}

/* One dump into `r`. How many rows, or -errno; a kernel without the family or command has none. */
static int dump(const struct netns *ns, uint8_t command, uint32_t scope, mnl_cb_t cb,
		struct nl_rows *r)
{
	int family = genl_family(ns, NETDEV_FAMILY), ret;
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh;

	if (family < 0)
		return family == -ENOENT ? 0 : family;
	nlh = genl_header(buf, family, command, NLM_F_DUMP);
	if (scope)
		mnl_attr_put_u32(nlh, NETDEV_A_QSTATS_SCOPE, scope);
	ret = nl_dump(ns, NETLINK_GENERIC, nlh, cb, r);
	return ret == -EOPNOTSUPP || ret == -EINVAL ? 0 : ret;
}

int qstats_read(const struct netns *ns, bool queues, struct qstats **list)
{
	struct nl_rows device = {.size = sizeof(**list)}, queue = device;
	int ret = dump(ns, NETDEV_CMD_QSTATS_GET, 0, on_qstats, &device);

	*list = NULL;
	if (ret > 0 && queues)
		ret = dump(ns, NETDEV_CMD_QSTATS_GET, NETDEV_QSTATS_SCOPE_QUEUE, on_qstats, &queue);
	for (unsigned i = 0; ret >= 0 && i < queue.n; i++) {
		struct qstats *q = nl_rows_add(&device);

		if (!q)
			ret = -ENOMEM;
		else
			*q = ((struct qstats *)queue.at)[i];
	}
	free(queue.at);
	if (ret < 0) {
		free(device.at);
		return ret;
	}
	*list = device.at;
	return (int)device.n;
}

int xdp_features_read(const struct netns *ns, struct xdp_features **list)
{
	struct nl_rows rows = {.size = sizeof(**list)};
	int ret = dump(ns, NETDEV_CMD_DEV_GET, 0, on_features, &rows);

	*list = NULL;
	if (ret >= 0)
		*list = rows.at;
	return ret;
}
