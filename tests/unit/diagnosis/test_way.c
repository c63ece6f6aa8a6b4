// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kernel's path of packets that are lost in a test network. */
#include <errno.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "cases.h"
#include "diagnosis/facts.h"
#include "diagnosis/way.h"
#include "host/lab.h"
#include "recorded.h"

#define MOMENT_NS 60000000 /* until all sent packets have ended */

static struct lab lab;

static int open_router(void **state)
{
	const struct lab_spec spec = {.topology = LAB_ROUTER};

	return geteuid() ? 0 : lab_open(&lab, &spec, &(struct error){});
}

static int close_router(void **state)
{
	if (!geteuid())
		lab_close(&lab);
	return 0;
}

/* By a shell in this namespace's namespace. False: it failed. */
__attribute__((format(printf, 2, 3))) static bool done(const struct netns *ns, const char *fmt, ...)
{
	char text[512];
	char *const argv[] = {"sh", "-ec", text, NULL};
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return !netns_exec(ns, argv, NULL, -1, &(struct error){});
}

/* A socket there, bound to `from`, connected to `to` or on the way to be; each may be NULL. */
static int socket_at(const struct netns *ns, int type, const char *from, const char *to)
{
	struct sockaddr_storage at;
	struct endpoint ep;
	int saved = netns_push(ns), fd;

	assert_true(saved >= 0);
	assert_int_equal(num_endpoint(from ? from : to, &ep), 0);
	fd = socket(ep.family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	netns_pop(saved);
	if (from)
		assert_int_equal(bind(fd, (void *)&at, socket_address(&ep, &at)), 0);
	if (to) {
		assert_int_equal(num_endpoint(to, &ep), 0);
		assert_true(!connect(fd, (void *)&at, socket_address(&ep, &at)) ||
			    errno == EINPROGRESS);
	}
	return fd;
}

static void send_to(const struct netns *ns, const char *from, const char *to, int n)
{
	int fd = socket_at(ns, SOCK_DGRAM, from, to);

	while (n--)
		send(fd, "what is lost", 12, 0); /* an earlier one may be refused */
	close(fd);
}

/* Devices are shown as the lab calls them. */
CASE(way_back)
{
	const struct {
		const struct netns *ns;
		const char *source, *by;
	} rows[] = {
		{&lab.router_ns, "198.18.0.77", "v-r0"},
		{&lab.router_ns, "198.18.1.77", "v-r1"},
		{&lab.router_ns, "203.0.113.9", ""},
		{&lab.rx_ns, "198.18.1.9", "v-rx"},
		{&lab.rx_ns, "", ""},
		{&lab.router_ns, "198.18.0", ""},
	};

	if (geteuid())
		skip();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct way_back back = {.by = "before"};

		strcpy(back.source, rows[i].source);
		way_back_read(rows[i].ns, &back);
		assert_string_equal(back.by, rows[i].by);
		assert_string_equal(back.source, rows[i].source);
	}
}

