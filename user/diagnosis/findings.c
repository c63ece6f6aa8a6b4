// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "host/netns.h"

bool fact_text(char *buf, size_t size, const char *s)
{
	if (!s || !*s)
		return false;
	return snprintf(buf, size, "%s", s) > 0;
}

bool fact_rate(char *buf, size_t size, double v)
{
	if (v <= 0)
		return false;
	if (v >= 1e6)
		return snprintf(buf, size, "%.3gM", v / 1e6) > 0;
	if (v >= 1e3)
		return snprintf(buf, size, "%.3gk", v / 1e3) > 0;
	return snprintf(buf, size, "%.3g", v) > 0;
}

struct filling {
	findings_fact fact;
	const void *arg;
	char *out;
	size_t size, n;
};

/* [p, end) without brackets. False: a fact is unknown, and the output as it was before. */
static bool fill_part(struct filling *w, const char *p, const char *end)
{
	size_t start = w->n;
	char name[32], value[256];

	while (p < end) {
		const char *close = *p == '{' ? memchr(p, '}', end - p) : NULL;
		size_t len = 1;
		const char *text = p++;

		if (close) {
			snprintf(name, sizeof(name), "%.*s", (int)(close - p), p);
			p = close + 1;
			if (!w->fact(w->arg, name, value, sizeof(value))) {
				w->n = start;
				w->out[w->n] = 0;
				return false;
			}
			text = value;
			len = strlen(value);
		}
		if (w->n + len >= w->size)
			len = w->size - w->n - 1;
		memcpy(w->out + w->n, text, len);
		w->n += len;
		w->out[w->n] = 0;
	}
	return true;
}

/* `template` NULL: empty. What does not fit is cut. */
static void fill(char *out, size_t size, const char *template, findings_fact fact, const void *arg)
{
	struct filling w = {fact, arg, out, size, 0};
	const char *p = template;

	out[0] = 0;
	while (p && *p) {
		if (*p == '[') {
			const char *end = p + strcspn(p, "]");

			fill_part(&w, p + 1, end);
			p = *end ? end + 1 : end;
		} else {
			const char *end = p + strcspn(p, "[");

			if (!fill_part(&w, p, end)) {
				out[0] = 0;
				return;
			}
			p = end;
		}
	}
}

/* What is known about a loss: as conditions of the table, and as facts of its sentences. */

/* A larger buffer is not advised: sk_rcvbuf is an int, and so much queue is only delay. */
#define RCVBUF_SANE (1ULL << 30)
/* Shares of the time with losses, from which on they are the cause. */
#define THROTTLED 0.1
#define WAITED	  0.25
#define BUSY	  0.75
#define ASLEEP	  0.5
/* The queue was more full than empty. So few samples tell nothing. */
#define FULL	      0.5
#define SAMPLES_LEAST 3
/* Losses of so many full buffers are no burst: the reader is too slow. */
#define BURSTS 8
#define STEADY 0.1

#define KERNEL_BACKLOG 1000 /* net_hotdata.max_backlog */

/* What was watched only for a while may go on: then a steady share of losses is no burst either. */
static bool is_burst(const struct finding_facts *f)
{
	double came = f->arrival_pps * (double)f->window_ns * 1e-9;

	if (!f->truesize || f->lost > BURSTS * (f->rcvbuf / f->truesize))
		return false;
	return !f->window_ns || came <= 0 || (double)f->lost <= STEADY * came;
}

/*
 * The buffer that would have held all that was lost, as getsockopt shows it; 0: not known, or
 * beyond reason. The socket takes packets until their truesize exceeds the buffer
 * (__udp_enqueue_schedule_skb()).
 */
static uint64_t rcvbuf_wanted(const struct finding_facts *f)
{
	uint64_t bytes;

	if (f->window_ns && !is_burst(f))
		return 0;
	if (!f->truesize || !f->rcvbuf || !f->lost || f->lost > RCVBUF_SANE / f->truesize)
		return 0;
	bytes = f->rcvbuf + f->lost * f->truesize;
	return bytes <= RCVBUF_SANE ? bytes : 0;
}

