// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/lab.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/record.h"
#include "host/netdev.h"
#include "host/nl.h"

const struct opt_value lab_topologies[] = {
	{"pair", LAB_PAIR, "two namespaces, one link"},
	{"router", LAB_ROUTER, "a third namespace between them forwards"},
	{"bridge", LAB_BRIDGE, "a third namespace between them bridges"},
	{"tap", LAB_TAP, "two taps, and run carries the frames between them"},
	{"vxlan", LAB_VXLAN, "two namespaces, one link, a VXLAN tunnel over it"},
	{0},
};

const char *lab_middle(enum lab_topology topology)
{
	return topology == LAB_ROUTER || topology == LAB_BRIDGE ? lab_topologies[topology].name
								: NULL;
}

unsigned lab_ports(const struct lab *lab)
{
	return lab_middle(lab->topology) || lab->topology == LAB_VXLAN ? 4 : 2;
}

const struct lab_port *lab_next_hop(const struct lab *lab)
{
	return lab->topology == LAB_ROUTER ? &lab->router_tx : &lab->rx;
}

const struct lab_port *lab_link_peer(const struct lab *lab)
{
	return lab_middle(lab->topology) ? &lab->router_tx : &lab->rx;
}

#define BRIDGE_LINK   2 /* link byte in the MAC addresses of its ports */
#define TUNNEL_LINK   3
#define TUNNEL_HEADER 50 /* IPv4, UDP, VXLAN, Ethernet */
#define TUNNEL_VNI    0x706b

/*
 * Planned addresses of tx, rx, router_tx and router_rx: 198.18.LINK.HOST/24,
 * 2001:2:0:LINK::HOST/64, and MACs.
 */
static const struct {
	const char *ifname;
	uint8_t link, host;
} planned[][4] = {
	[LAB_PAIR] = {{"v-tx", 0, 1}, {"v-rx", 0, 2}},
	[LAB_ROUTER] = {{"v-tx", 0, 1}, {"v-rx", 1, 2}, {"v-r0", 0, 254}, {"v-r1", 1, 254}},
	[LAB_BRIDGE] = {{"v-tx", 0, 1},
			{"v-rx", 0, 2},
			{"v-b0", BRIDGE_LINK, 0},
			{"v-b1", BRIDGE_LINK, 1}},
	[LAB_TAP] = {{"v-tx", 0, 1}, {"v-rx", 0, 2}},
	[LAB_VXLAN] = {{"x-tx", TUNNEL_LINK, 1},
		       {"x-rx", TUNNEL_LINK, 2},
		       {"v-tx", 0, 1},
		       {"v-rx", 0, 2}},
};

/* Plans the names and addresses shared by all test networks of this topology. No namespaces yet. */
static void plan(struct lab *lab, enum lab_topology topology)
{
	bool ipv6 = !access("/proc/sys/net/ipv6", F_OK);

	memset(lab, 0, sizeof(*lab));
	lab->tx_ns = lab->rx_ns = lab->router_ns = NETNS_NONE;
	lab->topology = topology;
	for (unsigned i = 0; i < lab_ports(lab); i++) {
		unsigned link = planned[topology][i].link, host = planned[topology][i].host;
		struct lab_port *p = &lab->port[i];

		p->ns = &lab->ns[i > 1 && lab_middle(topology) ? 2 : i % 2];
		strcpy(p->ifname, planned[topology][i].ifname);
		memcpy(p->mac, (uint8_t[]){0x02, 0x70, 0x6b, 0, link, host}, sizeof(p->mac));
		if (link == BRIDGE_LINK)
			continue; /* no addresses yet */
		p->ip4.s_addr = htonl(198u << 24 | 18 << 16 | link << 8 | host);
		if (ipv6)
			p->ip6 = (struct in6_addr){{{0x20, 0x01, 0, 2, [7] = link, [15] = host}}};
	}
}

/* ---- waiting until the kernel has finished its announcements ---- */

