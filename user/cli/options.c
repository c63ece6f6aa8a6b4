// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/options.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "base/watch.h"
#include "experiment/receiver.h"
#include "host/netdev.h"
#include "stamp.h"

#define FRAME_V4 (14 + 20 + 8 + 4) /* Ethernet, IPv4, UDP, FCS */
#define FRAME_V6 (14 + 40 + 8 + 4)
#define MAX_UDP	 65507 /* largest payload that fits IPv4's length field */

char **program_argv;
int program_argc;
struct opt_seen program_options;

const struct opt global_opts[] = {
	{"json", 'j', OPT_FLAG, offsetof(struct global_options, json), .excludes = "json-lines",
	 .help = "print one JSON document on stdout"},
	{"json-lines", 0, OPT_FLAG, offsetof(struct global_options, json_lines),
	 .help = "print the same as events while running, one per line"},
	{"quiet", 'q', OPT_FLAG, offsetof(struct global_options, quiet), .excludes = "verbose",
	 .help = "print only the result and errors"},
	{"verbose", 'v', OPT_REPEAT, offsetof(struct global_options, verbose),
	 .help = "print more (-vv: also libbpf messages)"},
	{"version", 'V', OPT_VERSION, .help = "print the version and exit"},
	{"help", 'h', OPT_HELP, .help = "print this help (--help all: everything)"},
	{0},
};

bool option_given(const char *name)
{
	for (unsigned i = 0; i < program_options.n; i++) {
		if (!strcmp(program_options.given[i]->name, name))
			return true;
	}
	return false;
}

int contradiction_check(const struct contradiction *list, struct error *err)
{
	for (; list->message; list++) {
		if (list->found)
			return error_usage(err, list->hint, "%s", list->message);
	}
	return 0;
}

const struct opt_value tx_values[] = {
	{"auto", TX_AUTO, "fastest sender that supports the options given"},
	{"socket", TX_SOCKET, "UDP sockets, sendmmsg()"},
	{"xsk", TX_XSK, "AF_XDP: whole frames, bypassing the IP stack"},
	{"xdp", TX_XDP, "frames generated in the kernel by a BPF program (fastest)"},
	{0},
};

const struct opt_value rx_values[] = {
	{"socket", RX_SOCKET, "UDP socket, recvmmsg(): the path of an application"},
	{"xsk", RX_XSK, "AF_XDP: frames received at the interface"},
	{"xdp", RX_XDP, "XDP program: frames counted and dropped in the driver"},
	{0},
};

static int parse_length(const char *value, void *field, struct error *err)
{
	uint64_t bytes = LENGTH_BEST;
	int rc = strcmp(value, "best") ? num_size(value, &bytes) : 0;

	if (rc || (bytes != LENGTH_BEST && (bytes < 1 || bytes > UINT16_MAX)))
		return error_usage(err, NULL, "'%s' is neither a size from 1 to %u nor `best`",
				   value, UINT16_MAX);
	*(uint64_t *)field = bytes;
	return 0;
}

#define AT(member) offsetof(struct traffic_options, member)

const struct opt traffic_opts[] = {
	{"count", 'c', OPT_COUNT, AT(spec.count),
	 .set_offset = OPT_SET(struct traffic_options, count_set), .min = 1, .max = UINT32_MAX,
	 .metavar = "N", .help = "number of packets to send"},
	{"duration", 't', OPT_TIME, AT(spec.duration_ns), .min = 1,
	 .default_text = "10s with a rate",
	 .help = "send for this long"},
	{"rate", 'r', OPT_RATE, AT(spec.rate),
	 .set_offset = OPT_SET(struct traffic_options, rate_set),
	 .default_text = "max in a test network",
	 .help = "send rate: pps, bit/s (1.5Gbit, 1.5Gbit/l1) or max"},
	{"size", 0, OPT_SIZE, AT(size), .excludes = "length", .default_text = "", .min = 1,
	 .max = 65535, .help = "frame size in bytes with FCS"},
	{"length", 'l', OPT_CUSTOM, AT(length), .metavar = "SIZE", .parse = parse_length,
	 .default_text = "512",
	 .help = "UDP payload in bytes, or `best`: every fragment full"},
	{"port", 'p', OPT_U64, AT(spec.port), .min = 1, .max = 65535,
	 .help = "UDP port of the receiver"},
	{"ipv6", '6', OPT_FLAG, AT(spec.ipv6), .help = "use IPv6"},
	{"flows", 0, OPT_UINT, AT(spec.flows), .min = 1, .max = INT32_MAX,
	 .help = "number of 5-tuples"},
	{"threads", 'P', OPT_UINT, AT(spec.threads), .min = 1, .max = TRACE_STREAMS,
	 .help = "number of sending threads (and queues, with xsk)"},
	{"sndbuf", 0, OPT_SIZE, AT(spec.sndbuf), .min = 1, .max = INT32_MAX / 2,
	 .default_text = "the host's", .help = "send buffer in bytes"},
	{"no-wait", 0, OPT_FLAG, AT(spec.tuning.send.no_wait),
	 .help = "refuse packets instead of waiting when the send buffer is full"},
	{0},
};

