// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The client's side of the connection, and the proxy for the site at the other end. */
#include "experiment/remote.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "host/netdev.h"

#define CONNECT_MS 1000
#define HELLO_MS   1000 /* after this time the user is told about the wait */
#define MUTE_MS	   9000 /* extra time before a silent peer is treated as not a pktledger
			 * server */
#define TURN_MS	   200	/* between checks whether other clients are waiting for us */
#define ANSWER_MS  15000
#define ALIVE_MS   5000 /* if a program carries the answer, which shows no other sign of life */
#define ACK_MS	   2000 /* longer than --settle, to let the peer's TCP acknowledge data */
#define VIA_MS	   20000  /* for a program's first output, */
#define LOGIN_MS   120000 /* or if it may ask for a password at the terminal */
#define READY_MS   120000 /* for loading programs on a slow host */
#define CLOCK_ASKS 8
#define NOISE_MAX  65536 /* bytes of login script output before the hello */
#define PROBES	   10	 /* number of probes, since some may be lost */
#define PROBE_MS   100	 /* time for the reply to a probe */

static int lose(struct peer *p, int rc, struct error *err)
{
	p->lost = true;
	return error_set(err, STATUS_FAILED, rc,
			 p->via.words ? "see the messages of the remote command above"
				      : "see the output of `recv --serve` on the other host",
			 "the other host is lost: %s", conn_why(rc, NULL));
}

static void report_wait(struct peer *p)
{
	if (!p->waits && p->target.on_wait)
		p->target.on_wait();
	p->waits = true;
}

/* Receives a message. If the server is busy, waits until its current client has finished. */
static int await(struct peer *p, struct json_object **msg, int timeout_ms)
{
	int rc = conn_receive(&p->conn, msg, timeout_ms);

	while (!rc && !strcmp(msg_type(*msg), "busy")) {
		json_object_put(*msg);
		report_wait(p);
		do {
			rc = conn_receive(&p->conn, msg, TURN_MS);
		} while (rc == -ETIMEDOUT);
	}
	return rc;
}

/* Receives an answer of `type`, or the error sent in its place. */
static int receive(struct peer *p, const char *type, struct json_object **msg, int timeout_ms,
		   struct error *err)
{
	struct error refusal = {};
	int rc = await(p, msg, timeout_ms);

	if (rc)
		return lose(p, rc, err);
	if (!type || !strcmp(msg_type(*msg), type))
		return 0;
	rc = strcmp(msg_type(*msg), "error") || record_read(*msg, msg_error, &refusal) ||
			     refusal.status == STATUS_OK
		     ? -EBADMSG
		     : -EREMOTEIO;
	json_object_put(*msg);
	if (rc == -EBADMSG)
		return lose(p, rc, err);
	return error_set(err, refusal.status, rc, refusal.hint, "%s: %s",
			 *p->hello.host ? p->hello.host : "the other host", refusal.message);
}

static int send_message(struct peer *p, const char *type, const struct record_field *rows,
			const void *from, struct error *err)
{
	int rc = p->lost ? -EPIPE : conn_send(&p->conn, msg_make(type, rows, from), ANSWER_MS);

	return rc ? lose(p, rc, err) : 0;
}

/* Receives an answer with its members. */
static int expect(struct peer *p, const char *type, const struct record_field *rows, void *to,
		  int timeout_ms, struct error *err)
{
	struct json_object *msg;
	int rc = receive(p, type, &msg, timeout_ms, err);

	if (rc)
		return rc;
	rc = rows && record_read(msg, rows, to) ? -EBADMSG : 0;
	json_object_put(msg);
	return rc ? lose(p, rc, err) : 0;
}

static int ask(struct peer *p, const char *type, const char *reply, const struct record_field *rows,
	       void *to, struct error *err)
{
	int rc = send_message(p, type, NULL, NULL, err);

	return rc ? rc : expect(p, reply, rows, to, ANSWER_MS, err);
}

