// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traffic/pace.h"
#include "experiment/conn.h"

#define CONNECT_MS 1000
#define HELLO_MS   1000 /* then it is told that we wait */
#define MUTE_MS	   9000 /* more: whoever takes connections and says nothing is no server */
#define TURN_MS	   200	/* between two looks whether somebody waits for us to end */
#define ANSWER_MS  15000
#define READY_MS   120000 /* to load programs, on a slow host */
#define CLOCK_ASKS 8

struct peer {
	struct peer_target target;
	struct peer_hello hello;
	struct peer_welcome welcome;
	struct endpoint self;
	struct json_object *env; /* of the other host; NULL: not told */
	bool lost, waits;	 /* waits: on_wait() was told */
	struct conn conn;
};

static int lose(struct peer *p, int rc, struct error *err)
{
	const char *why = rc == -EPIPE	     ? "it closed the connection"
			  : rc == -ETIMEDOUT ? "it does not answer"
			  : rc == -EBADMSG   ? "it does not speak the protocol"
					     : strerror(-rc);

	p->lost = true;
	return error_set(err, STATUS_FAILED, rc, "look at what `recv --serve` says there",
			 "the other host is lost: %s", why);
}

static void tell_wait(struct peer *p)
{
	if (!p->waits && p->target.on_wait)
		p->target.on_wait(p->target.arg);
	p->waits = true;
}

/* A message; where the server has somebody else, when that one is done. */
static int await(struct peer *p, struct json_object **msg, int timeout_ms)
{
	int rc = conn_receive(&p->conn, msg, timeout_ms);

	while (!rc && !strcmp(msg_type(*msg), "busy")) {
		json_object_put(*msg);
		tell_wait(p);
		do {
			rc = conn_receive(&p->conn, msg, TURN_MS);
		} while (rc == -ETIMEDOUT);
	}
	return rc;
}

/* An answer of `type`, or the error that is told instead. */
static int receive(struct peer *p, const char *type, struct json_object **msg, int timeout_ms,
		   struct error *err)
{
	struct error told = {};
	int rc = await(p, msg, timeout_ms);

	if (rc)
		return lose(p, rc, err);
	if (!type || !strcmp(msg_type(*msg), type))
		return 0;
	rc = strcmp(msg_type(*msg), "error") || record_read(*msg, msg_error, &told) ||
			     told.status == STATUS_OK
		     ? -EBADMSG
		     : -EREMOTEIO;
	json_object_put(*msg);
	if (rc == -EBADMSG)
		return lose(p, rc, err);
	return error_set(err, told.status, rc, told.hint, "%s: %s",
			 *p->hello.host ? p->hello.host : "the other host", told.message);
}

static int send_message(struct peer *p, const char *type, const struct record_field *rows,
			const void *from, struct error *err)
{
	int rc = p->lost ? -EPIPE : conn_send(&p->conn, msg_make(type, rows, from), ANSWER_MS);

	return rc ? lose(p, rc, err) : 0;
}

/* The members of an answer. */
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

static int await_hello(struct peer *p, struct error *err)
{
	struct json_object *msg;
	int rc = await(p, &msg, HELLO_MS);

	if (rc == -ETIMEDOUT) { /* it may be about to begin or to end an experiment */
		tell_wait(p);
		rc = await(p, &msg, MUTE_MS);
	}
	if (rc == -ETIMEDOUT)
		return error_set(err, STATUS_FAILED, rc, "look at what it is",
				 "what listens there says nothing");
	if (rc)
		return rc;
	/* of another version nothing but this may be as it is here */
	if (strcmp(msg_type(msg), "hello") || record_read(msg, msg_hello, &p->hello))
		rc = -EBADMSG;
	json_object_put(msg);
	if (!rc && p->hello.protocol != PEER_PROTOCOL)
		return error_set(err, STATUS_FAILED, -EPROTONOSUPPORT,
				 "use the same version on both hosts",
				 "%s speaks version %u of the protocol (pktledger %s), this is %d",
				 p->hello.host, p->hello.protocol, p->hello.version, PEER_PROTOCOL);
	return rc;
}

static int log_in(struct peer *p, struct error *err)
{
	const struct auth_token *token = &p->target.token;
	struct peer_login login = {.protocol = PEER_PROTOCOL, .version = PKTLEDGER_VERSION};
	char expected[AUTH_HEX];
	int rc = await_hello(p, err);

	if (rc)
		return rc;
	if (p->hello.token && !token->len)
		return error_set(err, STATUS_FAILED, -EACCES,
				 "give the --token-file that the server has", "%s wants a token",
				 p->hello.host);
	rc = auth_challenge(login.challenge);
	if (rc)
		return rc;
	gethostname(login.host, sizeof(login.host) - 1);
	auth_prove(token, AUTH_CLIENT, p->hello.challenge, login.challenge, login.proof);
	rc = send_message(p, "login", msg_login, &login, err);
	if (!rc)
		rc = expect(p, "welcome", msg_welcome, &p->welcome, ANSWER_MS, err);
	if (rc || !token->len)
		return rc;
	auth_prove(token, AUTH_SERVER, p->hello.challenge, login.challenge, expected);
	if (p->hello.token && auth_equal(expected, p->welcome.proof))
		return 0;
	return error_set(err, STATUS_FAILED, -EACCES, "give it the same --token-file",
			 "%s does not know the token", p->hello.host);
}

