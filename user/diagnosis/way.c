// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/way.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/list.h"
#include "base/proc.h"
#include "diagnosis/facts.h"
#include "drops/reason.h"
#include "host/load.h"
#include "host/netdev.h"
#include "host/nl.h"
#include "host/sockdiag.h"
#include "survey.skel.h"
#include "survey_abi.h"

#define POLL_NS 10000000
#define ENOUGH	64 /* packets needed to be sure which source or port is the most frequent */

void device_name(const struct netns *ns, unsigned ifindex, char name[IF_NAMESIZE])
{
	int saved = netns_push(ns);

	if (saved < 0 || !if_indextoname(ifindex, name))
		name[0] = '\0';
	netns_pop(saved);
}

void way_back_read(const struct netns *ns, struct way_back *back)
{
	struct endpoint to = {.family = AF_INET};

	back->by[0] = '\0';
	if (inet_pton(AF_INET, back->source, &to.ip4) == 1)
		device_name(ns, netdev_way(ns, &to), back->by);
}

void way_next_read(const struct netns *ns, struct way_next *next)
{
	struct link_info *links = NULL;
	const int n = links_read(ns, 0, &links);
	unsigned largest = 0, found = 0;

	*next = (struct way_next){};
	for (int i = 0; i < n; i++) {
		if (links[i].flags & IFF_UP && !(links[i].flags & IFF_LOOPBACK))
			largest = links[i].mtu > largest ? links[i].mtu : largest;
	}
	for (int i = 0; i < n; i++) {
		if (!(links[i].flags & IFF_UP) || links[i].mtu >= largest)
			continue;
		next->mtu = links[i].mtu;
		snprintf(next->ifname, sizeof(next->ifname), "%s", links[i].ifname);
		found++;
	}
	if (found > 1)
		*next = (struct way_next){};
	free(links);
}

int way_sources_open(struct survey_bpf **sources, bool of_ports)
{
	struct reasons *reasons;
	int ret = reasons_open(&reasons, NULL, NULL), reason;

	*sources = NULL;
	if (ret)
		return ret;
	reason = reasons_value(reasons, of_ports ? "NO_SOCKET" : "IP_RPFILTER");
	reasons_free(reasons);
	ret = reason < 0 ? reason : survey_attach(sources, "dropped", "drop_sources");
	if (ret)
		return ret;
	(*sources)->bss->by_port = of_ports;
	(*sources)->bss->wanted_reason = (__u32)reason;
	return 0;
}

void way_sources_close(struct survey_bpf *sources)
{
	survey_bpf__destroy(sources);
}

/*
 * Finds the most frequent source or port. Returns the number of packets seen, from all of them.
 * `of` stays 0 without any.
 */
static uint64_t find_source(const struct survey_bpf *sources, const struct netns *ns, uint32_t inum,
			    const char *ifname, uint16_t port, struct drop_source *best)
{
	const int map = bpf_map__fd(sources->maps.drop_sources);
	struct drop_source at, *last = NULL;
	uint64_t n, most = 0, seen = 0;

	for (; !bpf_map_get_next_key(map, last, &at); last = &at) {
		char name[IF_NAMESIZE];

		if (at.netns != inum || bpf_map_lookup_elem(map, &at, &n))
			continue;
		if (ifname)
			device_name(ns, at.ifindex, name);
		if (ifname && strcmp(name, ifname))
			continue;
		seen += n;
		if (n <= most && at.of != port)
			continue;
		most = at.of == port ? UINT64_MAX : n;
		*best = at;
	}
	return seen;
}

static struct drop_source await_source(const struct survey_bpf *sources, const struct netns *ns,
				       uint32_t inum, const char *ifname, uint16_t port,
				       uint64_t until_ns)
{
	struct drop_source best = {};

	while (find_source(sources, ns, inum, ifname, port, &best) < ENOUGH &&
	       clock_now() < until_ns)
		clock_sleep(POLL_NS);
	return best;
}

bool way_sources_back(const struct survey_bpf *sources, const struct netns *ns, uint32_t inum,
		      const char *ifname, uint64_t until_ns, struct way_back *back)
{
	const struct drop_source best = await_source(sources, ns, inum, ifname, 0, until_ns);

	*back = (struct way_back){};
	if (!best.of)
		return false;
	inet_ntop(AF_INET, &best.of, back->source, sizeof(back->source));
	device_name(ns, best.ifindex, back->ifname);
	way_back_read(ns, back);
	return true;
}

