// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/lab.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/counters.h"
#include "host/netdev.h"
#include "host/nl.h"

const struct opt_value lab_topologies[] = {
	{"pair", LAB_PAIR, "two namespaces, one link"},
	{"router", LAB_ROUTER, "a third namespace routes between them"},
	{"bridge", LAB_BRIDGE, "a third namespace bridges between them"},
	{"tap", LAB_TAP, "two taps, between which run forwards the frames"},
	{"vxlan", LAB_VXLAN, "two namespaces, one link, a VXLAN tunnel over it"},
	{0},
};

#define BRIDGE_LINK   2 /* link byte in the MAC addresses of the bridge's ports */
#define TUNNEL_LINK   3
#define TUNNEL_HEADER 50 /* bytes: IPv4, UDP, VXLAN, Ethernet */
#define TUNNEL_VNI    0x706b

enum port { TX, FIRST, SECOND, RX };

/*
 * Hops in path order, with addresses 198.18.LINK.HOST/24, 2001:2:0:LINK::HOST/64 and MACs. Hops on
 * one link reach each other without a router.
 */
static const struct {
	const char *ifname; /* NULL: no such hop */
	uint8_t link, host;
} planned[][LAB_PORTS] = {
	[LAB_PAIR] = {[TX] = {"v-tx", 0, 1}, [RX] = {"v-rx", 0, 2}},
	[LAB_ROUTER] = {{"v-tx", 0, 1}, {"v-r0", 0, 254}, {"v-r1", 1, 254}, {"v-rx", 1, 2}},
	[LAB_BRIDGE] = {{"v-tx", 0, 1},
			{"v-b0", BRIDGE_LINK, 0},
			{"v-b1", BRIDGE_LINK, 1},
			{"v-rx", 0, 2}},
	[LAB_TAP] = {[TX] = {"v-tx", 0, 1}, [RX] = {"v-rx", 0, 2}},
	[LAB_VXLAN] = {{"x-tx", TUNNEL_LINK, 1},
		       {"v-tx", 0, 1},
		       {"v-rx", 0, 2},
		       {"x-rx", TUNNEL_LINK, 2}},
};

/* The names of the namespaces, NULL: no such one. */
static const char *const roles[][LAB_SPACES] = {
	[LAB_PAIR] = {"tx", NULL, "rx"},       [LAB_ROUTER] = {"tx", "router", "rx"},
	[LAB_BRIDGE] = {"tx", "bridge", "rx"}, [LAB_TAP] = {"tx", NULL, "rx"},
	[LAB_VXLAN] = {"tx", NULL, "rx"},
};

static bool is_end(unsigned port)
{
	return port == TX || port == RX;
}

const struct lab_port *lab_hop(const struct lab *lab, const struct lab_port *port)
{
	const struct lab_port *next = port ? port + 1 : lab->port;

	while (next < lab->port + LAB_PORTS && !next->ns)
		next++;
	return next < lab->port + LAB_PORTS ? next : NULL;
}

const struct lab_port *lab_peer(const struct lab *lab, const struct lab_port *port)
{
	const struct lab_port *next = lab_hop(lab, port);

	return next && next->ns != port->ns ? next : NULL;
}

/* Returns the other hop with addresses on this hop's link, or NULL. */
static const struct lab_port *next_port(const struct lab *lab, unsigned port)
{
	const unsigned link = planned[lab->topology][port].link;

	for (unsigned i = 0; i < LAB_PORTS && link != BRIDGE_LINK; i++) {
		if (i != port && lab->port[i].ns && planned[lab->topology][i].link == link)
			return &lab->port[i];
	}
	return NULL;
}

const struct lab_port *lab_next_hop(const struct lab *lab)
{
	return next_port(lab, TX);
}

/* Alias of the loopback interface in our namespaces. The topology follows it. */
#define MARK	 "pktledger-"
#define LOOPBACK 1 /* ifindex of the loopback interface */