/*
 * Receives the hello from a program that may first ask for a password or print any text. Shows the
 * text if no hello follows.
 */
static int await_via(struct peer *p, struct json_object **msg)
{
	char *noise = mem_zero(1, NOISE_MAX + 1);
	struct conn *c = &p->conn;
	size_t used = 0, n = 0;
	int rc = 0;

	while (!rc) {
		rc = conn_receive(c, msg, p->via.asks ? LOGIN_MS : VIA_MS);
		if (!rc && !strcmp(msg_type(*msg), "hello"))
			break;
		if (!rc)
			json_object_put(*msg);
		else if (rc == -EBADMSG && c->line)
			rc = 0;
		/* the rest, once no more data follows */
		n = rc ? c->have : c->line;
		if (n > NOISE_MAX - used) {
			n = NOISE_MAX - used;
			rc = -EBADMSG;
		}
		memcpy(noise + used, c->bytes, n);
		used += n;
	}
	if (rc && used && p->target.on_noise)
		p->target.on_noise(noise);
	free(noise);
	return rc;
}

static int await_hello(struct peer *p, struct error *err)
{
	struct json_object *msg;
	int rc = p->via.words ? await_via(p, &msg) : await(p, &msg, HELLO_MS);

	if (rc == -ETIMEDOUT && p->via.words)
		return rc;
	if (rc == -ETIMEDOUT) { /* the server may be starting or ending an experiment */
		report_wait(p);
		rc = await(p, &msg, MUTE_MS);
	}
	if (rc == -ETIMEDOUT)
		return error_set(err, STATUS_FAILED, rc, "see which program listens there",
				 "the program that listens there does not respond");
	if (rc)
		return rc;
	/* in another version, everything except this message and the login may differ */
	if (strcmp(msg_type(msg), "hello") || record_read(msg, msg_hello, &p->hello))
		rc = -EBADMSG;
	json_object_put(msg);
	return rc;
}

static int log_in(struct peer *p, struct error *err)
{
	struct peer_hello login = {.protocol = PEER_PROTOCOL, .version = PKTLEDGER_VERSION};
	int rc = await_hello(p, err);

	if (rc)
		return rc;
	gethostname(login.host, sizeof(login.host) - 1);
	rc = send_message(p, "login", msg_hello, &login, err);
	if (p->hello.protocol != PEER_PROTOCOL)
		return error_set(err, STATUS_UNABLE, -EPROTONOSUPPORT,
				 "use the same version on both hosts",
				 "%s speaks version %u of the protocol (pktledger %s), this is %d",
				 p->hello.host, p->hello.protocol, p->hello.version, PEER_PROTOCOL);
	if (!strcmp(login.host, p->hello.host)) { /* two network namespaces on one host */
		struct endpoint to = p->target.to;

		to.port = 0;
		snprintf(p->hello.host, sizeof(p->hello.host), "%s", num_text_endpoint(&to));
	}
	return rc ? rc : expect(p, "welcome", msg_welcome, &p->welcome, ANSWER_MS, err);
}

static int refuse(const struct peer_target *target, int rc, struct error *err)
{
	const char *hint, *why = conn_why(rc, &hint);

	if (rc == -EBADMSG)
		why = "the program that answers there is not pktledger";
	return error_set(err, STATUS_FAILED, rc,
			 hint ? hint
			      : "start `pktledger recv --serve --listen ADDR` there first, or go "
				"by ssh: --to USER@HOST",
			 "cannot reach %s by %s: %s", num_text_endpoint(&target->to),
			 target->token.len ? "TLS" : "TCP", why);
}