uint16_t way_sources_port(const struct survey_bpf *sources, uint32_t inum, uint16_t port,
			  uint64_t until_ns)
{
	return (uint16_t)await_source(sources, NULL, inum, NULL, port, until_ns).of;
}

/* Frames that nothing receives */

#define STRAYS 32 /* number of frames that suffices */
#define ANCILLARY(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (__u32)SKF_AD_OFF + (field))

/*
 * Opens a socket that receives frames sent to others, frames with a VLAN tag, and frames of
 * protocols other than IP and ARP.
 */
static int stray_socket(const struct netns *ns, unsigned ifindex)
{
	struct sock_filter code[] = {
		ANCILLARY(SKF_AD_PKTTYPE),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 7, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OTHERHOST, 5, 0),
		ANCILLARY(SKF_AD_VLAN_TAG_PRESENT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 3, 0),
		ANCILLARY(SKF_AD_PROTOCOL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 64),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {LENGTH(code), code};
	const struct sockaddr_ll at = {.sll_family = AF_PACKET,
				       .sll_protocol = htons(ETH_P_ALL),
				       .sll_ifindex = (int)ifindex};
	const int on = 1;
	int saved = netns_push(ns), fd;

	fd = saved < 0 ? -1 : socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	netns_pop(saved);
	if (fd >= 0 &&
	    (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ||
	     setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) ||
	     bind(fd, (const struct sockaddr *)&at, sizeof(at))))
		fd_close(&fd);
	return fd;
}

/* Returns true if a /proc/net file has a line from which `fmt` reads this number. */
static bool is_in_file(const struct netns *ns, const char *file, const char *fmt, unsigned number)
{
	char *text = facts_net_text(ns, file);
	unsigned value;
	bool found = false;

	for (const char *line = text; line; line = next_line(line))
		found |= sscanf(line, fmt, &value) == 1 && value == number;
	free(text);
	return found;
}

/* Describes a frame. Returns false if a protocol handles it. */
static bool describe_stray(const struct netns *ns, const struct sockaddr_ll *from, unsigned vlan,
			   struct way_stray *out)
{
	static const struct {
		unsigned type;
		const char *name;
	} known[] = {{0x88cc, "LLDP"},	  {ETH_P_802_2, "802.2 (STP, CDP)"},
		     {ETH_P_SLOW, "LACP"}, {ETH_P_PAE, "EAPOL"},
		     {ETH_P_1588, "PTP"},  {ETH_P_LOOPBACK, "loopback tests"}};
	const unsigned type = ntohs(from->sll_protocol);
	const char *name = "protocol";

	*out = (struct way_stray){.vlan = vlan};
	if (vlan) {
		snprintf(out->what, sizeof(out->what), "frames of VLAN %u", vlan);
		return !is_in_file(ns, "vlan/config", "%*[^|]| %u", vlan);
	}
	if (from->sll_pkttype == PACKET_OTHERHOST) {
		snprintf(out->what, sizeof(out->what), "frames for other MAC addresses");
		return true;
	}
	for (unsigned i = 0; i < LENGTH(known); i++)
		name = known[i].type == type ? known[i].name : name;
	snprintf(out->what, sizeof(out->what), "%s (0x%04x)", name, type);
	return !is_in_file(ns, "ptype", "%x", type);
}

bool way_stray_read(const struct netns *ns, unsigned ifindex, uint64_t until_ns,
		    struct way_stray *stray)
{
	int fd = stray_socket(ns, ifindex), votes = 0;
	unsigned left = STRAYS;

	*stray = (struct way_stray){};
	while (fd >= 0 && left && clock_now() < until_ns) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		char frame[64], control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		struct iovec data = {frame, sizeof(frame)};
		struct sockaddr_ll from;
		struct msghdr msg = {.msg_name = &from,
				     .msg_namelen = sizeof(from),
				     .msg_iov = &data,
				     .msg_iovlen = 1,
				     .msg_control = control,
				     .msg_controllen = sizeof(control)};
		struct tpacket_auxdata aux = {};
		struct way_stray is;

		poll(&ready, 1, (int)((until_ns - smaller(clock_now(), until_ns)) / 1000000));
		if (recvmsg(fd, &msg, 0) < 0)
			continue;
		if (CMSG_FIRSTHDR(&msg))
			memcpy(&aux, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(aux));
		if (!describe_stray(ns, &from,
				    aux.tp_status & TP_STATUS_VLAN_VALID ? aux.tp_vlan_tci & 0xfff : 0,
				    &is))
			continue;
		if (!votes) /* Boyer-Moore: the kind that more than half of the frames have */
			*stray = is;
		votes += strcmp(stray->what, is.what) ? -1 : 1;
		left--;
	}
	fd_close(&fd);
	return *stray->what;
}

