// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

#include "host/nl.h"

struct nlmsghdr *genl_header(char *buf, int family, uint8_t command, uint16_t flags)
{
	struct nlmsghdr *nlh = nl_header(buf, (uint16_t)family, flags);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	genl->cmd = command;
	genl->version = 1;
	return nlh;
}

int genl_query(const struct netns *ns, struct nlmsghdr *nlh, mnl_cb_t cb, void *arg)
{
	return nl_query_bus(ns, NETLINK_GENERIC, nlh, cb, arg);
}

struct family {
	const char *name;
	int id;
};

static int on_family(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *a;
	struct family *family = arg;
	bool found = false;
	int id = -ENOENT;

	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_ID)
			id = mnl_attr_get_u16(a);
		if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_NAME)
			found = !strcmp(mnl_attr_get_str(a), family->name);
	}
	if (found)
		family->id = id;
	return MNL_CB_OK;
}

/*
 * Asked for by its name, a family that is missing is loaded (ctrl_getfamily()), and with Open
 * vSwitch connection tracking: whoever only looks would change the host. So all are asked for.
 */
int genl_family(const struct netns *ns, const char *name)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = genl_header(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_DUMP);
	struct family family = {name, -ENOENT};
	int ret = genl_query(ns, nlh, on_family, &family);

	return ret ? ret : family.id;
}