void lab_plan(struct lab *lab, const struct lab_spec *spec)
{
	bool ipv6 = !spec->ip4_only && !access("/proc/sys/net/ipv6", F_OK);
	enum lab_topology topology = spec->topology;

	memset(lab, 0, sizeof(*lab));
	lab->tx_ns = lab->rx_ns = lab->router_ns = NETNS_NONE;
	lab->topology = topology;
	for (unsigned i = 0; i < LAB_PORTS; i++) {
		unsigned link = planned[topology][i].link, host = planned[topology][i].host;
		unsigned role = roles[topology][1] && !is_end(i) ? 1 : i < SECOND ? 0 : 2;
		struct lab_port *p = &lab->port[i];

		if (!planned[topology][i].ifname)
			continue;
		p->ns = &lab->ns[role];
		p->role = roles[topology][role];
		strcpy(p->ifname, planned[topology][i].ifname);
		memcpy(p->mac, (uint8_t[]){0x02, 0x70, 0x6b, 0, link, host}, sizeof(p->mac));
		p->queues = spec->queues ? spec->queues : 1;
		p->mtu = spec->mtu ? spec->mtu : 1500;
		if (topology == LAB_VXLAN && !is_end(i))
			p->mtu += TUNNEL_HEADER;
		if (link == BRIDGE_LINK)
			continue; /* no addresses */
		p->ip4.s_addr = htonl(198u << 24 | 18 << 16 | link << 8 | host);
		if (ipv6)
			p->ip6 = (struct in6_addr){{{0x20, 0x01, 0, 2, [7] = link, [15] = host}}};
	}
}

static bool has_ip6(const struct lab_port *port)
{
	return !IN6_IS_ADDR_UNSPECIFIED(&port->ip6);
}

struct lab_text lab_text(const struct lab_port *p)
{
	struct lab_text t = {};

	snprintf(t.mac, sizeof(t.mac), "%02x:%02x:%02x:%02x:%02x:%02x", p->mac[0], p->mac[1],
		 p->mac[2], p->mac[3], p->mac[4], p->mac[5]);
	if (p->ip4.s_addr)
		inet_ntop(AF_INET, &p->ip4, t.ip4, sizeof(t.ip4));
	if (has_ip6(p))
		inet_ntop(AF_INET6, &p->ip6, t.ip6, sizeof(t.ip6));
	return t;
}

/* ---- the recipe: namespaces without background traffic, links, addresses ---- */

/* Set before the interfaces are created, so that they inherit these values. */
static const char *const settings[] = {
	"net/ipv4/conf/all/rp_filter=0",
	"net/ipv4/conf/default/rp_filter=0",
	"net/ipv4/conf/default/arp_notify=0",
	"net/ipv6/conf/all/disable_ipv6=0",
	"net/ipv6/conf/default/disable_ipv6=0",
	"net/ipv6/conf/all/accept_dad=0",
	"net/ipv6/conf/default/accept_dad=0",
	"net/ipv6/conf/default/dad_transmits=0",
	"net/ipv6/conf/default/accept_ra=0",
	"net/ipv6/conf/default/autoconf=0",
	"net/ipv6/conf/default/router_solicitations=0",
	"net/ipv6/conf/default/ndisc_notify=0",
	"net/ipv6/conf/default/use_tempaddr=0",
	"net/ipv6/conf/default/addr_gen_mode=1", /* IN6_ADDR_GEN_MODE_NONE */
	/*
	 * Use MLDv1, because /proc/net/igmp6 then shows whether a report is pending, and the second
	 * report follows within the interval set here instead of 10 s.
	 */
	"net/ipv6/conf/default/force_mld_version=1",
	"net/ipv6/conf/default/mldv1_unsolicited_report_interval=1",
	/* router only */
	"net/ipv4/ip_forward=1",
	"net/ipv6/conf/all/forwarding=1",
};

/* Adds one end of the tunnel. The underlay MTU has room for the tunnel's headers. */
static void add_tunnel(const struct lab *lab, unsigned port, bool other_vni, struct recipe *r)
{
	const unsigned under = port == TX ? FIRST : SECOND;
	const struct lab_port *p = &lab->port[port], *below = &lab->port[under];

	recipe_add(r, RECIPE_IP, p->ns,
		   "link add %s address %s numtxqueues %u numrxqueues %u type vxlan id %u "
		   "remote %s dstport %u dev %s nolearning",
		   p->ifname, lab_text(p).mac, p->queues, p->queues,
		   TUNNEL_VNI + (port == RX && other_vni), lab_text(next_port(lab, under)).ip4,
		   LAB_VXLAN_PORT, below->ifname);
}

