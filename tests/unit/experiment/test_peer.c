// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages between two hosts: written messages are read back, and other input is refused. */
#include "cases.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "experiment/msg.h"
#include "experiment/via.h"
#include "record_fill.h"
#include "recorded.h"

static const struct record_field *const tables[] = {
	msg_hello, msg_welcome, msg_probe, msg_seen,  msg_plan, msg_ready, msg_status,
	msg_upto,  msg_outcomes, msg_time, msg_error, msg_end, msg_cause,
};
static const size_t sizes[] = {
	sizeof(struct peer_hello),  sizeof(struct peer_welcome), sizeof(struct peer_probe),
	sizeof(struct peer_seen),   sizeof(struct peer_plan),	 sizeof(struct peer_ready),
	sizeof(struct site_status), sizeof(struct peer_upto),	 sizeof(struct runs),
	sizeof(struct peer_time),   sizeof(struct error),	 sizeof(struct result),
	sizeof(struct ledger_cause),
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))
_Static_assert(TABLES == sizeof(sizes) / sizeof(sizes[0]), "a size each");

static struct result scratch[2]; /* the largest of all */

/* Every member gets a different value. */
static void fill(const struct record_field *rows, void *to)
{
	memset(to, 0, sizeof(scratch[0]));
	record_fill(rows, to);
}

CASE(all_members_come_back)
{
	for (unsigned i = 0; i < TABLES; i++) {
		struct json_object *msg;

		fill(tables[i], &scratch[0]);
		memset(&scratch[1], 0, sizeof(scratch[1]));
		msg = msg_make("any", tables[i], &scratch[0]);
		assert_string_equal(msg_type(msg), "any");
		assert_int_equal(record_read(msg, tables[i], &scratch[1]), 0);
		assert_memory_equal(&scratch[0], &scratch[1], sizes[i]);
		json_object_put(msg);
	}
}

static void without_each(const struct record_field *table, const struct record_field *rows)
{
	for (const struct record_field *f = rows; f->key; f++) {
		struct json_object *msg;

		if (f->type == RECORD_ROWS) {
			without_each(table, f->rows);
			continue;
		}
		fill(table, &scratch[0]);
		msg = msg_make("any", table, &scratch[0]);
		json_object_object_del(msg, f->key);
		assert_int_equal(record_read(msg, table, &scratch[1]),
				 f->how & RECORD_OMITTED ? 0 : -EBADMSG);
		json_object_object_add(msg, f->key, json_object_new_object());
		assert_int_equal(record_read(msg, table, &scratch[1]), -EBADMSG);
		json_object_put(msg);
	}
}

CASE(each_member_is_needed)
{
	for (unsigned i = 0; i < TABLES; i++)
		without_each(tables[i], tables[i]);
}

/* The seeds of the fuzzer match the protocol: no line is refused, and every message occurs. */
CASE(seeds_are_understood)
{
	static const char *const seeds[] = {"peer/client",  "peer/server",  "remote/receives",
					    "remote/sends", "server/sends", "server/receives",
					    "server/shaped"};
	bool read[TABLES] = {};
	char path[64], *line = NULL;
	size_t room = 0;

	for (unsigned i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		FILE *f;

		snprintf(path, sizeof(path), "tests/fuzz/seeds/%s", seeds[i]);
		f = fopen(path, "re");
		assert_non_null(f);
		while (getline(&line, &room, f) > 0) {
			struct json_object *msg = *line == '{' ? json_tokener_parse(line) : NULL;
			bool any = !msg || json_object_object_length(msg) == 1;

			for (unsigned t = 0; t < TABLES && msg; t++) {
				if (record_read(msg, tables[t], &scratch[0]))
					continue;
				any = read[t] = true;
			}
			if (!any)
				fail_msg("%s: %s", path, line);
			json_object_put(msg);
		}
		fclose(f);
	}
	free(line);
	for (unsigned t = 0; t < TABLES; t++) {
		if (!read[t])
			fail_msg("no line with a member \"%s\"", tables[t]->key);
	}
}

/* What another host calls itself is shown on a terminal. */
CASE(texts_are_tame)
{
	struct peer_ready ready = {};
	struct json_object *msg = msg_make("ready", msg_ready, &ready);

	json_object_object_add(msg, "mode", json_object_new_string("\x1b[31mred\n\x7f"));
	json_object_object_add(msg, "place",
			       json_object_new_string("0123456789012345678901234567890123456789"));
	assert_int_equal(record_read(msg, msg_ready, &ready), 0);
	assert_string_equal(ready.mode, "?[31mred??");
	assert_int_equal(strlen(ready.place), sizeof(ready.place) - 1);
	json_object_put(msg);
}