/* Connection tracking */

#define UNANSWERED  32	      /* pairs of destination and backend */
#define ANSWER_NS   300000000 /* ns within which a neighbour that exists answers */
#define RULES_MS    2000
#define RULES_BYTES (4u << 20)

struct translated {
	struct endpoint asked, backend;
	uint8_t protocol;
};

static void read_endpoint(struct endpoint *ep, const struct nlattr *tuple, uint16_t v4, uint16_t v6,
			  uint16_t port)
{
	const struct nlattr *ip = nl_nested(tuple, CTA_TUPLE_IP);
	const struct nlattr *proto = nl_nested(tuple, CTA_TUPLE_PROTO);
	const struct nlattr *a4 = nl_nested(ip, v4), *a6 = nl_nested(ip, v6);

	ep->family = a4 ? AF_INET : a6 ? AF_INET6 : AF_UNSPEC;
	nl_copy(a4, &ep->ip4, sizeof(ep->ip4));
	nl_copy(a6, &ep->ip6, sizeof(ep->ip6));
	nl_copy(nl_nested(proto, port), &ep->port, sizeof(ep->port));
	ep->port = ntohs(ep->port);
}

static int on_entry(const struct nlmsghdr *nlh, void *arg)
{
	const size_t head = sizeof(struct nfgenmsg);
	const struct nlattr *orig = nl_attr(nlh, head, CTA_TUPLE_ORIG);
	const uint64_t status = ntohl((uint32_t)nl_uint(nl_attr(nlh, head, CTA_STATUS)));
	struct list *found = arg;
	struct translated t, *new;

	if (!(status & IPS_DST_NAT) || status & IPS_SEEN_REPLY || found->n == UNANSWERED)
		return MNL_CB_OK;
	memset(&t, 0, sizeof(t)); /* keys are compared bytewise */
	read_endpoint(&t.asked, orig, CTA_IP_V4_DST, CTA_IP_V6_DST, CTA_PROTO_DST_PORT);
	read_endpoint(&t.backend, nl_attr(nlh, head, CTA_TUPLE_REPLY), CTA_IP_V4_SRC, CTA_IP_V6_SRC,
		      CTA_PROTO_SRC_PORT);
	t.protocol = (uint8_t)nl_uint(nl_nested(nl_nested(orig, CTA_TUPLE_PROTO), CTA_PROTO_NUM));
	new = list_find(found, 0, &t, sizeof(t)) ? NULL : list_add(found);
	if (new)
		*new = t;
	return MNL_CB_OK;
}

static bool is_silent(const struct netns *ns, const struct endpoint *to, unsigned *ifindex)
{
	enum netdev_hop hop = netdev_hop(ns, to, ifindex);

	if (hop == HOP_ASKED) {
		clock_sleep(ANSWER_NS);
		hop = netdev_hop(ns, to, ifindex);
	}
	return hop == HOP_ASKED || hop == HOP_SILENT;
}

/*
 * Returns true if there is no route to the address, or only one of type blackhole, unreachable or
 * prohibit.
 */
static bool is_unreachable(const struct netns *ns, const struct endpoint *to)
{
	struct in6_addr source;
	uint8_t mac[6];
	unsigned ifindex;
	int ret = netdev_next_hop(ns, to, &ifindex, mac, &source);

	return ret && ret != -ENOENT;
}

/*
 * Returns true if the path leads over a bridge that has no port for the next hop's MAC address. The
 * port of a container that is gone disappears at once, its neighbour entry only when it ages.
 */
static bool is_unbridged(const struct netns *ns, const struct endpoint *to, char name[IF_NAMESIZE])
{
	struct nlmsghdr *nlh;
	char buf[NL_REQUEST_SIZE];
	struct in6_addr source;
	struct netdev bridge;
	struct ndmsg *nd;
	uint8_t mac[6];
	unsigned ifindex;

	if (netdev_next_hop(ns, to, &ifindex, mac, &source) || !ifindex)
		return false;
	device_name(ns, ifindex, name);
	if (netdev_get(ns, name, &bridge) || strcmp(bridge.driver, "bridge"))
		return false;
	nlh = nl_header(buf, RTM_GETNEIGH, 0);
	nd = mnl_nlmsg_put_extra_header(nlh, sizeof(*nd));
	*nd = (struct ndmsg){.ndm_family = AF_BRIDGE};
	mnl_attr_put(nlh, NDA_LLADDR, sizeof(mac), mac);
	mnl_attr_put_u32(nlh, NDA_MASTER, ifindex);
	return nl_query(ns, nlh, NULL, NULL) == -ENOENT;
}