#define READY_MS       5000 /* far longer than a loaded machine needs */
#define ADDR_TENTATIVE 0x40 /* IFA_F_TENTATIVE: the multicast groups are not joined yet */
#define MLD_TIMER      0x01 /* MAF_TIMER_RUNNING of <net/if_inet6.h>: a report is pending */

static bool has_ip6(const struct lab_port *port)
{
	return !IN6_IS_ADDR_UNSPECIFIED(&port->ip6);
}

/* Returns whether a line of a file below /proc/net for the interface has one of these flags. */
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
		 * address ifindex prefix scope flags name, or: ifindex name group users flags timer
		 */
		int n = addresses ? sscanf(line, "%*s %*s %*s %*s %x %15s", &flags, name)
				  : sscanf(line, "%*s %15s %*s %*s %x", name, &flags);

		found |= n == 2 && !strcmp(name, ifname) && flags & mask;
	}
	fclose(f);
	return found;
}

static int quiet(const struct lab_port *port)
{
	int saved, ret;

	if (!has_ip6(port))
		return 1;
	saved = netns_push(port->ns);
	if (saved < 0)
		return saved;
	/*
	 * An address joins its group before it stops being tentative, a router's anycast address
	 * afterwards, but under the same RTNL (addrconf_dad_work()). So acquire the RTNL once, with
	 * a request that changes nothing.
	 */
	ret = has_flags("/proc/thread-self/net/if_inet6", port->ifname, ADDR_TENTATIVE);
	if (!ret)
		ret = netdev_set_up(NULL, port->ifname, true);
	if (!ret)
		ret = has_flags("/proc/thread-self/net/igmp6", port->ifname, MLD_TIMER);
	netns_pop(saved);
	return ret < 0 ? ret : !ret;
}

/* Waits until `is` returns 1 (0: not yet), or -errno. */
static int wait_until(int (*is)(const struct lab_port *port), const struct lab_port *port,
		      const char *what, struct error *err)
{
	int ret = is(port);

	for (int i = 0; !ret && i < READY_MS; i++) {
		clock_sleep(1000000);
		ret = is(port);
	}
	if (ret > 0)
		return 0;
	if (!ret)
		return error_set(err, STATUS_FAILED, -ETIMEDOUT, NULL, "%s %s for %d s",
				 port->ifname, what, READY_MS / 1000);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot read the state of %s",
			   port->ifname);
}

static int running(const struct lab_port *port)
{
	struct netdev dev;
	int ret = netdev_get(port->ns, port->ifname, &dev);

	return ret ? ret : (dev.link.flags & IFF_RUNNING) != 0;
}

/* The kernel has announced the carrier (linkwatch), which makes IPv6 report once more. */
static int announced(const struct lab_port *port)
{
	char path[64], state[16];
	int ret;

	snprintf(path, sizeof(path), "class/net/%s/operstate", port->ifname);
	ret = netns_sysfs(port->ns, path, NULL, state, sizeof(state));
	return ret < 0 ? ret : !strcmp(state, "up");
}

/* ---- building blocks of every test network: quiet namespaces, links, addresses ---- */