/* Names of another version are known by none, and each cause has an index. */
CASE(causes_of_other_versions)
{
	struct ledger_cause in = {.raw.index = 7, .named.stage = STAGE_NETFILTER}, out;
	struct json_object *msg = msg_make("cause", msg_cause, &in);

	assert_int_equal(msg_take_cause(msg, &out), 0);
	assert_int_equal(out.named.stage, STAGE_NETFILTER);
	json_object_object_add(msg, "stage", json_object_new_string("no such stage"));
	json_object_object_add(msg, "hook", json_object_new_string("no such hook"));
	assert_int_equal(msg_take_cause(msg, &out), 0);
	assert_int_equal(out.named.stage, STAGE_OTHER);
	assert_null(out.named.hook);
	json_object_object_add(msg, "id", json_object_new_int(0));
	assert_int_equal(msg_take_cause(msg, &out), -EBADMSG);
	json_object_put(msg);
}

#define PLAN(member)  FIELD(struct peer_plan, member)
#define SHAPE(member) PLAN(spec.shape.member)
static const struct recorded_field plan_fields[] = {
	PLAN(numbers.window), PLAN(numbers.base),      PLAN(numbers.stream0), PLAN(numbers.streams),
	PLAN(spec.reverse),   PLAN(spec.payload),      PLAN(spec.shaped),     PLAN(spec.port),
	PLAN(spec.count),     PLAN(spec.flows),	       SHAPE(threads),	      SHAPE(frames),
	SHAPE(n_payload),     SHAPE(sizes[0]),	       SHAPE(src_port.first), SHAPE(src_port.n),
	SHAPE(dst_port.n),    SHAPE(src_addr.n),       SHAPE(flows),	      SHAPE(profile.parts),
	SHAPE(profile.part[0].seconds), SHAPE(profile.part[0].to), {0}};

/* Requests that would break an engine or send to another host. */
static void take_line(void *arg, const char *verb, char *text)
{
	struct peer_plan plan = {
		.numbers = {1ULL << 32, 4096, 1, 2},
		.spec = {.reverse = true,
			 .port = 1,
			 .count = 1,
			 .flows = 1,
			 .payload = 100,
			 .shaped = true,
			 .shape = {.threads = 2,
				   .frames = true,
				   .n_payload = 2,
				   .sizes = {18, 100},
				   .src_port = {65000, 536},
				   .flows = 536,
				   .scheduled = true,
				   .profile = {.parts = 1, .part = {{1, 0, 10}}}}},
	};

	if (strcmp(verb, "plan"))
		return;
	assert_true(shape_peak(&plan.spec.shape, 5) == 10);
	recorded_read(plan_fields, text, &plan);
	tell("%s", msg_plan_valid(&plan) ? "valid" : "refused");
}

CASE(plans_make_sense)
{
	recorded_stories("tests/fixtures/plans", take_line, NULL);
}

/* A connection of which the test has the other end. */
struct pipe {
	struct conn conn;
	int far;
};

static int open_pipe(void **state)
{
	struct pipe *p = calloc(1, sizeof(*p));
	int fd[2];

	if (!p || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd))
		return -1;
	conn_init(&p->conn, fd[0], fd[0]);
	p->far = fd[1];
	*state = p;
	return 0;
}

static int close_pipe(void **state)
{
	struct pipe *p = *state;

	conn_close(&p->conn);
	close(p->far);
	free(p);
	return 0;
}

static void say(const struct pipe *p, const char *text)
{
	assert_int_equal(write(p->far, text, strlen(text)), strlen(text));
}

CASE_WITH(lines_are_objects, open_pipe, close_pipe)
{
	static const char *const bad[] = {
		"\n",
		"1\n",
		"[]\n",
		"null\n",
		"{\"a\":1}}\n",
		"{\"a\":1} {}\n",
		"{\"a\"\n",
		"{a:1}\n",
		"\xff\n",
		"{\"a\":\"\xff\"}\n",
		"{\"a\":[[[[[[[[[[1]]]]]]]]]]}\n",
		"GET / HTTP/1.1\r\n",
	};
	struct pipe *p = *state;
	struct json_object *msg;

	say(p, "{\"type\":\"a\"}\n{\"type\":");
	assert_int_equal(conn_receive(&p->conn, &msg, 0), 0);
	assert_string_equal(msg_type(msg), "a");
	json_object_put(msg);
	assert_int_equal(conn_receive(&p->conn, &msg, 1), -ETIMEDOUT);
	say(p, "\"b\"}\n{\"c\":0}\n");
	assert_int_equal(conn_receive(&p->conn, &msg, 0), 0);
	assert_string_equal(msg_type(msg), "b");
	json_object_put(msg);
	assert_int_equal(conn_receive(&p->conn, &msg, 0), 0);
	assert_string_equal(msg_type(msg), "");
	json_object_put(msg);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		say(p, bad[i]);
		assert_int_equal(conn_receive(&p->conn, &msg, 0), -EBADMSG);
	}
	shutdown(p->far, SHUT_WR);
	assert_int_equal(conn_receive(&p->conn, &msg, 0), -EPIPE);
}