const struct tx_ops *tx_ops_of(enum tx_choice tx)
{
	return tx_engines[tx - TX_SOCKET];
}

const struct rx_ops *rx_ops_of(enum rx_choice rx)
{
	return rx_engines[rx];
}

int traffic_payload(const struct traffic_options *t, bool ipv6, const struct tx_ops *tx,
		    unsigned mtu, unsigned *payload, struct error *err)
{
	unsigned overhead = ipv6 ? FRAME_V6 : FRAME_V4;
	uint64_t bytes = t->size ? t->size - overhead : t->length;
	const char *option = t->size ? "--size" : "--length";
	uint64_t given = t->size ? t->size : t->length;
	unsigned room;

	if (!t->size && t->length == LENGTH_BEST) {
		if (!mtu)
			return error_set(err, STATUS_UNABLE, -ENODATA, "give the length",
					 "--length best: the MTU of the path is not known");
		bytes = given =
			tx->socket ? reassembly_best_payload(ipv6, mtu) : mtu - overhead + 18;
	}
	if (t->size ? t->size < overhead + STAMP_LEN : bytes < STAMP_LEN)
		return error_usage(err, NULL, "%s %llu leaves no room for the sequence header: at least %u%s",
				   option, (unsigned long long)given,
				   STAMP_LEN + (t->size ? overhead : 0),
				   !t->size ? ""
				   : ipv6   ? " for IPv6"
					    : " for IPv4");
	if (bytes > MAX_UDP)
		return error_usage(err, NULL,
				   "%s %llu is more than a UDP datagram holds (%u of payload)",
				   option, (unsigned long long)given, MAX_UDP);
	room = mtu - (overhead - 14 - 4);
	if (mtu && bytes > room && (t->size || !tx->socket))
		return error_usage(err,
				   tx->socket ? "use --length: it is fragmented"
						 : "use --tx socket, or a smaller packet",
				   "%s %llu does not fit the MTU of %u (--length %u at most)%s%s",
				   option, (unsigned long long)given, mtu, room,
				   tx->socket ? "" : ", and no fragments are made by --tx ",
				   tx->socket ? "" : tx->name);
	*payload = (unsigned)bytes;
	return 0;
}

int traffic_family(struct run_spec *spec, const struct endpoint *to, struct error *err)
{
	if (spec->ipv6 && to->family == AF_INET)
		return error_usage(err, "leave -6 out, or give an IPv6 address",
				   "--ipv6 is given, and the address is an IPv4 address");
	spec->ipv6 = to->family == AF_INET6;
	return 0;
}

void show_plan(const struct run_spec *spec, double rate_pps, const char *from, const char *to)
{
	const bool endless = spec->count == UINT64_MAX;

	log_info("sending %s of %s%u bytes%s%s at %s from %s to %s",
		 endless ? "datagrams" : fmt_many(spec->count, "datagram"),
		 shape_sizes_differ(spec_shape(spec)) ? "up to " : "", spec->payload,
		 spec->duration_ns ? " for " : "",
		 spec->duration_ns ? num_text_time(spec->duration_ns) : "",
		 spec->shape.scheduled ? "its own times"
		 : rate_pps > 0	       ? fmt_rate(rate_pps)
				       : "full speed",
		 from, to);
}

void show_note(void *arg, const char *note)
{
	(void)arg;
	log_warn("%s", note);
}

static bool pipe_closed(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};

	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

