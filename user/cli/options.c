// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <unistd.h>

#include "base/log.h"
#include "host/bpfmaps.h"
#include "host/reassembly.h"
#include "stamp.h"

#define FRAME_V4 (14 + 20 + 8 + 4) /* Ethernet, IPv4, UDP, FCS */
#define FRAME_V6 (14 + 40 + 8 + 4)
#define MAX_UDP	 65507 /* payload that IPv4's length field leaves */

char **program_argv;
int program_argc;

const struct opt global_opts[] = {
	{"json", 'j', OPT_FLAG, offsetof(struct global_options, json), .excludes = "json-lines",
	 .help = "print one JSON document on stdout"},
	{"json-lines", 0, OPT_FLAG, offsetof(struct global_options, json_lines),
	 .help = "print the same as events, one a line, while it runs"},
	{"quiet", 'q', OPT_FLAG, offsetof(struct global_options, quiet), .excludes = "verbose",
	 .help = "no progress and no warnings; errors only"},
	{"verbose", 'v', OPT_REPEAT, offsetof(struct global_options, verbose),
	 .help = "say more; twice for what libbpf and the verifier say"},
	{"version", 'V', OPT_VERSION, .help = "print the version and end"},
	{"help", 'h', OPT_HELP, .help = "print this and end"},
	{0},
};

const struct opt_value tx_values[] = {
	{"auto", TX_AUTO, "the fastest sender that can do what is asked"},
	{"socket", TX_SOCKET, "UDP sockets, sendmmsg()"},
	{"xsk", TX_XSK, "AF_XDP: whole frames, past the IP stack"},
	{"xdp", TX_XDP, "frames made in the kernel by a BPF program: the fastest"},
	{0},
};

const struct opt_value rx_values[] = {
	{"socket", RX_SOCKET, "a UDP socket, recvmmsg(): the path of an application"},
	{"xsk", RX_XSK, "AF_XDP: frames taken at the device"},
	{"xdp", RX_XDP, "an XDP program: frames counted and ended in the driver"},
	{0},
};

static int parse_length(const char *value, void *field, struct error *err)
{
	uint64_t bytes = LENGTH_BEST;
	int rc = strcmp(value, "best") ? num_size(value, &bytes) : 0;

	if (rc || (bytes != LENGTH_BEST && (bytes < 1 || bytes > UINT16_MAX)))
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "'%s' is no size within 1 .. %u, nor `best`", value, UINT16_MAX);
	*(uint64_t *)field = bytes;
	return 0;
}

const struct opt traffic_opts[] = {
	{"count", 'c', OPT_COUNT, offsetof(struct traffic_options, count),
	 .set_offset = OPT_SET(struct traffic_options, count_set), .min = 1, .max = UINT32_MAX,
	 .metavar = "N", .help = "packets to send"},
	{"duration", 't', OPT_TIME, offsetof(struct traffic_options, duration_ns), .min = 1,
	 .default_text = "until --count is sent", .help = "send for so long"},
	{"rate", 'r', OPT_RATE, offsetof(struct traffic_options, rate),
	 .set_offset = OPT_SET(struct traffic_options, rate_set),
	 .help = "packets/s of the whole command (200k), bit/s (1.5Gbit, 1.5Gbit/l1) or max"},
	{"size", 0, OPT_SIZE, offsetof(struct traffic_options, size), .excludes = "length",
	 .default_text = "", .min = 1, .max = 65535, .help = "frame with FCS, bytes"},
	{"length", 'l', OPT_CUSTOM, offsetof(struct traffic_options, length), .metavar = "SIZE",
	 .parse = parse_length, .default_text = "512",
	 .help = "UDP payload, bytes; beyond the MTU it is fragmented; best: all fragments full"},
	{"port", 'p', OPT_U64, offsetof(struct traffic_options, port), .min = 1, .max = 65535,
	 .help = "UDP port of the receiver"},
	{"ipv6", '6', OPT_FLAG, offsetof(struct traffic_options, ipv6), .help = "use IPv6"},
	{"flows", 0, OPT_UINT, offsetof(struct traffic_options, flows), .min = 1, .max = 25000,
	 .help = "5-tuples, by source port"},
	{"threads", 'P', OPT_UINT, offsetof(struct traffic_options, threads), .min = 1,
	 .max = TRACE_STREAMS, .help = "sending threads; with xsk also queues"},
	{"sndbuf", 0, OPT_SIZE, offsetof(struct traffic_options, sndbuf), .min = 1,
	 .max = INT32_MAX / 2, .default_text = "the host's", .help = "send buffer, bytes"},
	{"no-wait", 0, OPT_FLAG, offsetof(struct traffic_options, no_wait),
	 .help = "a full send buffer refuses the packet instead of being waited for"},
	{0},
};

const struct tx_ops *tx_ops_of(enum tx_choice tx)
{
	return tx == TX_XSK ? &tx_xsk : tx == TX_XDP ? &tx_xdp : &tx_socket;
}

const struct rx_ops *rx_ops_of(enum rx_choice rx)
{
	return rx == RX_XSK ? &rx_xsk : rx == RX_XDP ? &rx_xdp : &rx_socket;
}