/* setsockopt(SO_RCVBUF) takes half of what it then reserves, at most rmem_max (sk_setsockopt()). */
static uint64_t rcvbuf_request(const struct finding_facts *f)
{
	return (rcvbuf_wanted(f) + 1) / 2;
}

static bool reason_is(const struct finding_facts *f, const char *reason)
{
	return f->reason && !strcmp(f->reason, reason);
}

/* 0: nothing is known of the reader. */
static double share_of_reader(const struct finding_facts *f, uint64_t ns)
{
	return f->reader_ns ? (double)ns / (double)f->reader_ns : 0;
}

static uint64_t reader_sleep_ns(const struct finding_facts *f)
{
	uint64_t awake = f->reader_run_ns + f->reader_wait_ns;

	return awake < f->reader_ns ? f->reader_ns - awake : 0;
}

/* How full the queue was, of 1; negative: not known. */
static double queue_fill(const struct finding_facts *f)
{
	if (f->queue_samples < SAMPLES_LEAST || !f->rcvbuf)
		return -1;
	return (double)f->queue_bytes / (double)f->rcvbuf;
}

static bool slept(const struct finding_facts *f)
{
	return share_of_reader(f, reader_sleep_ns(f)) >= ASLEEP;
}

static bool holds_for_reader(enum finding_when when, const struct finding_facts *f)
{
	double fill = queue_fill(f);

	switch (when) {
	case WHEN_READER_STOPPED:
		return f->reader_ns && f->reader_stopped;
	case WHEN_READER_THROTTLED:
		return share_of_reader(f, f->reader_throttled_ns) >= THROTTLED;
	case WHEN_READER_WAITS:
		return share_of_reader(f, f->reader_wait_ns) >= WAITED;
	case WHEN_READER_BUSY:
		return share_of_reader(f, f->reader_run_ns) >= BUSY;
	case WHEN_READER_ASLEEP:
		return slept(f) && fill >= FULL;
	case WHEN_READER_RESTED:
		return slept(f) && fill >= 0 && fill < FULL;
	default:
		return false;
	}
}

static bool holds(enum finding_when when, const struct finding_facts *f)
{
	switch (when) {
	case WHEN_ALWAYS:
		return true;
	case WHEN_RULES:
		return f->rule_chain;
	case WHEN_BURST:
		return rcvbuf_wanted(f) && is_burst(f);
	case WHEN_READER_SLOW:
		return f->read_pps > 0 && f->arrival_pps > f->read_pps;
	case WHEN_RING_GROWS:
		return f->ring_now && f->ring_now < f->ring_max;
	case WHEN_NEIGH_QUEUE:
		return reason_is(f, "NEIGH_QUEUEFULL");
	case WHEN_TTL:
		return reason_is(f, "IP_INHDR");
	case WHEN_TOO_BIG:
		return reason_is(f, "PKT_TOO_BIG");
	case WHEN_RPFILTER:
		return reason_is(f, "IP_RPFILTER");
	case WHEN_OTHERHOST:
		return reason_is(f, "OTHERHOST");
	default:
		return holds_for_reader(when, f);
	}
}

/* At most 100 %. */
static bool put_percent(char *buf, size_t size, double share)
{
	return snprintf(buf, size, "%.0f %%", 100 * (share < 1 ? share : 1)) > 0;
}

/* How long packets can come at this rate, with nobody reading, until the buffer is full. */
static bool put_burst_time(char *buf, size_t size, const struct finding_facts *f, double pps)
{
	if (!f->truesize || f->rcvbuf < f->truesize || pps <= 0)
		return false;
	return snprintf(buf, size, "%.3g ms", 1e3 * (f->rcvbuf / f->truesize) / pps) > 0;
}

static bool put_udp_mem(char *buf, size_t size, const struct finding_facts *f, uint64_t factor)
{
	if (!f->udp_mem[2])
		return false;
	return snprintf(buf, size, "%" PRIu64 " %" PRIu64 " %" PRIu64, f->udp_mem[0] * factor,
			f->udp_mem[1] * factor, f->udp_mem[2] * factor) > 0;
}