/* Set before the interfaces exist, so that they inherit them. */
static const char *const settings[][2] = {
	{"net/ipv4/conf/all/rp_filter", "0"},
	{"net/ipv4/conf/default/rp_filter", "0"},
	{"net/ipv4/conf/default/arp_notify", "0"},
	{"net/ipv6/conf/all/disable_ipv6", "0"},
	{"net/ipv6/conf/default/disable_ipv6", "0"},
	{"net/ipv6/conf/all/accept_dad", "0"},
	{"net/ipv6/conf/default/accept_dad", "0"},
	{"net/ipv6/conf/default/dad_transmits", "0"},
	{"net/ipv6/conf/default/accept_ra", "0"},
	{"net/ipv6/conf/default/autoconf", "0"},
	{"net/ipv6/conf/default/router_solicitations", "0"},
	{"net/ipv6/conf/default/ndisc_notify", "0"},
	{"net/ipv6/conf/default/use_tempaddr", "0"},
	{"net/ipv6/conf/default/addr_gen_mode", "1"}, /* IN6_ADDR_GEN_MODE_NONE */
	/*
	 * MLDv1, because /proc/net/igmp6 then shows whether a report is pending, and the second
	 * report follows within the interval set here instead of 10 s.
	 */
	{"net/ipv6/conf/default/force_mld_version", "1"},
	{"net/ipv6/conf/default/mldv1_unsolicited_report_interval", "1"},
	/* router only */
	{"net/ipv4/ip_forward", "1"},
	{"net/ipv6/conf/all/forwarding", "1"},
};

/*
 * Creates a namespace whose interfaces send no packets by themselves. `router`: enables forwarding.
 */
static int make_namespace(struct netns *ns, bool router, struct error *err)
{
	unsigned n = sizeof(settings) / sizeof(*settings) - (router ? 0 : 2);
	int ret = netns_create(ns, err);

	for (unsigned i = 0; i < n && !ret; i++) {
		const char *path = settings[i][0], *value = settings[i][1];

		ret = netns_sysctl_write(ns, path, value);
		error_errno(err, STATUS_FAILED, ret, NULL, "cannot write %s to /proc/sys/%s", value,
			    path);
	}
	return ret;
}

/* Reads ifindex, MTU and queues of a planned port after its interface was created. */
static int read_port(struct lab_port *p)
{
	struct netdev dev;
	int ret = netdev_get(p->ns, p->ifname, &dev);

	p->ifindex = dev.link.ifindex;
	p->mtu = dev.link.mtu;
	p->queues = dev.link.rx_queues;
	return ret;
}

/*
 * Brings up two existing interfaces, with the settings that experiments expect whatever the
 * kernel's default, and calls read_port().
 */
static int set_up_link(struct lab_port *a, struct lab_port *b, unsigned mtu, struct error *err)
{
	struct lab_port *ends[] = {a, b};
	int ret = 0;

	for (unsigned i = 0; i < 2 && !ret; i++) {
		ret = netdev_set_mtu(ends[i]->ns, ends[i]->ifname, mtu);
		if (!ret)
			ret = netdev_set_feature(ends[i]->ns, ends[i]->ifname, "rx-gro", false);
		if (!ret)
			ret = netdev_set_up(ends[i]->ns, ends[i]->ifname, true);
	}
	for (unsigned i = 0; i < 2 && !ret; i++)
		ret = read_port(ends[i]);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot set up %s and %s", a->ifname,
			   b->ifname);
}

/* Creates a veth pair between two planned ports. */
static int make_link(struct lab_port *a, struct lab_port *b, unsigned queues, unsigned mtu,
		     struct error *err)
{
	int ret = netdev_add_veth(a->ns, a->ifname, a->mac, b->ns, b->ifname, b->mac, queues);

	if (ret)
		return error_errno(err, ret == -EOPNOTSUPP ? STATUS_UNABLE : STATUS_FAILED, ret,
				   ret == -EOPNOTSUPP ? "the kernel needs CONFIG_VETH" : NULL,
				   "cannot make the veth pair %s, %s", a->ifname, b->ifname);
	return set_up_link(a, b, mtu, err);
}

/* Adds the port's addresses, and the peer as its neighbour. */
static int add_addresses(const struct lab_port *p, const struct lab_port *peer, struct error *err)
{
	int ret = netdev_add_addr(p->ns, p->ifindex, AF_INET, &p->ip4, 24);

	if (!ret && has_ip6(p))
		ret = netdev_add_addr(p->ns, p->ifindex, AF_INET6, &p->ip6, 64);
	if (!ret)
		ret = netdev_set_neigh(p->ns, p->ifindex, AF_INET, &peer->ip4, peer->mac);
	if (!ret && has_ip6(p))
		ret = netdev_set_neigh(p->ns, p->ifindex, AF_INET6, &peer->ip6, peer->mac);
	return error_errno(err, STATUS_FAILED, ret, NULL,
			   "cannot add an address or a neighbour to %s", p->ifname);
}