bool way_silent_read(const struct netns *ns, struct way_silent *silent)
{
	struct endpoint who;
	unsigned ifindex;

	*silent = (struct way_silent){};
	if (!netdev_asks_neigh(ns, 0, &who) || !is_silent(ns, &who, &ifindex))
		return false;
	snprintf(silent->address, sizeof(silent->address), "%s", num_text_endpoint(&who));
	device_name(ns, ifindex, silent->ifname);
	return true;
}

struct port_search {
	const struct endpoint *to;
	uint32_t at; /* namespace that has the address */
	unsigned spaces;
	bool open;
};

static void on_socket(void *arg, const struct sockmem_row *row)
{
	struct port_search *s = arg;

	s->open |= row->port == s->to->port;
}

/*
 * Looks for an open port on the address or on any address, because bound addresses are not
 * compared.
 */
static int search_port(void *arg, const struct netns *ns)
{
	struct port_search *s = arg;
	unsigned ifindex;

	if (netdev_hop(ns, s->to, &ifindex) != HOP_LOCAL)
		return 0;
	s->at = ns->inum;
	s->spaces++;
	s->open |= sockmem_udp(ns, AF_UNSPEC, s->to->port, on_socket, s) != 0;
	return s->open;
}

/*
 * Returns the namespace where the port is closed, or 0 if it is open or does not belong to exactly
 * one namespace on this host.
 */
static uint32_t closed_at(const struct translated *t)
{
	struct port_search s = {.to = &t->backend};

	if (t->protocol == IPPROTO_UDP)
		netns_each(search_port, &s);
	return s.open || s.spaces > 1 ? 0 : s.at;
}

void way_rule_text(const struct netns *ns, const struct nft_rule *rule, char *out, size_t size)
{
	char *const argv[] = {"nft",		   "-a",	      "list", "chain", (char *)rule->family,
			      (char *)rule->table, (char *)rule->chain, NULL};
	char *text, *at, handle[40];

	*out = '\0';
	if (!rule->handle || netns_exec_read(ns, argv, RULES_MS, RULES_BYTES, &text, NULL))
		return;
	snprintf(handle, sizeof(handle), " # handle %llu\n", (unsigned long long)rule->handle);
	at = strstr(text, handle);
	if (at) {
		*at = '\0';
		at = strrchr(text, '\n');
		at = at ? at + 1 : text;
		snprintf(out, size, "%s", at + strspn(at, " \t"));
	}
	free(text);
}

void way_rate_text(const struct netns *ns, const char *ifname, char *qdisc, size_t size)
{
	const bool htb = !strcmp(qdisc, "htb");
	char *const argv[] = {"tc",	      "-s", htb ? "class" : "qdisc", "show", "dev",
			      (char *)ifname, NULL};
	const size_t kind = strlen(qdisc);
	unsigned long long dropped, most = 0;
	char *text, id[24], rate[32];

	if ((!htb && strcmp(qdisc, "tbf")) ||
	    netns_exec_read(ns, argv, RULES_MS, RULES_BYTES, &text, NULL))
		return;
	for (const char *line = text; line; line = next_line(line)) {
		const char *at = strstr(line, " rate "), *sent = next_line(line);

		if (!at || !sent || at > sent || sscanf(line, "%*s %*s %23s", id) != 1 ||
		    sscanf(at, " rate %31s", rate) != 1 ||
		    sscanf(sent, " Sent %*u bytes %*u pkt (dropped %llu", &dropped) != 1 ||
		    (most && dropped <= most))
			continue;
		most = dropped;
		snprintf(qdisc + kind, size - kind, "%s%s rate %s", htb ? " class " : "",
			 htb ? id : "", rate);
	}
	free(text);
}

/* Returns true if a descriptor of the process is attached to the interface (tun_chr_show_fdinfo()).
 */
static bool has_tun(int root, pid_t pid, const char *ifname)
{
	DIR *fds = proc_dir(root, "proc/%d/fd", pid);
	char text[512], target[16], name[IF_NAMESIZE];
	bool found = false;
	uint64_t fd;

	while (fds && !found && proc_next_number(fds, &fd)) {
		const char *at;

		if (proc_link(root, target, sizeof(target), "proc/%d/fd/%u", pid, (unsigned)fd) <=
			    0 ||
		    strcmp(target, "/dev/net/tun") ||
		    proc_read(root, text, sizeof(text), "proc/%d/fdinfo/%u", pid, (unsigned)fd) <=
			    0)
			continue;
		at = strstr(text, "iff:");
		found = at && sscanf(at, "iff: %15s", name) == 1 && !strcmp(name, ifname);
	}
	if (fds)
		closedir(fds);
	return found;
}

