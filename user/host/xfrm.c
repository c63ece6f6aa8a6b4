// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/xfrm.h"

#include <arpa/inet.h>
#include <linux/xfrm.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "host/nl.h"

static struct xfrm_selector udp_to(const struct xfrm_policy *p)
{
	return (struct xfrm_selector){
		.family = (uint16_t)p->family,
		.proto = IPPROTO_UDP,
		.dport = htons(p->port),
		.dport_mask = p->port ? UINT16_MAX : 0,
	};
}

/* For ever, as long as it is not used up. */
static const struct xfrm_lifetime_cfg no_end = {
	.soft_byte_limit = XFRM_INF,
	.hard_byte_limit = XFRM_INF,
	.soft_packet_limit = XFRM_INF,
	.hard_packet_limit = XFRM_INF,
};

int xfrm_add_policy(const struct netns *ns, const struct xfrm_policy *p)
{
	const struct xfrm_user_tmpl esp = {
		.id.proto = IPPROTO_ESP,
		.family = (uint16_t)p->family,
		.mode = XFRM_MODE_TRANSPORT,
		.aalgos = UINT32_MAX,
		.ealgos = UINT32_MAX,
		.calgos = UINT32_MAX,
	};
	const struct xfrm_mark mark = {p->mark, p->mark};
	struct xfrm_userpolicy_info *info;
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, XFRM_MSG_NEWPOLICY, NLM_F_CREATE | NLM_F_EXCL);

	info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));
	info->sel = udp_to(p);
	info->lft = no_end;
	info->dir = p->out ? XFRM_POLICY_OUT : XFRM_POLICY_IN;
	info->action = p->esp ? XFRM_POLICY_ALLOW : XFRM_POLICY_BLOCK;
	info->share = XFRM_SHARE_ANY;
	if (p->esp)
		mnl_attr_put(nlh, XFRMA_TMPL, sizeof(esp), &esp);
	if (p->mark)
		mnl_attr_put(nlh, XFRMA_MARK, sizeof(mark), &mark);
	return nl_query_bus(ns, NETLINK_XFRM, nlh, NULL, NULL);
}
