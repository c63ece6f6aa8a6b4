// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "traffic/pace.h"
#include "diagnosis/facts.h"
#include "experiment/window.h"
#include "host/netdev.h"

#define SEND_MS 10000

static int answer(struct session *s, const char *type, const struct record_field *rows,
		  const void *from)
{
	return conn_send(&s->conn, msg_make(type, rows, from), SEND_MS);
}

static int refuse(struct session *s, const struct error *why)
{
	return answer(s, "error", msg_error, why);
}

static bool is_proven(const struct session *s, const struct peer_login *login)
{
	char expected[AUTH_HEX];

	if (!s->cfg->token.len)
		return true;
	auth_prove(&s->cfg->token, AUTH_CLIENT, s->hello.challenge, login->challenge, expected);
	return auth_equal(expected, login->proof);
}

static int check_login(const struct session *s, const struct peer_login *login, struct error *why)
{
	if (login->protocol != PEER_PROTOCOL)
		return error_set(why, STATUS_FAILED, -EPROTONOSUPPORT,
				 "use the same version on both hosts",
				 "the server speaks version %d of the protocol, the client %u",
				 PEER_PROTOCOL, login->protocol);
	if (!is_proven(s, login))
		return error_set(why, STATUS_FAILED, -EACCES,
				 "give the same --token-file on both hosts",
				 "the server does not accept the token");
	return 0;
}

static int do_login(struct session *s, struct json_object *msg)
{
	struct peer_welcome welcome = {.port = s->cfg->port, .max_pps = s->cfg->max_pps};
	struct peer_login login;
	struct error why = {};
	int rc = record_read(msg, msg_login, &login);

	if (rc)
		return rc;
	snprintf(s->host, sizeof(s->host), "%s", login.host);
	rc = check_login(s, &login, &why);
	if (rc) {
		refuse(s, &why);
		return rc;
	}
	s->let_in = true;
	auth_prove(&s->cfg->token, AUTH_SERVER, s->hello.challenge, login.challenge, welcome.proof);
	return answer(s, "welcome", msg_welcome, &welcome);
}

int session_open(struct session *s, const struct server_config *cfg, int fd)
{
	int rc;

	memset(s, 0, sizeof(*s));
	s->cfg = cfg;
	conn_init(&s->conn, fd);
	s->served.host = s->host;
	s->hello = (struct peer_hello){.protocol = PEER_PROTOCOL,
				       .version = PKTLEDGER_VERSION,
				       .token = cfg->token.len != 0};
	gethostname(s->hello.host, sizeof(s->hello.host) - 1);
	rc = conn_peer(fd, &s->peer);
	s->served.peer = s->peer;
	if (!rc)
		rc = auth_challenge(s->hello.challenge);
	return rc;
}

int session_greet(struct session *s)
{
	bool first = !s->greeted;

	s->greeted = true;
	s->heard_ns = clock_now();
	return first ? answer(s, "hello", msg_hello, &s->hello) : 0;
}

int session_put_off(struct session *s)
{
	return conn_send(&s->conn, msg_make("busy", NULL, NULL), 0);
}

/* The engine of that name; NULL: there is none. */
static const struct tx_ops *tx_engine(const char *name)
{
	static const struct tx_ops *const engines[] = {&tx_socket, &tx_xsk, &tx_xdp};

	for (unsigned i = 0; i < 3; i++) {
		if (!strcmp(engines[i]->name, name))
			return engines[i];
	}
	return NULL;
}

static const struct rx_ops *rx_engine(const char *name)
{
	static const struct rx_ops *const engines[] = {&rx_socket, &rx_xsk, &rx_xdp};

	for (unsigned i = 0; i < 3; i++) {
		if (!strcmp(engines[i]->name, name))
			return engines[i];
	}
	return NULL;
}

/* For engines that need one. */
static const char *find_device(struct session *s)
{
	unsigned ifindex = netdev_way(NULL, &s->peer);

	if (s->cfg->ifname)
		return s->cfg->ifname;
	return ifindex ? if_indextoname(ifindex, s->device) : NULL;
}

/* The most packets/s; 0: as many as it gets. */
static double peak_of(const struct peer_plan *plan)
{
	return plan->shaped ? shape_peak(&plan->shape, plan->rate_pps) : plan->rate_pps;
}