bool stdout_gone(void)
{
	return output_failed() || pipe_closed();
}

static int flush_errno; /* errno of the first failure, because stdio does not keep it */

void output_flush(void)
{
	if (fflush(stdout) && !flush_errno)
		flush_errno = errno;
}

int output_end(struct json_out *json, struct error *err)
{
	int rc, drained;

	if (json && err->status != STATUS_OK)
		json_out_once(json, "error", json_error(err));
	rc = json_out_finish(json);
	output_flush();
	drained = output_drain();
	if (!rc)
		rc = flush_errno ? -flush_errno : drained;
	if (rc == -EINTR)
		return error_set(err, STATUS_FAILED, rc, NULL,
				 "part of the result is lost: the reader of stdout has stopped");
	if (rc == -EPIPE || pipe_closed() || (!rc && !ferror(stdout)))
		return 0;
	return error_set(err, STATUS_FAILED, rc ? rc : -EIO,
			 rc == -EBADF ? "stdout is closed: redirect it, for example to /dev/null"
				      : "make room, or write it elsewhere",
			 "cannot write the result to stdout: %s",
			 rc ? strerror(-rc) : "part of it could not be written before");
}

void print_json(struct json_object *doc)
{
	json_print(stdout, json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN));
	putchar('\n');
	json_object_put(doc);
}

int global_verbosity(const struct global_options *g)
{
	return g->quiet ? -1 : (int)g->verbose;
}

struct print_view global_view(const struct global_options *g)
{
	return (struct print_view){.out = stdout,
				   .colour = log_colour(STDOUT_FILENO),
				   .verbosity = g ? global_verbosity(g) : 0};
}

bool global_json(const struct global_options *g)
{
	return g->json || g->json_lines;
}

struct json_out *global_json_out(const struct global_options *g, const char *schema)
{
	return global_json(g) ? json_out_new(stdout, g->json ? JSON_DOC : JSON_LINES, schema)
			      : NULL;
}

#define SRC_PORT  40000
#define SRC_PORTS 25000 /* default number of ports per address */

static int explain(int rc, const char *value, const char *what, struct error *err)
{
	return rc ? error_usage(err, NULL, "'%.80s' %s", value, what) : 0;
}

static int parse_addrs(const char *value, void *field, struct error *err)
{
	int rc = addrs_parse(value, field);

	return explain(rc, value,
		       rc == -ERANGE ? "is empty or has more than 2^32 addresses"
				     : "is not a range of addresses (examples: 198.18.0.1, "
				       "198.18.0.1..198.18.0.9, 198.18.4.0/24, 2001:2::/120)",
		       err);
}

static int parse_ports(const char *value, void *field, struct error *err)
{
	return explain(ports_parse(value, field), value,
		       "is not a range of ports from 1 to 65535 (examples: 9000, 9000..9099)", err);
}