void way_tun_reader(int root, const char *ifname, uint32_t inum, char *out, size_t size)
{
	DIR *processes = proc_dir(root, "proc");
	struct proc_stat st;
	bool near = false;
	uint64_t pid;

	*out = '\0';
	while (processes && !near && proc_next_number(processes, &pid)) {
		if (!has_tun(root, (pid_t)pid, ifname) || proc_stat(root, (pid_t)pid, 0, &st))
			continue;
		snprintf(out, size, "%s (%d)", st.name, (int)pid);
		near = proc_netns(root, (pid_t)pid) == inum;
	}
	if (processes)
		closedir(processes);
}

/*
 * Finds the rule that still rewrites to this address. Does not find rules that use a map, or
 * iptables rules.
 */
static void find_rule(const struct netns *ns, const char *address, uint16_t port, char *out,
		      size_t size)
{
	char *const argv[] = {"nft", "-j", "list", "ruleset", NULL};
	struct json_object *doc = NULL;
	char *text;

	if (!netns_exec_read(ns, argv, RULES_MS, RULES_BYTES, &text, NULL)) {
		doc = json_tokener_parse(text);
		free(text);
	}
	for (struct json_each x = json_each(doc, "nftables"); json_next(&x);) {
		const struct json_object *rule = json_get(x.item, "rule");

		for (struct json_each e = json_each(rule, "expr"); json_next(&e);) {
			const struct json_object *dnat = json_get(e.item, "dnat");
			const uint64_t to = json_get_u64(dnat, "port");

			if (!strcmp(json_get_text(dnat, "addr"), address) && (!to || to == port))
				snprintf(out, size, "%s %s %s handle %llu",
					 json_get_text(rule, "family"),
					 json_get_text(rule, "table"), json_get_text(rule, "chain"),
					 (unsigned long long)json_get_u64(rule, "handle"));
		}
	}
	json_object_put(doc);
}

static void describe_dnat(const struct netns *ns, const struct translated *t, struct way_dnat *out)
{
	struct endpoint asked = t->asked, backend = t->backend;
	const char *to, *from;

	snprintf(out->asked, sizeof(out->asked), "%s", num_text_endpoint(&asked));
	snprintf(out->backend, sizeof(out->backend), "%s", num_text_endpoint(&backend));
	asked.port = backend.port = 0;
	to = num_text_endpoint(&asked);
	from = num_text_endpoint(&backend);
	find_rule(ns, from, t->backend.port, out->rule, sizeof(out->rule));
	snprintf(out->entries, sizeof(out->entries),
		 "conntrack -D%s -p %s --orig-dst %s --orig-port-dst %u --reply-src %s",
		 asked.family == AF_INET6 ? " -f ipv6" : "",
		 t->protocol == IPPROTO_UDP ? "udp" : "tcp", to, t->asked.port, from);
}

bool way_dnat_read(const struct netns *ns, struct way_dnat *dnat)
{
	struct nlmsghdr *nlh;
	char buf[NL_REQUEST_SIZE];
	struct list found = {.size = sizeof(struct translated)};
	const struct translated *t;
	uint64_t entries = 0;
	bool known = false;

	*dnat = (struct way_dnat){};
	netns_sysctl_numbers(ns, "net/netfilter/nf_conntrack_count", &entries, 1);
	if (!entries || entries > WAY_ENTRIES)
		return false;
	nlh = nl_header(buf, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, NLM_F_DUMP);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));
	nl_query_bus(ns, NETLINK_NETFILTER, nlh, on_entry, &found);
	t = found.at;
	for (unsigned i = 0; i < found.n && !known; i++) {
		char bridge[IF_NAMESIZE];
		unsigned ifindex;
		bool silent = is_silent(ns, &t[i].backend, &ifindex);

		if (silent)
			device_name(ns, ifindex, dnat->ifname);
		else if (is_unreachable(ns, &t[i].backend))
			dnat->unreachable = true;
		else if (is_unbridged(ns, &t[i].backend, bridge))
			dnat->unbridged = true;
		else
			dnat->closed_at = closed_at(&t[i]);
		if (dnat->unbridged)
			memcpy(dnat->ifname, bridge, sizeof(bridge));
		known = silent || dnat->unreachable || dnat->unbridged || dnat->closed_at;
		if (known)
			describe_dnat(ns, &t[i], dnat);
	}
	list_free(&found);
	return known;
}
