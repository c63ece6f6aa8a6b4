// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "drops/stagemap.h"
#include "host/counters.h"
#include "host/netns.h"

static void __attribute__((format(printf, 3, 4)))
bind_print(struct binds *b, const char *name, const char *fmt, ...)
{
	char *to = b->text + b->used;
	const size_t room = sizeof(b->text) - b->used;
	va_list args;
	size_t n;

	if (b->n == BINDS_MAX)
		return;
	va_start(args, fmt);
	n = (size_t)vsnprintf(to, room, fmt, args);
	va_end(args);
	if (n >= room) /* whole or not at all */
		return;
	b->at[b->n].value = b->used;
	b->at[b->n++].name = name;
	b->used += strlen(to) + 1;
}

void bind_text(struct binds *b, const char *name, const char *value)
{
	if (value && *value)
		bind_print(b, name, "%s", value);
}

void bind_zero(struct binds *b, const char *name, uint64_t value)
{
	bind_print(b, name, "%" PRIu64, value);
}

void bind_count(struct binds *b, const char *name, uint64_t value)
{
	if (value)
		bind_zero(b, name, value);
}

void bind_rate(struct binds *b, const char *name, double v)
{
	if (v >= 1e6)
		bind_print(b, name, "%.3gM", v / 1e6);
	else if (v >= 1e3)
		bind_print(b, name, "%.3gk", v / 1e3);
	else if (v > 0)
		bind_print(b, name, "%.3g", v);
}

void bind_percent(struct binds *b, const char *name, double share)
{
	bind_print(b, name, "%.3g", share * 100);
}

void bind_time(struct binds *b, const char *name, uint64_t ns)
{
	if (ns)
		bind_text(b, name, fmt_ns(ns));
}

void bind_three(struct binds *b, const char *name, const uint64_t mem[3], uint64_t factor)
{
	if (mem[2])
		bind_print(b, name, "%" PRIu64 " %" PRIu64 " %" PRIu64, mem[0] * factor,
			   mem[1] * factor, mem[2] * factor);
}

void bind_dnat(struct binds *b, const struct way_dnat *dnat)
{
	bind_text(b, "asked", dnat->asked);
	bind_text(b, "backend", dnat->backend);
	bind_text(b, "silent_on", dnat->ifname);
	bind_text(b, "nat_rule", dnat->rule);
	bind_text(b, "entries", dnat->entries);
}

void bind_loss(struct binds *b, uint64_t window_ns, const char *counter, uint64_t lost,
	       uint64_t total)
{
	bind_text(b, "counter", counter);
	if (lost) {
		bind_text(b, "lost", fmt_count(lost));
		bind_text(b, "lost_packets", fmt_many(lost, "packet"));
	}
	bind_time(b, "window", window_ns);
	bind_rate(b, "loss_rate", window_ns ? (double)lost * 1e9 / (double)window_ns : 0);
	if (total > lost)
		bind_text(b, "total", fmt_count(total));
}

/* NULL: it is not known. */
static const char *bound(const struct binds *b, const char *name, size_t len)
{
	for (unsigned i = 0; i < b->n; i++) {
		if (!strncmp(b->at[i].name, name, len) && !b->at[i].name[len])
			return b->text + b->at[i].value;
	}
	return NULL;
}

/* Appends [p, end) without brackets. False: a fact is unknown, and `out` as it was before. */
static bool fill_part(char *out, size_t size, size_t *n, const char *p, const char *end,
		      const struct binds *b)
{
	size_t at = *n;

	while (p < end) {
		const char *close = *p == '{' ? memchr(p, '}', end - p) : NULL, *text = p;
		size_t len = 1;

		if (close) {
			text = bound(b, p + 1, close - p - 1);
			if (!text) {
				out[*n] = 0;
				return false;
			}
			len = strlen(text);
		}
		p = close ? close + 1 : p + 1;
		if (at + len >= size)
			len = size - at - 1;
		memcpy(out + at, text, len);
		at += len;
	}
	out[at] = 0;
	*n = at;
	return true;
}