/* What the kernel has at boot, or twice what somebody gave it. 0 is not known. */
static uint64_t backlog_wanted(const struct finding_facts *f)
{
	if (f->netdev_max_backlog && f->netdev_max_backlog < KERNEL_BACKLOG)
		return KERNEL_BACKLOG;
	return f->netdev_max_backlog * 2ULL;
}

enum fact_kind { TEXT, COUNT, RATE, TIME, OF_READER /* a share of the time */ };

/* Names are in this table, or in loss_fact(). */
static bool put_plain(char *buf, size_t size, const struct finding_facts *f, const char *name)
{
	const uint64_t request = rcvbuf_request(f);
	const struct {
		const char *name;
		enum fact_kind kind;
		const char *text;
		uint64_t count;
		double rate;
	} facts[] = {
		{"reason", TEXT, .text = f->reason},
		{"location", TEXT, .text = f->location},
		{"ifname", TEXT, .text = f->ifname},
		{"process", TEXT, .text = f->process},
		{"hook", TEXT, .text = f->hook},
		{"qdisc", TEXT, .text = f->qdisc},
		{"qdisc_limit", TEXT, .text = f->qdisc_limit},
		{"since", TEXT, .text = f->since},
		{"counter", TEXT, .text = f->counter},
		{"rp_filter", TEXT, .text = f->rp_filter},
		{"qdisc_wanted", TEXT, .text = f->qdisc_wanted},
		{"reader", TEXT, .text = f->reader},
		{"sleeps_in", TEXT, .text = f->reader_sleeps_in},
		{"rules", TEXT, .text = f->rules},
		{"rule_chain", TEXT, .text = f->rule_chain},
		{"lost", COUNT, .count = f->lost},
		{"port", COUNT, .count = f->port},
		{"ttl", COUNT, .count = f->ttl},
		{"mtu", COUNT, .count = f->mtu},
		{"rcvbuf", COUNT, .count = f->rcvbuf},
		{"rcvbuf_wanted", COUNT, .count = rcvbuf_wanted(f)},
		{"rcvbuf_request", COUNT, .count = request},
		/* only where the request would be cut */
		{"rmem_max_wanted", COUNT,
		 .count = f->rmem_max && f->rmem_max < request ? request : 0},
		{"rmem_max", COUNT, .count = f->rmem_max},
		{"truesize", COUNT, .count = f->truesize},
		{"burst", COUNT, .count = f->truesize ? f->rcvbuf / f->truesize : 0},
		{"udp_mem_bytes", COUNT, .count = f->udp_mem[2] * f->page_bytes},
		{"backlog", COUNT, .count = f->netdev_max_backlog},
		{"backlog_wanted", COUNT, .count = backlog_wanted(f)},
		{"ring", COUNT, .count = f->ring_now},
		{"ring_max", COUNT, .count = f->ring_max},
		{"total", COUNT, .count = f->total > f->lost ? f->total : 0},
		{"loss_rate", RATE,
		 .rate = f->window_ns ? (double)f->lost * 1e9 / (double)f->window_ns : 0},
		{"arrival", RATE, .rate = f->arrival_pps},
		/* where no burst_time shows it */
		{"arrival_alone", RATE, .rate = f->truesize ? 0 : f->arrival_pps},
		{"arrival_most", RATE, .rate = f->arrival_most_pps},
		{"read", RATE, .rate = f->read_pps},
		{"window", TIME, .count = f->window_ns},
		{"watched", TIME, .count = f->reader_ns},
		{"throttled", TIME, .count = f->reader_throttled_ns},
		{"ran", OF_READER, .count = f->reader_run_ns},
		{"waited", OF_READER, .count = f->reader_wait_ns},
		{"slept", OF_READER, .count = reader_sleep_ns(f)},
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		uint64_t count = facts[i].count;

		if (strcmp(name, facts[i].name))
			continue;
		switch (facts[i].kind) {
		case TEXT:
			return fact_text(buf, size, facts[i].text);
		case COUNT:
			return count && snprintf(buf, size, "%" PRIu64, count) > 0;
		case RATE:
			return fact_rate(buf, size, facts[i].rate);
		case TIME:
			return count && fmt_ns(buf, size, count);
		case OF_READER:
			return f->reader_ns && put_percent(buf, size, share_of_reader(f, count));
		}
	}
	return false;
}

