// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/remote.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/watch.h"
#include "diagnosis/facts.h"
#include "experiment/settle.h"
#include "host/netdev.h"

#define SEND_MS	    10000
#define CALLERS_MAX 64
#define LISTENERS   2
#define STEP_MS	    20
#define PROBE_MS    50 /* ms, the probe was sent before the request arrived */
#define PATIENT	    16 /* answers between checks for a signal */
#define LOGIN_NS    2000000000
#define REST_NS	    2000000000	 /* without an experiment, after which other clients may
				  * take a turn */
#define SILENCE_NS  15000000000	 /* a client that is silent this long during an experiment
				  * is considered gone */
#define IDLE_NS	    120000000000 /* between experiments, because a client may be loading
				  * programs on a slow host */

/*
 * A client connection from login to end. It authenticates the client and serves its requests, one
 * experiment after another.
 */
struct caller {
	const struct server_config *cfg;
	struct conn conn;
	/* in this order: handshake in progress, not greeted yet, login expected, logged in */
	enum { SHAKES, WAITS, GREETED, LET_IN } state;
	int probe_fd; /* -1: the client sends no probes */
	struct peer_probe probe;
	uint64_t heard_ns; /* time of the greeting or of the last message */
	uint64_t rests_ns; /* time since which the client could have had an experiment but did
			    * not */
	struct peer_plan plan;
	char device[IF_NAMESIZE]; /* interface towards the client, "" if unknown */
	struct site *site;	  /* NULL when no experiment is running */
	bool stopped;		  /* both ends are stopped */
	struct runs runs;
	struct server_served served;
};

static int answer(struct caller *s, const char *type, const struct record_field *rows,
		  const void *from)
{
	return conn_send(&s->conn, msg_make(type, rows, from), SEND_MS);
}

static int refuse(struct caller *s, const struct error *why)
{
	return answer(s, "error", msg_error, why);
}

static int do_login(struct caller *s, struct json_object *msg)
{
	struct peer_welcome welcome = {.port = (uint16_t)s->cfg->spec->port,
				       .max_pps = s->cfg->max_pps};
	struct peer_hello login;
	struct error why = {};
	int rc = record_read(msg, msg_hello, &login);

	if (rc)
		return rc;
	snprintf(s->served.host, sizeof(s->served.host), "%s", login.host);
	if (login.protocol != PEER_PROTOCOL) {
		rc = error_set(&why, STATUS_UNABLE, -EPROTONOSUPPORT,
			       "use the same version on both hosts",
			       "the server speaks version %d of the protocol, the client %u",
			       PEER_PROTOCOL, login.protocol);
		refuse(s, &why);
		return rc;
	}
	s->state = LET_IN;
	s->rests_ns = clock_now();
	return answer(s, "welcome", msg_welcome, &welcome);
}

/* Sends the hello once, after the handshake. The login must follow. */
static int greet(struct caller *s)
{
	struct peer_hello hello = {.protocol = PEER_PROTOCOL, .version = PKTLEDGER_VERSION};
	int rc = 0;

	if (s->state == LET_IN)
		s->rests_ns = clock_now();
	else if (s->state != SHAKES)
		s->heard_ns = clock_now();
	if (s->state != WAITS)
		return 0;
	s->state = GREETED;
	gethostname(hello.host, sizeof(hello.host) - 1);
	if (s->cfg->stdio) /* a login script may have left an incomplete line in the stream */
		rc = conn_send(&s->conn, NULL, SEND_MS);
	return rc ? rc : answer(s, "hello", msg_hello, &hello);
}

/*
 * Determines the client's address from its probes if the control connection does not show it.
 * Answers each probe from a separate socket, along the path that packets would take.
 */