/* `template` NULL: empty. What does not fit is cut. */
static void fill(char *out, size_t size, const char *template, const struct binds *b)
{
	const char *p = template;
	size_t n = 0;

	out[0] = 0;
	while (p && *p) {
		bool optional = *p == '[';
		const char *begin = p + optional,
			   *end = begin + strcspn(begin, optional ? "]" : "[");

		if (!n && optional && !strncmp(begin, "; ", 2)) /* nothing is before it */
			begin += 2;
		if (!fill_part(out, size, &n, begin, end, b) && !optional) {
			out[0] = 0;
			return;
		}
		p = optional && *end ? end + 1 : end;
	}
}

/* What is known about a loss: as conditions of the table, and as facts of its sentences. */

/* A larger buffer is not advised: sk_rcvbuf is an int, and so much queue is only delay. */
#define RCVBUF_SANE (64ULL << 20)
/* Shares of the time with losses, from which on they are the cause. */
#define THROTTLED 0.1
#define WAITED	  0.25
#define BUSY	  0.75
#define ASLEEP	  0.5
#define NOTICED	  0.05
#define RESTED	  0.2 /* with the queue empty: it had caught up, however long it waited before */
/*
 * In so many of the samples in which it slept the buffer was full: between bursts it is not,
 * however long it may be empty. So few samples show nothing.
 */
#define FULL	      0.2
#define SAMPLES_LEAST 3
/* Losses of so many full buffers are no burst: the reader is too slow. */
#define BURSTS 8
#define STEADY 0.1

#define KERNEL_BACKLOG 1000 /* net_hotdata.max_backlog */

/*
 * What was watched only for a while may go on: then a steady share of losses is no burst either.
 * Where arrivals are not known, nor all that was sent, nothing is said.
 */
static bool is_burst(const struct finding_facts *f)
{
	double came = f->arrival_pps * (double)f->window_ns * 1e-9;

	if (!f->truesize || f->lost > BURSTS * (f->rcvbuf / f->truesize))
		return false;
	return came > 0 ? (double)f->lost <= STEADY * came : f->sent;
}

/*
 * The buffer that would have held the largest burst seen, with a margin of a quarter, or all that
 * was lost, if that was one; as getsockopt shows it. 0: not known, or beyond reason. The socket
 * takes packets until their truesize exceeds the buffer
 * (__udp_enqueue_schedule_skb()).
 */
static uint64_t rcvbuf_wanted(const struct finding_facts *f)
{
	const uint64_t burst = f->reading.burst + f->reading.burst / 4,
		       lost = burst || !is_burst(f) ? burst : f->lost;
	const double bytes = (double)f->rcvbuf + (double)lost * (double)f->truesize;

	return f->truesize && f->rcvbuf && lost && bytes <= RCVBUF_SANE ? (uint64_t)bytes : 0;
}

/* 0: nothing is known of the reader. */
static double share_of_reader(const struct finding_facts *f, uint64_t ns)
{
	return f->reading.window_ns ? (double)ns / (double)f->reading.window_ns : 0;
}

static uint64_t reader_sleep_ns(const struct finding_facts *f)
{
	return counter_grown(f->reading.run_ns + f->reading.wait_ns, f->reading.window_ns);
}

/* How often the buffer was full while the reader slept, of 1; negative: not known. */
static double queue_full(const struct finding_facts *f)
{
	if (f->reading.samples < SAMPLES_LEAST)
		return -1;
	return (double)f->reading.full / f->reading.samples;
}

static bool had_room(const struct finding_facts *f)
{
	const double full = queue_full(f);

	return full >= 0 && full < FULL;
}

static bool slept(const struct finding_facts *f, double share)
{
	return share_of_reader(f, reader_sleep_ns(f)) >= share;
}