/* Reports that the `via` program exited with this status. */
static int refuse_via(const struct peer *p, int rc, int status, struct error *err)
{
	const char *remote = p->target.via.remote, *name = p->via.argv[0];

	if (rc == -EBADMSG)
		return error_set(
			err, STATUS_FAILED, rc,
			"make the login scripts there print nothing in sessions without a terminal",
			"%s brought 64 KiB of other text, and no answer of pktledger", name);
	if (rc == -ETIMEDOUT)
		return error_set(err, STATUS_FAILED, rc, "try the command by hand",
				 "%s has brought no answer of pktledger for %s", name,
				 fmt_ns((p->via.asks ? LOGIN_MS : VIA_MS) * 1000000ULL));
	if (status == CHILD_NOT_FOUND)
		return error_set(err, STATUS_FAILED, rc,
				 "install it there, or give its path: --remote PATH",
				 "there is no %s on the other host (%s: exit status %d)",
				 remote ? remote : "pktledger", name, status);
	return error_set(err, STATUS_FAILED, rc,
			 "see its messages above (if pktledger is not in the PATH there, use "
			 "--remote PATH)",
			 "%s ended with status %d before pktledger answered there", name, status);
}

static int reach(struct peer *p, struct error *err)
{
	const struct token *token = &p->target.token;
	int fd, rc;

	if (peer_is_via(&p->target))
		return via_open(&p->via, &p->target.via, &p->conn, err);
	fd = conn_connect(&p->target.to, CONNECT_MS);
	conn_init(&p->conn, fd, fd);
	rc = fd < 0 ? fd : conn_name(fd, false, &p->self);
	if (!rc && token->len)
		rc = conn_secure(&p->conn, token, false);
	return rc || !token->len ? rc : conn_handshake(&p->conn, MUTE_MS);
}

int peer_connect(struct peer **out, const struct peer_target *target, struct error *err)
{
	struct peer *p = mem_new(p);
	int rc;

	p->target = *target;
	conn_init(&p->conn, -1, -1);
	rc = reach(p, err);
	if (!rc)
		rc = log_in(p, err);
	if (!rc) {
		*out = p;
		return 0;
	}
	conn_close(&p->conn);
	rc = p->via.words ? refuse_via(p, rc, via_close(&p->via), err) : refuse(target, rc, err);
	peer_close(p);
	return rc;
}

void peer_close(struct peer *p)
{
	if (!p)
		return;
	conn_close(&p->conn);
	via_close(&p->via);
	json_object_put(p->env);
	free(p);
}

/* Determines which source address this host uses towards `to`. */
static void find_self(struct peer *p, const struct endpoint *to)
{
	struct sockaddr_storage addr;
	socklen_t len = socket_address(to, &addr);
	int fd = probe_open(to->family == AF_INET6, 0);

	if (fd >= 0 && !connect(fd, (void *)&addr, len))
		conn_name(fd, false, &p->self);
	if (fd >= 0)
		close(fd);
}

/*
 * Sends probes over `fd` until one has arrived there, and also until a reply has arrived if `back`
 * is set.
 */
static int exchange_probes(struct peer *p, int fd, const struct endpoint *to, bool back,
			   struct error *err)
{
	struct peer_probe asked = {.port = to->port, .ipv6 = to->family == AF_INET6};
	struct endpoint from;

	if (getrandom(&asked.mark, sizeof(asked.mark), 0) != sizeof(asked.mark))
		return error_errno(err, STATUS_FAILED, -errno, NULL, "getrandom");
	p->seen.family = AF_UNSPEC;
	/* the first query opens the server's socket */
	for (unsigned i = 0; i <= PROBES; i++) {
		struct peer_seen seen;
		int rc = send_message(p, "probe", msg_probe, &asked, err);

		if (!rc)
			rc = expect(p, "seen", msg_seen, &seen, ANSWER_MS, err);
		if (rc)
			return rc;
		if (*seen.address && num_endpoint(seen.address, &p->seen))
			return lose(p, -EBADMSG, err);
		if (p->seen.family && (!back || probe_take(fd, asked.mark, PROBE_MS, &from)))
			return 0;
		probe_send(fd, to, asked.mark);
	}
	return -EHOSTUNREACH;
}

