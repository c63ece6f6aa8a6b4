// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "traffic/pace.h"
#include "diagnosis/env.h"

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
	return rc ? rc : answer(s, "hello", msg_hello, &s->hello);
}

static void end_experiment(struct session *s)
{
	near_close(&s->near);
	memset(&s->near, 0, sizeof(s->near));
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
	if (session_check_plan(s, &why))
		return refuse(s, &why);
	session_fill_plan(s);
	if (near_open(&s->near, s->plan.reverse, &why)) {
		end_experiment(s);
		return refuse(s, &why);
	}
	s->served.experiments++;
	near_ready(&s->near, &ready);
	reply = msg_make("ready", msg_ready, &ready);
	json_put(reply, "env", env_read(NULL));
	return conn_send(&s->conn, reply, SEND_MS);
}

static int send_status(struct session *s)
{
	struct peer_status st;

	near_status(&s->near, &st);
	return answer(s, "status", msg_status, &st);
}

static int do_start(struct session *s, struct json_object *msg)
{
	(void)msg;
	near_start(&s->near);
	return send_status(s);
}

static int do_status(struct session *s, struct json_object *msg)
{
	(void)msg;
	return send_status(s);
}

static int do_stop(struct session *s, struct json_object *msg)
{
	struct error why = {};

	(void)msg;
	near_stop(&s->near, &why);
	return why.status == STATUS_OK ? send_status(s) : refuse(s, &why);
}

static int send_causes(struct session *s)
{
	const struct ledger *l = near_ledger(&s->near);
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
	const struct fates *f = near_fates(&s->near);
	struct peer_status st;

	near_status(&s->near, &st);
	for (unsigned t = 0; t < f->streams; t++) {
		uint64_t tail = f->tail[t] - f->base;

		if (fold->upto[t] < tail || fold->upto[t] - tail > f->window)
			return false;
		if (s->near.sends && fold->upto[t] > st.next[t])
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
	near_prepare(&s->near, fold.upto);
	rc = send_causes(s);
	if (rc)
		return rc;
	runs_begin(&s->runs);
	near_fold(&s->near, fold.upto, &visitor);
	flush_runs(s);
	return s->conn.fd < 0 ? -EPIPE : answer(s, "folded", NULL, NULL);
}

static int send_end(struct session *s, struct result *res)
{
	struct result *books = calloc(1, sizeof(*books));
	int rc = books ? near_compare(&s->near, books) : -ENOMEM;

	for (unsigned i = 0; !rc && i < books->n_counters; i++)
		rc = conn_send(&s->conn, msg_make("counter", msg_counter, &books->counter[i]),
			       SEND_MS);
	for (unsigned i = 0; !rc && i < res->arrivals.flows; i++)
		rc = answer(s, "flow", msg_flow, &res->arrivals.flow[i]);
	if (!rc) {
		res->replies = books->replies;
		res->reassembled = books->reassembled;
		rc = answer(s, "end", msg_end, res);
	}
	free(books);
	return rc;
}

static int do_end(struct session *s, struct json_object *msg)
{
	struct result *res;
	int rc;

	(void)msg;
	if (!s->near.stopped)
		return -EBADMSG;
	res = calloc(1, sizeof(*res));
	if (!res)
		return -ENOMEM;
	near_end(&s->near, res);
	if (s->near.sends)
		s->served.sent += near_ledger(&s->near)->tally.attempted -
				  near_ledger(&s->near)->tally.refused;
	s->served.delivered += res->delivered;
	rc = send_end(s, res);
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
		return s->let_in && s->near.open;
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
	return rc ? rc : 1;
}

/* Nobody asks any more: what has been done until now counts nevertheless. */
static void note_abandoned(struct session *s)
{
	struct peer_status st;
	struct error ignored = {};

	snprintf(s->served.why, sizeof(s->served.why), "gone in the middle");
	near_stop(&s->near, &ignored);
	near_status(&s->near, &st);
	for (unsigned t = 0; s->near.sends && t < near_fates(&s->near)->streams; t++)
		s->served.sent += st.next[t];
	s->served.delivered += st.delivered;
}

void session_close(struct session *s)
{
	if (s->near.open)
		note_abandoned(s);
	end_experiment(s);
	conn_close(&s->conn);
}