/* It slept so long for each packet that it would lose with a CPU of its own, too. */
static bool sleep_is_enough(const struct finding_facts *f)
{
	const struct reading *r = &f->reading;
	double came = (double)(r->lost + r->received_around);

	return slept(f, NOTICED) &&
	       share_of_reader(f, reader_sleep_ns(f)) * came > (double)r->received_around;
}

bool finding_is_silence(const char *reason, const char *location)
{
	return !strcmp(reason, "NEIGH_FAILED") || !strcmp(location, "neigh_invalidate");
}

static bool holds(enum finding_when when, const struct finding_facts *f)
{
	switch (when) {
	case WHEN_ALWAYS:
		return true;
	case WHEN_READER_STOPPED:
		return f->reading.window_ns && f->reading.stopped;
	case WHEN_READER_THROTTLED:
		return share_of_reader(f, f->reading.throttled_ns) >= THROTTLED;
	case WHEN_READER_WAITS:
		/* one that keeps the queue empty but for bursts has CPU enough */
		return share_of_reader(f, f->reading.wait_ns) >= WAITED &&
		       !holds(WHEN_READER_RESTED, f) && !sleep_is_enough(f);
	case WHEN_READER_BUSY:
		return share_of_reader(f, f->reading.run_ns) >= BUSY;
	case WHEN_READER_ASLEEP:
		return queue_full(f) >= FULL && (slept(f, ASLEEP) || sleep_is_enough(f));
	case WHEN_READER_RESTED:
		return slept(f, RESTED) && had_room(f);
	case WHEN_CONNTRACK:
		return 2 * f->conntrack_drops > f->lost;
	case WHEN_CLASH:
		return 2 * f->conntrack_clashes > f->lost;
	case WHEN_RULES:
		return f->rule_chain;
	case WHEN_ROOM:
		return had_room(f);
	case WHEN_UDP_FREE:
		return f->udp_pages && 2 * *f->udp_pages < f->udp_mem[2];
	case WHEN_TCP_RMEM:
		return f->tcp_rmem[2] && f->rcvbuf == f->tcp_rmem[2];
	case WHEN_BURST:
		return rcvbuf_wanted(f) && is_burst(f);
	case WHEN_READER_SLOW:
		/* one that slept is not slow: why it did so was not seen well enough */
		return f->read_pps > 0 && f->arrival_pps > f->read_pps && !slept(f, RESTED);
	case WHEN_RING_GROWS:
		return f->ring_now && f->ring_now < f->ring_max;
	case WHEN_NO_CARRIER:
		return f->no_carrier;
	case WHEN_TAP:
		return f->tap;
	case WHEN_DNAT:
		return f->dnat && *f->dnat->backend;
	case WHEN_TUNNEL:
		return f->tunnel;
	case WHEN_NO_WAY_BACK:
		return f->back && *f->back->source && !*f->back->by;
	case WHEN_OTHER_WAY_BACK:
		return f->back && f->ifname && *f->back->by && strcmp(f->back->by, f->ifname);
	case WHEN_NOT_JOINED:
		return f->not_joined;
	case WHEN_NOT_SILENT:
		return !f->silent || !*f->silent->address;
	case WHEN_STATE:
	case WHEN_BALANCE:
		break;
	}
	return false;
}

static bool is_listed(const char *list, const char *name)
{
	return !list || (name && stagemap_listed(list, name));
}

static bool fits(const struct finding_row *row, enum stage stage, const struct finding_facts *f)
{
	return row->stage == stage && is_listed(row->reason, f->reason) &&
	       is_listed(row->location, f->location) && holds(row->when, f);
}

/* Of the time, or of the buffer; at most 100 %. */
static void bind_share(struct binds *b, const char *name, double share)
{
	bind_print(b, name, "%.0f %%", 100 * fmin(share, 1));
}

/* How long packets can come at this rate, with nobody reading, until the buffer is full. */
static void bind_burst(struct binds *b, const char *name, const struct finding_facts *f, double pps)
{
	if (f->truesize && f->rcvbuf >= f->truesize && pps > 0)
		bind_time(b, name, (uint64_t)(1e9 * (f->rcvbuf / f->truesize) / pps));
}