CASE_WITH(lines_have_an_end, open_pipe, close_pipe)
{
	char *blanks = malloc(CONN_LINE + 1);
	struct pipe *p = *state;
	struct json_object *msg;

	memset(blanks, ' ', CONN_LINE);
	blanks[CONN_LINE] = '\0';
	say(p, blanks);
	free(blanks);
	assert_int_equal(conn_receive(&p->conn, &msg, 0), -EBADMSG);
}

/* The longest message of outcomes fits a line. */
CASE_WITH(outcomes_fit_a_line, open_pipe, close_pipe)
{
	static struct runs outcomes = {.slot = 63, .first = 1ULL << 44};
	struct pipe *p = *state;
	struct json_object *msg;

	memset(outcomes.text, '9', sizeof(outcomes.text) - 1);
	assert_int_equal(conn_send(&p->conn, msg_make("outcomes", msg_outcomes, &outcomes), 0), 0);
	conn_close(&p->conn);
	conn_init(&p->conn, p->far, p->far);
	assert_int_equal(conn_receive(&p->conn, &msg, 0), 0);
	assert_int_equal(record_read(msg, msg_outcomes, &outcomes), 0);
	assert_int_equal(strlen(outcomes.text), sizeof(outcomes.text) - 1);
	json_object_put(msg);
	p->far = dup(p->conn.in);
}

/* What refused to be a message is there to be shown; NULL is an empty line. */
CASE_WITH(other_lines_can_be_shown, open_pipe, close_pipe)
{
	struct pipe *p = *state;
	struct json_object *msg;

	say(p, "last login\n");
	assert_int_equal(conn_receive(&p->conn, &msg, 1000), -EBADMSG);
	assert_int_equal(p->conn.line, strlen("last login\n"));
	assert_memory_equal(p->conn.bytes, "last login\n", p->conn.line);
	assert_int_equal(conn_send(&p->conn, NULL, 0), 0);
	assert_int_equal(read(p->far, p->conn.bytes, 2), 1);
	assert_int_equal(p->conn.bytes[0], '\n');
}