/* Of whom the router refuses most, in all or at one device, where 64 packets are enough. */
CASE(refused_sources)
{
	static const struct {
		bool rx;
		const char *source;
		int n;
	} sent[] = {{false, "203.0.113.1", 1},
		    {false, "203.0.113.2", 60},
		    {false, "203.0.113.3", 3},
		    {true, "203.0.113.4", 90},
		    {true, "203.0.113.5", 4}};
	static const struct {
		const char *ifname, *source, *at, *by;
		bool late, elsewhere;
	} rows[] = {
		{NULL, "203.0.113.4", "v-r1", "v-r0", false, false},
		{"v-r0", "203.0.113.2", "v-r0", "", false, false},
		{"v-r1", "203.0.113.4", "v-r1", "v-r0", false, false},
		{"v-r2", NULL, "", "", true, false},
		{NULL, NULL, "", "", true, true},
	};
	struct survey_bpf *sources;
	uint64_t begun;

	if (geteuid() || way_sources_open(&sources, false))
		skip();
	assert_int_equal(netns_sysctl_write(&lab.router_ns, "net/ipv4/conf/all/rp_filter", "1"), 0);
	assert_true(done(&lab.router_ns, "ip route add 203.0.113.4/32 dev v-r0"));
	begun = clock_now();
	for (unsigned i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
		const struct netns *ns = sent[i].rx ? &lab.rx_ns : &lab.tx_ns;
		struct way_back back;

		assert_true(
			done(ns, "ip link set lo up; ip addr add %s/32 dev lo", sent[i].source));
		send_to(ns, sent[i].source, sent[i].rx ? "198.18.0.1:9" : "198.18.1.2:9",
			sent[i].n);
		if (i) /* enough were seen */
			continue;
		/*
		 * too few samples to name the most frequent owner: waits, and reports the samples
		 * so far
		 */
		begun = clock_now();
		assert_true(way_sources_back(sources, &lab.router_ns, lab.router_ns.inum, NULL,
					     begun + 2 * MOMENT_NS, &back));
		assert_true(clock_now() >= begun + 2 * MOMENT_NS);
		assert_string_equal(back.source, sent[0].source);
	}
	clock_sleep(MOMENT_NS);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct netns *ns = rows[i].elsewhere ? &lab.rx_ns : &lab.router_ns;
		struct way_back back = {.source = "before", .ifname = "before", .by = "before"};

		begun = clock_now();
		assert_int_equal(
			way_sources_back(sources, ns, ns->inum, rows[i].ifname,
					 begun + (rows[i].late ? MOMENT_NS : 1000000000000), &back),
			rows[i].source != NULL);
		assert_int_equal(clock_now() >= begun + MOMENT_NS, rows[i].late);
		assert_string_equal(back.source, rows[i].source ? rows[i].source : "");
		assert_string_equal(back.ifname, rows[i].at);
		assert_string_equal(back.by, rows[i].by);
	}
	way_sources_close(sources);
	way_sources_close(NULL);
}

/* A next hop that is being resolved. No next hop if all are resolved. */
CASE(silent_neighbour)
{
	struct way_silent silent = {.address = "before"};

	if (geteuid())
		skip();
	assert_false(way_silent_read(&lab.tx_ns, &silent));
	assert_string_equal(silent.address, "");
	send_to(&lab.tx_ns, NULL, "198.18.0.77:9", 1);
	assert_true(way_silent_read(&lab.tx_ns, &silent));
	assert_string_equal(silent.address, "198.18.0.77");
	assert_string_equal(silent.ifname, "v-tx");
	assert_false(way_silent_read(&lab.router_ns, &silent));
	assert_string_equal(silent.ifname, "");
}

/* A namespace is found through its processes. */
static pid_t live_in(const struct netns *ns)
{
	int saved = netns_push(ns);
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	netns_pop(saved);
	return pid;
}

/* Sends frames of this ethertype, for another MAC address or with a VLAN tag, until it is killed.
 */
static pid_t send_frames(const struct netns *ns, uint16_t type, bool other, uint16_t vlan)
{
	const struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int)lab.rx.ifindex};
	uint8_t frame[64] = {0x33, 0x33, 0, 0, 0, 1, 2};
	int saved = netns_push(ns), fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	pid_t pid;

	netns_pop(saved);
	assert_true(fd >= 0);
	if (other)
		memset(frame, 2, 6);
	*(uint16_t *)(frame + 12) = htons(vlan ? 0x8100 : type);
	*(uint16_t *)(frame + 14) = htons(vlan);
	*(uint16_t *)(frame + 16) = htons(type);
	pid = fork();
	while (!pid) {
		struct sockaddr_ll to = at;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		to.sll_ifindex = (int)lab.router_rx.ifindex;
		sendto(fd, frame, sizeof(frame), 0, (void *)&to, sizeof(to));
		clock_sleep(1000000);
	}
	close(fd);
	return pid;
}