static int check_sending(const struct session *s, struct error *why)
{
	const struct peer_plan *plan = &s->plan;
	double max = s->cfg->max_pps, peak = peak_of(plan);
	char limit[FMT_MAX];

	if (plan->shaped && plan->shape.frames && !tx_engine(plan->engine)->shapes)
		return error_set(why, STATUS_USAGE, -EINVAL, "use --tx xsk or --tx socket",
				 "--tx %s sends packets that are all alike", plan->engine);
	if (!(max > 0))
		return 0;
	if (!(peak > 0 && peak <= max))
		return error_set(why, STATUS_FAILED, -EPERM,
				 "a lower --rate, or a higher --max-rate on the server",
				 "the server sends at most %s",
				 fmt_rate(limit, sizeof(limit), max));
	if (plan->shaped && plan->shape.burst > max)
		return error_set(why, STATUS_FAILED, -EPERM,
				 "a smaller --burst, or a higher --max-rate on the server",
				 "the server sends no burst of more than a second at %s",
				 fmt_rate(limit, sizeof(limit), max));
	return 0;
}

/* Whether the plan that came may be: `why` says why not. */
static int check_plan(const struct session *s, struct error *why)
{
	const struct peer_plan *plan = &s->plan;

	if (plan->ipv6 != (s->peer.family == AF_INET6))
		return error_set(why, STATUS_USAGE, -EINVAL, NULL,
				 "packets go where the control connection goes, by the same IP");
	if (plan->reverse ? !tx_engine(plan->engine) : !rx_engine(plan->engine))
		return error_set(why, STATUS_USAGE, -EINVAL, NULL,
				 "the server knows no engine '%s'", plan->engine);
	if (plan->numbers.window > window_most(plan->numbers.streams))
		return error_set(why, STATUS_FAILED, -ENOMEM, "a smaller --count needs less",
				 "the server has not the memory for so many numbers");
	if ((plan->rt || plan->nice < PEER_NICE_0) && !s->cfg->token.len)
		return error_set(why, STATUS_FAILED, -EPERM,
				 "start it with --token-file, or by `nice` or `chrt`",
				 "the server gives no priority to clients that need no token");
	return plan->reverse ? check_sending(s, why) : 0;
}

/* What it means for the site here, with the client's own address as the only one to send to. */
static void fill_spec(struct session *s)
{
	const struct peer_plan *plan = &s->plan;
	struct run_spec *spec = &s->spec;
	struct tuning *t = &spec->tuning;

	*spec = (struct run_spec){
		.ipv6 = plan->ipv6,
		.ifname = find_device(s),
		.to = s->peer, /* and nobody else */
		.paired = true,
		.numbers = &s->plan.numbers,
		.threads = plan->numbers.streams,
		.payload = plan->payload,
		.fragments = plan->fragments,
		.settle_ns = plan->settle_ns,
		.count = plan->count,
	};
	t->nice = (int)plan->nice - PEER_NICE_0;
	t->rt = plan->rt;
	*(plan->reverse ? &t->tx : &t->rx) = (struct worker_wish){plan->cpu_set, plan->cpu};
	if (plan->reverse) {
		spec->tx = tx_engine(plan->engine);
		spec->to.port = plan->port;
		spec->duration_ns = plan->duration_ns;
		spec->rate_pps = plan->rate_pps;
		spec->flows = plan->flows;
		spec->vlan = plan->vlan;
		spec->tos = plan->tos;
		spec->ttl = plan->ttl;
		spec->shape = plan->shaped ? &plan->shape : NULL;
		spec->sndbuf = plan->sndbuf;
		t->send.no_wait = plan->no_wait;
		t->send.gso = plan->gso;
		t->send.unconnected = plan->unconnected;
		return;
	}
	spec->rx = rx_engine(plan->engine);
	spec->port = s->cfg->port;
	spec->rcvbuf = plan->rcvbuf;
	spec->pass = plan->pass;
	t->receive.gro = plan->gro;
	t->receive.busy_poll_us = plan->busy_poll_us;
	t->rx_threads = plan->rx_threads;
	t->per_flow = plan->per_flow;
	t->reader = (struct reader){
		.work_ns = plan->work_ns, .pause_ns = plan->pause_ns, .read_ns = plan->read_ns};
}