static int do_probe(struct caller *s, struct json_object *msg)
{
	struct peer_probe asked, *p = &s->probe;
	struct peer_seen seen = {};
	struct error why = {};
	bool first;
	int fd;

	if (!s->cfg->stdio || record_read(msg, msg_probe, &asked) || !asked.port)
		return -EBADMSG;
	first = s->probe_fd < 0 || asked.port != p->port || asked.ipv6 != p->ipv6;
	*p = asked;
	if (first) {
		fd_close(&s->probe_fd);
		s->served.peer.family = AF_UNSPEC;
		s->probe_fd = probe_open(p->ipv6, p->port);
	}
	if (s->probe_fd < 0) {
		error_errno(&why, STATUS_FAILED, s->probe_fd, "use another --port, or stop the "
							      "program that uses it",
			    "cannot receive at UDP port %u", p->port);
		return refuse(s, &why);
	}
	while (probe_take(s->probe_fd, p->mark, first ? 0 : PROBE_MS, &s->served.peer)) {
		snprintf(seen.address, sizeof(seen.address), "%s",
			 num_text_endpoint(&s->served.peer));
		fd = probe_open(p->ipv6, 0);
		if (fd < 0)
			break;
		probe_send(fd, &s->served.peer, p->mark);
		close(fd);
		first = true;
	}
	return answer(s, "seen", msg_seen, &seen);
}

/* Tells the client that another client is being served first. */
static int put_off(struct caller *s)
{
	return s->state == SHAKES ? 0 : conn_send(&s->conn, msg_make("busy", NULL, NULL), 0);
}

static int check_sending(const struct caller *s, struct error *why)
{
	const struct run_spec *spec = &s->plan.spec;
	double max = s->cfg->max_pps;
	double peak = spec->shaped ? shape_peak(&spec->shape, spec->rate_pps) : spec->rate_pps;

	if (spec->shape.frames && !spec->tx->shapes)
		return error_usage(why, "use --tx xsk or --tx socket",
				   "--tx %s sends packets that are all alike", spec->tx->name);
	if (!(max > 0))
		return 0;
	if (!(peak > 0 && peak <= max))
		return error_set(why, STATUS_FAILED, -EPERM,
				 "a lower --rate, or a higher --max-rate on the server",
				 "the server limits the rate to %s", fmt_rate(max));
	if (spec->shape.burst > max)
		return error_set(why, STATUS_FAILED, -EPERM,
				 "a smaller --burst, or a higher --max-rate on the server",
				 "the server sends no burst of more than a second at %s",
				 fmt_rate(max));
	return 0;
}

/*
 * Completes the received plan for the local site. Packets may be sent only to the client's own
 * address. `why` explains a refusal.
 */
static int complete_plan(struct caller *s, struct error *why)
{
	struct peer_plan *plan = &s->plan;
	struct run_spec *spec = &plan->spec;
	const struct endpoint *client = &s->served.peer;
	const bool stdio = s->cfg->stdio;
	unsigned ifindex = client->family ? netdev_way(NULL, client) : 0;

	spec->ifname = s->cfg->spec->ifname;
	if (!spec->ifname && ifindex)
		spec->ifname = if_indextoname(ifindex, s->device);
	spec->paired = true;
	spec->numbers = &plan->numbers;
	spec->threads = plan->numbers.streams;
	spec->to =
		*client; /* and no other host. Unknown for a receiver that got no probe */
	if (spec->reverse) {
		for (unsigned i = 0; tx_engines[i]; i++)
			spec->tx = strcmp(tx_engines[i]->name, plan->engine) ? spec->tx : tx_engines[i];
		spec->tuning.tx = plan->wish;
		spec->to.port = stdio ? client->port : (uint16_t)spec->port;
		spec->shape.payload = spec->shape.sizes;
	} else {
		for (unsigned i = 0; rx_engines[i]; i++)
			spec->rx = strcmp(rx_engines[i]->name, plan->engine) ? spec->rx : rx_engines[i];
		spec->tuning.rx = plan->wish;
		spec->port = stdio ? spec->port : (uint16_t)s->cfg->spec->port;
	}
	if (!spec->reverse || !spec->shaped) {
		spec->shaped = false;
		spec->shape = (struct shape){};
	}
	if (client->family ? spec->ipv6 != (client->family == AF_INET6) : spec->reverse)
		return error_usage(why, NULL,
				   "packets are sent to the address that the control connection or "
				   "the probes come from");
	if (!spec->tx && !spec->rx)
		return error_usage(why, NULL, "the server does not support engine "
					      "'%s'", plan->engine);
	if (plan->numbers.window > window_most(plan->numbers.streams))
		return error_set(why, STATUS_FAILED, -ENOMEM, "use a smaller --count",
				 "the server does not have enough memory for this many numbers");
	if ((spec->tuning.rt || spec->tuning.nice < 0) && !s->cfg->token.len && !stdio)
		return error_set(why, STATUS_FAILED, -EPERM,
				 "start it with --token-file, or by `nice` or `chrt`",
				 "the server gives no priority to clients without a token");
	return spec->reverse ? check_sending(s, why) : 0;
}