/* With its buffer empty: else it may be that of another socket. */
static bool waits_for_data(const struct finding_facts *f)
{
	static const char *const in[] = {"poll_schedule_timeout", "ep_poll", "do_epoll_wait",
					 "__skb_wait_for_more_packets"};

	for (unsigned i = 0; i < LENGTH(in); i++) {
		if (had_room(f) && !strncmp(f->reading.sleeps_in, in[i], strlen(in[i])))
			return true;
	}
	return false;
}

void bind_reader(struct binds *b, const struct finding_facts *f)
{
	const struct reading *r = &f->reading;

	bind_text(b, "reader", f->reader);
	bind_text(b, "sleeps_in", r->sleeps_in);
	if (waits_for_data(f))
		bind_text(b, "sleeps", "waiting for data");
	else if (*r->sleeps_in)
		bind_print(b, "sleeps", "in %s", r->sleeps_in);
	bind_count(b, "at_once", r->burst);
	bind_time(b, "watched", r->window_ns);
	bind_time(b, "throttled", r->throttled_ns);
	if (r->window_ns) {
		bind_share(b, "ran", share_of_reader(f, r->run_ns));
		bind_share(b, "waited", share_of_reader(f, r->wait_ns));
		bind_share(b, "slept", share_of_reader(f, reader_sleep_ns(f)));
	}
	if (queue_full(f) >= 0)
		bind_share(b, "full", queue_full(f));
}