/* Frames that rx_dropped counts are named, and none that the kernel takes. */
CASE(stray_frames)
{
	static const struct {
		uint16_t type;
		bool other;
		uint16_t vlan;
		const char *what;
	} rows[] = {
		{0x88cc, false, 0, "LLDP (0x88cc)"},
		{0x1234, false, 0, "protocol (0x1234)"},
		{0x0800, true, 0, "frames for other MAC addresses"},
		{0x0800, false, 7, "frames of VLAN 7"},
		{0x0806, false, 0, ""},
	};

	if (geteuid())
		skip();
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		pid_t pid = send_frames(&lab.router_ns, rows[i].type, rows[i].other, rows[i].vlan);
		struct way_stray stray;

		assert_int_equal(
			way_stray_read(&lab.rx_ns, lab.rx.ifindex,
				       clock_now() + (*rows[i].what ? 20000 : 100) * 1000000ULL,
				       &stray),
			*rows[i].what != '\0');
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		assert_string_equal(stray.what, rows[i].what);
		assert_int_equal(stray.vlan, rows[i].vlan);
	}
}

/* The receiver's address OWN is this test's alone: other test networks may use the same one. */
static const char *own(void)
{
	static char at[16];

	snprintf(at, sizeof(at), "198.19.%u.%u", (unsigned)getpid() >> 8 & 255,
		 (unsigned)getpid() & 255);
	return at;
}

/* A text with `to` for each `from`. */
static const char *with(const char *text, const char *from, const char *to)
{
	static char out[4][256];
	static unsigned last;
	char *start = out[++last % 4], *end = start + sizeof(out[0]), *o = start;

	for (const char *at; (at = strstr(text, from)); text = at + strlen(from))
		o += snprintf(o, (size_t)(end - o), "%.*s%s", (int)(at - text), text, to);
	snprintf(o, (size_t)(end - o), "%s", text);
	return start;
}

static void answer(int fd)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char data[4];

	poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 5000);
	assert_int_equal(recvfrom(fd, data, 4, 0, (void *)&from, &len), 4);
	sendto(fd, "here", 4, 0, (void *)&from, len);
	close(fd);
}