static void end_experiment(struct caller *s)
{
	if (s->site)
		site_close(s->site);
	free(s->site);
	s->site = NULL;
	s->stopped = false;
	s->rests_ns = clock_now();
}

static int do_plan(struct caller *s, struct json_object *msg)
{
	struct json_object *reply;
	struct peer_ready ready = {};
	struct error why = {};

	end_experiment(s);
	fd_close(&s->probe_fd);
	memset(&s->plan, 0, sizeof(s->plan));
	if (record_read(msg, msg_plan, &s->plan) || !msg_plan_valid(&s->plan))
		return -EBADMSG;
	if (complete_plan(s, &why))
		return refuse(s, &why);
	s->site = mem_new(s->site);
	if (site_open(s->site, &s->plan.spec, &(struct experiment_view){}, &why)) {
		end_experiment(s);
		return refuse(s, &why);
	}
	s->served.experiments++;
	if (s->site->receiver)
		site_settings(s->site, &ready.settings);
	snprintf(ready.mode, sizeof(ready.mode), "%s",
		 s->site->sender ? sender_mode(s->site->sender) : receiver_mode(s->site->receiver));
	snprintf(ready.place, sizeof(ready.place), "%s", site_place(s->site));
	reply = msg_make("ready", msg_ready, &ready);
	json_put(reply, "env", env_read(NULL));
	return conn_send(&s->conn, reply, SEND_MS);
}

static void stop(struct caller *s, struct error *err)
{
	s->stopped = true;
	site_stop_sending(s->site, err);
	site_stop_receiving(s->site, err);
}

/* Handles the "start", "mark", "stop" and "status" requests. */
static int do_status(struct caller *s, struct json_object *msg)
{
	struct error why = {};
	const char *what = msg_type(msg);
	struct site_status st;
	struct peer_upto mark;

	if (!strcmp(what, "mark")) {
		if (record_read(msg, msg_upto, &mark))
			return -EBADMSG;
		site_mark(s->site, mark.upto);
	} else if (!strcmp(what, "start")) {
		site_start(s->site);
	} else if (!strcmp(what, "stop")) {
		stop(s, &why);
	}
	if (why.status != STATUS_OK)
		return refuse(s, &why);
	site_status(s->site, &st);
	return answer(s, "status", msg_status, &st);
}

static void flush_runs(struct caller *s)
{
	if (s->runs.used && answer(s, "outcomes", msg_outcomes, &s->runs))
		conn_close(&s->conn); /* the next message reports the error */
	s->runs.used = 0;
}

static void on_range(void *arg, const struct range *r)
{
	struct caller *s = arg;

	if (s->conn.in < 0 || !runs_put(&s->runs, r))
		return;
	flush_runs(s);
	runs_put(&s->runs, r);
}

static int do_fold(struct caller *s, struct json_object *msg)
{
	const struct range_visitor visitor = {on_range, s};
	const struct ledger *l = &s->site->ledger;
	const struct outcomes *f = &s->site->tracer.outcomes;
	uint64_t next[TRACE_STREAMS] = {};
	struct peer_upto fold;
	int rc = record_read(msg, msg_upto, &fold);

	site_next(s->site, next);
	/* numbers beyond this end's window cannot be folded */
	for (unsigned t = 0; !rc && t < f->streams; t++) {
		uint64_t tail = f->tail[t] - f->base;

		if (fold.upto[t] < tail || fold.upto[t] - tail > f->window ||
		    (s->plan.spec.reverse && fold.upto[t] > next[t]))
			rc = -EBADMSG;
	}
	if (rc)
		return -EBADMSG;
	site_prepare(s->site, fold.upto);
	for (int i = 0; i < l->n && !rc; i++) {
		if (!l->ignored[l->cause[i].raw.index])
			rc = answer(s, "cause", msg_cause, &l->cause[i]);
	}
	if (rc)
		return rc;
	site_fold(s->site, fold.upto, &visitor);
	flush_runs(s);
	return s->conn.in < 0 ? -EPIPE : answer(s, "folded", NULL, NULL);
}

