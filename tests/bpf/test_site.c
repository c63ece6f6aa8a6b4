// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sites: what each kind of experiment has opened, what its site says of itself while it goes on,
 * and what the ledger is in the end. Between two namespaces of a lab, or one end alone in one of
 * them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "base/clock.h"
#include "experiment/site.h"
#include "helpers.h"
#include "pair.h"

#define COUNT	  200
#define PAYLOAD	  100
#define ROOM	  (8 << 20)
#define SECOND	  1000000000ULL
#define LATEST_NS (20 * SECOND)

static const struct fates_numbers numbers = {TEST_BASE, TRACE_PAGE_SIZE, TEST_STREAM, 2};

enum ends { LAB, PORTS, SENDS, RECEIVES };

/* An experiment, as it differs from 200 packets of one sending thread. */
static const struct kind {
	const char *name;
	enum ends ends;
	const char *faults;
	struct run_spec spec;
	const char *opened; /* see describe_open() */
	const char *closed; /* see describe_end(); NULL: nothing is sent */
} kinds[] = {
	{"lab, sockets",
	 LAB,
	 NULL,
	 {},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb "
	 "last-cpu; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"two threads, buffers",
	 LAB,
	 NULL,
	 {.threads = 2, .rcvbuf = 1 << 20, .sndbuf = 1 << 19},
	 "by-number settle 0; traced 2x4096 - checkpoints; rx socket ns v-rx x1 fates skb last-cpu "
	 "rcvbuf 1048576; tx ns v-tx x2 batch sndbuf 524288 cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"AF_XDP",
	 LAB,
	 NULL,
	 {.tx = &tx_xsk, .rx = &rx_xsk, .threads = 2},
	 "by-number settle 0; traced 2x4096 - checkpoints; rx xsk ns v-rx x2 fates last-cpu prog "
	 "steer; tx ns v-tx x2 batch cpu 0; tx rx v-tx v-rx rx-xsk tx-xsk",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate tx-mode rx-mode"},
	{"XDP",
	 LAB,
	 NULL,
	 {.tx = &tx_xdp, .rx = &rx_xdp},
	 "by-number gro settle 0; traced 1x4096 - checkpoints; rx xdp ns v-rx x1 fates last-cpu "
	 "prog sink; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate tx-mode rx-mode"},
	{"live frames, socket",
	 LAB,
	 NULL,
	 {.tx = &tx_xdp},
	 "by-number gro settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb "
	 "last-cpu; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate tx-mode"},
	{"XDP that passes",
	 LAB,
	 NULL,
	 {.rx = &rx_xdp, .pass = true},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates last-cpu "
	 "prog sink; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"router",
	 LAB,
	 NULL,
	 {.topology = LAB_ROUTER, .topology_set = true},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb "
	 "last-cpu; tx ns v-tx x1 batch cpu 0; tx rx router v-tx v-r0 v-rx v-r1 socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"bridge",
	 LAB,
	 NULL,
	 {.topology = LAB_BRIDGE, .topology_set = true},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb "
	 "last-cpu; tx ns v-tx x1 batch cpu 0; tx rx bridge v-tx v-b0 v-rx v-b1 socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"tunnel",
	 LAB,
	 NULL,
	 {.topology = LAB_VXLAN, .topology_set = true},
	 "by-number settle 0; traced 1x4096 - checkpoints tunnel 4789; rx socket ns x-rx x1 fates "
	 "skb last-cpu; tx ns x-tx x1 batch cpu 0; tx rx v-tx x-tx v-rx x-rx socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"taps",
	 LAB,
	 NULL,
	 {.topology = LAB_TAP, .topology_set = true},
	 "by-number taps settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb "
	 "last-cpu; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"fragments, IPv6",
	 LAB,
	 NULL,
	 {.payload = 3000, .ipv6 = true},
	 "by-number fragments settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates "
	 "skb last-cpu; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 3066 bytes rx-cost tx-cost rx-rate tx-rate fragments 600 reassembled 200"},
	{"legs",
	 LAB,
	 NULL,
	 {.legs = true},
	 "by-number legs settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb "
	 "last-cpu; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"rate",
	 LAB,
	 NULL,
	 {.settle_ns = 3 * SECOND, .rate = {.unit = RATE_PPS, .value = 10000}},
	 "by-number settle 3; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb "
	 "last-cpu; tx ns v-tx x1 batch rate 10000 cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"without end",
	 LAB,
	 NULL,
	 {.count = UINT64_MAX, .settle_ns = 5 * SECOND, .rate = {.unit = RATE_PPS, .value = 10000}},
	 "by-number moving settle 5; traced 1x131072 - checkpoints; rx socket ns v-rx x1 fates skb "
	 "last-cpu; tx ns v-tx x1 batch rate 10000 cpu 0; tx rx v-tx v-rx socket",
	 NULL},
	{"nobody listens",
	 LAB,
	 "udp_lookup",
	 {.tuning.send.unconnected = true},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb nobody "
	 "last-cpu rcvbuf -1; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx",
	 "0 of 200 udp_lookup 200 event flow; 146 bytes tx-cost tx-rate counted"},
	{"closed unread",
	 LAB,
	 "socket_close",
	 {},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates paused skb "
	 "last-cpu rcvbuf -1; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "0 of 200 socket_close 200 event flow; 146 bytes tx-cost tx-rate counted"},
	{"filter of a socket",
	 LAB,
	 "socket_filter=100%",
	 {},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb last-cpu "
	 "rcvbuf -1; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "0 of 200 socket_filter 200 event flow; 146 bytes tx-cost tx-rate counted"},
	{"slow reader",
	 LAB,
	 "rcvbuf",
	 {},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb last-cpu "
	 "rcvbuf -1 xsk 0/0 work 20000; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "some of 200 rcvbuf some event flow; 146 bytes rx-cost tx-cost rx-rate tx-rate counted"},
	{"XDP fault",
	 LAB,
	 "xdp=100%",
	 {},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates last-cpu "
	 "rcvbuf -1; tx ns v-tx x1 batch sndbuf -1 cpu 0; tx rx v-tx v-rx socket",
	 "0 of 200 xdp 200 event flow; 146 bytes tx-cost tx-rate counted"},
	{"XDP fault, generic",
	 LAB,
	 "xdp:generic=100%",
	 {},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb last-cpu "
	 "rcvbuf -1; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "0 of 200 xdp 200 event flow; 146 bytes tx-cost tx-rate"},
	{"few frames",
	 LAB,
	 "xsk:fill",
	 {.rx = &rx_xsk, .count = 2000},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx xsk ns v-rx x1 fates paused last-cpu "
	 "xsk 256/0 work 0 prog steer; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx rx-xsk",
	 "some of 2000 xsk some event flow; 146 bytes rx-cost tx-cost rx-rate tx-rate rx-mode "
	 "counted"},
	{"qdisc",
	 LAB,
	 "qdisc",
	 {},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb last-cpu "
	 "rcvbuf -1; tx ns v-tx x1 batch rate 10000 sndbuf -1 cpu 0; tx rx v-tx v-rx socket",
	 NULL},
	{"replaced qdisc",
	 LAB,
	 "qdisc:replace",
	 {},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb last-cpu "
	 "rcvbuf -1; tx ns v-tx x1 batch sndbuf -1 cpu 0; tx rx v-tx v-rx socket",
	 NULL},
	{"bridge that floods",
	 LAB,
	 "l2:silent",
	 {},
	 "by-number settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb last-cpu "
	 "rcvbuf -1; tx ns v-tx x1 batch cpu 0; tx rx bridge v-tx v-b0 v-rx v-b1 socket",
	 "0 of 200 l2 200 difference flow; 146 bytes tx-cost tx-rate"},
	{"ports",
	 PORTS,
	 NULL,
	 {},
	 "by-number nic settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 fates skb "
	 "last-cpu; tx ns "
	 "v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate"},
	{"ports, fragments",
	 PORTS,
	 NULL,
	 {.payload = 3000},
	 "by-number fragments nic settle 0; traced 1x4096 - checkpoints; rx socket ns v-rx x1 "
	 "fates skb "
	 "last-cpu; tx ns v-tx x1 batch cpu 0; tx rx v-tx v-rx socket",
	 "200 of 200; 3046 bytes rx-cost tx-cost rx-rate tx-rate fragments 600 reassembled 200"},
	{"ports, AF_XDP",
	 PORTS,
	 NULL,
	 {.tx = &tx_xsk, .rx = &rx_xsk},
	 "by-number nic settle 0; traced 1x4096 - checkpoints; rx xsk ns v-rx x2 fates last-cpu "
	 "prog steer; tx "
	 "ns v-tx x1 batch cpu 0; tx rx v-tx v-rx rx-xsk tx-xsk",
	 "200 of 200; 146 bytes rx-cost tx-cost rx-rate tx-rate tx-mode rx-mode"},
	{"sender alone",
	 SENDS,
	 NULL,
	 {.tuning.send.unconnected = true},
	 "lone settle 5; traced 1x4096 tx; tx v-tx any x1 batch;",
	 "0 of 200 refused 1 open 199 queued 0 impossible 0; 146 bytes tx-cost tx-rate"},
	{"sender with a ledger",
	 SENDS,
	 NULL,
	 {.ledger = 1, .settle_ns = 7 * SECOND, .tuning.send.unconnected = true},
	 "net_dev_start_xmit lone by-number moving settle 7; traced 1x4096 tx edge; tx v-tx any x1 "
	 "batch;",
	 "11 0 of 200 open 200 queued 0 impossible 0; 146 bytes tx-cost tx-rate"},
	{"AF_XDP alone",
	 SENDS,
	 NULL,
	 {.tx = &tx_xsk},
	 "lone by-engine settle 5; tx v-tx x1;",
	 "0 of 200 refused 1 open 199 queued 0 impossible 0; 146 bytes tx-cost tx-rate tx-mode"},
	{"AF_XDP with a ledger",
	 SENDS,
	 NULL,
	 {.tx = &tx_xsk, .ledger = 1, .threads = 2},
	 "AF_XDP completion lone by-number moving settle 5; traced 2x4096 tx edge; tx v-tx x2 "
	 "batch;",
	 "10 11 0 of 200 refused 1 open 199 queued 0 impossible 0; 146 bytes tx-cost tx-rate "
	 "tx-mode"},
	{"live frames alone",
	 SENDS,
	 NULL,
	 {.tx = &tx_xdp},
	 "lone settle 5; traced 1x4096 tx; tx v-tx x1 batch;",
	 NULL},
	{"sender of two",
	 SENDS,
	 NULL,
	 {.paired = true, .threads = 2, .numbers = &numbers, .tuning.send.unconnected = true},
	 "lone by-number moving settle 5; traced 2x4096 tx edge; tx v-tx any x2 batch; tx v-tx",
	 "11 11 0 of 200 open 200 queued 0 impossible 0; 146 bytes tx-cost tx-rate"},
	{"receiver alone",
	 RECEIVES,
	 NULL,
	 {},
	 "lone settle 5; traced 1x4096 rx; rx socket v-rx x1 skb;",
	 NULL},
	{"receiver with a ledger",
	 RECEIVES,
	 NULL,
	 {.ledger = 4},
	 "netif_receive_skb lone by-number discovers settle 5; traced 4x0 rx edge learn; rx socket "
	 "v-rx x1 fates table skb;",
	 NULL},
	{"AF_XDP receiver",
	 RECEIVES,
	 NULL,
	 {.rx = &rx_xsk},
	 "lone settle 5; traced 1x4096 rx; rx xsk v-rx x2 prog steer;",
	 NULL},
	{"XDP receiver",
	 RECEIVES,
	 NULL,
	 {.rx = &rx_xdp},
	 "lone settle 5; traced 1x4096 rx; rx xdp v-rx x1 prog sink learn;",
	 NULL},
	{"XDP receiver with a ledger",
	 RECEIVES,
	 NULL,
	 {.rx = &rx_xdp, .ledger = 4},
	 "XDP lone by-number discovers settle 5; traced 4x0 rx edge learn; rx xdp v-rx x1 fates "
	 "table prog sink;",
	 NULL},
	{"XDP that passes, alone",
	 RECEIVES,
	 NULL,
	 {.rx = &rx_xdp, .pass = true},
	 "lone settle 5; traced 1x4096 rx; rx socket v-rx x1 prog sink learn;",
	 NULL},
	{"receiver of two",
	 RECEIVES,
	 NULL,
	 {.paired = true, .threads = 2, .numbers = &numbers},
	 "lone by-number moving settle 5; traced 2x4096 rx edge; rx socket v-rx x1 fates skb; rx "
	 "v-rx socket",
	 NULL},
};

static struct site s;
static struct run_spec spec;
static struct result res;
static char said[2048];

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	size_t n = strlen(said);
	va_list args;

	va_start(args, fmt);
	vsnprintf(said + n, sizeof(said) - n, fmt, args);
	va_end(args);
}

static void say_if(bool is, const char *what)
{
	say("%s", is ? what : "");
}

static const char *side(uint32_t inum)
{
	return !inum			  ? "-"
	       : inum == s.lab.tx_ns.inum ? "tx"
	       : inum == s.lab.rx_ns.inum ? "rx"
					  : "?";
}

static bool has(const char *scope, const char *name)
{
	uint64_t value;

	return counters_get(&s.before, scope, name, &value);
}

/* What differs from host to host is shown as what it has to be. */
static void describe_open(void)
{
	const struct trace_config *t = &s.tracer.config;
	const struct receiver_config *r = &s.receiver_config;
	const struct sender_config *x = &s.sender_config;
	const int last = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;

	said[0] = '\0';
	if (s.lone && spec.ledger)
		say("%.*s ", (int)strcspn(site_place(&s), ","), site_place(&s));
	say_if(s.lone, "lone ");
	say_if(s.by_number, "by-number ");
	say_if(s.discovers, "discovers ");
	say_if(s.moving, "moving ");
	say_if(s.by_engine, "by-engine ");
	say_if(s.fragments, "fragments ");
	say_if(s.legs, "legs ");
	say_if(s.gro, "gro ");
	say_if(s.nic.ns, "nic ");
	say_if(s.lab.taps, "taps ");
	say("settle %d", (int)(s.settle_ns / SECOND));
	if (s.traced) {
		bool found = s.discovers && t->window == discover_window(spec.ledger);

		say("; traced %dx%d %s%s%s", t->streams, found ? 0 : (int)t->window, side(t->netns),
		    s.tracer.checkpoints ? " checkpoints" : "", s.tracer.edge ? " edge" : "");
		say_if(t->learn, " learn");
		if (t->tunnel)
			say(" tunnel %d", t->tunnel);
		assert_int_equal(t->port, TEST_PORT);
	}
	if (s.receives) {
		say("; rx %s %s%s x%d", r->ops->name, r->ns ? "ns " : "", r->ifname, r->threads);
		say_if(r->shape, " shape");
		say_if(r->fates, " fates");
		say_if(r->table, " table");
		say_if(r->paused, " paused");
		say_if(r->xdp_skb_mode, " skb");
		say_if(!s.receiver, " nobody");
		say_if(r->cpu == last, " last-cpu");
		if (r->rcvbuf && r->rcvbuf != ROOM)
			say(" rcvbuf %d", r->rcvbuf == s.fx.rcvbuf ? -1 : r->rcvbuf);
		if (r->xsk_frames || r->xsk_room || r->work_ns)
			say(" xsk %d/%d work %d", r->xsk_frames, r->xsk_room, (int)r->work_ns);
	}
	if (s.prog)
		say(" prog %s%s", s.prog->sink ? "sink" : "steer",
		    s.prog->arrivals ? " learn" : "");
	if (s.sends) {
		say("; tx %s%s%s x%d", x->ns ? "ns " : "", x->ifname, x->ifindex ? "" : " any",
		    x->threads);
		say_if(x->shape, " shape");
		say_if(x->batch_fd >= 0, " batch");
		if (x->rate_pps > 0)
			say(" rate %d", (int)x->rate_pps);
		if (x->sndbuf)
			say(" sndbuf %d", x->sndbuf == s.fx.sndbuf ? -1 : x->sndbuf);
		if (x->cpu >= 0)
			say(" cpu %d", x->cpu);
	}
	say(";");
	say_if(has("tx", "Udp:OutDatagrams"), " tx");
	say_if(has("rx", "Udp:InDatagrams"), " rx");
	say_if(has("router", "Ip:ForwDatagrams"), " router");
	say_if(has("bridge", "Ip:ForwDatagrams"), " bridge");
	for (int i = 0; i < 2; i++) {
		static const char *const device[][2] = {{"v-tx", "x-tx"}, {"v-rx", "x-rx"}};
		static const char *const middle[][2] = {{"v-r0", "v-b0"}, {"v-r1", "v-b1"}};
		char name[32];

		for (int j = 0; j < 2; j++) {
			snprintf(name, sizeof(name), "%s:tx_packets", device[i][j]);
			if (has(i ? "rx" : "tx", name))
				say(" %s", device[i][j]);
			snprintf(name, sizeof(name), "%s:tx_packets", middle[i][j]);
			if (has(j ? "bridge" : "router", name))
				say(" %s", middle[i][j]);
		}
	}
	say_if(has("rx", "socket:drops"), " socket");
	say_if(has("rx", "xsk:rx_ring_full"), " rx-xsk");
	say_if(has("tx", "xsk:tx_lost"), " tx-xsk");
}

/* How many of those that were sent; what was lost in part is by chance. */
static const char *amount(uint64_t n)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", (int)n);
	return n && n < spec.count ? "some" : text;
}

static void describe_end(void)
{
	bool moved = false;

	say("%s of %d", amount(res.delivered), (int)res.attempted);
	if (res.refused)
		say(" refused %d", (int)res.refused);
	if (res.unaccounted || res.in_flight || res.impossible)
		say(" open %d queued %d impossible %d", (int)res.unaccounted, (int)res.in_flight,
		    (int)res.impossible);
	for (int i = 0; i < STAGE_COUNT; i++) {
		if (res.stage[i].packets)
			say(" %s %s %s %s", stage_name(i), amount(res.stage[i].packets),
			    res.stage[i].source, res.stage[i].scope);
	}
	say("; %d bytes", res.frame_bytes);
	say_if(res.delivered && res.rx_cost.calls && res.rx_cost.cpu_ns, " rx-cost");
	say_if(res.tx_cost.calls, " tx-cost");
	say_if(res.rx_pps > 0, " rx-rate");
	say_if(res.tx_pps > 0, " tx-rate");
	say_if(*res.tx_mode, " tx-mode");
	say_if(*res.rx_mode, " rx-mode");
	if (res.fragments.seen)
		say(" fragments %d reassembled %d", (int)res.fragments.seen, (int)res.reassembled);
	for (unsigned i = 0; i < res.n_counters; i++) {
		const struct result_counter *c = &res.counter[i];

		moved |= c->delta && c->agrees;
		if (!c->agrees)
			say(" %s %s %d%s", stage_name(c->stage), c->name, (int)c->delta,
			    c->documented ? " documented" : " DISAGREES");
	}
	say_if(moved, " counted");
}

static int open_kind(const struct kind *k)
{
	static char port_a[64], port_b[64];
	const struct experiment_view nobody = {};
	struct error err = {};
	int rc;

	spec = k->spec;
	spec.count = spec.count ? spec.count : COUNT;
	spec.payload = spec.payload ? spec.payload : PAYLOAD;
	spec.port = TEST_PORT;
	spec.flows = 1;
	spec.threads = spec.threads ? spec.threads : 1;
	if (k->ends != RECEIVES)
		spec.tx = spec.tx ? spec.tx : &tx_socket;
	if (k->ends != SENDS)
		spec.rx = spec.rx ? spec.rx : &rx_socket;
	if (!k->faults && !spec.rcvbuf)
		spec.rcvbuf = ROOM; /* a busy host loses nothing */
	if (k->ends == PORTS) {
		snprintf(port_a, sizeof(port_a), "/proc/self/fd/%d/v-tx", lab.tx_ns.fd);
		snprintf(port_b, sizeof(port_b), "/proc/self/fd/%d/v-rx", lab.rx_ns.fd);
		spec.port_a = port_a;
		spec.port_b = port_b;
	}
	if (k->ends == SENDS)
		spec.to =
			(struct endpoint){.family = AF_INET, .ip4 = lab.rx.ip4, .port = TEST_PORT};
	if (k->ends == SENDS || k->ends == RECEIVES)
		spec.ifname = k->ends == SENDS ? "v-tx" : "v-rx";
	if (k->faults)
		assert_int_equal(fault_parse(k->faults, false, &spec.faults, &err), 0);
	rc = site_open(&s, &spec, &nobody, &err);
	if (rc)
		print_error("%s: %s\n", k->name, err.message);
	return rc;
}

static uint64_t open_numbers(void)
{
	uint64_t next[TRACE_STREAMS] = {}, sum = 0;

	site_next(&s, next);
	for (unsigned t = 0; t < spec.threads; t++)
		sum += next[t];
	return sum;
}

static void start(void)
{
	struct site_status st;
	struct error err = {};

	site_status(&s, &st);
	assert_false(st.running);
	assert_true(st.idle);
	assert_int_equal(open_numbers(), 0);
	if (s.faults)
		assert_int_equal(fault_begin(s.faults, &err), 0);
	site_start(&s);
}

static void stop_sending(void)
{
	uint64_t end = clock_now() + LATEST_NS;
	struct site_status st;
	struct error err = {};

	site_status(&s, &st);
	while (st.running || !sender_done(s.sender)) {
		assert_true(clock_now() < end && !site_failed(&s, &err));
		pace_wait(1000000);
		site_status(&s, &st);
	}
	site_stop_sending(&s, &err);
	site_status(&s, &st);
	assert_false(st.running);
	assert_int_equal(open_numbers(), spec.count);
	assert_string_equal(err.message, "");
}

/* What only the sender of two, or alone, does. */
static void close_one(void)
{
	uint64_t accepted, refused, sent = 0, next[TRACE_STREAMS] = {};
	const struct fates *f = &s.tracer.fates;

	site_next(&s, next);
	f->failed[fates_index(f, 0, f->base + 1)] = EPERM;
	site_prepare(&s, next);
	for (uint16_t t = 0; t < spec.threads && s.by_number; t++) {
		for (uint64_t n = f->base; n < f->base + 2; n++)
			say("%d", !!(f->seen[fates_index(f, t, n)] & SEEN_TX_DEVICE));
		say(" ");
	}
	site_fold(&s, next, NULL);
	site_fold(&s, next, NULL);
	for (unsigned t = 0; t < spec.threads; t++) {
		site_count(&s, t, &accepted, &refused);
		assert_int_equal(refused, t == 0);
		sent += accepted;
	}
	assert_int_equal(sent, spec.count - 1);
	site_ledger(&s, 0, &res);
	site_end(&s, &res);
	if (spec.paired)
		assert_int_equal(site_check(&s, &res, &(struct error){}), 0);
	site_describe(&s, &res);
}

static void close_both(void)
{
	uint64_t end = clock_now() + LATEST_NS, next[TRACE_STREAMS] = {};
	struct site_status st;
	struct error err = {};

	while ((!site_is_complete(&s) || (site_status(&s, &st), !st.idle)) && clock_now() < end)
		pace_wait(1000000);
	assert_true(clock_now() < end);
	assert_int_equal(st.delivered + st.dropped, site_fates_seen(&s));
	assert_int_equal(site_stop_receiving(&s, &err), 0);
	assert_int_equal(site_stop_receiving(&s, &err), 0); /* it has */
	site_status(&s, &st);
	site_next(&s, next);
	site_prepare(&s, next);
	site_fold(&s, next, NULL);
	site_beyond(&s);
	site_ledger(&s, st.in_queues, &res);
	site_end(&s, &res);
	site_describe(&s, &res);
	assert_int_equal(site_check(&s, &res, &err), 0);
	assert_string_equal(err.message, "");
}

static void compare(const struct kind *k, const char *wanted)
{
	if (getenv("PKTLEDGER_SHOW"))
		print_message("%s\n\t%s\n", k->name, said);
	else if (strcmp(said, wanted))
		fail_msg("%s:\nis  %s\nnot %s", k->name, said, wanted);
}

CASE(kinds_of_experiments)
{
	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		const struct kind *k = &kinds[i];
		const struct netns *ns = k->ends == SENDS ? &lab.tx_ns : &lab.rx_ns;
		int saved = k->ends == LAB || k->ends == PORTS ? -1 : netns_push(ns);

		memset(&res, 0, sizeof(res));
		assert_int_equal(open_kind(k), 0);
		describe_open();
		compare(k, k->opened);
		if (k->closed) {
			start();
			stop_sending();
			said[0] = '\0';
			if (s.lone)
				close_one();
			else
				close_both();
			describe_end();
			compare(k, k->closed);
		}
		site_close(&s);
		if (saved >= 0)
			netns_pop(saved);
	}
}

/* What waits in queues of the kernel is not idle, and is in flight. */
CASE(what_waits)
{
	static const struct kind rows[] = {
		{"qdisc", LAB, "qdisc=1k", {.count = 2000}, NULL, NULL},
		{"reassembly", LAB, "ip_frag:missing=100%", {.payload = 3000}, NULL, NULL},
		{"neighbour", LAB, "neigh", {}, NULL, NULL},
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		uint64_t end = clock_now() + LATEST_NS;
		struct site_status st;
		bool waits = false;

		assert_int_equal(open_kind(&rows[i]), 0);
		start();
		while (!waits && clock_now() < end) {
			pace_wait(100000);
			site_status(&s, &st);
			assert_int_equal(st.in_queues, st.in_qdiscs + st.in_reassembly);
			waits = i == 0	 ? st.in_qdiscs > 1
				: i == 1 ? st.in_reassembly > 1
					 : !st.idle && !st.in_queues;
		}
		assert_true(waits);
		assert_false(st.idle);
		assert_int_equal(i == 0, st.in_qdiscs > 0);
		site_stop_sending(&s, &(struct error){});
		site_close(&s);
	}
}

static int open_queues(void **state)
{
	const struct lab_spec two = {.topology = LAB_PAIR, .queues = 2};
	struct error err = {};

	return lab_open(&lab, &two, &err);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(open_queues, close_lab);
}