/* Adds a route from `p` to the network of `remote`, through `router`. */
static int add_route(const struct lab_port *p, const struct lab_port *router,
		     const struct lab_port *remote, struct error *err)
{
	struct in_addr net4 = {remote->ip4.s_addr & htonl(0xffffff00)};
	struct in6_addr net6 = remote->ip6;
	int ret =
		netdev_add_route(p->ns, RTN_UNICAST, p->ifindex, AF_INET, &net4, 24, &router->ip4);

	memset(&net6.s6_addr[8], 0, 8);
	if (!ret && has_ip6(p))
		ret = netdev_add_route(p->ns, RTN_UNICAST, p->ifindex, AF_INET6, &net6, 64,
				       &router->ip6);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot add a route to %s", p->ifname);
}

/*
 * Waits for the carrier and makes the ends neighbours, with their addresses. Addresses are added
 * last: with a carrier, each IPv6 address is announced once, immediately.
 */
static int join_ends(struct lab_port *a, struct lab_port *b, struct error *err)
{
	struct lab_port *ends[] = {a, b};
	int ret = 0;

	for (unsigned i = 0; i < 2 && !ret; i++)
		ret = wait_until(running, ends[i], "had no carrier", err);
	for (unsigned i = 0; i < 2 && !ret; i++)
		ret = add_addresses(ends[i], ends[!i], err);
	return ret;
}

/* ---- named test networks ---- */

enum role { ROLE_TX, ROLE_RX, ROLE_MIDDLE, ROLES };

static const char *role_name(enum lab_topology topology, enum role role)
{
	static const char *const ends[] = {"tx", "rx"};

	return role == ROLE_MIDDLE ? lab_middle(topology) : ends[role];
}

struct mark {
	struct lab_info info;
	uint32_t inum[ROLES];
};

static const struct record_field mark_rows[] = {
	RECORD("topology", UINT, mark, info.topology, .max = LAB_VXLAN),
	RECORD("queues", UINT, mark, info.queues),
	RECORD("mtu", UINT, mark, info.mtu),
	RECORD("finished", BOOL, mark, info.finished),
	RECORD_LIST("namespaces", UINT, mark, inum),
	{0},
};

static unsigned roles(enum lab_topology topology)
{
	return lab_middle(topology) ? ROLES : ROLE_MIDDLE;
}

static void ns_path(char path[PATH_MAX], const char *name, const char *role)
{
	snprintf(path, PATH_MAX, NETNS_DIR "/%s-%s", name, role);
}

static void mark_path(char path[PATH_MAX], const char *name)
{
	snprintf(path, PATH_MAX, LAB_DIR "/%s", name);
}

static int check_name(const char *name, struct error *err)
{
	static const char allowed[] = "-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789";
	size_t len = strspn(name, allowed);

	if (!len || name[len] || len >= sizeof(((struct lab *)0)->name) || strchr("-_", *name))
		return error_usage(
			err, "use letters, digits, - and _, at most 31, a letter or digit first",
			"'%s' cannot be the name of a lab", name);
	return 0;
}

/*
 * Opens the directory, created if missing, and locks it until the descriptor is closed, or -errno.
 */
