// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs an experiment on any combination of sites: opens it, watches it, resolves outcomes and
 * closes it.
 */
#include "experiment/experiment.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/proc.h"
#include "host/lab.h"
#include "experiment/settle.h"
#include "base/watch.h"
#include "experiment/remote.h"
#include "stamp.h"

#define QUIET_NS	50000000
#define QUIET_OURS_NS	10000000   /* in a test network in which nothing holds packets back */
#define QUIET_REMOTE_NS 200000000  /* maximum age of the other site's latest report */
#define QUIET_ALONE_NS	200000000  /* no other site reports packets in transit */
#define DRAIN_ALONE_NS	5000000000 /* for a single sender's queues */
#define ASK_NS		1000000000 /* maximum interval between requests, which show the server
				    * that this host is alive */
#define ASK_SOON_NS	20000000
#define REACHED		0.99	    /* fraction of a rate */
#define WAITED		0.1	    /* fraction of the time spent waiting that makes waiting the
				     * bottleneck */
#define READER_MOST_NS	60000000000 /* maximum time to keep numbers for a stalled reader */
#define END_RECORDS	4
#define END_GAP_NS	20000000 /* gap between the first and the second, each later gap is 3
				  * times as long */

struct session {
	struct site site;
};

struct session *session_new(void)
{
	struct session *s = mem_new(s);

	return s;
}

void session_close(struct session *s)
{
	if (s)
		site_close(&s->site);
	free(s);
}

struct run {
	struct run_spec spec; /* as requested, with data about the other end */
	const struct run_spec *asked;
	const struct experiment_view *view;
	struct site *site;
	struct remote *remote;	     /* the site on the other host, or NULL */
	struct discovery *discovery; /* single receiver only, NULL: streams are known */
	struct window window;
	struct leaving { /* window position to move to once waiting packets have been read */
		bool waits;
		uint64_t since_ns;
		uint64_t upto[TRACE_STREAMS];
	} leaving;
	char device[IF_NAMESIZE];
	uint64_t start_ns;
	uint64_t quiet_ns, last; /* single receiver: when the silence started, and the packet
				  * count at that time */
	struct error *err;
};

/* Returns the memory in use by this process, in bytes, or 0 if unknown. */
static uint64_t memory_in_use(void)
{
	return proc_number("/proc/self/status", "VmRSS:") * 1024;
}

/* Returns whether this is `send` or `recv`, so that no other site reports packet outcomes. */
static bool is_alone(const struct run *r)
{
	return r->site->lone && !r->remote;
}

/* Derives the stream's progress from received packets if the sender has not reported more. */
static uint64_t arrived_until(const struct outcomes *f, unsigned slot, uint64_t reported)
{
	uint64_t least = f->base + reported, next = f->tail[slot] + f->window;

	while (next > least &&
	       !__atomic_load_n(&f->arrivals[outcomes_index(f, (uint16_t)slot, next - 1)],
				__ATOMIC_RELAXED))
		next--;
	return next > least ? next - f->base : reported;
}

/* Returns each stream's progress, from 0, as the sending site reports it. */
static void streams_at(const struct run *r, uint64_t next[TRACE_STREAMS])
{
	const struct outcomes *f = &r->site->tracer.outcomes;

	if (!r->remote || !r->remote->sends) {
		site_next(r->site, next);
		return;
	}
	memcpy(next, r->remote->status.next, sizeof(r->remote->status.next));
	for (unsigned t = 0; r->remote->peer->lost && t < f->streams; t++)
		next[t] = arrived_until(f, t, next[t]);
}

static uint64_t sent(const struct run *r)
{
	uint64_t next[TRACE_STREAMS] = {}, sum = 0;

	streams_at(r, next);
	for (unsigned t = 0; t < TRACE_STREAMS; t++)
		sum += next[t];
	return sum;
}

/* Counts only losses in this namespace while streams are being discovered. */
static void count_here(struct site *s, struct experiment_interval *i)
{
	site_name(s);
	for (int c = 0; c < s->ledger.n; c++) {
		const struct ledger_cause *cause = &s->ledger.cause[c];

		if (!site_is_here(s, cause))
			continue;
		i->dropped += cause->raw.count.packets;
		sum_words(&i->stage[cause->named.stage], &cause->raw.count, sizeof(*i->stage));
	}
}