/* Reports NAT or a firewall between the two hosts. */
static void report_way(const struct peer *p, const struct endpoint *to,
		       const struct experiment_view *view)
{
	const char *self = num_text_endpoint(p->seen.family ? &p->self : to);
	const char *host = p->hello.host;
	char note[256];

	if (!p->seen.family)
		snprintf(note, sizeof(note),
			 "no probe packet reached %s at %s over UDP, so the test traffic may be "
			 "lost, too",
			 host, self);
	else if (memcmp(&p->seen.ip4, &p->self.ip4, sizeof(p->self.ip4)) ||
		 memcmp(&p->seen.ip6, &p->self.ip6, sizeof(p->self.ip6)))
		snprintf(note, sizeof(note), "%s sees this host, %s, as %s", host, self,
			 num_text_endpoint(&p->seen));
	else
		return;
	view_note(view, note);
}

static int find_way(struct peer *p, const struct run_spec *spec, const struct experiment_view *view,
		    struct error *err)
{
	struct endpoint to = p->target.to;
	int fd = probe_open(spec->ipv6, spec->reverse ? (unsigned)spec->port : 0), rc;

	if (fd < 0)
		return error_errno(err, STATUS_FAILED, fd, "use another --port, or stop the program "
							   "that uses it",
				   "cannot use UDP port %u", (unsigned)spec->port);
	to.port = (uint16_t)spec->port;
	find_self(p, &to);
	rc = exchange_probes(p, fd, &to, spec->reverse, err);
	close(fd);
	if (!rc || (rc == -EHOSTUNREACH && !spec->reverse)) {
		report_way(p, &to, view);
		return 0;
	}
	if (rc != -EHOSTUNREACH)
		return rc;
	if (p->seen.family)
		return error_set(err, STATUS_FAILED, rc,
				 "a firewall or NAT blocks the path in this direction: start the "
				 "run on the other host",
				 "--reverse does not work: nothing that %s sends reaches %s",
				 p->hello.host, num_text_endpoint(&p->seen));
	return error_set(err, STATUS_FAILED, rc, "check the firewall there",
			 "--reverse does not work: no probe packet, which shows where to send, "
			 "reached %s at %s",
			 p->hello.host, num_text_endpoint(&to));
}

int remote_plan_local(const struct run_spec *spec, const struct experiment_view *view,
		      char device[IF_NAMESIZE], struct run_spec *local, struct error *err)
{
	const bool via = peer_is_via(&spec->far->target);
	const struct endpoint *to = &spec->far->target.to;
	unsigned ifindex = netdev_way(NULL, to);

	*device = '\0';
	if (spec->ifname)
		snprintf(device, IF_NAMESIZE, "%s", spec->ifname);
	else if (ifindex)
		if_indextoname(ifindex, device);
	*local = *spec;
	local->ifname = *device ? device : NULL;
	local->to = *to;
	local->to.port = via ? (uint16_t)spec->port : spec->far->welcome.port;
	local->paired = true;
	local->fragments = reassembly_fragments(to, spec->payload);
	return via ? find_way(spec->far, spec, view, err) : 0;
}

/*
 * Fills the plan for the other site with the same spec, but without the shape if that site
 * receives.
 */
static void fill_plan(const struct run_spec *spec, const struct outcomes *f, struct peer_plan *plan)
{
	*plan = (struct peer_plan){
		.numbers = {f->base, f->window, f->stream0, f->streams},
		.wish = spec->reverse ? spec->tuning.tx : spec->tuning.rx,
		.spec = *spec,
	};
	snprintf(plan->engine, sizeof(plan->engine), "%s",
		 spec->reverse ? spec->tx->name : spec->rx->name);
	if (!spec->reverse)
		plan->spec.flows = 1; /* only a sender uses more flows */
	if (!spec->reverse && shape_sizes_differ(spec_shape(spec)))
		plan->spec.payload = 0;
	if (spec->reverse && spec->shaped)
		return;
	plan->spec.shaped = false;
	plan->spec.shape = (struct shape){};
	plan->spec.vlan = plan->spec.tos = plan->spec.ttl = 0;
}