static int refuse(const struct endpoint *to, int rc, struct error *err)
{
	const char *why = rc == -ETIMEDOUT	? "nobody answers"
			  : rc == -ECONNREFUSED ? "nobody listens there"
			  : rc == -EBADMSG	? "what answers there is no pktledger"
			  : rc == -EPIPE	? "it closed the connection"
						: strerror(-rc);
	char where[FMT_MAX];

	return error_set(err, STATUS_FAILED, rc, "start `pktledger recv --serve` there first",
			 "cannot reach %s by TCP: %s", num_text_endpoint(where, sizeof(where), to),
			 why);
}

int peer_connect(struct peer **out, const struct peer_target *target, struct error *err)
{
	struct peer *p = calloc(1, sizeof(*p));
	int fd = conn_connect(&target->to, CONNECT_MS), rc = fd < 0 ? fd : 0;

	if (!p) {
		if (fd >= 0)
			close(fd);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	}
	p->target = *target;
	conn_init(&p->conn, fd);
	if (!rc)
		rc = conn_self(fd, &p->self);
	if (!rc)
		rc = log_in(p, err);
	if (!rc) {
		*out = p;
		return 0;
	}
	peer_close(p);
	return refuse(&target->to, rc, err);
}

void peer_close(struct peer *p)
{
	if (!p)
		return;
	conn_close(&p->conn);
	json_object_put(p->env);
	free(p);
}

const struct peer_target *peer_target(const struct peer *p)
{
	return &p->target;
}

const char *peer_host(const struct peer *p)
{
	return p->hello.host;
}

const struct endpoint *peer_self(const struct peer *p)
{
	return &p->self;
}

uint16_t peer_data_port(const struct peer *p)
{
	return p->welcome.port;
}

bool peer_is_lost(const struct peer *p)
{
	return p->lost;
}

int peer_plan(struct peer *p, const struct peer_plan *plan, struct peer_ready *ready,
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

struct json_object *peer_env(const struct peer *p)
{
	return p->env;
}

int peer_ask(struct peer *p, enum peer_question what, struct site_status *st, struct error *err)
{
	static const char *const words[] = {"start", "status", "stop"};

	return ask(p, words[what], "status", msg_status, st, err);
}

static int tell_cause(struct json_object *msg, const struct peer_teller *teller)
{
	struct ledger_cause cause;

	return msg_take_cause(msg, &cause) ? -EBADMSG : teller->cause(teller->arg, &cause);
}

static int tell_runs(struct json_object *msg, struct peer_fates *fates,
		     const struct peer_teller *teller)
{
	struct join_run run;
	const char *at = fates->runs;
	int rc;

	if (record_read(msg, msg_fates, fates))
		return -EBADMSG;
	run = (struct join_run){.slot = fates->slot, .last = fates->first - 1};
	while ((rc = runs_next(&at, &run)) > 0) {
		rc = teller->run(teller->arg, &run);
		if (rc)
			return rc;
	}
	return rc;
}

int peer_fold(struct peer *p, const struct peer_fold *fold, const struct peer_teller *teller,
	      struct error *err)
{
	struct peer_fates *fates = malloc(sizeof(*fates));
	int rc = fates ? send_message(p, "fold", msg_fold, fold, err)
		       : error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	bool done = false;

	while (!rc && !done) {
		struct json_object *msg;
		const char *type;

		rc = receive(p, NULL, &msg, ANSWER_MS, err);
		if (rc)
			break;
		type = msg_type(msg);
		if (!strcmp(type, "folded"))
			done = true;
		else if (!strcmp(type, "cause"))
			rc = tell_cause(msg, teller);
		else
			rc = strcmp(type, "fates") ? -EBADMSG : tell_runs(msg, fates, teller);
		json_object_put(msg);
		if (rc)
			lose(p, rc, err);
	}
	free(fates);
	return rc;
}

/* One of the messages before the end, or the end: 1. */
static int take_end(struct json_object *msg, struct result *res)
{
	struct arrivals *a = &res->arrivals;
	const char *type = msg_type(msg);

	if (!strcmp(type, "counter"))
		return res->n_counters < RESULT_COUNTERS
			       ? msg_take_counter(msg, &res->counter[res->n_counters++])
			       : -EBADMSG;
	if (!strcmp(type, "flow"))
		return a->flows < ARRIVALS_FLOWS ? record_read(msg, msg_flow, &a->flow[a->flows++])
						 : -EBADMSG;
	return strcmp(type, "end") || record_read(msg, msg_end, res) ? -EBADMSG : 1;
}

int peer_end(struct peer *p, struct result *res, struct error *err)
{
	int rc = send_message(p, "end", NULL, NULL, err);

	while (!rc) {
		struct json_object *msg;

		rc = receive(p, NULL, &msg, ANSWER_MS, err);
		if (rc)
			return rc;
		rc = take_end(msg, res);
		json_object_put(msg);
		if (rc < 0)
			lose(p, rc, err);
	}
	return rc < 0 ? rc : 0;
}

int peer_clock(struct peer *p, int64_t *offset_ns, uint64_t *error_ns, struct error *err)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < CLOCK_ASKS; i++) {
		uint64_t before = pace_tai(), after;
		struct peer_time time;
		int rc = ask(p, "time", "time", msg_time, &time, err);

		if (rc)
			return rc;
		after = pace_tai();
		if (after - before >= best)
			continue;
		best = after - before;
		*offset_ns = (int64_t)(time.tai_ns - (before + best / 2));
	}
	*error_ns = best / 2 + best % 2;
	return 0;
}