/* All that texts about a loss may name. */
static void bind_facts(struct binds *b, const struct finding_facts *f)
{
	/* setsockopt(SO_RCVBUF) takes half of what it then reserves (sk_setsockopt()) */
	const uint64_t request = (rcvbuf_wanted(f) + 1) / 2;
	const uint64_t tcp_rmem[3] = {f->tcp_rmem[0], f->tcp_rmem[1], 2 * f->tcp_rmem[2]};

	bind_loss(b, f->window_ns, f->counter, f->lost, f->total);
	if (f->sent && f->lost)
		bind_print(b, "share", "%.3g %%", 100.0 * f->lost / f->sent);
	bind_text(b, "since", f->since);
	bind_text(b, "reason", f->reason);
	bind_text(b, "location", f->location);
	bind_text(b, "ifname", f->ifname ? f->ifname : f->silent ? f->silent->ifname : NULL);
	bind_text(b, "process", f->process);
	bind_text(b, "hook", f->hook);
	bind_text(b, "rules", f->rules);
	bind_text(b, "rule_chain", f->rule_chain);
	bind_text(b, "qdisc", f->qdisc);
	bind_text(b, "qdisc_limit", f->qdisc_limit);
	bind_text(b, "qdisc_wanted", f->qdisc_wanted);
	bind_text(b, "rp_filter", f->rp_filter);
	bind_text(b, "tunnel", f->tunnel);
	if (f->dnat)
		bind_dnat(b, f->dnat);
	if (f->silent) {
		bind_text(b, "silent", f->silent->address);
		bind_text(b, "silent_in", f->silent->netns);
		bind_text(b, "silent_enter", f->silent->enter);
	}
	if (f->back) {
		bind_text(b, "source", f->back->source);
		bind_text(b, "back", f->back->by);
	}
	bind_count(b, "port", f->port);
	bind_count(b, "ttl", f->ttl);
	bind_count(b, "mtu", f->mtu);
	bind_count(b, "rcvbuf", f->rcvbuf);
	/* as what is advised: the request, and what the kernel makes of it */
	if (f->rcvbuf && f->rcvbuf == f->rmem_default)
		bind_print(b, "rcvbuf_now", "%" PRIu64 " bytes, the default", f->rcvbuf);
	else if (f->rcvbuf)
		bind_print(b, "rcvbuf_now", "%" PRIu64 " (gives %" PRIu64 "%s)", f->rcvbuf / 2,
			   f->rcvbuf, f->rcvbuf < f->rmem_default ? ", less than the default" : "");
	if (f->rcvbuf < f->rmem_default && f->rmem_default >= rcvbuf_wanted(f))
		bind_text(b, "default_is", "is enough");
	bind_count(b, "rcvbuf_wanted", rcvbuf_wanted(f));
	bind_count(b, "rcvbuf_request", request);
	bind_count(b, "rmem_max", f->rmem_max);
	if (f->rmem_max && f->rmem_max < request) /* else it would not be cut */
		bind_count(b, "rmem_max_wanted", request);
	bind_count(b, "truesize", f->truesize);
	bind_count(b, "burst", f->truesize ? f->rcvbuf / f->truesize : 0);
	bind_burst(b, "burst_time", f, f->arrival_pps);
	bind_rate(b, "arrival", f->arrival_pps);
	if (!f->truesize) /* where no burst_time shows it */
		bind_rate(b, "arrival_alone", f->arrival_pps);
	bind_rate(b, "read", f->read_pps);
	bind_time(b, "per_packet", f->read_pps > 0 ? (uint64_t)(1e9 / f->read_pps) : 0);
	bind_three(b, "udp_mem", f->udp_mem, 1);
	bind_three(b, "udp_mem_wanted", f->udp_mem, 2);
	bind_count(b, "udp_mem_bytes", f->udp_mem[2] * f->page_bytes);
	if (f->udp_pages)
		bind_zero(b, "udp_pages", *f->udp_pages);
	bind_count(b, "udp_pages_max", f->udp_mem[2]);
	bind_three(b, "tcp_rmem", f->tcp_rmem, 1);
	bind_three(b, "tcp_rmem_wanted", tcp_rmem, 1);
	bind_count(b, "conntrack_drops", f->conntrack_drops);
	bind_count(b, "conntrack_clashes", f->conntrack_clashes);
	bind_count(b, "conntrack_used", f->conntrack_used);
	bind_count(b, "conntrack_max", f->conntrack_max);
	bind_count(b, "conntrack_wanted", 2 * f->conntrack_max);
	bind_count(b, "backlog", f->netdev_max_backlog);
	/* what the kernel has at boot, or twice what somebody gave it; 0 is not known */
	if (f->netdev_max_backlog && f->netdev_max_backlog < KERNEL_BACKLOG)
		bind_count(b, "backlog_wanted", KERNEL_BACKLOG);
	else
		bind_count(b, "backlog_wanted", f->netdev_max_backlog * 2ULL);
	bind_count(b, "ring", f->ring_now);
	bind_count(b, "ring_max", f->ring_max);
	bind_reader(b, f);
}

void findings_read_host(const struct netns *ns, struct finding_facts *f)
{
	uint64_t backlog;

	netns_sysctl_numbers(ns, "net/core/rmem_max", &f->rmem_max, 1);
	netns_sysctl_numbers(ns, "net/core/rmem_default", &f->rmem_default, 1);
	netns_sysctl_numbers(NULL, "net/ipv4/udp_mem", f->udp_mem, 3);
	netns_sysctl_numbers(NULL, "net/core/netdev_max_backlog", &backlog, 1);
	f->netdev_max_backlog = (unsigned)backlog;
	f->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
}

/* From when on: what a socket was given when it was opened stays until its program is started
 * again. */
static void write_effect(const struct change *change, const struct binds *b, struct finding *out)
{
	const char *later = change_effect(change),
		   *process = bound(b, "process", strlen("process"));

	if (*later)
		snprintf(out->effect, sizeof(out->effect), "%s%s%sfor %s",
			 process ? "after a restart of " : "", process ? process : "",
			 process ? ": " : "", later);
	else
		snprintf(out->effect, sizeof(out->effect), "at once");
}