/* Inherited pipes block, and other processes hold them: no wait exceeds its timeout. */
CASE(pipes_that_block)
{
	static struct runs outcomes = {.slot = 1};
	static struct conn conn;
	struct json_object *msg;
	int to[2], from[2];
	unsigned sent = 0;

	assert_int_equal(pipe(to) || pipe(from), 0);
	conn_init(&conn, from[0], to[1]);
	assert_int_equal(conn_receive(&conn, &msg, 1), -ETIMEDOUT);
	memset(outcomes.text, '9', sizeof(outcomes.text) - 1);
	while (!conn_send(&conn, msg_make("outcomes", msg_outcomes, &outcomes), 1))
		sent++;
	assert_int_equal(sent, 1); /* of 48 KiB each, into the 64 of a pipe */
	assert_int_equal(fcntl(to[1], F_GETFL) & O_NONBLOCK, 0);
	close(to[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(conn_send(&conn, NULL, 1000), -EPIPE);
	close(from[1]);
	assert_int_equal(conn_receive(&conn, &msg, 1000), -EPIPE);
	conn_close(&conn);
	assert_true(conn.in < 0 && conn.out < 0);
}

static void *trickle(void *arg)
{
	const struct endpoint *to = arg;
	int fd = probe_open(false, 0);

	for (unsigned i = 0; i < 100; i++) {
		probe_send(fd, to, 6);
		clock_sleep(10000000);
	}
	close(fd);
	return NULL;
}

/* A stream of foreign datagrams does not extend the wait. */
CASE(a_probe_is_not_waited_for_longer)
{
	struct endpoint to = {.family = AF_INET, .ip4.s_addr = htonl(INADDR_LOOPBACK)}, from;
	uint64_t begun = clock_now();
	int fd = probe_open(false, 0);
	struct endpoint any;
	pthread_t thread;

	assert_int_equal(conn_name(fd, false, &any), 0);
	to.port = any.port;
	assert_int_equal(pthread_create(&thread, NULL, trickle, &to), 0);
	assert_false(probe_take(fd, 7, 100, &from));
	assert_true(clock_now() - begun < 800000000);
	pthread_join(thread, NULL);
	close(fd);
}

CASE(probes)
{
	const struct endpoint here[] = {
		{.family = AF_INET, .ip4.s_addr = htonl(INADDR_LOOPBACK)},
		{.family = AF_INET6, .ip6 = IN6ADDR_LOOPBACK_INIT},
	};

	for (unsigned i = 0; i < 2; i++) {
		int at = probe_open(i, 0), by = probe_open(i, 0);
		struct endpoint to = here[i], from, self, any;

		assert_true(at >= 0 && by >= 0);
		assert_int_equal(conn_name(at, false, &any), 0);
		assert_int_equal(conn_name(by, false, &self), 0);
		assert_int_equal(probe_open(i, any.port), -EADDRINUSE);
		to.port = any.port;
		assert_false(probe_take(at, 7, 0, &from));
		probe_send(by, &to, 6); /* of another host */
		probe_send(by, &to, 7);
		assert_true(probe_take(at, 7, 10000, &from));
		assert_int_equal(from.family, to.family);
		assert_int_equal(from.port, self.port);
		assert_memory_equal(&from.ip6, &to.ip6, sizeof(to.ip6));
		assert_int_equal(from.ip4.s_addr, to.ip4.s_addr);
		assert_false(probe_take(at, 7, 0, &from));
		close(at);
		close(by);
	}
}

/* The words of a command, as it gets them: it prints them in place of the protocol. */
static void assert_words(const struct via_config *cfg, const char *expected)
{
	static struct conn conn;
	struct error err = {};
	char text[512] = "";
	struct via v;
	size_t len = 0;
	ssize_t n;

	assert_int_equal(via_open(&v, cfg, &conn, &err), 0);
	fcntl(conn.in, F_SETFL, 0);
	while ((n = read(conn.in, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	assert_string_equal(text, expected);
	conn_close(&conn);
	assert_int_equal(via_close(&v), 0);
	assert_int_equal(via_close(&v), CHILD_OURS); /* nothing is left */
}

CASE(commands)
{
	struct via_config cfg = {.command = "echo  -n\tx"};
	static struct conn conn;
	struct error err = {};
	struct via v;

	if (pidfd_open(getpid(), 0) < 0) /* valgrind has none */
		skip();
	assert_words(&cfg, "x pktledger recv --stdio");
	cfg.remote = " sudo -n /opt/pktledger $HOME;";
	assert_words(&cfg, "x sudo -n /opt/pktledger $HOME; recv --stdio");
	cfg.command = "sh -c 'exit 1'";
	conn_init(&conn, -1, -1);
	assert_int_equal(via_open(&v, &cfg, &conn, &err), -EINVAL);
	assert_int_equal(err.status, STATUS_USAGE);
	assert_int_equal(via_close(&v), CHILD_OURS);
}

#define SECRET "0123456789abcdef0123456789abcdef"

/* Statements of the other host do not decide the ledger. */
CASE(errors_are_failures)
{
	struct error refusal = {.message = "no"};

	for (unsigned s = STATUS_OK; s <= STATUS_BROKEN; s++) {
		struct json_object *msg;

		refusal.status = s;
		msg = msg_make("error", msg_error, &refusal);
		assert_int_equal(record_read(msg, msg_error, &refusal),
				 s < STATUS_BROKEN ? 0 : -EBADMSG);
		json_object_put(msg);
	}
}

static int read_token(const char *text, mode_t mode, struct token *token)
{
	char path[] = "/tmp/pl-token-XXXXXX";
	struct error err = {};
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	rc = token_read(token, path, &err);
	assert_int_equal(err.status, rc ? STATUS_USAGE : STATUS_OK);
	unlink(path);
	return rc;
}

CASE(tokens_are_secret)
{
	struct token token;
	char much[400];

	assert_int_equal(read_token(SECRET "\nmore\n", 0600, &token), 0);
	assert_int_equal(token.len, 32);
	assert_int_equal(read_token(SECRET "0", 0400, &token), 0);
	assert_int_equal(token.len, 33);
	assert_int_equal(read_token("0123456789abcdef0123456789abcde\n", 0600, &token), -EINVAL);
	assert_int_equal(read_token("", 0600, &token), -EINVAL);
	assert_int_equal(read_token(SECRET "\n", 0640, &token), -EINVAL);
	assert_int_equal(read_token(SECRET "\n", 0604, &token), -EINVAL);
	memset(much, 'x', sizeof(much));
	much[sizeof(much) - 1] = '\0';
	assert_int_equal(read_token(much, 0600, &token), -EINVAL);
}