static bool show(void *arg, bool settling)
{
	struct run *r = arg;
	struct experiment_interval i = {.time_ns = clock_now() - r->start_ns, .settling = settling};
	struct site *s = r->site;

	if (!r->view->on_interval)
		return true;
	i.sent = sent(r);
	i.delivered = s->receiver ? receiver_delivered(s->receiver) : 0;
	if (r->discovery) {
		count_here(s, &i);
		return r->view->on_interval(r->view->arg, &i);
	}
	i.dropped = s->traced ? drops_packets(s->tracer.drops) : 0;
	if (r->remote) {
		i.delivered += r->remote->status.delivered;
		i.dropped += r->remote->status.dropped;
	}
	if (!is_alone(r)) { /* CPU time used by this host */
		i.tx_cpu_ns = s->sender ? sender_cpu_ns(s->sender) : 0;
		i.rx_cpu_ns = s->receiver ? receiver_cpu_ns(s->receiver) : 0;
		i.memory_bytes = memory_in_use();
	}
	if (!s->lone && !site_name(s))
		ledger_stages(&s->ledger, i.stage);
	return r->view->on_interval(r->view->arg, &i);
}

static void report_range(void *arg, const struct range *x)
{
	struct run *r = arg;
	const struct ledger_cause *c = x->outcome == OUTCOME_DROPPED
					       ? ledger_cause(&r->site->ledger, (uint8_t)x->detail)
					       : NULL;
	bool left = is_alone(r) && x->outcome == OUTCOME_OPEN && (x->detail & SEEN_MASK);
	struct range named = *x;

	named.stream = (uint16_t)(r->site->tracer.outcomes.stream0 + x->stream);
	r->view->on_range(r->view->arg, &named, left ? "left" : outcome_name(x->outcome),
			  c ? &c->named : NULL);
}

/*
 * Folds numbers (from 0) with known outcomes. Each site folds its numbers, then the results are
 * joined.
 */
static void fold(struct run *r, const uint64_t *upto)
{
	const struct range_visitor visitor = {report_range, r};

	site_prepare(r->site, upto);
	if (r->remote)
		remote_fold(r->remote, upto, r->err);
	site_fold(r->site, upto, r->view->on_range ? &visitor : NULL);
	if (r->remote)
		remote_folded(r->remote);
}

static bool caught_up(const struct run *r)
{
	const struct remote *far = r->remote;

	return site_caught_up(r->site) &&
	       (!far || far->sends || far->peer->lost || far->status.caught_up);
}

/*
 * Moves numbers older than the --settle time out of the window, unless the reader may still have to
 * read them. This lets the sender continue. A remote site reports these numbers during the run, so
 * their outcomes are known even if the connection is lost later.
 */
static void move_window(struct run *r)
{
	struct leaving *l = &r->leaving;
	uint64_t now = clock_now(), next[TRACE_STREAMS] = {};
	const uint64_t *upto;

	if (r->discovery)
		discover_move(r->discovery, now);
	if (r->discovery || !r->site->moving)
		return;
	if (window_is_due(&r->window, now)) {
		streams_at(r, next);
		window_note(&r->window, now, next);
		upto = l->waits ? NULL : window_leaving(&r->window);
		if (upto) {
			/*
			 * packets waiting for a reader are read before their numbers leave the
			 * window
			 */
			site_mark(r->site, next);
			if (r->remote && !r->remote->sends)
				remote_ask(r->remote, "mark", next, r->err);
			*l = (struct leaving){.waits = true, .since_ns = now};
			memcpy(l->upto, upto, r->window.streams * sizeof(*upto));
		}
	}
	if (l->waits && (caught_up(r) || now - l->since_ns > READER_MOST_NS)) {
		fold(r, l->upto);
		l->waits = false;
	}
}

/*
 * Continues until the packet count or the time limit is reached, or until all senders have ended
 * and silence follows.
 */