/* Adds a port's addresses. */
static void add_addresses(const struct lab *lab, unsigned port, struct recipe *r)
{
	const struct lab_port *p = &lab->port[port], *peer = next_port(lab, port);
	const struct lab_text own = lab_text(p), other = peer ? lab_text(peer) : own;

	if (!peer)
		return;
	recipe_add(r, RECIPE_IP, p->ns, "addr add %s/24 dev %s", own.ip4, p->ifname);
	recipe_add(r, RECIPE_IP, p->ns, "neigh replace %s lladdr %s dev %s nud permanent",
		   other.ip4, other.mac, p->ifname);
	if (!has_ip6(p))
		return;
	recipe_add(r, RECIPE_IP, p->ns, "addr add %s/64 dev %s", own.ip6, p->ifname);
	recipe_add(r, RECIPE_IP, p->ns, "neigh replace %s lladdr %s dev %s nud permanent",
		   other.ip6, other.mac, p->ifname);
}

/*
 * Adds a bridge that never originates packets. Disables snooping, which would join a group and
 * report it, the spanning tree protocol, and IP netfilter, which would reassemble fragments.
 */
static void add_bridge(const struct lab *lab, struct recipe *r)
{
	static const char *const netfilter[] = {"iptables", "ip6tables", "arptables"};
	const struct netns *ns = &lab->router_ns;

	recipe_add(r, RECIPE_IP, ns, "link add " LAB_BRIDGE_NAME " up type bridge "
				     "mcast_snooping 0 stp_state 0");
	recipe_add(r, RECIPE_IP, ns, "link set %s master " LAB_BRIDGE_NAME, lab->router_tx.ifname);
	recipe_add(r, RECIPE_IP, ns, "link set %s master " LAB_BRIDGE_NAME, lab->router_rx.ifname);
	for (unsigned i = 0; i < 3; i++)
		recipe_add(r, RECIPE_FILE, ns, "/proc/sys/net/bridge/bridge-nf-call-%s=0",
			   netfilter[i]);
}

/* Adds routes from one end to the other end's network. */
static void add_routes(const struct lab *lab, unsigned port, struct recipe *r)
{
	struct lab_port net = lab->port[port == TX ? RX : TX];
	const struct lab_text via = lab_text(next_port(lab, port));
	const struct lab_port *p = &lab->port[port];

	net.ip4.s_addr &= htonl(0xffffff00);
	memset(&net.ip6.s6_addr[8], 0, 8);
	recipe_add(r, RECIPE_IP, p->ns, "route add %s/24 via %s dev %s", lab_text(&net).ip4,
		   via.ip4, p->ifname);
	if (has_ip6(p))
		recipe_add(r, RECIPE_IP, p->ns, "route add %s/64 via %s dev %s",
			   lab_text(&net).ip6, via.ip6, p->ifname);
}

static void add_veth(const struct lab_port *a, const struct lab_port *b, struct recipe *r)
{
	recipe_add_other(r, RECIPE_IP, a->ns, b->ns,
			 "link add %s address %s numtxqueues %u numrxqueues %u type veth peer name "
			 "%s netns " RECIPE_OTHER " address %s numtxqueues %u numrxqueues %u",
			 a->ifname, lab_text(a).mac, a->queues, a->queues, b->ifname,
			 lab_text(b).mac, b->queues, b->queues);
}

/*
 * Adds a namespace's interfaces, starting with those below a tunnel. GRO is off by default on a
 * veth.
 */
static void add_ports(const struct lab *lab, const struct netns *ns, bool other_vni,
		      struct recipe *r)
{
	static const uint8_t order[] = {SECOND, FIRST, RX, TX};

	recipe_add(r, RECIPE_IP, ns, "link set lo alias " MARK "%s",
		   lab_topologies[lab->topology].name);
	for (unsigned k = 0; k < LAB_PORTS; k++) {
		const struct lab_port *peer = lab_peer(lab, &lab->port[order[k]]);
		unsigned i = order[k];

		if (lab->port[i].ns != ns)
			continue;
		if (peer && lab->topology != LAB_TAP)
			add_veth(&lab->port[i], peer, r);
		if (lab->topology == LAB_VXLAN && is_end(i))
			add_tunnel(lab, i, other_vni, r);
		recipe_add(r, RECIPE_IP, ns, "link set %s mtu %u up", lab->port[i].ifname,
			   lab->port[i].mtu);
	}
	if (lab->topology == LAB_BRIDGE && ns == &lab->router_ns)
		add_bridge(lab, r);
	if (lab->topology == LAB_TAP || lab->topology == LAB_VXLAN)
		recipe_add(r, RECIPE_ETHTOOL, ns, "-K %s gro off",
			   (ns == &lab->rx_ns ? &lab->rx : &lab->tx)->ifname);
}