static int do_end(struct caller *s, struct json_object *msg)
{
	struct result *res;
	int rc;

	(void)msg;
	if (!s->stopped)
		return -EBADMSG;
	res = mem_new(res);
	site_beyond(s->site);
	site_name(s->site);
	site_ledger(s->site, 0, res);
	if (s->plan.spec.reverse)
		s->served.sent += res->sent;
	site_end(s->site, res);
	res->delivered = s->site->sink.sums.delivered;
	s->served.delivered += res->delivered;
	site_check(s->site, res, &(struct error){}); /* counters that cannot be read are omitted */
	rc = answer(s, "end", msg_end, res);
	free(res);
	end_experiment(s);
	return rc;
}

static int do_time(struct caller *s, struct json_object *msg)
{
	const struct peer_time time = {.tai_ns = pace_tai()};

	(void)msg;
	return answer(s, "time", msg_time, &time);
}

static const struct request {
	const char *type;
	enum { STRANGER, CLIENT, EXPERIMENT } from; /* minimum state that the request needs */
	int (*run)(struct caller *s, struct json_object *msg);
} requests[] = {
	{"login", STRANGER, do_login},	  {"probe", CLIENT, do_probe},
	{"plan", CLIENT, do_plan},	  {"time", CLIENT, do_time},
	{"start", EXPERIMENT, do_status}, {"status", EXPERIMENT, do_status},
	{"mark", EXPERIMENT, do_status},  {"stop", EXPERIMENT, do_status},
	{"fold", EXPERIMENT, do_fold},	  {"end", EXPERIMENT, do_end},
};

/*
 * Waits up to timeout_ms for a request and answers it. The first request must be the login. Returns
 * 1 if it answered, 0 after the timeout, -EPIPE if the client ended or disconnected, -EBADMSG after
 * a protocol violation, or -EACCES or -EPROTONOSUPPORT if the login is refused.
 */
static int step(struct caller *s, int timeout_ms)
{
	const unsigned state = s->state != LET_IN ? STRANGER : s->site ? EXPERIMENT : CLIENT;
	struct json_object *msg = NULL;
	int rc = conn_receive(&s->conn, &msg, timeout_ms);

	if (rc)
		return rc == -ETIMEDOUT ? 0 : rc;
	rc = -EBADMSG;
	for (size_t i = 0; i < LENGTH(requests); i++) {
		const struct request *r = &requests[i];

		if (!strcmp(r->type, msg_type(msg)) && r->from <= state &&
		    (r->from == STRANGER) == (state == STRANGER)) {
			rc = r->run(s, msg);
			break;
		}
	}
	json_object_put(msg);
	s->heard_ns = clock_now();
	return rc ? rc : 1;
}

/* Work that was completed counts even without a client. */
static void close_session(struct caller *s)
{
	struct site_status st;

	if (s->site) {
		snprintf(s->served.why, sizeof(s->served.why), "gone in the middle");
		stop(s, &(struct error){});
		site_status(s->site, &st);
		for (unsigned t = 0; s->plan.spec.reverse && t < s->site->tracer.outcomes.streams;
		     t++)
			s->served.sent += st.next[t];
		s->served.delivered += st.delivered;
	}
	end_experiment(s);
	fd_close(&s->probe_fd);
	conn_close(&s->conn);
}

struct server {
	const struct server_config *cfg;
	const struct server_view *view;
	int listener[LISTENERS];	    /* -1: not listening */
	struct caller *caller[CALLERS_MAX]; /* in order of arrival */
	unsigned callers;
	struct caller *client; /* the client being served, NULL: no client, or all logged-in
				* clients are idle */
	unsigned answered;
	bool served; /* a logged-in client has finished */
};

/* Greets all waiting clients. */
static void serve_none(struct server *srv)
{
	srv->client = NULL;
	for (unsigned k = 0; k < srv->callers; k++)
		greet(srv->caller[k]); /* a later read will detect a dead client */
}

/* Ends a client connection. `rc`: the reason, 0 for a normal end. */
static void end_caller(struct server *srv, unsigned i, int rc)
{
	struct caller *s = srv->caller[i];

	s->served.refused = s->state != LET_IN;
	if (rc < 0 && (s->served.refused || rc != -EPIPE))
		snprintf(s->served.why, sizeof(s->served.why), "%s", conn_why(rc, NULL));
	close_session(s);
	if (rc || !s->served.refused)
		srv->view->on_served(srv->view->arg, &s->served);
	memmove(&srv->caller[i], &srv->caller[i + 1], (--srv->callers - i) * sizeof(s));
	srv->served |= !s->served.refused;
	if (rc && s == srv->client)
		serve_none(srv);
	free(s);
}