int traffic_payload(const struct traffic_options *t, const struct tx_ops *tx, unsigned mtu,
		    unsigned *payload, struct error *err)
{
	unsigned overhead = t->ipv6 ? FRAME_V6 : FRAME_V4;
	uint64_t bytes = t->size ? t->size - overhead : t->length;
	const char *option = t->size ? "--size" : "--length";
	uint64_t given = t->size ? t->size : t->length;
	unsigned room;

	if (!t->size && t->length == LENGTH_BEST) {
		if (!mtu)
			return error_set(err, STATUS_UNABLE, -ENODATA, "give the length",
					 "--length best: the MTU of the path is not known");
		bytes = given =
			tx->fragments ? reassembly_best_payload(t->ipv6, mtu) : mtu - overhead + 18;
	}
	if (t->size && t->size < overhead + STAMP_LEN)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "--size %llu leaves no room for the stamp: at least %u for IPv%c",
				 (unsigned long long)t->size, overhead + STAMP_LEN,
				 t->ipv6 ? '6' : '4');
	if (bytes < STAMP_LEN)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "%s %llu leaves no room for the stamp: at least %u", option,
				 (unsigned long long)given, STAMP_LEN);
	if (bytes > MAX_UDP)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "%s %llu is more than a UDP datagram holds (%u of payload)",
				 option, (unsigned long long)given, MAX_UDP);
	room = mtu - (overhead - 14 - 4);
	if (mtu && bytes > room && (t->size || !tx->fragments))
		return error_set(err, STATUS_USAGE, -EINVAL,
				 tx->fragments ? "use --length: it is fragmented"
					       : "use --tx socket, or a smaller packet",
				 "%s %llu does not fit the MTU of %u (--length %u at most)%s%s",
				 option, (unsigned long long)given, mtu, room,
				 tx->fragments ? "" : ", and no fragments are made by --tx ",
				 tx->fragments ? "" : tx->name);
	*payload = (unsigned)bytes;
	return 0;
}

void traffic_plan(const struct traffic_options *t, struct run_spec *spec)
{
	spec->count = t->duration_ns && !t->count_set ? UINT64_MAX : t->count;
	spec->duration_ns = t->duration_ns;
	spec->rate = t->rate;
	spec->port = (uint16_t)t->port;
	spec->ipv6 = t->ipv6;
	spec->flows = t->flows;
	spec->threads = t->threads;
	spec->sndbuf = t->sndbuf;
	spec->no_wait = t->no_wait;
}

void tell_plan(uint64_t count, uint64_t duration_ns, unsigned payload, double rate_pps,
	       const struct shape *shape, const char *from, const char *to)
{
	bool mixed = shape && shape->n_payload, own_times = shape && shape->scheduled;
	char packets[FMT_MAX] = "", time[FMT_MAX], rate[FMT_MAX];

	if (count != UINT64_MAX)
		fmt_count(packets, sizeof(packets), count);
	log_info("sending %s%sdatagrams of %s%u bytes%s%s at %s from %s to %s", packets,
		 *packets ? " " : "", mixed ? "up to " : "", payload, duration_ns ? " for " : "",
		 duration_ns ? num_text_time(time, sizeof(time), duration_ns) : "",
		 own_times	? "its own times"
		 : rate_pps > 0 ? fmt_rate(rate, sizeof(rate), rate_pps)
				: "full speed",
		 from, to);
}

void tell_note(void *arg, const char *note)
{
	(void)arg;
	log_warn("%s", note);
}

void tell_maps(void)
{
	const struct bpfmap *largest = NULL;
	char bytes[FMT_MAX], most[FMT_MAX];
	struct bpfmap *list;
	uint64_t sum = 0;
	int n;

	if (!log_shows(LOG_LEVEL_DEBUG))
		return;
	n = bpfmaps_read(&list);
	for (int i = 0; i < n; i++) {
		sum += list[i].bytes;
		if (!largest || list[i].bytes > largest->bytes)
			largest = &list[i];
	}
	if (largest)
		log_debug("%d BPF maps of %s, the largest is %s of %s", n,
			  fmt_bytes(bytes, sizeof(bytes), sum), largest->name,
			  fmt_bytes(most, sizeof(most), largest->bytes));
	free(list);
}

static bool pipe_closed(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};

	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

bool stdout_gone(void)
{
	return ferror(stdout) || pipe_closed();
}

static int flush_errno; /* of the first failure; stdio keeps none */

void output_flush(void)
{
	if (fflush(stdout) && !flush_errno)
		flush_errno = errno;
}

int output_end(struct json_out *json, struct error *err)
{
	int rc = json_out_finish(json);

	output_flush();
	if (!rc)
		rc = -flush_errno;
	if (rc == -EPIPE || pipe_closed() || (!rc && !ferror(stdout)))
		return 0;
	return error_set(err, STATUS_FAILED, rc ? rc : -EIO,
			 rc == -EBADF ? "it is closed: redirect it, for example to /dev/null"
				      : "make room, or write it elsewhere",
			 "cannot write the result to stdout: %s",
			 rc ? strerror(-rc) : "some of it was lost before");
}

enum output global_output(const struct global_options *g)
{
	return g->json ? OUTPUT_JSON : g->json_lines ? OUTPUT_JSON_LINES : OUTPUT_TEXT;
}