const struct opt shape_opts[] = {
	{"profile", 0, OPT_CUSTOM, AT(profile), .metavar = "KIND:...", .parse = rate_plan_parse,
	 .default_text = "--rate throughout",
	 .help = "vary the rate: ramp:10k..1M/10s, steps:10k,50k,100k/2s (2 s each) or "
		 "onoff:100ms/900ms (--rate while on)"},
	{"burst", 0, OPT_UINT, AT(spec.shape.burst), .min = 1, .max = SHAPE_BURST_MAX,
	 .default_text = "1", .help = "send bursts of N packets at the same average rate"},
	{"imix", 0, OPT_CUSTOM, AT(imix), .metavar = "MIX", .parse = imix_parse,
	 .excludes = "size",
	 .default_text = "one size",
	 .help = "mix frame sizes with FCS: simple (7 x 64, 4 x 594, 1 x 1518) or "
		 "64:7,594:4,1518:1 (SIZE:WEIGHT)"},
	{"src-addr", 0, OPT_CUSTOM, AT(spec.shape.src_addr), .metavar = "RANGE",
	 .parse = parse_addrs, .excludes = "reverse", .default_text = "the port's",
	 .help = "source addresses: ADDR, FIRST..LAST or ADDR/PREFIX"},
	{"dst-addr", 0, OPT_CUSTOM, AT(spec.shape.dst_addr), .metavar = "RANGE",
	 .parse = parse_addrs, .excludes = "to", .default_text = "the receiver's",
	 .help = "destination addresses, given like --src-addr"},
	{"src-port", 0, OPT_CUSTOM, AT(spec.shape.src_port), .metavar = "RANGE",
	 .parse = parse_ports, .default_text = "from 40000",
	 .help = "source ports: PORT or FIRST..LAST"},
	{"dst-port", 0, OPT_CUSTOM, AT(spec.shape.dst_port), .metavar = "RANGE",
	 .parse = parse_ports, .excludes = "to", .default_text = "--port",
	 .help = "destination ports (more than one requires --rx xsk or xdp)"},
	{"random", 0, OPT_FLAG, AT(spec.shape.random),
	 .help = "choose flows and sizes at random instead of in turn"},
	{"seed", 0, OPT_U64, AT(spec.shape.seed), .max = UINT64_MAX,
	 .help = "random seed (the same seed produces the same traffic)"},
	{"vlan", 0, OPT_UINT, AT(spec.vlan), .metavar = "ID", .min = 1, .max = 4094,
	 .excludes = "tx=socket", .default_text = "no tag", .help = "802.1Q tag"},
	{"tos", 0, OPT_UINT, AT(spec.tos), .max = 255, .default_text = "0",
	 .help = "TOS byte or traffic class (DSCP << 2)"},
	{"ttl", 0, OPT_UINT, AT(spec.ttl), .min = 1, .max = 255, .default_text = "64",
	 .help = "TTL or hop limit"},
	{"pcap", 0, OPT_STRING, AT(pcap), .metavar = "FILE", .default_text = "none",
	 .excludes = "tx=socket reverse imix src-addr dst-addr src-port dst-port vlan tos ttl",
	 .help = "send the frames of a capture, with its timing unless --rate is given and once "
		 "unless --count is given"},
	{"sequence-header", 0, OPT_FLAG, AT(stamp), .formerly = "stamp",
	 .needs = "pcap", .help = "address the frames to the receiver and number them"},
	{0},
};

bool shape_needs_frames(const struct traffic_options *t)
{
	return t->spec.vlan || t->pcap;
}

static bool has_schedule(const struct traffic_options *t)
{
	return t->pcap || t->profile.kind == PLAN_RAMP || t->profile.kind == PLAN_STEPS;
}

int traffic_check_rate(const struct traffic_options *t, struct error *err)
{
	if (t->rate_set || has_schedule(t))
		return 0;
	return error_usage(err, "for example --rate 100k, or --rate max",
			   "outside a test network, --rate is required");
}

static bool has_ranges(const struct shape *s)
{
	return s->src_addr.n || s->dst_addr.n || s->src_port.n || s->dst_port.n;
}

static int check_family(const struct shape_addrs *a, const char *option, bool ipv6,
			struct error *err)
{
	if (!a->n || a->family == (ipv6 ? AF_INET6 : AF_INET))
		return 0;
	return error_usage(err, ipv6 ? NULL : "add --ipv6, or use IPv4 there",
			   "%s is not IPv%c like the rest of the traffic",
			   option, ipv6 ? '6' : '4');
}

static bool beyond_ranges(const struct traffic_options *t, const struct run_spec *spec)
{
	return t->imix.n || spec->shape.random || spec->vlan || spec->tos || spec->ttl ||
	       t->pcap;
}

static int check_shape(const struct traffic_options *t, const struct run_spec *spec,
		       struct error *err)
{
	const struct shape *s = &spec->shape;
	const bool headers = has_ranges(s) || spec->vlan || spec->tos || spec->ttl;
	const struct contradiction list[] = {
		{t->profile.kind == PLAN_ONOFF && spec->rate.unit == RATE_MAX,
		 "--profile onoff needs a --rate for its bursts", "for example --rate 100k"},
		{has_schedule(t) && !t->pcap && t->rate_set,
		 "--rate and this --profile cannot be given together", NULL},
		{spec->flows > SRC_PORTS && !headers,
		 "--flows: one source address has ports for 25000 flows",
		 "add source addresses: --src-addr RANGE"},
		{s->burst > 1 && !t->rate_set && !t->profile.kind, "--burst needs a rate",
		 "for example --rate 100k"},
		{0},
	};