/*
 * Ends the turn of a client that has no experiment while others wait. The client is served again
 * after it sends a request and its turn comes, behind clients that arrived earlier.
 */
static void let_rest(struct server *srv, unsigned i)
{
	struct caller *s = srv->caller[i];

	if (s->site || clock_now() - s->rests_ns < REST_NS)
		return;
	memmove(&srv->caller[i], &srv->caller[i + 1], (srv->callers - 1 - i) * sizeof(s));
	srv->caller[srv->callers - 1] = s;
	serve_none(srv);
}

/* Sends "busy" to a client that has to wait. */
static int say_first(const struct server *srv, struct caller *s)
{
	return srv->client ? put_off(s) : greet(s);
}

/* Adds a client and takes ownership of its descriptors. */
static void add_caller(struct server *srv, int in, int out)
{
	struct caller *s = mem_new(s);
	int rc = 0;

	srv->caller[srv->callers++] = s;
	s->cfg = srv->cfg;
	s->probe_fd = -1;
	s->state = srv->cfg->token.len ? SHAKES : WAITS;
	conn_init(&s->conn, in, out);
	if (!srv->cfg->stdio)
		rc = conn_name(in, true, &s->served.peer);
	if (!rc && srv->cfg->token.len)
		rc = conn_secure(&s->conn, &srv->cfg->token, true);
	if (!rc)
		rc = say_first(srv, s);
	s->heard_ns = clock_now();
	if (rc)
		end_caller(srv, srv->callers - 1, rc);
}

/* Advances each pending TLS handshake by one step, even while another client is being served. */
static void shake_hands(struct server *srv)
{
	for (unsigned i = 0; i < srv->callers;) {
		struct caller *s = srv->caller[i];
		int rc = s->state == SHAKES ? conn_handshake(&s->conn, 0) : 0;

		if (s->state == SHAKES && !rc) {
			s->state = WAITS;
			rc = say_first(srv, s);
		} else if (rc == -ETIMEDOUT && clock_now() - s->heard_ns < LOGIN_NS) {
			rc = 0;
		}
		if (rc)
			end_caller(srv, i, rc);
		else
			i++;
	}
}

/* Returns the first client that may be disconnected. */
static unsigned find_silent(const struct server *srv, bool let_in)
{
	unsigned i = 0;

	for (; i < srv->callers; i++) {
		const struct caller *s = srv->caller[i];

		if (s != srv->client && s->state != WAITS && (s->state == LET_IN) == let_in)
			break;
	}
	return i;
}

/* Bounded, in case clients keep arriving without end. */
static void take_callers(struct server *srv, int listener)
{
	for (unsigned n = 0; n < CALLERS_MAX; n++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		unsigned silent;

		if (fd < 0)
			break;
		/*
		 * makes room by disconnecting the first greeted client, otherwise the first idle
		 * client
		 */
		silent = find_silent(srv, false);
		if (silent == srv->callers)
			silent = find_silent(srv, true);
		if (srv->callers == CALLERS_MAX && silent < CALLERS_MAX)
			end_caller(srv, silent, -ETIMEDOUT);
		if (srv->callers < CALLERS_MAX)
			add_caller(srv, fd, fd);
		else
			close(fd);
	}
}

/* Handles one client's input. Returns false if its connection ended. */
static bool hear(struct server *srv, unsigned i, int timeout_ms)
{
	struct caller *s = srv->caller[i];
	uint64_t login = s->cfg->stdio ? SILENCE_NS : LOGIN_NS;
	int rc = step(s, timeout_ms);
	bool rests = s->state == LET_IN && !s->site;
	uint64_t patience = s->state != LET_IN ? login : rests ? IDLE_NS : SILENCE_NS;

	srv->answered += rc > 0;
	if (rc >= 0 && clock_now() - (rests ? s->rests_ns : s->heard_ns) > patience)
		rc = -ETIMEDOUT;
	if (rc >= 0)
		return true;
	end_caller(srv, i, rc);
	return false;
}