static void end_experiment(struct session *s)
{
	if (s->site)
		site_close(s->site);
	free(s->site);
	s->site = NULL;
	s->stopped = false;
}

/* How its engine works here, where its checkpoint is, and the settings of a receiver. */
static void describe(const struct site *site, struct peer_ready *ready)
{
	struct finding_facts f = {};

	if (site->receiver)
		site_settings(site, &f);
	*ready = (struct peer_ready){
		.rcvbuf = f.rcvbuf,
		.rmem_max = f.rmem_max,
		.udp_mem = {f.udp_mem[0], f.udp_mem[1], f.udp_mem[2]},
		.netdev_max_backlog = f.netdev_max_backlog,
	};
	snprintf(ready->mode, sizeof(ready->mode), "%s",
		 site->sender ? sender_mode(site->sender) : receiver_mode(site->receiver));
	snprintf(ready->place, sizeof(ready->place), "%s", site_place(site));
}

static int do_plan(struct session *s, struct json_object *msg)
{
	struct json_object *reply;
	struct peer_ready ready;
	struct error why = {};

	end_experiment(s);
	memset(&s->plan, 0, sizeof(s->plan));
	if (record_read(msg, msg_plan, &s->plan) || !msg_plan_valid(&s->plan))
		return -EBADMSG;
	s->plan.shape.payload = s->plan.shape.sizes;
	if (check_plan(s, &why))
		return refuse(s, &why);
	fill_spec(s);
	s->site = calloc(1, sizeof(*s->site));
	if (!s->site)
		return -ENOMEM;
	if (site_open(s->site, &s->spec, &(struct experiment_view){}, &why)) {
		end_experiment(s);
		return refuse(s, &why);
	}
	s->served.experiments++;
	describe(s->site, &ready);
	reply = msg_make("ready", msg_ready, &ready);
	json_put(reply, "env", env_read(NULL));
	return conn_send(&s->conn, reply, SEND_MS);
}

static int send_status(struct session *s)
{
	struct site_status st;

	site_status(s->site, &st);
	return answer(s, "status", msg_status, &st);
}

static int do_start(struct session *s, struct json_object *msg)
{
	(void)msg;
	site_start(s->site);
	return send_status(s);
}

static int do_status(struct session *s, struct json_object *msg)
{
	(void)msg;
	return send_status(s);
}

static void stop(struct session *s, struct error *err)
{
	s->stopped = true;
	site_stop_sending(s->site, err);
	site_stop_receiving(s->site, err);
}

static int do_stop(struct session *s, struct json_object *msg)
{
	struct error why = {};

	(void)msg;
	stop(s, &why);
	return why.status == STATUS_OK ? send_status(s) : refuse(s, &why);
}

static int send_causes(struct session *s)
{
	const struct ledger *l = &s->site->ledger;
	int rc = 0;

	for (int i = 0; i < l->n && !rc; i++) {
		if (!l->ignored[l->cause[i].raw.index])
			rc = conn_send(&s->conn, msg_make("cause", msg_cause, &l->cause[i]),
				       SEND_MS);
	}
	return rc;
}

static void flush_runs(struct session *s)
{
	struct peer_fates fates = {.slot = s->runs.slot, .first = s->runs.first};

	if (!s->runs.used)
		return;
	memcpy(fates.runs, s->runs.text, s->runs.used + 1);
	runs_begin(&s->runs);
	if (answer(s, "fates", msg_fates, &fates))
		conn_close(&s->conn); /* the next word tells */
}

static void on_run(void *arg, uint16_t slot, uint64_t first, uint64_t last, enum fate fate,
		   uint8_t detail)
{
	const struct join_run run = {slot, first, last, fate, detail};
	struct session *s = arg;

	if (s->conn.fd < 0 || !runs_put(&s->runs, &run))
		return;
	flush_runs(s);
	runs_put(&s->runs, &run);
}

/* Numbers beyond what this end can have are nothing to fold. */
static bool may_fold(struct session *s, const struct peer_fold *fold)
{
	const struct fates *f = site_fates(s->site);
	struct site_status st;

	site_status(s->site, &st);
	for (unsigned t = 0; t < f->streams; t++) {
		uint64_t tail = f->tail[t] - f->base;

		if (fold->upto[t] < tail || fold->upto[t] - tail > f->window)
			return false;
		if (s->plan.reverse && fold->upto[t] > st.next[t])
			return false;
	}
	return true;
}