static bool is_receiving(struct run *r)
{
	const struct receiver *receiver = r->site->receiver;
	uint64_t now = clock_now(), delivered = receiver_delivered(receiver);

	if (delivered != r->last || !receiver_all_ended(receiver) ||
	    discover_streams(r->discovery) < r->spec.streams)
		r->quiet_ns = now;
	r->last = delivered;
	if (delivered >= r->spec.count ||
	    (r->spec.duration_ns && now - r->start_ns >= r->spec.duration_ns))
		return false;
	return r->spec.stay || now - r->quiet_ns < QUIET_ALONE_NS;
}

static bool is_running(struct run *r)
{
	if (r->discovery)
		return is_receiving(r);
	if (r->remote && r->remote->peer->lost)
		return false;
	if (r->remote && r->remote->sends)
		return r->remote->status.running;
	return !sender_done(r->site->sender);
}

/* Watches until sending ends. Returns true if a signal ended it. */
static bool watch(struct run *r)
{
	uint64_t next = r->start_ns + r->spec.interval_ns;
	bool interrupted = false;

	while (!interrupted && is_running(r)) {
		uint64_t every;
		bool due;

		interrupted = watch_tick();
		move_window(r);
		every = r->leaving.waits || (r->remote && r->remote->sends) ? ASK_SOON_NS : ASK_NS;
		due = r->spec.interval_ns && clock_now() >= next;
		if (r->remote)
			remote_refresh(r->remote, due ? 0 : every, r->err);
		if (due) {
			interrupted |= !show(r, false);
			next += r->spec.interval_ns;
		}
		if (site_failed(r->site, r->err))
			break;
	}
	return interrupted;
}

static int end_receiving(struct run *r)
{
	if (r->remote && !r->remote->sends)
		remote_ask(r->remote, "stop", NULL, r->err);
	return site_stop_receiving(r->site, r->err);
}

/*
 * Sends end records, which tell a single receiver where each stream ended. Delivery is best effort,
 * so several are sent. A reader that got no CPU time and has a full buffer may have room only for
 * the last record. Frames from a capture are sent unchanged, unless they have sequence headers.
 */
static void say_end(struct run *r)
{
	const struct capture *capture = r->spec.shape.capture;
	const struct outcomes *f = &r->site->tracer.outcomes;
	uint64_t gap_ns = END_GAP_NS;
	struct sockaddr_storage to;
	socklen_t len = socket_address(&r->spec.to, &to);
	int fd = capture && !capture->payload ? -1
					      : socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	socket_bind_device(fd, r->spec.tuning.send.device, &(struct error){});
	for (int n = 0; n < END_RECORDS; n++) {
		for (unsigned t = 0; t < r->spec.threads; t++) {
			uint64_t stream = f->stream0 + t, accepted, refused;
			struct end_record end;

			site_count(r->site, t, &accepted, &refused);
			end = (struct end_record){
				.magic = htobe16(END_MAGIC),
				.stream = htobe16((uint16_t)stream),
				.base = htobe64(f->base),
				.sent = htobe64(accepted),
				.refused = htobe64(refused),
				.check = htobe64(~(stream ^ f->base ^ accepted ^ refused)),
			};
			sendto(fd, &end, sizeof(end), 0, (void *)&to, len);
		}
		if (n + 1 < END_RECORDS)
			pace_wait(gap_ns);
		gap_ns *= 3;
	}
	close(fd);
}

static bool count_outcomes(void *arg, uint64_t *outcomes)
{
	struct run *r = arg;

	*outcomes = site_outcomes_seen(r->site);
	if (!r->remote)
		return true;
	remote_refresh(r->remote, ASK_SOON_NS, r->err);
	*outcomes += r->remote->status.delivered + r->remote->status.dropped;
	return !r->remote->peer->lost;
}

/*
 * Checks completeness for each number if all numbers are known here. Otherwise checks the sums, and
 * checks each number when closing.
 */
static bool is_complete(void *arg)
{
	struct run *r = arg;
	uint64_t outcomes;

	if (!r->remote)
		return !r->site->lone && site_is_complete(r->site);
	return count_outcomes(r, &outcomes) && outcomes == sent(r);
}