	if (check_family(&s->src_addr, "--src-addr", spec->ipv6, err) ||
	    check_family(&s->dst_addr, "--dst-addr", spec->ipv6, err) ||
	    contradiction_check(list, err))
		return -EINVAL;
	if (s->frames && !spec->tx->shapes &&
	    !(spec->tx->sources && !beyond_ranges(t, spec) && !s->dst_addr.n && !s->dst_port.n))
		return error_usage(
			err, "use --tx xsk or --tx socket",
			"--tx %s sends packets that are all alike: of the options of traffic shape "
			"it takes --profile, --burst, --src-addr and --src-port only",
			spec->tx->name);
	return 0;
}

static int plan_sizes(const struct imix *imix, const struct run_spec *spec, struct shape *s,
		      struct error *err)
{
	unsigned header = (spec->ipv6 ? FRAME_V6 : FRAME_V4) + (spec->vlan ? 4 : 0);

	for (unsigned i = 0; i < imix->n; i++) {
		unsigned frame = imix->frame[i];

		if (frame < header + STAMP_LEN && imix->simple)
			frame = header + STAMP_LEN;
		if (frame < header + STAMP_LEN)
			return error_usage(err, NULL,
					   "--imix: a frame of %u bytes leaves no room for the "
					   "sequence header: at least %u for IPv%c%s",
					   frame, header + STAMP_LEN, spec->ipv6 ? '6' : '4',
					   spec->vlan ? " with a VLAN tag" : "");
		s->sizes[i] = (uint16_t)(frame - header);
	}
	s->n_payload = imix->n;
	s->payload = s->sizes;
	return 0;
}

static int plan_capture(const struct traffic_options *t, struct run_spec *spec, struct error *err)
{
	struct shape *s = &spec->shape;
	int rc = capture_open(&s->capture, t->pcap, err);

	if (!rc && t->stamp)
		rc = capture_measure(s->capture, spec->ipv6 ? AF_INET6 : AF_INET, err);
	if (rc)
		return rc;
	s->payload = s->capture->payload; /* NULL: no sequence header, not used */
	s->n_payload = s->payload ? s->capture->packets : 0;
	if (!t->rate_set && !t->profile.kind) {
		s->scheduled = true;
		s->profile = (struct profile){.due_ns = s->capture->due_ns,
					      .packets = s->capture->packets,
					      .pass_ns = s->capture->pass_ns};
	}
	if (!t->count_set && !spec->duration_ns)
		spec->count = s->capture->packets;
	return 0;
}

static int plan_schedule(const struct rate_plan *plan, const struct flow *flow,
			 struct run_spec *spec, struct error *err)
{
	struct shape_sizes sizes;
	double pps = 0;
	int rc = 0;

	if (plan->kind == PLAN_NONE)
		return 0;
	shape_sizes(&spec->shape, flow, &sizes);
	if (plan->kind == PLAN_ONOFF)
		rc = rate_to_pps(&spec->rate, sizes.mean_frame, -1, &pps);
	if (!rc)
		rc = rate_plan_profile(plan, &sizes, -1, pps, &spec->shape.profile);
	if (rc)
		return error_usage(err, "use pps or bit/s",
				   "--profile: percentages of the link speed are not supported");
	spec->shape.scheduled = true;
	return 0;
}

static int plan_shape(const struct traffic_options *t, struct run_spec *spec, struct error *err)
{
	const bool ranges = has_ranges(&spec->shape);
	const struct flow flow = {.family = spec->ipv6 ? AF_INET6 : AF_INET,
				  .payload = spec->payload,
				  .vlan = (uint16_t)spec->vlan};
	struct shape *s = &spec->shape;
	struct shape_sizes sizes;
	int rc = 0;

	s->frames = ranges || beyond_ranges(t, spec);
	spec->shaped = s->frames || t->profile.kind || s->burst > 1;
	if (check_shape(t, spec, err))
		return -EINVAL;
	if (!ranges || (spec->flows > 1 && !s->src_port.n))
		s->src_port = (struct shape_ports){
			SRC_PORT, larger(spec->threads, smaller(spec->flows, SRC_PORTS))};
	if (t->pcap)
		rc = plan_capture(t, spec, err);
	else if (t->imix.n)
		rc = plan_sizes(&t->imix, spec, s, err);
	if (rc ||
	    shape_complete(s, spec->threads, ranges && spec->flows > 1 ? spec->flows : 0, err) ||
	    plan_schedule(&t->profile, &flow, spec, err))
		return -EINVAL;
	shape_sizes(s, &flow, &sizes);
	spec->payload = sizes.largest;
	return 0;
}