static void tell_dnat(const struct lab *pair)
{
	struct way_dnat dnat = {.asked = "before"};
	const pid_t pid = live_in(&pair->rx_ns);

	if (!way_dnat_read(&pair->tx_ns, &dnat))
		tell("nothing");
	else
		tell("%s at %s | %s | %s | %s", dnat.asked, with(dnat.backend, own(), "OWN"),
		     dnat.ifname, dnat.rule, with(dnat.entries, own(), "OWN"));
	assert_true(*told != 'n' || !*dnat.asked);
	if (dnat.closed_at)
		tell(dnat.closed_at == pair->rx_ns.inum ? "| closed" : "| closed elsewhere");
	if (dnat.unreachable)
		tell("| unreachable");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* One destination that the sender's NAT changes, in a test network of its own. */
static void take_line(void *arg, const char *verb, char *text)
{
	static const struct lab_spec spec = {.topology = LAB_PAIR};
	char *word[8], *then = NULL, *to;
	int n = recorded_words(text, word, LENGTH(word)), type = SOCK_DGRAM, fd[2] = {-1, -1};
	bool answered = false;
	struct lab pair;

	if (strcmp(verb, "nat"))
		return;
	to = word[1];
	assert_int_equal(lab_open(&pair, &spec, &(struct error){}), 0);
	assert_true(done(&pair.rx_ns, "ip addr add %s/32 dev v-rx", own()));
	assert_true(done(&pair.tx_ns, "ip route add %s/32 via 198.18.0.2", own()));
	/* the last rule is for another port of the same backend */
	if (!done(&pair.tx_ns,
		  "nft 'table %s nat { chain out { type nat hook output priority -100; %s; "
		  "udp dport 99 dnat to %s; }; }'",
		  *to == '[' ? "ip6" : "ip", with(word[0], "OWN", own()),
		  *to == '[' ? "[2001:2::77]:99" : "198.18.0.77:99")) {
		lab_close(&pair);
		print_message("no NAT by nftables here\n");
		skip();
	}
	for (int i = 2; i < n; i++) {
		if (!strncmp(word[i], "listens=", 8))
			fd[0] = socket_at(&pair.rx_ns, SOCK_DGRAM, with(word[i] + 8, "OWN", own()),
					  NULL);
		else if (!strncmp(word[i], "then=", 5))
			then = word[i] + 5;
		else if (!strcmp(word[i], "tcp"))
			type = SOCK_STREAM;
		else
			answered = true;
	}
	fd[1] = socket_at(&pair.tx_ns, type, NULL, to);
	send(fd[1], "lost", 4, 0);
	for (int port = 60; port < 68; port++) {
		char other[32];

		snprintf(other, sizeof(other), "198.18.0.2:%d", port);
		send_to(&pair.tx_ns, NULL, other, 1);
	}
	if (answered) {
		answer(fd[0]);
		fd[0] = -1;
	}
	assert_true(!then || done(&pair.tx_ns, "%s", then));
	tell_dnat(&pair);
	close(fd[0]);
	close(fd[1]);
	lab_close(&pair);
}

CASE(translated_destinations)
{
	int pidfd = pidfd_open(getpid(), 0);

	if (geteuid())
		skip();
	if (pidfd < 0) { /* as below valgrind: the end of `nft` cannot be waited for */
		print_message("no pidfd_open() here\n");
		skip();
	}
	close(pidfd);
	recorded_stories("tests/fixtures/nat", take_line, NULL);
}

/* Each interface as it was made, by a process without stdin, as a daemon may be. */
CASE(interfaces_as_they_are)
{
	static const struct {
		const char *ifname, *master, *qdisc, *rp_filter;
		unsigned peer_mtu, rps_flow_cnt;
	} rows[] = {
		{"port1", "bridge1", "pfifo limit 77", "2", 1400, 64},
		{"port2", "", "noop", "1", 1500, 0},
		{"over1", "", "noop", "1", 0, 0}, /* its lower one is no peer */
	};
	static struct facts_stack stack;
	static struct facts_link link;
	struct netdev_settings set;
	struct netns host;
	const bool sysfs = !syscall(SYS_fsopen, NULL, 0) || errno != ENOSYS; /* valgrind has none */
	uint64_t pages;
	int in;

	if (geteuid())
		skip();
	assert_int_equal(netns_sysctl_write(&lab.router_ns, "net/ipv4/conf/all/rp_filter", "1"), 0);
	if (!done(&lab.router_ns,
		  "ip link add port1 type veth peer name port2; ip link set port2 mtu 1400; "
		  "ip link add bridge1 type bridge; ip link set port1 master bridge1; "
		  "ip link add over1 link port2 type macvlan; "
		  "tc qdisc add dev port1 root pfifo limit 77; "
		  "ip neigh add 198.18.0.99 lladdr 02:00:00:00:00:01 dev v-r0; "
		  "unshare -m sh -ec 'mount -t sysfs pl /sys; "
		  "echo 64 > /sys/class/net/port1/queues/rx-0/rps_flow_cnt'"))
		skip();
	assert_int_equal(netns_sysctl_write(&lab.router_ns, "net/ipv4/conf/port1/rp_filter", "2"),
			 0);
	assert_int_equal(netns_current(&host, &(struct error){}), 0);
	in = dup(0);
	close(0);
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		assert_int_equal(facts_link_read(&lab.router_ns, rows[i].ifname, &link), 0);
		assert_string_equal(link.master_name, rows[i].master);
		assert_string_equal(link.qdisc, rows[i].qdisc);
		assert_string_equal(link.rp_filter, rows[i].rp_filter);
		assert_int_equal(link.peer_mtu, rows[i].peer_mtu);
		assert_int_equal(link.rps_flow_cnt, sysfs ? rows[i].rps_flow_cnt : 0);
		assert_int_equal(netdev_settings_read(&lab.router_ns, rows[i].ifname, &set), 0);
		assert_int_equal(link.set.channels.known, set.channels.known);
		assert_false(link.threaded || link.zero_copy);
		assert_int_equal(link.native_xdp, link.features_known && i < 2);
	}
	assert_int_equal(facts_link_read(&lab.router_ns, "port1", &link), 0);
	assert_true(link.set.channels.known);
	facts_stack_read(&lab.router_ns, &host, &stack);
	assert_true(stack.frag_high[STACK_V4] && stack.neighbours[STACK_V4]);
	assert_true(stack_udp_pages(&lab.router_ns, &pages));
	dup2(in, 0);
	close(in);
	netns_close(&host);
	assert_true(done(&lab.router_ns, "ip neigh del 198.18.0.99 dev v-r0"));
}