static bool is_idle(void *arg)
{
	const struct run *r = arg;
	struct site_status here;

	/* only a ledger needs a single sender's queues */
	if (is_alone(r) && !r->spec.ledger)
		return true;
	site_status(r->site, &here);
	return here.idle && (!r->remote || r->remote->status.idle);
}

static bool settle(struct run *r)
{
	/* only a counter resolves these: drops in a NIC ring, and frames that never were an skb */
	bool silent = !r->site->in_lab || r->spec.tx == &tx_xdp;
	/* only our packets are on the path, and nothing duplicates or delays them */
	bool undisturbed = r->site->in_lab && !r->spec.lab && !r->spec.faults.set;
	struct settling s = {
		.most_ns = r->spec.settle_ns + r->site->fx.settle_ns,
		.interval_ns = r->spec.interval_ns,
		.outcomes = count_outcomes,
		.complete = is_complete,
		.quiet_ns = r->remote	  ? QUIET_REMOTE_NS
			    : undisturbed ? QUIET_OURS_NS
					  : QUIET_NS,
		.idle = is_idle,
		.show = show,
		.arg = r,
	};

	s.silent_ns = silent ? SETTLE_SILENT_NS : s.most_ns;
	if (is_alone(r)) { /* late drops, in a queue or because a neighbour is unresolved */
		if (!r->site->traced)
			return false;
		s.most_ns = DRAIN_ALONE_NS;
		s.silent_ns = s.quiet_ns = QUIET_ALONE_NS;
		s.interval_ns = 0;
	}
	return settle_wait(&s);
}

static void announce(struct run *r, struct result *res)
{
	const struct outcomes *f = &r->site->tracer.outcomes;
	const struct outcomes_numbers streams = {f->base, f->window, f->stream0, f->streams};
	struct result_host *host = r->discovery ? &res->rx_host : &res->tx_host;
	struct lab testbed, *lab = is_alone(r) ? NULL : &r->site->lab;

	if (r->remote) {
		remote_describe(r->remote, res);
		remote_ports(r->remote, &testbed);
		lab = &testbed;
	} else {
		site_describe(r->site, res);
	}
	if (is_alone(r) && r->spec.ledger)
		snprintf(host->place, sizeof(host->place), "%s", site_place(r->site));
	if (r->view->on_start)
		r->view->on_start(r->view->arg, r->asked, lab, res, r->discovery ? NULL : &streams);
}

static void name_queues(const struct run *r, const struct site_status *here, struct result *res)
{
	const struct {
		uint64_t packets;
		const char *where;
	} queue[] = {
		{here->in_qdiscs, "the queueing discipline"},
		{here->in_reassembly, "reassembly"},
		{here->in_socket, "the socket"},
	};
	char *to = res->in_flight_where;
	size_t size = sizeof(res->in_flight_where), at = 0;

	if (!res->in_flight)
		return;
	if (r->remote)
		snprintf(to, size, "%llu in queues of this host, %llu in queues of %s",
			 (unsigned long long)here->in_queues,
			 (unsigned long long)r->remote->status.in_queues,
			 r->remote->peer->hello.host);
	for (unsigned i = 0; !r->remote && i < LENGTH(queue); i++) {
		if (queue[i].packets)
			at += (size_t)snprintf(to + at, size - at, "%s%llu in %s", at ? ", " : "",
					       (unsigned long long)queue[i].packets,
					       queue[i].where);
	}
}

/* Returns the limit that the sender hit, or NULL if it met the request. */
static const char *bound_of(const struct run *r, const struct result *res)
{
	const struct run_spec *spec = &r->spec;
	double ns = (double)res->duration_ns, asked = r->site->rate_pps * ns * 1e-9;
	bool late = asked > 0 ? res->slipped_ns && (double)res->attempted < REACHED * asked
			      : spec->duration_ns && spec->count != UINT64_MAX &&
					res->attempted < spec->count && !res->interrupted;

	if (!late)
		return NULL;
	if ((double)res->held_ns > WAITED * ns)
		return "receiver";
	return (double)res->wait_ns > WAITED * ns * spec->threads ? "interface" : "generator";
}