static int ask_ready(struct peer *p, const struct peer_plan *plan, struct peer_ready *ready,
		     struct error *err)
{
	int rc = send_message(p, "plan", msg_plan, plan, err);
	struct json_object *msg, *env;

	if (!rc)
		rc = receive(p, "ready", &msg, READY_MS, err);
	if (rc)
		return rc;
	rc = record_read(msg, msg_ready, ready);
	json_object_put(p->env);
	p->env = NULL;
	if (json_object_object_get_ex(msg, "env", &env))
		p->env = json_object_get(env);
	json_object_put(msg);
	return rc ? lose(p, rc, err) : 0;
}

/*
 * Measures the other host's CLOCK_TAI minus ours, using the fastest of several queries. The maximum
 * error is half the round trip of that query.
 */
static int compare_clocks(struct remote *r, struct error *err)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < CLOCK_ASKS; i++) {
		uint64_t before = pace_tai(), after;
		struct peer_time time;
		int rc = ask(r->peer, "time", "time", msg_time, &time, err);

		if (rc)
			return rc;
		after = pace_tai();
		if (after - before >= best)
			continue;
		best = after - before;
		r->clock.offset_ns = (int64_t)(time.tai_ns - (before + best / 2));
	}
	r->clock.error_ns = best / 2 + best % 2;
	return 0;
}

int remote_open(struct remote *r, struct site *local, struct error *err)
{
	const struct run_spec *spec = local->spec;
	struct outcomes *f = &local->tracer.outcomes;
	struct peer_plan plan;
	int rc;

	r->peer = spec->far;
	r->local = local;
	r->sends = spec->reverse;
	gethostname(r->host, sizeof(r->host) - 1);
	fill_plan(spec, f, &plan);
	join_init(&r->join, f, !r->sends);
	conn_patience(&r->peer->conn, (unsigned)(spec->settle_ns / 1000000) + ACK_MS);
	rc = ask_ready(r->peer, &plan, &r->ready, err);
	return rc ? rc : compare_clocks(r, err);
}

static void fill_host(struct result_host *out, const char *name, const char *place)
{
	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->place, sizeof(out->place), "%s", place);
}

void remote_describe(const struct remote *r, struct result *res)
{
	site_describe(r->local, res);
	snprintf(r->sends ? res->tx_mode : res->rx_mode, sizeof(res->tx_mode), "%s", r->ready.mode);
	res->two_hosts = true;
	fill_host(r->sends ? &res->rx_host : &res->tx_host, r->host, site_place(r->local));
	fill_host(r->sends ? &res->tx_host : &res->rx_host, r->peer->hello.host, r->ready.place);
	res->clock.offset_ns = r->sends ? -r->clock.offset_ns : r->clock.offset_ns;
	res->clock.error_ns = r->clock.error_ns;
	res->clock.shared = r->peer->target.shared_clock;
}

void remote_ports(const struct remote *r, struct lab *lab)
{
	const struct endpoint *to = &r->peer->target.to, *self = &r->peer->self;
	struct lab_port here = {.ip4 = self->ip4, .ip6 = self->ip6};
	struct lab_port there = {.ip4 = to->ip4, .ip6 = to->ip6};

	if (r->local->spec->ifname)
		snprintf(here.ifname, sizeof(here.ifname), "%s", r->local->spec->ifname);
	*lab = (struct lab){
		.topology = LAB_PAIR, .tx = r->sends ? there : here, .rx = r->sends ? here : there};
}