void finding_write(const struct finding_row *row, const struct binds *b, struct finding *out,
		   struct change *change)
{
	memset(out, 0, sizeof(*out));
	out->id = row->id;
	out->stage = row->stage;
	out->severity = row->severity;
	fill(out->text, sizeof(out->text), row->text, b);
	fill(out->evidence, sizeof(out->evidence), row->evidence, b);
	fill(out->current, sizeof(out->current), row->current, b);
	fill(out->wanted, sizeof(out->wanted), row->wanted, b);
	fill(out->command, sizeof(out->command), row->command, b);
	memset(change, 0, sizeof(*change));
	change->kind = row->change.kind;
	fill(change->ifname, sizeof(change->ifname), row->change.ifname, b);
	fill(change->wanted, sizeof(change->wanted), row->change.wanted, b);
	fill(change->old, sizeof(change->old), row->change.old, b);
	/* A change that is not known in all its parts is none. */
	if (change->wanted[0] && (!row->change.ifname || change->ifname[0]))
		fill(change->name, sizeof(change->name), row->change.name, b);
	if (change->name[0]) {
		change_command(change, false, out->command, sizeof(out->command));
		if (change->old[0])
			change_command(change, true, out->undo, sizeof(out->undo));
		write_effect(change, b, out);
	}
	/* A risk belongs to something that can be done. */
	if (out->command[0] || out->wanted[0])
		fill(out->risk, sizeof(out->risk), row->risk, b);
}

/*
 * What belongs to the host is written from outside of namespaces. Other ones than the first show
 * some of its settings without a right to write them, and the others not at all.
 */
bool change_belongs(const struct change *change, const struct netns *ns)
{
	char path[CHANGE_NAME_SIZE + 16];
	struct stat st = {};
	int saved;

	if (!change_ops[change->kind].of_namespace)
		return !ns;
	if (change->kind != CHANGE_SYSCTL)
		return true;
	saved = netns_push(ns);
	if (saved < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/sys/%s", change->name);
	stat(path, &st);
	netns_pop(saved);
	return st.st_mode & 0222;
}

static void put_before(char command[FINDING_COMMAND], const char *enter)
{
	char whole[FINDING_COMMAND], quoted[2 * FINDING_COMMAND];
	const bool writes = strchr(command, '>');

	/* what control groups have is of no namespace */
	if (!*command || !strncmp(command, "bpftool cgroup", 14))
		return;
	/* the file that is written to is that of the namespace, not of the shell */
	if (snprintf(whole, sizeof(whole), "%s %s%s", enter, writes ? "sh -c " : "",
		     writes ? change_quote(command, quoted, sizeof(quoted)) : command) >=
	    (int)sizeof(whole))
		*whole = '\0'; /* none is better than a cut one */
	memcpy(command, whole, sizeof(whole));
}

void finding_forget(struct finding *f)
{
	f->command[0] = f->undo[0] = f->effect[0] = f->risk[0] = '\0';
}

void finding_enter(struct finding *f, const struct change *change, const struct netns *ns,
		   const char *enter)
{
	struct change there = *change;

	if (!change->name[0]) {
		put_before(f->command, enter);
		return;
	}
	if (!change_belongs(change, ns))
		return;
	there.enter = enter;
	change_command(&there, false, f->command, sizeof(f->command));
	if (f->undo[0])
		change_command(&there, true, f->undo, sizeof(f->undo));
}

int findings_for_stage(enum stage stage, const struct finding_facts *facts, struct finding *out,
		       struct change *change)
{
	struct binds b = {};
	struct change unused;

	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (!fits(&finding_rows[i], stage, facts))
			continue;
		bind_facts(&b, facts);
		finding_write(&finding_rows[i], &b, out, change ? change : &unused);
		return 0;
	}
	return -ENOENT;
}

/* `-` and `_` are the same: findings of a stage have its name. */
static bool same_id(const char *a, const char *b)
{
	while (*a && (*a == *b || (strchr("-_", *a) && *b && strchr("-_", *b)))) {
		a++;
		b++;
	}
	return !*a && !*b;
}

const struct finding_row *finding_row(const char *id)
{
	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (same_id(finding_rows[i].id, id))
			return &finding_rows[i];
	}
	return NULL;
}