/*
 * Closes the ledger for all sites: folds and joins numbers, then adds sums, the ends' results, the
 * counter check and findings.
 */
static int close_ledger(struct run *r, struct result *res)
{
	uint64_t next[TRACE_STREAMS] = {};
	struct site_status here = {};
	int rc = 0;

	if (!is_alone(r))
		site_status(r->site, &here);
	streams_at(r, next);
	fold(r, next);
	if (!is_alone(r))
		site_beyond(r->site);
	site_ledger(r->site, here.in_queues + (r->remote ? r->remote->status.in_queues : 0), res);
	name_queues(r, &here, res);
	if (r->remote)
		remote_end(r->remote, r->start_ns, res, r->err);
	site_end(r->site, res);
	if (r->remote) {
		remote_describe(r->remote, res);
		remote_close(r->remote, res);
	} else if (!r->site->lone) {
		site_describe(r->site, res);
		rc = site_check(r->site, res, r->err);
		advise(r->site, NULL, res);
	}
	res->bound = bound_of(r, res);
	if (!is_alone(r))
		res->memory_bytes = memory_in_use();
	res->balanced =
		!res->unaccounted && !res->in_flight && !res->impossible && !res->remote.lost;
	return rc;
}

/* Opens the local site, and the remote site if another host takes part in the experiment. */
static int open_sites(struct run *r, struct error *err)
{
	int rc = 0;

	r->spec = *r->asked;
	if (r->asked->far) {
		r->remote = mem_new(r->remote);
		rc = remote_plan_local(r->asked, r->view, r->device, &r->spec, err);
		if (!rc)
			rc = ports_rate(r->asked, &r->spec.rate_pps, err);
	}
	if (!rc)
		rc = site_open(r->site, &r->spec, r->view, err);
	if (!rc && r->remote)
		rc = remote_open(r->remote, r->site, err);
	window_init(&r->window, r->spec.threads, r->site->settle_ns);
	return rc;
}

/* Runs the traffic from start to end once everything is set up. */
static int go(struct run *r, struct result *res)
{
	int rc = r->site->faults ? fault_begin(r->site->faults, r->err) : 0;
	uint64_t sent_ns;

	if (rc)
		return rc;
	site_start(r->site);
	r->start_ns = r->quiet_ns = clock_now();
	if (!r->remote || remote_ask(r->remote, "start", NULL, r->err))
		res->interrupted = watch(r);
	site_stop_sending(r->site, r->err);
	if (r->remote && r->remote->sends && !remote_ask(r->remote, "stop", NULL, r->err))
		remote_ask(r->remote, "status", NULL, r->err); /* known even if an engine failed */
	if (r->discovery)
		return end_receiving(r);
	if (is_alone(r))
		say_end(r);
	sent_ns = clock_now();
	res->interrupted |= settle(r);
	if (!is_alone(r))
		res->settled_ns = clock_now() - sent_ns;
	return end_receiving(r);
}

int experiment_run(const struct run_spec *spec, const struct experiment_view *view,
		   struct result *res, struct recv_result *found, struct error *err)
{
	struct session *alone = spec->session ? NULL : session_new();
	struct run *r = mem_new(r);
	int rc;

	memset(res, 0, sizeof(*res));
	r->site = &(alone ? alone : spec->session)->site;
	r->asked = spec;
	r->view = view;
	r->err = err;
	rc = open_sites(r, err);
	if (!rc && found)
		r->discovery = discover_new(r->site, view, found);
	if (!rc) {
		announce(r, res);
		rc = go(r, res);
	}
	if (!rc && found)
		discover_end(r->discovery);
	else if (!rc)
		rc = close_ledger(r, res);
	if (!rc && err->status != STATUS_OK)
		rc = -EIO; /* an engine ended early, but the ledger is still complete */
	free(r->discovery);
	if (rc || !res->balanced)
		site_close(r->site);
	else
		site_rest(r->site);
	session_close(alone);
	free(r->remote);
	free(r);
	return rc;
}
