// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the facts of a test network with losses. net/check and net/nat test the findings of `check`
 * on the path of lost packets.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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

/* A single packet is too few to name the most frequent source: it waits, and tells what it saw. */
CASE(one_refused_packet)
{
	struct survey_bpf *sources;
	struct way_back back;
	uint64_t until;

	if (geteuid() || way_sources_open(&sources, false))
		skip();
	assert_int_equal(netns_sysctl_write(&lab.router_ns, "net/ipv4/conf/all/rp_filter", "1"), 0);
	assert_true(done(&lab.tx_ns, "ip link set lo up; ip addr replace 203.0.113.1/32 dev lo"));
	send_to(&lab.tx_ns, "203.0.113.1", "198.18.1.2:9", 1);
	until = clock_now() + 500000000;
	assert_true(
		way_sources_back(sources, &lab.router_ns, lab.router_ns.inum, NULL, until, &back));
	assert_true(clock_now() >= until);
	assert_string_equal(back.source, "203.0.113.1");
	assert_string_equal(back.ifname, "v-r0");
	assert_string_equal(back.by, "");
	assert_false(way_sources_back(sources, &lab.rx_ns, lab.rx_ns.inum, NULL, 0, &back));
	way_sources_close(sources);
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
	const bool sysfs = !syscall(SYS_fsopen, NULL, 0) || errno != ENOSYS; /* valgrind has none */
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
		assert_int_equal(*link->rps_cpus != '\0', sysfs);
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