static int lock_labs(struct error *err)
{
	int ret, fd;

	if ((mkdir("/run/pktledger", 0700) && errno != EEXIST) ||
	    (mkdir(LAB_DIR, 0700) && errno != EEXIST) ||
	    (fd = open(LAB_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		ret = -errno;
		return error_errno(err, STATUS_UNABLE, ret,
				   ret == -EACCES ? "run it as root" : NULL,
				   "cannot open " LAB_DIR);
	}
	do
		ret = flock(fd, LOCK_EX) ? -errno : 0;
	while (ret == -EINTR);
	if (!ret)
		return fd;
	close(fd);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot lock " LAB_DIR);
}

/* Replaces any existing mark. */
static int write_mark(const struct mark *m)
{
	struct json_object *o;
	char path[PATH_MAX];
	struct replace r;
	int ret;

	mark_path(path, m->info.name);
	ret = replace_begin(&r, path, "{", 0600); /* a temporary file whose name is not a valid
						   * test network name */
	if (ret)
		return ret;
	o = record_write(mark_rows, m);
	fputs(json_object_to_json_string(o), r.out);
	json_object_put(o);
	return replace_end(&r, 0);
}

/* -ENOENT if missing, -EBADMSG if written by another version. */
static int read_mark(const char *name, struct mark *m)
{
	struct json_object *o;
	char path[PATH_MAX];
	struct stat st;
	int ret;

	memset(m, 0, sizeof(*m));
	snprintf(m->info.name, sizeof(m->info.name), "%s", name);
	mark_path(path, name);
	if (lstat(path, &st))
		return -errno;
	/* opening a pipe would block */
	o = S_ISREG(st.st_mode) ? json_object_from_file(path) : NULL;
	ret = record_read(o, mark_rows, m);
	json_object_put(o);
	return ret;
}

/* Returns whether the name still refers to the namespace created for this test network. */
static bool is_ours(const struct mark *m, enum role role)
{
	char path[PATH_MAX];
	struct stat st;

	ns_path(path, m->info.name, role_name(m->info.topology, role));
	return m->inum[role] && !stat(path, &st) && st.st_ino == m->inum[role];
}

static bool is_whole(const struct mark *m)
{
	for (unsigned i = 0; i < roles(m->info.topology); i++) {
		if (!is_ours(m, i))
			return false;
	}
	return true;
}

/* Returns -EEXIST if the name is taken, or -EINVAL for an invalid name. */
static int check_free(const char *name, struct error *err)
{
	static const char *const taken[] = {"tx", "rx", "router", "bridge"};
	char path[PATH_MAX];
	int ret = check_name(name, err);

	if (ret)
		return ret;
	mark_path(path, name);
	if (!access(path, F_OK))
		return error_set(err, STATUS_FAILED, -EEXIST,
				 "take another name, or remove it: pktledger lab down",
				 "there is a lab '%s' already", name);
	for (unsigned i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		ns_path(path, name, taken[i]);
		if (!access(path, F_OK))
			return error_set(err, STATUS_FAILED, -EEXIST, "take another name",
					 "there is a network namespace '%s-%s' already, not of a "
					 "lab",
					 name, taken[i]);
	}
	return 0;
}

/* Shares the directory like `ip netns add`: mounts in it are visible in all mount namespaces. */
static int share_netns_dir(void)
{
	if (mkdir(NETNS_DIR, 0755) && errno != EEXIST)
		return -errno;
	if (!mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL))
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (mount(NETNS_DIR, NETNS_DIR, "none", MS_BIND | MS_REC, NULL) ||
	    mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL))
		return -errno;
	return 0;
}

static int bind_namespace(const struct netns *ns, const char *name, const char *role)
{
	char from[64], path[PATH_MAX];
	int ret, fd;

	ns_path(path, name, role);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	close(fd);
	snprintf(from, sizeof(from), "/proc/self/fd/%d", ns->fd);
	if (!mount(from, path, "none", MS_BIND, NULL))
		return 0;
	ret = -errno;
	unlink(path);
	return ret;
}

/*
 * Removes every file with the test network's name, the mark last, so that a failure can be retried.
 */
