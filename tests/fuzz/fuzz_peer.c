// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What another host says: lines of a control connection, and the outcomes that it tells. */
#include "lines.h"

#include <errno.h>
#include <fcntl.h>

#include "ledger/join.h"
#include "experiment/msg.h"

static const struct record_field *const tables[] = {
	msg_hello, msg_welcome, msg_probe, msg_seen,  msg_plan, msg_ready, msg_status,
	msg_upto,  msg_outcomes, msg_time, msg_error, msg_end, msg_cause,
};

static struct outcomes outcomes;
static struct join join;

static void open_books(void)
{
	const struct outcomes_numbers numbers = {
		.base = 1ULL << 32, .window = TRACE_PAGE_SIZE, .stream0 = 1, .streams = 2};
	struct error err = {0};

	if (!outcomes.cause) {
		outcomes_init_given(&outcomes, &numbers);
		MUST(!outcomes_map(&outcomes, -1, -1, -1, &err));
	}
	join_init(&join, &outcomes, true);
}

/* A parsed message can be written and parsed again. */
static void take_all(struct json_object *msg)
{
	static struct result kept; /* the largest of all */

	for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct json_object *again;

		if (record_read(msg, tables[i], &kept))
			continue;
		again = msg_make(msg_type(msg), tables[i], &kept);
		MUST(!record_read(again, tables[i], &kept));
		json_object_put(again);
	}
}

static void take_plan(struct json_object *msg)
{
	struct peer_plan plan;

	if (record_read(msg, msg_plan, &plan) || !msg_plan_valid(&plan))
		return;
	MUST(plan.numbers.streams && plan.numbers.streams <= TRACE_STREAMS);
	MUST(!(plan.numbers.window & (plan.numbers.window - 1)));
	MUST(plan.spec.payload <= UINT16_MAX && plan.spec.rate_pps >= 0);
}

static void take_outcomes(struct json_object *msg)
{
	static struct runs shown;
	const char *at = shown.text;
	struct range run;

	if (record_read(msg, msg_outcomes, &shown))
		return;
	run = (struct range){.stream = shown.slot, .last = shown.first - 1};
	while (runs_next(&shown, &at, &run)) {
		if (!join_check(&join, &run))
			MUST(run.stream < outcomes.streams && run.last < outcomes.window);
	}
}

static void take(struct json_object *msg)
{
	struct ledger_cause cause;

	take_all(msg);
	take_plan(msg);
	if (!msg_take_cause(msg, &cause))
		MUST(join_cause(&join, cause.raw.index));
	take_outcomes(msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct conn conn;
	struct json_object *msg;
	char path[32];
	int fd = fuzz_file(data, size, path), in = open(path, O_RDONLY | O_CLOEXEC), rc;

	MUST(in >= 0);
	open_books();
	conn_init(&conn, in, in);
	while (!(rc = conn_receive(&conn, &msg, 0))) {
		take(msg);
		json_object_put(msg);
	}
	MUST(rc == -EPIPE || rc == -EBADMSG);
	conn_close(&conn);
	close(fd);
	return 0;
}