static int send_upto(struct remote *r, const char *type, const uint64_t *upto, struct error *err)
{
	struct peer_upto to = {};

	memcpy(to.upto, upto, r->local->tracer.outcomes.streams * sizeof(*upto));
	return send_message(r->peer, type, msg_upto, &to, err);
}

bool remote_ask(struct remote *r, const char *what, const uint64_t *upto, struct error *err)
{
	const struct outcomes *f = &r->local->tracer.outcomes;
	const uint64_t now = clock_now();
	struct site_status st;
	const bool stops = !strcmp(what, "stop"); /* may take long, and end with an error */
	const int ms = r->peer->via.words && !stops ? ALIVE_MS : ANSWER_MS;
	int rc = upto ? send_upto(r, what, upto, err) : send_message(r->peer, what, NULL, NULL, err);

	if (!rc)
		rc = expect(r->peer, "status", msg_status, &st, ms, err);
	if (rc == -EREMOTEIO && !stops)
		rc = lose(r->peer, -EBADMSG, err);
	/* a sender is at most one window ahead of the folded numbers */
	for (unsigned t = 0; !rc && r->sends && t < f->streams; t++) {
		if (st.next[t] - (f->tail[t] - f->base) > f->window)
			rc = lose(r->peer, -EBADMSG, err);
	}
	if (rc)
		return false;
	r->status = st;
	r->told_ns = now;
	return true;
}

void remote_refresh(struct remote *r, uint64_t most_ns, struct error *err)
{
	if (clock_now() - r->told_ns >= most_ns)
		remote_ask(r, "status", NULL, err);
}

static int take_cause(struct remote *r, struct json_object *msg)
{
	struct ledger_cause cause, *here;

	if (msg_take_cause(msg, &cause))
		return -EBADMSG;
	here = &r->cause[join_cause(&r->join, cause.raw.index)];
	*here = cause;
	here->raw.index = (uint8_t)(here - r->cause);
	snprintf(here->named.host, sizeof(here->named.host), "%s", r->peer->hello.host);
	return 0;
}

/*
 * Takes a message of the answer to "fold": the last one, or outcomes. These must come after those
 * of the message before, and must not be empty, so they end eventually.
 */
static void take_outcomes(struct remote *r, struct json_object *msg)
{
	const struct range before = r->range;
	struct runs *runs = r->runs;
	const char *type = msg_type(msg);

	r->folded = !strcmp(type, "folded");
	if (!r->folded && (strcmp(type, "outcomes") || record_read(msg, msg_outcomes, runs) ||
			   !*runs->text || runs->slot < before.stream ||
			   (runs->slot == before.stream && runs->first < before.last + 1)))
		r->folded = lose(r->peer, -EBADMSG, r->err);
	json_object_put(msg);
	r->range = (struct range){.stream = runs->slot, .last = runs->first - 1};
	r->runs_at = runs->text;
}

/* Reads the next range of the answer to "fold", which may be in the next message. */
static bool next_range(void *arg, struct join_walk *w)
{
	struct remote *r = arg;
	struct json_object *msg;

	while (!r->folded && !*r->runs_at) {
		r->folded = receive(r->peer, NULL, &msg, ANSWER_MS, r->err);
		if (!r->folded)
			take_outcomes(r, msg);
	}
	if (!r->folded &&
	    (!runs_next(r->runs, &r->runs_at, &r->range) || join_check(&r->join, &r->range)))
		r->folded = lose(r->peer, -EBADMSG, r->err);
	w->range = &r->range;
	w->n = !r->folded;
	w->at = 0;
	return w->n;
}

/* Adds causes that the other site named, and the wire, to the local causes. */
static void add_causes(struct remote *r)
{
	struct ledger *l = &r->local->ledger;
	struct ledger_cause wire = {
		.raw.index = JOIN_WIRE,
		.verdict = {.stage = STAGE_WIRE, .class = CLASS_LOSS},
		.named = {.stage = STAGE_WIRE,
			  .note = "seen to leave the sender, not seen to come to the receiver"},
	};

	for (int i = 0; i < l->n; i++)
		snprintf(l->cause[i].named.host, sizeof(l->cause[i].named.host), "%s", r->host);
	for (unsigned i = 1; i < TRACE_CAUSES; i++) {
		if (r->cause[i].raw.index)
			ledger_add(l, &r->cause[i]);
	}
	ledger_add(l, &wire);
}