static const struct facts_sock *on_port(const struct facts *f, uint16_t port)
{
	const struct facts_sock *found = NULL;

	for (unsigned i = 0; i < f->socks.n; i++) {
		if (f->socks.at[i].port == port)
			found = &f->socks.at[i];
	}
	return found;
}

static unsigned unread(const struct facts *f, const char *what, const char *why)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n_unread; i++)
		n += !strcmp(f->unread[i].what, what) && strstr(f->unread[i].why, why);
	return n;
}

/* A namespace with four kinds of losses, and with interfaces that are created and deleted. */
CASE(all_that_is_read)
{
	enum { FULL = 7001, READ, QUIET };
	static struct facts facts;
	struct facts_reader *r;
	struct error err = {};
	struct facts_spec spec = {.ns = &lab.router_ns};
	const struct facts_sock *s;
	uint64_t begun, took;
	bool rules;
	int fd[6], closed[2], size = 2304;
	char data[24] = "";
	pid_t pid;

	if (geteuid())
		skip();
	assert_true(done(&lab.router_ns,
			 "ip link set lo up; "
			 "ip link add down1 type veth peer name down2; "
			 "for i in $(seq 32); do echo link add d$i type veth peer name e$i; "
			 "echo link set d$i up; echo link set e$i up; done | ip -batch -"));
	assert_int_equal(netns_sysctl_write(&lab.router_ns, "net/ipv4/conf/all/rp_filter", "1"), 0);
	rules = done(&lab.router_ns,
		     "nft 'table ip t { chain in { type filter hook input priority 0; "
		     "udp dport 7009 counter drop; udp dport 7001 counter accept; }; }'");
	/* who is silent is asked for as long as this takes */
	assert_int_equal(
		netns_sysctl_write(&lab.router_ns, "net/ipv4/neigh/v-r0/mcast_solicit", "60"), 0);
	assert_true(done(&lab.tx_ns, "ip link set lo up; ip addr replace 203.0.113.1/32 dev lo"));
	fd[0] = socket_at(&lab.router_ns, SOCK_DGRAM, "127.0.0.1:7001", NULL);
	fd[1] = socket_at(&lab.router_ns, SOCK_DGRAM, NULL, "127.0.0.1:7001");
	fd[2] = socket_at(&lab.router_ns, SOCK_DGRAM, "127.0.0.1:7002", NULL);
	fd[3] = socket_at(&lab.router_ns, SOCK_DGRAM, NULL, "127.0.0.1:7002");
	fd[4] = socket_at(&lab.router_ns, SOCK_DGRAM, "127.0.0.1:7003", NULL);
	fd[5] = socket_at(&lab.tx_ns, SOCK_DGRAM, "203.0.113.1", "198.18.1.2:9");
	setsockopt(fd[0], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(fd[2], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	assert_int_equal(owners_open(&spec.owners, NULL, &err), 0);
	assert_int_equal(facts_begin(&r, &spec, &facts, &err), 0);
	assert_int_equal(facts.n_links, FACTS_LINKS);
	assert_int_equal(unread(&facts, "interfaces", "2 more than 64"), 1);
	for (int i = 0; i < 60; i++) {
		assert_int_equal(send(fd[1], data, sizeof(data), 0), sizeof(data));
		assert_int_equal(send(fd[3], data, sizeof(data), 0), sizeof(data));
		send(fd[5], data, sizeof(data), 0);
	}
	while (recv(fd[2], data, sizeof(data), 0) > 0)
		;
	send_to(&lab.router_ns, NULL, "198.18.0.77:9", 1);
	send_to(&lab.router_ns, NULL, "127.0.0.1:7009", 5);
	assert_true(done(&lab.router_ns, "ip link del d1"));
	begun = clock_now();
	assert_true(facts_wait(&r, 1, 250000000));
	took = clock_now() - begun;
	assert_true(took >= 250000000);
	/* some packets arrive during the search for the owners */
	assert_int_equal(pipe(closed), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned i = 0; i < 5; i++)
			close(fd[i]);
		close(closed[1]);
	}
	while (!pid) {
		send(fd[5], data, sizeof(data), 0);
		clock_sleep(1000000);
	}
	/* a socket of two processes has no owner */
	close(closed[1]);
	assert_int_equal(read(closed[0], data, sizeof(data)), 0);
	close(closed[0]);
	assert_int_equal(facts_end(r, &err), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	assert_true(facts.window_ns >= took);
	assert_int_equal(facts.n_links, FACTS_LINKS - 2);
	assert_int_equal(unread(&facts, "d1", "removed") + unread(&facts, "e1", "removed"), 2);
	for (unsigned i = 0; i < facts.n_links; i++) {
		const struct facts_link *link = &facts.link[i];

		assert_string_equal(link->dev.driver, "veth");
		assert_string_equal(link->rp_filter, "1"); /* the sum */
		assert_string_not_equal(link->dev.link.ifname, "down1");
		assert_string_not_equal(link->dev.link.ifname, "e1");
		if (!strcmp(link->dev.link.ifname, "v-r0"))
			assert_in_range(link->rx_packets, 60, 60000);
		assert_int_equal(unread(&facts, link->dev.link.ifname, ""), 0);
	}
	rules &= !unread(&facts, "rules of the firewall", "took longer"); /* under valgrind */
	assert_int_equal(facts.n_unread - unread(&facts, "rules of the firewall", "took longer"),
			 3);
	assert_int_equal(facts.n_rules, rules);
	assert_int_equal(facts.rule[0].dport, rules ? 7009 : 0);
	assert_true(facts.self.af_xdp);
	assert_int_equal(facts.socks.all, 5);
	s = on_port(&facts, FULL);
	assert_true(s && s->lost >= 50 && s->queued && s->pid == getpid());
	if (facts.self.btf)
		assert_in_range(s->truesize, 256, 2304);
	s = on_port(&facts, READ);
	assert_true(s && s->lost >= 50 && !s->queued);
	if (facts.self.btf)
		assert_in_range(s->truesize, 256, 2304);
	assert_true(!s->reads_known || s->reads >= 1);
	s = on_port(&facts, QUIET);
	assert_true(s && !s->lost && !s->truesize && !s->reading.window_ns);
	assert_string_equal(facts.silent.address, "198.18.0.77");
	assert_string_equal(facts.silent.ifname, "v-r0");
	assert_string_equal(facts.back.source, "203.0.113.1");
	assert_string_equal(facts.back.ifname, "v-r0");
	facts_free(&facts);
	owners_close(spec.owners);
	for (unsigned i = 0; i < 6; i++)
		close(fd[i]);
}

int main(void)
{
	return run_cases(open_router, close_router);
}
