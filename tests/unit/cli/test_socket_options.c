// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The socket engine's plans: segments, fragments, a reader that stalls, options that exclude
 * engines. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "base/mem.h"
#include "host/netdev.h"
#include "cli/options.h"
#include "recorded.h"
#include "traffic/worker.h"

static const struct command *const commands[] = {
	&cmd_run,   &cmd_send, &cmd_recv,  &cmd_lab,	&cmd_selftest, &cmd_check,
	&cmd_trace, &cmd_top,  &cmd_sweep, &cmd_search, &cmd_report,   &cmd_export};

/* A command line of this command: its first error. */
static void tell_usage(const struct command *cmd, char *text)
{
	char *argv[8] = {(char *)cmd->name};
	const int argc = 1 + recorded_words(text, argv + 1, LENGTH(argv) - 2);
	void *options = mem_zero(1, cmd->size);
	struct opt_seen seen = {};
	struct error err = {};

	opt_parse(cmd, argc, argv, options, &seen, &err);
	free(options);
	tell("%s", *err.message ? err.message : "ok");
}

/* "GROUP or - FAMILY PAYLOAD", with --gso if the payload is not 0. */
static void tell_tuning(const char *group, const char *family, unsigned payload)
{
	struct run_spec spec = {.tx = &tx_socket,
				.ipv6 = *family == '6',
				.payload = payload,
				.tuning.send.gso = payload > 0};
	struct error err = {};

	if (strcmp(group, "-"))
		assert_int_equal(num_endpoint(group, &spec.tuning.receive.group), 0);
	tuning_check(&spec, 1500, &err);
	assert_true(!err.status || err.status == STATUS_USAGE);
	tell("%s", err.status ? err.message : "ok");
}

static void take_line(void *arg, const char *verb, char *text)
{
	static struct reader r;
	char *word[4];

	if (!strcmp(verb, "case"))
		return;
	for (unsigned i = 0; i < LENGTH(commands); i++) {
		if (!strcmp(verb, commands[i]->name)) {
			tell_usage(commands[i], text);
			return;
		}
	}
	recorded_words(text, word, LENGTH(word));
	if (!strcmp(verb, "segments"))
		tell("%u", socket_segments(*word[0] == '6' ? AF_INET6 : AF_INET,
					   (unsigned)atoi(word[1])));
	else if (!strcmp(verb, "best"))
		tell("%u", reassembly_best_payload(*word[0] == '6', (unsigned)atoi(word[1])));
	else if (!strcmp(verb, "tuning"))
		tell_tuning(word[0], word[1], (unsigned)atoi(word[2]));
	else if (!strcmp(verb, "pause"))
		tell(reader_parse_pause(word[0], &r.pause_ns, &r.read_ns) ? "refused" : "ok");
	else /* a pause since 100, at this time */
		tell("%d", (int)reader_pause(&r, 100, strtoull(word[0], NULL, 10)));
}

CASE(recorded)
{
	const struct reader never = {};

	assert_int_equal(reader_pause(&never, 100, 140), 0);
	recorded_stories("tests/fixtures/tuning", take_line, NULL);
}

/* A receiver alone knows no engine that sends, and no MTU. */
CASE(receiver_alone)
{
	const struct run_spec spec = {.rx = &rx_socket, .payload = 2000, .tuning.send.gso = true};
	struct error err = {};

	assert_int_equal(tuning_check(&spec, 0, &err), 0);
}

/* Returns true if a row has this name and, for NAME=VALUE, this value. */
static bool names(const struct opt *o, const char *name)
{
	const size_t len = strcspn(name, "= "), value = strcspn(name + len, " ");
	const struct opt_value *v = o->values;

	if (strlen(o->name) != len || memcmp(o->name, name, len))
		return false;
	while (value && v && v->name &&
	       (strlen(v->name) != value - 1 || memcmp(v->name, name + len + 1, value - 1)))
		v++;
	return !value || (v && v->name);
}

static bool is_named(const char *name)
{
	for (unsigned i = 0; i < LENGTH(commands); i++) {
		for (const struct opt_group *g = commands[i]->groups; g->opts; g++) {
			for (const struct opt *o = g->opts; o->name; o++) {
				if (names(o, name))
					return true;
			}
		}
	}
	return false;
}

/* A misspelt name in `excludes` or `needs` would have no effect. */
CASE(rows_name_options_that_exist)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LENGTH(commands); i++) {
		for (const struct opt_group *g = commands[i]->groups; g->opts; g++) {
			for (const struct opt *o = g->opts; o->name; o++) {
				const char *const lists[] = {o->excludes, o->needs};

				for (unsigned k = 0; k < 2; k++) {
					for (const char *at = lists[k]; at && *at; n++) {
						if (!is_named(at))
							fail_msg("--%s: no option %s", o->name, at);
						at += strcspn(at, " ");
						at += *at == ' ';
					}
				}
			}
		}
	}
	assert_true(n > 100);
}