void remote_fold(struct remote *r, const uint64_t *upto, struct error *err)
{
	struct json_object *msg = NULL;
	unsigned causes = 0;
	int rc = send_upto(r, "fold", upto, err);

	r->err = err;
	r->runs = mem_new(r->runs);
	r->runs_at = r->runs->text;
	r->range = (struct range){.last = UINT64_MAX};
	while (!rc) {
		rc = receive(r->peer, NULL, &msg, ANSWER_MS, err);
		if (rc || strcmp(msg_type(msg), "cause"))
			break;
		rc = ++causes < TRACE_CAUSES ? take_cause(r, msg) : -EBADMSG;
		json_object_put(msg);
		if (rc)
			lose(r->peer, rc, err);
	}
	r->folded = rc != 0;
	if (!rc)
		take_outcomes(r, msg);
	r->join.there = (struct join_walk){.more = next_range, .arg = r};
	r->local->join = &r->join;
	add_causes(r);
}

void remote_folded(struct remote *r)
{
	while (next_range(r, &r->join.there))
		; /* numbers that were not folded on this host */
	free(r->runs);
	r->runs = NULL;
}

void remote_end(struct remote *r, uint64_t start_ns, struct result *res, struct error *err)
{
	struct result *with = mem_new(with);

	*with = *res;
	if (!ask(r->peer, "end", "end", msg_end, with, err)) {
		with->delivered = res->delivered;
		with->impossible += res->impossible;
		*res = *with;
	}
	free(with);
	if (!r->peer->lost)
		return;
	res->remote.lost = true;
	res->remote.since_ns = r->told_ns - start_ns;
	res->remote.delivered = r->status.delivered;
	res->remote.dropped = r->status.dropped;
	for (unsigned t = 0; t < TRACE_STREAMS; t++)
		res->remote.sent += r->status.next[t];
	if (!r->sends) /* the other site no longer reports these, so they are not missing */
		res->arrivals.gaps = (struct gaps){};
}

/*
 * Checks local counters against local observations only, by removing the other site's causes from
 * the ledger.
 */
static void check_local(struct remote *r, struct result *res)
{
	struct result *own = mem_new(own);
	unsigned n, most;

	site_name(r->local);
	site_ledger(r->local, 0, own);
	if (!site_check(r->local, own, &(struct error){})) {
		n = own->n_counters;
		most = RESULT_COUNTERS - n;
		res->n_counters = smaller(res->n_counters, most);
		memmove(res->counter + n, res->counter, res->n_counters * sizeof(*res->counter));
		memcpy(res->counter, own->counter, n * sizeof(*res->counter));
		res->n_counters += n;
		res->replies += own->replies;
		res->reassembled += own->reassembled;
	}
	free(own);
}

void remote_close(struct remote *r, struct result *res)
{
	struct arrivals *a = &res->arrivals;
	const unsigned legs = a->legs;

	/* one-way latency is invalid unless the clocks are synchronised */
	if (!res->clock.shared) {
		a->legs = 0;
		for (unsigned i = 0; i < legs; i++) {
			if (a->leg[i].from != RESULT_SENT)
				a->leg[a->legs++] = a->leg[i];
		}
		a->latency.measured = false;
		memset(a->delay, 0, sizeof(a->delay));
		a->negative = 0;
		for (unsigned i = 0; i < a->flows; i++)
			a->flow[i].latency.measured = false;
	}
	r->ready.settings.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	advise(r->local, r->sends ? NULL : &r->ready.settings, res);
	check_local(r, res);
}