/* findings_fact; `arg`: struct finding_facts. */
static bool loss_fact(const void *arg, const char *name, char *buf, size_t size)
{
	const struct finding_facts *f = arg;

	if (!strcmp(name, "share"))
		return f->sent && f->lost &&
		       snprintf(buf, size, "%.3g %%", 100.0 * f->lost / f->sent) > 0;
	if (!strcmp(name, "burst_time"))
		return put_burst_time(buf, size, f, f->arrival_pps);
	if (!strcmp(name, "burst_least"))
		return put_burst_time(buf, size, f, f->arrival_most_pps);
	if (!strcmp(name, "fill"))
		return queue_fill(f) >= 0 && put_percent(buf, size, queue_fill(f));
	if (!strcmp(name, "udp_mem"))
		return put_udp_mem(buf, size, f, 1);
	if (!strcmp(name, "udp_mem_wanted"))
		return put_udp_mem(buf, size, f, 2);
	return put_plain(buf, size, f, name);
}

void findings_read_host(const struct netns *ns, struct finding_facts *f)
{
	uint64_t backlog;

	netns_sysctl_numbers(ns, "net/core/rmem_max", &f->rmem_max, 1);
	netns_sysctl_numbers(NULL, "net/ipv4/udp_mem", f->udp_mem, 3);
	netns_sysctl_numbers(NULL, "net/core/netdev_max_backlog", &backlog, 1);
	f->netdev_max_backlog = (unsigned)backlog;
	f->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
}

static const struct finding_row *row_of(enum stage stage, const struct finding_facts *f)
{
	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (finding_rows[i].stage == stage && holds(finding_rows[i].when, f))
			return &finding_rows[i];
	}
	return NULL;
}

static void plan_change(struct change *change, const struct finding_change *row, findings_fact fact,
			const void *arg)
{
	memset(change, 0, sizeof(*change));
	change->kind = row->kind;
	fill(change->ifname, sizeof(change->ifname), row->ifname, fact, arg);
	fill(change->wanted, sizeof(change->wanted), row->wanted, fact, arg);
	fill(change->old, sizeof(change->old), row->old, fact, arg);
	/* A change that is not known in all its parts is none. */
	if (change->wanted[0] && (!row->ifname || change->ifname[0]))
		fill(change->name, sizeof(change->name), row->name, fact, arg);
}

void finding_write(const struct finding_row *row, findings_fact fact, const void *arg,
		   struct finding *out, struct change *change)
{
	memset(out, 0, sizeof(*out));
	out->id = row->id;
	out->stage = row->stage;
	out->severity = row->severity;
	fill(out->text, sizeof(out->text), row->text, fact, arg);
	fill(out->evidence, sizeof(out->evidence), row->evidence, fact, arg);
	fill(out->current, sizeof(out->current), row->current, fact, arg);
	fill(out->wanted, sizeof(out->wanted), row->wanted, fact, arg);
	fill(out->command, sizeof(out->command), row->command, fact, arg);
	plan_change(change, &row->change, fact, arg);
	if (change->name[0])
		change_command(change, false, NULL, out->command, sizeof(out->command));
	if (change->name[0] && change->old[0])
		change_command(change, true, NULL, out->undo, sizeof(out->undo));
	/* A risk belongs to something that can be done. */
	if (out->command[0] || out->wanted[0])
		fill(out->risk, sizeof(out->risk), row->risk, fact, arg);
}

int findings_with_change(enum stage stage, const struct finding_facts *facts, struct finding *out,
			 struct change *change)
{
	const struct finding_row *row = row_of(stage, facts);

	if (!row)
		return -ENOENT;
	finding_write(row, loss_fact, facts, out, change);
	return 0;
}

int findings_for_stage(enum stage stage, const struct finding_facts *facts, struct finding *out)
{
	struct change change;

	return findings_with_change(stage, facts, out, &change);
}

const struct finding_row *finding_row(const char *id)
{
	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (!strcmp(finding_rows[i].id, id))
			return &finding_rows[i];
	}
	return NULL;
}

const char *finding_about(const char *id)
{
	const struct finding_row *row = finding_row(id);

	return row ? row->about : NULL;
}