static int do_fold(struct session *s, struct json_object *msg)
{
	const struct fates_visitor visitor = {on_run, s};
	struct peer_fold fold;
	int rc;

	if (record_read(msg, msg_fold, &fold) || !may_fold(s, &fold))
		return -EBADMSG;
	site_prepare(s->site, fold.upto);
	rc = send_causes(s);
	if (rc)
		return rc;
	runs_begin(&s->runs);
	site_fold(s->site, fold.upto, &visitor);
	flush_runs(s);
	return s->conn.fd < 0 ? -EPIPE : answer(s, "folded", NULL, NULL);
}

static int do_end(struct session *s, struct json_object *msg)
{
	struct result *res;
	int rc = 0;

	(void)msg;
	if (!s->stopped)
		return -EBADMSG;
	res = calloc(1, sizeof(*res));
	if (!res)
		return -ENOMEM;
	site_beyond(s->site);
	site_name(s->site);
	site_ledger(s->site, 0, res);
	if (s->plan.reverse)
		s->served.sent += res->sent;
	site_end(s->site, res);
	res->delivered = s->site->sink.sums.delivered;
	s->served.delivered += res->delivered;
	site_check(s->site, res, &(struct error){}); /* what cannot be read is left out */
	for (unsigned i = 0; !rc && i < res->n_counters; i++)
		rc = conn_send(&s->conn, msg_make("counter", msg_counter, &res->counter[i]),
			       SEND_MS);
	for (unsigned i = 0; !rc && i < res->arrivals.flows; i++)
		rc = answer(s, "flow", msg_flow, &res->arrivals.flow[i]);
	if (!rc)
		rc = answer(s, "end", msg_end, res);
	free(res);
	end_experiment(s);
	return rc;
}

static int do_time(struct session *s, struct json_object *msg)
{
	const struct peer_time time = {.tai_ns = pace_tai()};

	(void)msg;
	return answer(s, "time", msg_time, &time);
}

static const struct request {
	const char *type;
	enum { STRANGER, CLIENT, EXPERIMENT } from; /* who may ask this */
	int (*run)(struct session *s, struct json_object *msg);
} requests[] = {
	{"login", STRANGER, do_login},	   {"plan", CLIENT, do_plan},
	{"time", CLIENT, do_time},	   {"start", EXPERIMENT, do_start},
	{"status", EXPERIMENT, do_status}, {"stop", EXPERIMENT, do_stop},
	{"fold", EXPERIMENT, do_fold},	   {"end", EXPERIMENT, do_end},
};

static bool may_ask(const struct session *s, const struct request *r)
{
	switch (r->from) {
	case STRANGER:
		return !s->let_in;
	case CLIENT:
		return s->let_in;
	case EXPERIMENT:
		return s->let_in && s->site;
	}
	return false;
}

int session_step(struct session *s, int timeout_ms)
{
	struct json_object *msg = NULL;
	int rc = conn_receive(&s->conn, &msg, timeout_ms);

	if (rc)
		return rc == -ETIMEDOUT ? 0 : rc;
	rc = -EBADMSG;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strcmp(requests[i].type, msg_type(msg)))
			continue;
		if (may_ask(s, &requests[i]))
			rc = requests[i].run(s, msg);
		break;
	}
	json_object_put(msg);
	s->heard_ns = clock_now();
	return rc ? rc : 1;
}

/* Nobody asks any more: what has been done until now counts nevertheless. */
static void note_abandoned(struct session *s)
{
	struct site_status st;
	struct error ignored = {};

	snprintf(s->served.why, sizeof(s->served.why), "gone in the middle");
	stop(s, &ignored);
	site_status(s->site, &st);
	for (unsigned t = 0; s->plan.reverse && t < site_fates(s->site)->streams; t++)
		s->served.sent += st.next[t];
	s->served.delivered += st.delivered;
}

void session_close(struct session *s)
{
	if (s->site)
		note_abandoned(s);
	end_experiment(s);
	conn_close(&s->conn);
}