static int remove_names(const struct mark *m)
{
	struct stat st, dir;
	char path[PATH_MAX];

	for (unsigned i = 0; i < roles(m->info.topology); i++) {
		ns_path(path, m->info.name, role_name(m->info.topology, i));
		if (is_ours(m, i) && umount2(path, MNT_DETACH))
			return -errno;
		/* a name without a mount remains when publishing was killed */
		if (!lstat(path, &st) && !stat(NETNS_DIR, &dir) && st.st_dev == dir.st_dev &&
		    unlink(path))
			return -errno;
	}
	mark_path(path, m->info.name);
	return unlink(path) ? -errno : 0;
}

static int publish(struct lab *lab, const char *name, struct error *err)
{
	struct mark m = {
		.info = {.topology = lab->topology, .queues = lab->tx.queues, .mtu = lab->tx.mtu}};
	int lock = lock_labs(err), ret;

	if (lock < 0)
		return lock;
	snprintf(m.info.name, sizeof(m.info.name), "%s", name);
	for (unsigned i = 0; i < roles(lab->topology); i++)
		m.inum[i] = lab->ns[i].inum;
	ret = check_free(name, err); /* check again: under the lock it stays free */
	if (!ret) {
		ret = share_netns_dir();
		if (!ret)
			ret = write_mark(&m);
		for (unsigned i = 0; i < roles(lab->topology) && !ret; i++)
			ret = bind_namespace(&lab->ns[i], name, role_name(lab->topology, i));
		if (ret)
			remove_names(&m);
		error_errno(err, STATUS_FAILED, ret, NULL, "cannot name the lab '%s'", name);
	}
	close(lock);
	if (!ret)
		snprintf(lab->name, sizeof(lab->name), "%s", name);
	return ret;
}

static int find_mark(const char *name, struct mark *m, struct error *err)
{
	int ret = check_name(name, err);

	if (ret)
		return ret;
	ret = read_mark(name, m);
	if (ret == -ENOENT)
		return error_set(err, STATUS_FAILED, ret, "see: pktledger lab list",
				 "there is no lab '%s'", name);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot read " LAB_DIR "/%s", name);
}

int lab_finish(const struct lab *lab, struct error *err)
{
	int lock = lock_labs(err), ret;
	struct mark m;

	if (lock < 0)
		return lock;
	ret = find_mark(lab->name, &m, err);
	m.info.finished = true;
	if (!ret)
		ret = error_errno(err, STATUS_FAILED, write_mark(&m), NULL,
				  "cannot note that '%s' is up", lab->name);
	close(lock);
	return ret;
}

int lab_remove(const char *name, struct error *err)
{
	int lock = lock_labs(err), ret;
	struct mark m;

	if (lock < 0)
		return lock;
	ret = find_mark(name, &m, err);
	if (!ret)
		ret = error_errno(err, STATUS_FAILED, remove_names(&m), NULL,
				  "cannot remove the lab '%s'", name);
	close(lock);
	return ret;
}

int lab_topology_of(const char *name, enum lab_topology *topology, struct error *err)
{
	struct mark m;
	int ret = find_mark(name, &m, err);

	*topology = ret ? LAB_PAIR : m.info.topology;
	return ret;
}

#define ANEW "remove it and make it anew: pktledger lab down"

int lab_open_named(struct lab *lab, const char *name, struct error *err)
{
	char path[PATH_MAX];
	struct mark m;
	int ret;

	plan(lab, LAB_PAIR);
	ret = find_mark(name, &m, err);
	if (ret)
		return ret;
	if (!is_whole(&m))
		return error_set(err, STATUS_FAILED, -ENXIO, ANEW,
				 "a namespace of the lab '%s' is gone", name);
	if (!m.info.finished)
		return error_set(err, STATUS_FAILED, -ENXIO, ANEW,
				 "the lab '%s' is not finished: lab up was ended, or is at it",
				 name);
	plan(lab, m.info.topology);
	snprintf(lab->name, sizeof(lab->name), "%s", name);
	for (unsigned i = 0; i < roles(lab->topology) && !ret; i++) {
		ns_path(path, name, role_name(lab->topology, i));
		ret = netns_open(&lab->ns[i], path, err);
		netns_open_sysfs(&lab->ns[i]);
	}
	for (unsigned i = 0; i < lab_ports(lab) && !ret; i++) {
		ret = read_port(&lab->port[i]);
		if (ret)
			error_set(err, STATUS_FAILED, ret, ANEW,
				  "the device %s of the lab '%s' is gone", lab->port[i].ifname,
				  name);
	}
	if (ret)
		lab_close(lab);
	return ret;
}