#define RATED_NS 10000000000ULL /* default run length if a rate is given */

#define PERHAPS_BITS 10e6 /* more packets/s than most ports carry: bit/s may be meant */

int traffic_plan(const struct traffic_options *t, unsigned mtu, struct run_spec *spec,
		 struct error *err)
{
	int rc = traffic_payload(t, spec->ipv6, spec->tx, mtu, &spec->payload, err);
	const bool open = !t->count_set && !spec->duration_ns && !t->pcap;

	/* at a low rate, sending the default count would take hours */
	if (open && has_schedule(t))
		spec->duration_ns =
			t->profile.time_ns * (t->profile.kind == PLAN_STEPS ? t->profile.n : 1);
	else if (open && (spec->rate.unit != RATE_MAX || t->timed))
		spec->duration_ns = RATED_NS;
	if (spec->duration_ns && !t->count_set)
		spec->count = UINT64_MAX;
	if (!rc && spec->rate.unit == RATE_PPS && spec->rate.value >= PERHAPS_BITS)
		log_info("%s means pps (for bit/s write %sbit)",
			 num_text_rate(&spec->rate), num_text_rate(&spec->rate));
	return rc ? rc : plan_shape(t, spec, err);
}

void traffic_free(struct run_spec *spec)
{
	capture_free(spec->shape.capture);
	spec->shape.capture = NULL;
}

#define CPU_MAX 8191

static int parse_pause(const char *value, void *field, struct error *err)
{
	struct reader *r = (void *)((char *)field - offsetof(struct reader, pause_ns));
	int rc = reader_parse_pause(value, &r->pause_ns, &r->read_ns);

	return rc ? error_usage(err, "for example 100ms/900ms",
				"'%s' is not ON/OFF, two times above 0", value)
		  : 0;
}

static int parse_nice(const char *value, void *field, struct error *err)
{
	uint64_t n;
	bool minus = *value == '-';
	int rc = num_u64(value + minus, 0, minus ? 20 : 19, &n);

	if (rc)
		return error_usage(err, NULL, "'%s' is not within -20 .. 19", value);
	*(int *)field = minus ? -(int)n : (int)n;
	return 0;
}

#define OF(member) offsetof(struct tuning, member)
#define READER	   "rx=socket pass" /* engines that read from a socket */
#define DIFFERING  "imix random vlan tos ttl pcap src-addr dst-addr src-port dst-port"

const struct opt socket_send_opts[] = {
	{"gso", 0, OPT_FLAG, OF(send.gso), .needs = "tx=auto tx=socket", .excludes = DIFFERING,
	 .help = "send up to 64 datagrams per message (UDP_SEGMENT)"},
	{"unconnected", 0, OPT_FLAG, OF(send.unconnected), .needs = "tx=auto tx=socket",
	 .excludes = DIFFERING,
	 .help = "do not connect(): route each datagram separately, as IPv4 fragments always are"},
	{"tx-cpu", 0, OPT_UINT, OF(tx.cpu), .set_offset = OPT_SET(struct tuning, tx.cpu_set),
	 .max = CPU_MAX, .metavar = "CPU", .default_text = "chosen",
	 .help = "CPU of the first sending thread (the next threads use the next CPUs)"},
	{0},
};