/* Adds a setting. Without IPv6, its settings are left out and it is disabled. */
static void add_setting(const char *setting, bool six, const struct netns *ns, struct recipe *r)
{
	if (six || strncmp(setting, "net/ipv6/", strlen("net/ipv6/")))
		recipe_add(r, RECIPE_FILE, ns, "/proc/sys/%s", setting);
	else if (strstr(setting, "/disable_ipv6="))
		recipe_add(r, RECIPE_FILE, ns, "/proc/sys/%.*s1", (int)strlen(setting) - 1, setting);
}

static void setting_steps(const struct lab *lab, struct recipe *r)
{
	for (unsigned i = 0; i < LAB_SPACES; i++) {
		const bool routes = i == 1 && lab->topology == LAB_ROUTER;
		const unsigned n = LENGTH(settings) - (routes ? 0 : 2);

		for (unsigned k = 0; roles[lab->topology][i] && k < n; k++)
			add_setting(settings[k], has_ip6(&lab->tx), &lab->ns[i], r);
	}
}

static void address_steps_in(const struct lab *lab, unsigned space, struct recipe *r)
{
	for (unsigned port = 0; port < LAB_PORTS; port++) {
		if (lab->port[port].ns != &lab->ns[space])
			continue;
		add_addresses(lab, port, r);
		if (lab->topology == LAB_ROUTER && is_end(port))
			add_routes(lab, port, r);
	}
}

/* Without IPv6, addresses need not wait for the carrier. */
static void link_steps(const struct lab *lab, const struct lab_spec *spec, struct recipe *r)
{
	for (unsigned i = 0; i < LAB_SPACES; i++) {
		if (roles[lab->topology][i])
			add_ports(lab, &lab->ns[i], spec->other_vni, r);
		if (!has_ip6(&lab->tx))
			address_steps_in(lab, i, r);
	}
}

static void address_steps(const struct lab *lab, struct recipe *r)
{
	for (unsigned i = 0; i < LAB_SPACES && has_ip6(&lab->tx); i++)
		address_steps_in(lab, i, r);
}

void lab_recipe(const struct lab *lab, const struct lab_spec *spec, struct recipe *r)
{
	setting_steps(lab, r);
	link_steps(lab, spec, r);
	address_steps(lab, r);
}

void lab_print(const struct lab *lab, const char *name, struct recipe *r, FILE *out)
{
	struct recipe_name names[LAB_SPACES], *at = names;

	for (unsigned i = 0; i < LAB_SPACES; i++) {
		if (!roles[lab->topology][i])
			continue;
		at->ns = &lab->ns[i];
		snprintf(at->name, sizeof(at->name), "%s-%s", name, roles[lab->topology][i]);
		fprintf(out, "ip netns add %s\nip -n %s link set lo up\n", at->name, at->name);
		at++;
	}
	recipe_print(r, names, at - names, out);
}

/* ---- waiting until the kernel has sent its announcements ---- */

#define READY_MS       5000 /* ms, far longer than even a loaded machine needs */
#define ADDR_TENTATIVE 0x40 /* IFA_F_TENTATIVE: multicast groups not joined yet */
#define OPER_UP	       6    /* IF_OPER_UP of <linux/if.h> */
#define MLD_TIMER      0x01 /* MAF_TIMER_RUNNING of <net/if_inet6.h>: a report is pending */

/* Returns whether a file under /proc/net lists the interface with one of these flags. */
static int has_flags(const char *path, const char *ifname, unsigned mask)
{
	bool addresses = strstr(path, "if_inet6");
	char line[256], name[IFNAMSIZ];
	FILE *f = fopen(path, "re");
	bool found = false;
	unsigned flags;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		/*
		 * The fields are either "address ifindex prefix scope flags name" or "ifindex name
		 * group users flags timer".
		 */
		int n = addresses ? sscanf(line, "%*s %*s %*s %*s %x %15s", &flags, name)
				  : sscanf(line, "%*s %15s %*s %*s %x", name, &flags);

		found |= n == 2 && !strcmp(name, ifname) && flags & mask;
	}
	fclose(f);
	return found;
}