int lab_list(int (*cb)(void *arg, const struct lab_info *info), void *arg, struct error *err)
{
	const struct dirent *entry;
	DIR *dir = opendir(LAB_DIR);
	struct mark m;
	int ret = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return error_errno(err, STATUS_UNABLE, -errno, "run it as root",
				   "cannot open " LAB_DIR);
	while (!ret && (entry = readdir(dir))) {
		int read = check_name(entry->d_name, NULL) ? -EINVAL : read_mark(entry->d_name, &m);

		if (read && read != -EBADMSG)
			continue; /* not ours, or removed meanwhile */
		m.info.whole = !read && is_whole(&m) && m.info.finished;
		ret = cb(arg, &m.info);
	}
	closedir(dir);
	return ret;
}

/* ---- topologies ---- */

/*
 * Creates a bridge that sends no packets by itself: no snooping, which would join a group and
 * report it, no spanning tree, and no IP netfilter, which would reassemble fragments.
 */
static int make_bridge(const struct lab *lab, struct error *err)
{
	static const char *const netfilter[] = {
		"net/bridge/bridge-nf-call-iptables",
		"net/bridge/bridge-nf-call-ip6tables",
		"net/bridge/bridge-nf-call-arptables",
	};
	const struct netns *ns = &lab->router_ns;
	int ret = netdev_add_bridge(ns, LAB_BRIDGE_NAME), index;

	if (ret == -EOPNOTSUPP)
		return error_set(err, STATUS_UNABLE, ret, "the kernel needs CONFIG_BRIDGE",
				 "this kernel makes no bridge");
	for (unsigned i = 0; i < LENGTH(netfilter) && !ret; i++)
		ret = netns_sysctl_write(ns, netfilter[i], "0");
	if (!ret)
		ret = netdev_set_up(ns, LAB_BRIDGE_NAME, true);
	index = ret ? ret : nl_ifindex(ns, LAB_BRIDGE_NAME);
	ret = index < 0 ? index : netdev_set_master(ns, lab->router_tx.ifname, (unsigned)index);
	if (!ret)
		ret = netdev_set_master(ns, lab->router_rx.ifname, (unsigned)index);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot make a bridge");
}

/* Creates a third namespace between the ends, which routes or bridges. */
static int build_middle(struct lab *lab, unsigned queues, unsigned mtu, struct error *err)
{
	bool router = lab->topology == LAB_ROUTER;
	int ret = make_namespace(&lab->router_ns, router, err);

	if (!ret)
		ret = make_link(&lab->tx, &lab->router_tx, queues, mtu, err);
	if (!ret)
		ret = make_link(&lab->router_rx, &lab->rx, queues, mtu, err);
	if (ret || !router)
		return ret ? ret : make_bridge(lab, err);
	ret = join_ends(&lab->tx, &lab->router_tx, err);
	if (!ret)
		ret = join_ends(&lab->router_rx, &lab->rx, err);
	if (!ret)
		ret = add_route(&lab->tx, &lab->router_tx, &lab->rx, err);
	return ret ? ret : add_route(&lab->rx, &lab->router_rx, &lab->tx, err);
}