const struct opt socket_recv_opts[] = {
	{"rx-threads", 0, OPT_UINT, OF(rx_threads), .min = 1, .max = RECEIVER_THREADS,
	 .needs = READER, .default_text = "1",
	 .help = "number of receive threads, each with its own SO_REUSEPORT socket (a flow uses "
		 "one)"},
	{"gro", 0, OPT_FLAG, OF(receive.gro), .needs = READER,
	 .help = "receive merged datagrams in one message (UDP_GRO)"},
	{"busy-poll", 0, OPT_UINT, OF(receive.busy_poll_us), .min = 1, .max = 1000000,
	 .metavar = "USEC", .default_text = "off", .needs = READER,
	 .help = "poll the interface's queue for this long before sleeping (SO_BUSY_POLL)"},
	{"rx-cpu", 0, OPT_UINT, OF(rx.cpu), .set_offset = OPT_SET(struct tuning, rx.cpu_set),
	 .max = CPU_MAX, .metavar = "CPU", .default_text = "chosen",
	 .help = "CPU of the first receiving thread (the next threads use the next CPUs)"},
	{"per-flow", 0, OPT_FLAG, OF(per_flow), .needs = READER,
	 .help = "report order and latency by source address and port"},
	{"work", 0, OPT_TIME, OF(reader.work_ns), .default_text = "0", .needs = READER " rx=xsk",
	 .help = "simulate a slow receiver: CPU time spent on each packet"},
	{"pause", 0, OPT_CUSTOM, OF(reader.pause_ns), .metavar = "ON/OFF", .parse = parse_pause,
	 .default_text = "none", .needs = READER " rx=xsk",
	 .help = "simulate a stalling receiver: stop reading for ON, read for OFF, repeat"},
	{"log", 0, OPT_STRING, OF(reader.log), .metavar = "FILE", .default_text = "none",
	 .needs = READER " rx=xsk",
	 .help = "simulate a logging receiver: write one line to FILE per packet"},
	{0},
};

const struct opt both_opts[] = {
	{"nice", 0, OPT_CUSTOM, OF(nice), .metavar = "N", .parse = parse_nice,
	 .default_text = "as started", .help = "nice value of the threads (-20 .. 19)"},
	{"rt", 0, OPT_UINT, OF(rt), .min = 1, .max = 99, .metavar = "PRIO", .default_text = "off",
	 .help = "real-time priority of the threads (SCHED_FIFO)"},
	{0},
};

static bool is_multicast(const struct endpoint *e)
{
	return e->family == AF_INET6 ? IN6_IS_ADDR_MULTICAST(&e->ip6)
				     : IN_MULTICAST(ntohl(e->ip4.s_addr));
}

int tuning_check(const struct run_spec *spec, unsigned mtu, struct error *err)
{
	const struct tuning *t = &spec->tuning;
	const struct endpoint *group = &t->receive.group;
	const unsigned room = mtu - (spec->ipv6 ? 48 : 28);
	const struct contradiction list[] = {
		{group->family && (!is_multicast(group) || group->port),
		 "--group needs the address of a multicast group, without a port",
		 "for example --group 239.1.1.1"},
		{group->family && group->family != (spec->ipv6 ? AF_INET6 : AF_INET),
		 "--group has an address of the other family (see -6)", NULL},
		{0},
	};

	if (mtu && t->send.gso && spec->tx->socket && spec->payload > room)
		return error_usage(err, "remove --gso, or use a smaller payload",
				   "--gso makes datagrams of %u bytes, which do not fit the MTU of "
				   "%u (at most %u)",
				   spec->payload, mtu, room);
	return contradiction_check(list, err);
}

/* Parses [USER@ | tls:// | tcp://]HOST[:PORT]. If a user is given, the port is ssh's. */
static int parse_to(const char *value, void *field, struct error *err)
{
	static const char schemes[][8] = {[REMOTE_TLS] = "tls://", [REMOTE_TCP] = "tcp://"};
	struct remote_options *o =
		(void *)((char *)field - offsetof(struct remote_options, target.to));
	const char *at = strrchr(value, '@'), *addr = at ? at + 1 : value;
	bool bad = at == value || (at && strpbrk(value, " \t/"));
	int rc;

	o->scheme = REMOTE_ANY;
	for (unsigned i = REMOTE_TLS; i <= REMOTE_TCP && !at; i++) {
		if (!strncmp(value, schemes[i], strlen(schemes[i]))) {
			o->scheme = i;
			addr = value + strlen(schemes[i]);
		}
	}
	rc = bad ? -EINVAL : num_endpoint_named(addr, &o->target.to, err);
	o->target.via.login = at ? value : NULL;
	if (rc && err->status == STATUS_OK)
		return error_usage(err, NULL,
				   "'%s' is not a host (examples: 198.18.0.2, rx.example:9000, "
				   "root@rx.example, tls://[2001:2::2]:9000)",
				   value);
	return rc;
}

