// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/options_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "experiment/receiver.h"

#define CPU_MAX 8191

static int parse_pause(const char *value, void *field, struct error *err)
{
	struct reader *r = (void *)((char *)field - offsetof(struct reader, pause_ns));
	int rc = reader_parse_pause(value, &r->pause_ns, &r->read_ns);

	return rc ? error_set(err, STATUS_USAGE, rc, "for example 100ms/900ms",
			      "'%s' is not ON/OFF, two times above 0", value)
		  : 0;
}

static int parse_nice(const char *value, void *field, struct error *err)
{
	uint64_t n;
	bool minus = *value == '-';
	int rc = num_u64(value + minus, 0, minus ? 20 : 19, &n);

	if (rc)
		return error_set(err, STATUS_USAGE, rc, NULL, "'%s' is not within -20 .. 19",
				 value);
	*(int *)field = minus ? -(int)n : (int)n;
	return 0;
}

const struct opt socket_send_opts[] = {
	{"gso", 0, OPT_FLAG, offsetof(struct tuning, send.gso),
	 .help = "up to 64 datagrams in one message (UDP_SEGMENT); --tx socket"},
	{"unconnected", 0, OPT_FLAG, offsetof(struct tuning, send.unconnected),
	 .help = "do not connect(): each datagram is routed on its own, as fragments of IPv4 "
		 "always "
		 "are; --tx socket"},
	{"tx-cpu", 0, OPT_UINT, offsetof(struct tuning, tx.cpu),
	 .set_offset = OPT_SET(struct tuning, tx.cpu_set), .max = CPU_MAX, .metavar = "CPU",
	 .default_text = "chosen", .help = "CPU of the first sending thread; the others follow"},
	{0},
};

const struct opt socket_recv_opts[] = {
	{"rx-threads", 0, OPT_UINT, offsetof(struct tuning, rx_threads), .min = 1,
	 .max = RECEIVER_THREADS, .default_text = "1",
	 .help = "sockets that share the port (SO_REUSEPORT), a thread each; a flow meets one of "
		 "them"},
	{"gro", 0, OPT_FLAG, offsetof(struct tuning, receive.gro),
	 .help = "take merged datagrams in one message (UDP_GRO)"},
	{"busy-poll", 0, OPT_UINT, offsetof(struct tuning, receive.busy_poll_us), .min = 1,
	 .max = 1000000, .metavar = "USEC", .default_text = "off",
	 .help = "look into the device's queue for so long before sleeping (SO_BUSY_POLL)"},
	{"rx-cpu", 0, OPT_UINT, offsetof(struct tuning, rx.cpu),
	 .set_offset = OPT_SET(struct tuning, rx.cpu_set), .max = CPU_MAX, .metavar = "CPU",
	 .default_text = "chosen", .help = "CPU of the first receiving thread; the others follow"},
	{"per-flow", 0, OPT_FLAG, offsetof(struct tuning, per_flow),
	 .help = "report order and delay by source address and port; --rx socket"},
	{"work", 0, OPT_TIME, offsetof(struct tuning, reader.work_ns), .default_text = "0",
	 .help = "a slow reader: CPU time spent on each packet"},
	{"pause", 0, OPT_CUSTOM, offsetof(struct tuning, reader.pause_ns), .metavar = "ON/OFF",
	 .parse = parse_pause, .default_text = "none",
	 .help = "a reader that stalls: reads nothing for ON, then for OFF it reads, and again"},
	{"log", 0, OPT_STRING, offsetof(struct tuning, reader.log), .metavar = "FILE",
	 .default_text = "none", .help = "a reader that writes a line to FILE for each packet"},
	{0},
};

const struct opt both_opts[] = {
	{"nice", 0, OPT_CUSTOM, offsetof(struct tuning, nice), .metavar = "N", .parse = parse_nice,
	 .default_text = "as started", .help = "nice value of the threads, -20 .. 19"},
	{"rt", 0, OPT_UINT, offsetof(struct tuning, rt), .min = 1, .max = 99, .metavar = "PRIO",
	 .default_text = "off", .help = "real-time priority of the threads (SCHED_FIFO)"},
	{0},
};

const struct opt group_opts[] = {
	{"group", 0, OPT_ENDPOINT, offsetof(struct tuning, receive.group), .metavar = "ADDR",
	 .default_text = "none", .help = "join a multicast group, at --interface if one is given"},
	{0},
};

bool tuning_needs_socket(const struct tuning *t)
{
	return t->send.gso || t->send.unconnected;
}

static int needs_socket(const char *option, const char *side, struct error *err)
{
	return error_set(err, STATUS_USAGE, -EINVAL, NULL, "%s needs --%s socket", option, side);
}

static bool is_multicast(const struct endpoint *e)
{
	return e->family == AF_INET6 ? IN6_IS_ADDR_MULTICAST(&e->ip6)
				     : IN_MULTICAST(ntohl(e->ip4.s_addr));
}

static int check_receiver(const struct tuning *t, bool ipv6, struct error *err)
{
	const struct endpoint *group = &t->receive.group;

	if (group->family && (!is_multicast(group) || group->port))
		return error_set(err, STATUS_USAGE, -EINVAL, "for example --group 239.1.1.1",
				 "--group needs the address of a multicast group, without a port");
	if (group->family && group->family != (ipv6 ? AF_INET6 : AF_INET))
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "--group is of the other address family");
	return 0;
}

int tuning_check(const struct tuning *t, const struct tx_ops *tx, const struct rx_ops *rx,
		 bool ipv6, unsigned payload, unsigned mtu, struct error *err)
{
	unsigned room = mtu - (ipv6 ? 48 : 28);

	if (tx && tx != &tx_socket && t->send.gso)
		return needs_socket("--gso", "tx", err);
	if (tx && tx != &tx_socket && t->send.unconnected)
		return needs_socket("--unconnected", "tx", err);
	if (rx && rx != &rx_socket && t->rx_threads > 1)
		return needs_socket("--rx-threads", "rx", err);
	if (rx && rx != &rx_socket && t->receive.gro)
		return needs_socket("--gro", "rx", err);
	if (rx && rx != &rx_socket && t->receive.busy_poll_us)
		return needs_socket("--busy-poll", "rx", err);
	if (rx && rx != &rx_socket && t->per_flow)
		return needs_socket("--per-flow", "rx", err);
	if (rx == &rx_xdp && (reader_works(&t->reader) || t->reader.pause_ns))
		return error_set(err, STATUS_USAGE, -EINVAL, "use --rx socket or --rx xsk",
				 "--work, --pause and --log need a reader, and --rx xdp has none");
	if (tx && mtu && t->send.gso && payload > room)
		return error_set(err, STATUS_USAGE, -EINVAL, "leave --gso out, or use less payload",
				 "--gso cuts at %u bytes, which the MTU of %u does not hold (%u)",
				 payload, mtu, room);
	return rx ? check_receiver(t, ipv6, err) : 0;
}