/* Returns whether the kernel has announced the carrier (linkwatch). Tunnels do not have one. */
static int announced(const struct lab_port *port)
{
	struct link_info link;
	int ret = link_read(port->ns, port->ifindex, -1, &link);

	return ret ? ret
		   : link.operstate == OPER_UP ||
			     (!link.operstate && !strcmp(link.kind, "vxlan"));
}

/* Returns whether no MLD report is pending. */
static int quiet(const struct lab_port *port)
{
	int saved = netns_push(port->ns), ret;

	if (saved < 0)
		return saved;
	/*
	 * An address joins its group before it stops being tentative. A router's anycast address
	 * joins later but under the same RTNL (addrconf_dad_work()), so acquire the RTNL once with
	 * a request that does not change anything.
	 */
	ret = has_flags("/proc/thread-self/net/if_inet6", port->ifname, ADDR_TENTATIVE);
	if (!ret)
		ret = netdev_set_up(NULL, port->ifname, true);
	if (!ret)
		ret = has_flags("/proc/thread-self/net/igmp6", port->ifname, MLD_TIMER);
	netns_pop(saved);
	return ret < 0 ? ret : !ret;
}

static int wait_until(int (*is)(const struct lab_port *port), const struct lab *lab,
		      const char *what, struct error *err)
{
	int ret = 1;

	for (const struct lab_port *p = NULL; ret > 0 && (p = lab_hop(lab, p));) {
		ret = is(p);
		for (int ms = 0; !ret && ms < READY_MS; ms++) {
			clock_sleep(1000000);
			ret = is(p);
		}
	}
	return ret > 0 ? 0
		       : error_errno(err, STATUS_FAILED, ret ? ret : -ETIMEDOUT, NULL,
				     "cannot set up the test network: %s", what);
}

/*
 * Reads a planned port's ifindex, MTU and queues after its interface has been created. Returns 0
 * for a port that is not planned.
 */
static int read_port(struct lab_port *p)
{
	struct netdev dev;
	int ret;

	if (!p->ns)
		return 0;
	ret = netdev_get(p->ns, p->ifname, &dev);
	p->ifindex = dev.link.ifindex;
	p->mtu = dev.link.mtu;
	p->queues = dev.link.rx_queues;
	return ret;
}

static int make_interfaces(struct lab *lab, const struct lab_spec *spec, struct error *err)
{
	struct recipe r = RECIPE;
	int ret;

	setting_steps(lab, &r);
	ret = recipe_run(&r, "set up the test network", err);
	/* each tap has one queue, because a single thread carries the frames */
	if (!ret && lab->topology == LAB_TAP)
		ret = spec->queues > 1
			      ? error_usage(err, "use one thread (-P 1)",
					    "each tap of a test network has a single queue")
			      : lab_taps_open(&lab->taps, &lab->tx, &lab->rx, err);
	if (ret)
		return ret;
	r = RECIPE;
	link_steps(lab, spec, &r);
	ret = recipe_run(&r, "set up the test network", err);
	if (!ret && lab->taps)
		ret = error_errno(err, STATUS_FAILED, lab_taps_connect(lab->taps), NULL,
				  "cannot connect the taps");
	for (unsigned i = 0; i < LAB_PORTS && !ret; i++)
		ret = error_errno(err, STATUS_FAILED, read_port(&lab->port[i]), NULL,
				  "cannot read %s", lab->port[i].ifname);
	/* If the carrier is already up, each IPv6 address is announced once, immediately. */
	if (!ret)
		ret = wait_until(announced, lab, "no carrier", err);
	if (ret || !has_ip6(&lab->tx))
		return ret;
	r = RECIPE;
	address_steps(lab, &r);
	ret = recipe_run(&r, "set up the test network", err);
	return ret ? ret : wait_until(quiet, lab, "pending MLD reports", err);
}