const struct opt remote_opts[] = {
	{"to", 0, OPT_CUSTOM, offsetof(struct remote_options, target.to),
	 .metavar = "[USER@|tls://]HOST[:PORT]", .parse = parse_to, .excludes = "lab",
	 .default_text = "none",
	 .help = "run to another host: USER@HOST over ssh, HOST alone to its running `recv "
		 "--serve`"},
	{"via", 0, OPT_STRING, offsetof(struct remote_options, target.via.command),
	 .metavar = "COMMAND", .default_text = "ssh if --to has a user", .needs = "to",
	 .help = "start pktledger there with this command: 'ssh NAME', 'docker exec -i NAME' or "
		 "'kubectl exec -i POD --'"},
	{"remote", 0, OPT_STRING, offsetof(struct remote_options, target.via.remote),
	 .metavar = "COMMAND", .default_text = "pktledger", .needs = "to",
	 .help = "command that starts pktledger there, for example 'sudo -n "
		 "/usr/local/bin/pktledger'"},
	{"reverse", 'R', OPT_FLAG, offsetof(struct remote_options, reverse), .needs = "to",
	 .help = "send from the other host to this one"},
	{"token-file", 0, OPT_STRING, offsetof(struct remote_options, token_file),
	 .metavar = "FILE", .default_text = "none", .needs = "to",
	 .help = "file with the token of `recv --serve` there (enables TLS)"},
	{"insecure", 0, OPT_FLAG, offsetof(struct remote_options, insecure),
	 .excludes = "token-file", .needs = "to",
	 .help = "connect to `recv --serve --insecure` unencrypted, also outside loopback"},
	{"shared-clock", 0, OPT_FLAG, offsetof(struct remote_options, target.shared_clock),
	 .needs = "to", .help = "report one-way latency (clocks synchronized, PTP)"},
	{0},
};

static void on_wait(void)
{
	log_info("waiting for the other host, which serves one client at a time (for several "
		 "senders at once: `send --ledger`)");
}

static void on_noise(char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save))
		log_warn("%s", utf8_tame(line));
}

int remote_check(const struct remote_options *o, const struct run_spec *spec, struct error *err)
{
	const struct via_config *via = &o->target.via;
	const bool far = o->target.to.family, by_via = peer_is_via(&o->target);
	const struct contradiction list[] = {
		{via->command && via->login, "--via and USER@ in --to cannot be given together",
		 "leave out USER@"},
		{via->command && o->target.to.port,
		 "with --via, --to takes no port: set the data port with --port", "leave it out"},
		{!by_via && via->remote, "--remote needs a host that is reached over ssh or --via",
		 "use --to USER@HOST"},
		{by_via && (o->token_file || o->insecure || o->scheme),
		 "tls://, tcp://, --token-file and --insecure are for `recv --serve`, while ssh and "
		 "--via authenticate themselves",
		 "leave it out"},
		{o->scheme == REMOTE_TLS && !o->token_file, "TLS needs the token of the other host",
		 "add --token-file FILE"},
		{o->scheme == REMOTE_TCP && o->token_file, "a token requires TLS",
		 "--to tls://ADDR"},
		{far && !o->reverse && spec->tuning.reader.log,
		 "--log is written by the reader, which is on the other host and writes no files "
		 "for clients",
		 "add --reverse, or leave --log out"},
		{0},
	};

	return contradiction_check(list, err);
}

int remote_connect(const struct remote_options *o, uint16_t port, struct peer **far,
		   struct error *err)
{
	struct peer_target target = o->target;
	int rc = 0;

	target.on_wait = on_wait;
	target.on_noise = on_noise;
	if (!o->target.to.family)
		return 0;
	target.via.to = target.to;
	if (!target.to.port)
		target.to.port = port;
	if (!o->token_file && !o->insecure && !peer_is_via(&target) && !num_is_loopback(&target.to))
		return error_usage(
			err,
			"use --to USER@HOST (ssh), --token-file FILE (created by `recv --serve "
			"--new-token`), or --insecure",
			"without a token, any host on the path could read and change the control "
			"connection");
	watch_unblock_signals(); /* no half-done work could be left behind yet */
	if (o->token_file)
		rc = token_read(&target.token, o->token_file, err);
	if (!rc)
		rc = peer_connect(far, &target, err);
	watch_block_signals();
	return rc;
}