/*
 * Serves the first client that logs in, or that is logged in and sends a request. Other clients get
 * "busy".
 */
static void hear_callers(struct server *srv)
{
	struct pollfd fds[LISTENERS + CALLERS_MAX];

	for (unsigned i = 0; i < LISTENERS; i++)
		fds[i] = (struct pollfd){.fd = srv->listener[i], .events = POLLIN};
	for (unsigned i = 0; i < srv->callers; i++)
		fds[LISTENERS + i] =
			(struct pollfd){.fd = srv->caller[i]->conn.in, .events = POLLIN};
	poll(fds, LISTENERS + srv->callers, STEP_MS);
	for (unsigned i = 0; i < srv->callers && !srv->client;) {
		struct caller *s = srv->caller[i];
		unsigned answered = srv->answered;

		if (s->state != SHAKES && !hear(srv, i, 0))
			continue;
		if (s->state == LET_IN && answered != srv->answered)
			srv->client = s;
		i++;
	}
	for (unsigned i = 0; srv->client && i < srv->callers; i++) {
		if (srv->caller[i] != srv->client)
			put_off(srv->caller[i]);
	}
}

/* Returns whether a client still has to be served or is not yet done. */
static bool goes_on(const struct server *srv)
{
	bool rests = false;

	for (unsigned i = 0; i < srv->callers; i++)
		rests |= srv->caller[i]->state == LET_IN;
	return (!srv->served || srv->cfg->spec->stay || rests) &&
	       (srv->callers || !srv->cfg->stdio);
}

static void run(struct server *srv)
{
	bool signalled = false;

	while (!signalled && goes_on(srv)) {
		unsigned answered = srv->answered, i = 0;

		for (unsigned l = 0; l < LISTENERS; l++) {
			if (srv->listener[l] >= 0)
				take_callers(srv, srv->listener[l]);
		}
		shake_hands(srv);
		while (i < srv->callers && srv->caller[i] != srv->client)
			i++;
		if (!srv->client)
			hear_callers(srv);
		else if (hear(srv, i, STEP_MS) && srv->callers > 1)
			let_rest(srv, i);
		/* does not delay a request that follows at once, such as a clock query */
		if (answered == srv->answered || answered % PATIENT == 0)
			signalled = watch_tick();
	}
	while (srv->callers)
		end_caller(srv, 0, 0);
}

void server_limits(struct server_limits *limits)
{
	const uint64_t numbers = window_most(1);

	*limits = (struct server_limits){
		.numbers = numbers,
		.bytes = numbers * WINDOW_EACH,
		.threads = RECEIVER_THREADS,
		.rcvbuf = PEER_BUFFER_MAX,
	};
}

/* Opens one or two listeners, because IPv6 may be disabled. */
static int listen_at(struct server *srv, const struct endpoint *at, struct error *err)
{
	const struct endpoint loopback[] = {
		{.family = AF_INET, .ip4.s_addr = htonl(INADDR_LOOPBACK), .port = at->port},
		{.family = AF_INET6, .ip6 = IN6ADDR_LOOPBACK_INIT, .port = at->port},
	};
	int rc;

	srv->listener[0] = conn_listen(at->family ? at : &loopback[0]);
	if (srv->listener[0] >= 0 && !at->family)
		srv->listener[1] = conn_listen(&loopback[1]);
	rc = srv->listener[0] < 0 ? srv->listener[0] : 0;
	return error_errno(err, STATUS_FAILED, rc,
			   rc == -EADDRINUSE ? "another --control-port, or end that program" : NULL,
			   "cannot listen at TCP port %u, %s", at->port,
			   num_text_endpoint(at->family ? at : &loopback[0]));
}

int server_run(const struct server_config *cfg, const struct server_view *view, struct error *err)
{
	struct server *srv = mem_new(srv);
	int rc;

	srv->cfg = cfg;
	srv->view = view;
	srv->listener[0] = srv->listener[1] = -1;
	rc = cfg->stdio ? 0 : listen_at(srv, &cfg->listen, err);
	if (!rc) {
		if (cfg->stdio)
			add_caller(srv, cfg->in, cfg->out);
		else
			view->on_listening(view->arg);
		run(srv);
	}
	for (unsigned i = 0; i < LISTENERS; i++)
		fd_close(&srv->listener[i]);
	free(srv);
	return rc;
}