int lab_open(struct lab *lab, const struct lab_spec *spec, struct error *err)
{
	int ret = 0;

	lab_plan(lab, spec);
	for (unsigned i = 0; i < LAB_SPACES && !ret; i++)
		ret = roles[lab->topology][i] ? netns_create(&lab->ns[i], err) : 0;
	if (!ret)
		ret = make_interfaces(lab, spec, err);
	if (ret)
		lab_close(lab);
	return ret;
}

void lab_close(struct lab *lab)
{
	lab_taps_close(lab->taps);
	lab->taps = NULL;
	for (unsigned i = 0; i < LAB_SPACES; i++)
		netns_close(&lab->ns[i]);
}

/* ---- named test networks ---- */

static void ns_path(char path[PATH_MAX], const char *name, const char *role)
{
	snprintf(path, PATH_MAX, NETNS_DIR "/%s-%s", name, role);
}

static int check_name(const char *name, struct error *err)
{
	static const char allowed[] = "-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789";
	size_t len = strspn(name, allowed);

	if (!len || name[len] || len >= sizeof(((struct lab *)0)->name) || strchr("-_", *name))
		return error_usage(
			err, "use letters, digits, - and _, at most 31, a letter or digit first",
			"'%.80s' cannot be the name of a lab", name);
	return 0;
}

/* Returns whether the namespace belongs to a test network, and gets its topology. */
static bool is_ours(const char *name, const char *role, enum lab_topology *topology)
{
	struct netns ns = NETNS_NONE;
	struct link_info lo;
	char path[PATH_MAX];
	int ret;

	ns_path(path, name, role);
	ret = netns_open(&ns, path, NULL);
	if (!ret)
		ret = link_read(&ns, LOOPBACK, -1, &lo);
	netns_close(&ns);
	if (ret || strncmp(lo.alias, MARK, strlen(MARK)))
		return false;
	for (const struct opt_value *t = lab_topologies; t->name; t++) {
		if (strcmp(lo.alias + strlen(MARK), t->name))
			continue;
		*topology = (enum lab_topology)t->value;
		return true;
	}
	return false;
}

/*
 * Returns the namespaces found for the test network, one bit each, and gets its topology. Looks for
 * the names of all topologies.
 */
static unsigned find_roles(const char *name, enum lab_topology *topology)
{
	unsigned found = 0;

	*topology = LAB_PAIR;
	for (unsigned i = 0; i < LENGTH(roles) * LAB_SPACES; i++) {
		const char *role = roles[i / LAB_SPACES][i % LAB_SPACES];

		if (role && is_ours(name, role, topology))
			found |= 1U << i % LAB_SPACES;
	}
	return found;
}

static bool is_whole(unsigned found, enum lab_topology topology)
{
	for (unsigned i = 0; i < LAB_SPACES; i++) {
		if (roles[topology][i] && !(found >> i & 1))
			return false;
	}
	return true;
}

int lab_check_free(const char *name, struct error *err)
{
	enum lab_topology topology;
	int ret = check_name(name, err);
	char hint[128];

	if (ret || !find_roles(name, &topology))
		return ret;
	snprintf(hint, sizeof(hint), "use another name, or remove it: pktledger lab down %s", name);
	return error_set(err, STATUS_FAILED, -EEXIST, hint, "test network '%s' already exists",
			 name);
}

/* Runs `ip netns attach` (for the thread's namespace) or `ip netns del`. */
static int ip_netns(const char *action, const char *name, const char *role, struct error *err)
{
	char full[64], tid[16];
	char *argv[] = {"ip", "netns", (char *)action, full, *action == 'a' ? tid : NULL, NULL};

	snprintf(full, sizeof(full), "%s-%s", name, role);
	snprintf(tid, sizeof(tid), "%d", gettid());
	return netns_exec(NULL, argv, NULL, -1, err);
}

static int attach(const struct netns *ns, const char *name, const char *role, struct error *err)
{
	int saved = netns_push(ns), ret;

	if (saved < 0)
		return error_errno(err, STATUS_FAILED, saved, NULL, "cannot name the lab");
	ret = ip_netns("attach", name, role, err);
	netns_pop(saved);
	return ret;
}