static int make_tunnel_end(struct lab_port *end, const struct lab_port *below,
			   const struct lab_port *remote, uint32_t vni, struct error *err)
{
	struct netdev_vxlan v = {.mac = end->mac,
				 .vni = vni,
				 .remote = remote->ip4,
				 .underlay = below->ifindex,
				 .queues = below->queues};
	int ret = netdev_add_vxlan(end->ns, end->ifname, LAB_VXLAN_PORT, &v);
	return error_errno(err, ret == -EOPNOTSUPP ? STATUS_UNABLE : STATUS_FAILED, ret,
			   ret == -EOPNOTSUPP ? "the kernel needs CONFIG_VXLAN" : NULL,
			   "cannot make the tunnel %s", end->ifname);
}

/* The underlay has room for the tunnel's headers. */
static int build_vxlan(struct lab *lab, unsigned queues, unsigned mtu, bool other_vni,
		       struct error *err)
{
	struct lab_port *a = &lab->router_tx, *b = &lab->router_rx;
	int ret = make_link(a, b, queues, mtu + TUNNEL_HEADER, err);

	if (!ret)
		ret = join_ends(a, b, err);
	if (!ret)
		ret = make_tunnel_end(&lab->tx, a, b, TUNNEL_VNI, err);
	if (!ret)
		ret = make_tunnel_end(&lab->rx, b, a, TUNNEL_VNI + other_vni, err);
	if (!ret)
		ret = set_up_link(&lab->tx, &lab->rx, mtu, err);
	return ret;
}

/* One queue per interface: a single thread carries the frames. */
static int build_tap(struct lab *lab, unsigned queues, unsigned mtu, struct error *err)
{
	int ret = 0;

	if (queues > 1)
		return error_usage(err, "use one thread (-P 1)",
				   "each tap of a test network has a single queue");
	ret = lab_taps_open(&lab->taps, &lab->tx, &lab->rx, err);
	if (!ret)
		ret = set_up_link(&lab->tx, &lab->rx, mtu, err);
	if (!ret)
		ret = error_errno(err, STATUS_FAILED, lab_taps_connect(lab->taps), NULL,
				  "cannot connect the taps");
	for (unsigned i = 0; i < 2 && !ret; i++)
		ret = wait_until(announced, &lab->port[i], "was not reported as up", err);
	return ret;
}

int lab_open(struct lab *lab, const struct lab_spec *spec, struct error *err)
{
	unsigned queues = spec->queues ? spec->queues : 1;
	unsigned mtu = spec->mtu ? spec->mtu : 1500;
	int ret;

	plan(lab, spec->topology);
	if (spec->name && spec->topology == LAB_TAP)
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "use run --topology tap",
				 "a lab of taps is there only while a process carries its frames");
	ret = spec->name ? check_free(spec->name, err) : 0;
	if (!ret)
		ret = make_namespace(&lab->tx_ns, false, err);
	if (!ret)
		ret = make_namespace(&lab->rx_ns, false, err);
	if (!ret && lab->topology == LAB_VXLAN)
		ret = build_vxlan(lab, queues, mtu, spec->other_vni, err);
	else if (!ret && lab->topology == LAB_TAP)
		ret = build_tap(lab, queues, mtu, err);
	else if (!ret && lab_middle(lab->topology))
		ret = build_middle(lab, queues, mtu, err);
	else if (!ret)
		ret = make_link(&lab->tx, &lab->rx, queues, mtu, err);
	if (!ret && lab->topology != LAB_ROUTER)
		ret = join_ends(&lab->tx, &lab->rx, err);
	for (unsigned i = 0; i < lab_ports(lab) && !ret; i++)
		ret = wait_until(quiet, &lab->port[i], "did not finish its MLD reports", err);
	if (!ret && spec->name)
		ret = publish(lab, spec->name, err);
	if (ret)
		lab_close(lab);
	return ret;
}

void lab_close(struct lab *lab)
{
	lab_taps_close(lab->taps);
	lab->taps = NULL;
	for (unsigned i = 0; i < ROLES; i++)
		netns_close(&lab->ns[i]);
}