/* The sender's name is added last and removed first. */
int lab_publish(struct lab *lab, const char *name, struct error *err)
{
	const char *const *role = roles[lab->topology];
	unsigned i = LAB_SPACES;
	int ret = lab_check_free(name, err);

	while (!ret && i > 0) {
		ret = role[i - 1] ? attach(&lab->ns[i - 1], name, role[i - 1], err) : 0;
		i -= !ret;
	}
	for (; ret && i < LAB_SPACES; i++) {
		if (role[i])
			ip_netns("del", name, role[i], NULL);
	}
	snprintf(lab->name, sizeof(lab->name), "%s", name);
	return ret;
}

int lab_topology_of(const char *name, enum lab_topology *topology, struct error *err)
{
	int ret = check_name(name, err);

	if (ret)
		return ret;
	return find_roles(name, topology)
		       ? 0
		       : error_set(err, STATUS_FAILED, -ENOENT, "see: pktledger lab list",
				   "test network '%s' not found", name);
}

int lab_remove(const char *name, struct error *err)
{
	enum lab_topology topology;
	int ret = lab_topology_of(name, &topology, err);
	unsigned found = ret ? 0 : find_roles(name, &topology);

	for (unsigned i = 0; i < LAB_SPACES && !ret; i++) {
		if (found >> i & 1 && roles[topology][i])
			ret = ip_netns("del", name, roles[topology][i], err);
	}
	return ret;
}

int lab_open_named(struct lab *lab, const char *name, struct error *err)
{
	struct lab_spec spec = {};
	char path[PATH_MAX], hint[128];
	int ret = lab_topology_of(name, &spec.topology, err);

	snprintf(hint, sizeof(hint), "remove it and create it again: pktledger lab down %s", name);
	lab_plan(lab, &spec);
	if (!ret && !is_whole(find_roles(name, &spec.topology), spec.topology))
		ret = error_set(err, STATUS_FAILED, -ENXIO, hint,
				"a namespace of the lab '%s' is missing", name);
	snprintf(lab->name, sizeof(lab->name), "%s", name);
	for (unsigned i = 0; i < LAB_SPACES && !ret; i++) {
		if (!roles[spec.topology][i])
			continue;
		ns_path(path, name, roles[spec.topology][i]);
		ret = netns_open(&lab->ns[i], path, err);
		netns_open_sysfs(&lab->ns[i]);
	}
	for (unsigned i = 0; i < LAB_PORTS && !ret; i++) {
		ret = read_port(&lab->port[i]);
		if (ret)
			error_set(err, STATUS_FAILED, ret, hint,
				  "the device %s of the lab '%s' is gone", lab->port[i].ifname,
				  name);
	}
	if (ret)
		lab_close(lab);
	return ret;
}

/* Reads as much as possible about a test network that may be incomplete. */
static struct lab_info read_info(const char *name)
{
	struct lab_info info = {};
	unsigned found = find_roles(name, &info.topology);
	struct lab_spec spec = {.topology = info.topology};
	char path[PATH_MAX];
	struct lab lab;

	snprintf(info.name, sizeof(info.name), "%s", name);
	info.whole = is_whole(found, info.topology);
	lab_plan(&lab, &spec);
	ns_path(path, name, "tx");
	if (!(found & 1) || netns_open(&lab.tx_ns, path, NULL) || read_port(&lab.tx))
		return info;
	info.queues = lab.tx.queues;
	info.mtu = lab.tx.mtu;
	lab_close(&lab);
	return info;
}

int lab_list(int (*cb)(void *arg, const struct lab_info *info), void *arg, struct error *err)
{
	const struct dirent *entry;
	DIR *dir = opendir(NETNS_DIR);
	enum lab_topology topology;
	int ret = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return error_errno(err, STATUS_UNABLE, -errno, "run it as root",
				   "cannot open " NETNS_DIR);
	while (!ret && (entry = readdir(dir))) {
		char name[sizeof(entry->d_name)];
		char *role = strrchr(strcpy(name, entry->d_name), '-');
		struct lab_info info;
		unsigned found;

		if (!role || (strcmp(role, "-tx") && strcmp(role, "-rx")))
			continue;
		*role++ = '\0';
		if (check_name(name, NULL) || !(found = find_roles(name, &topology)) ||
		    (*role == 'r' && found & 1))
			continue; /* not ours, or already listed through its sender's namespace */
		info = read_info(name);
		ret = cb(arg, &info);
	}
	closedir(dir);
	return ret;
}
