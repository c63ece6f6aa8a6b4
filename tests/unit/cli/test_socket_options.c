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
#include "traffic/worker.h"

/* All segments together are one IP packet; 64 at most. */
CASE(segments_fill_a_packet)
{
	assert_int_equal(socket_segments(AF_INET, 18), 64);
	assert_int_equal(socket_segments(AF_INET, 1023), 64);
	assert_int_equal(socket_segments(AF_INET, 1024), 63);
	assert_int_equal(socket_segments(AF_INET, 1472), 44);
	assert_int_equal(socket_segments(AF_INET6, 1452), 45);
	assert_int_equal(socket_segments(AF_INET, 65507), 1);
	assert_int_equal(socket_segments(AF_INET, 70000), 1);
}

CASE(best_length_has_full_fragments)
{
	assert_int_equal(reassembly_best_payload(false, 1500), 65112);
	assert_int_equal((65112 + 8) % 1480, 0);
	assert_int_equal(reassembly_best_payload(true, 1500), 45 * 1448 - 8);
	assert_int_equal(reassembly_best_payload(false, 9000), 7 * 8976 - 8);
	assert_int_equal(reassembly_best_payload(false, 65535), 65507);
	assert_int_equal(reassembly_best_payload(false, 40000), 40000 - 28);
	assert_int_equal(reassembly_best_payload(false, 20), 0);
}

CASE(pause_is_two_times)
{
	static const char *const bad[] = {"",	   "/",	    "1ms",	   "1ms/",     "/1ms",
					  "0/1ms", "1ms/0", "1ms/1ms/1ms", "-1ms/1ms", "1x/1ms"};
	struct reader r = {};

	assert_int_equal(reader_parse_pause("100ms/900us", &r.pause_ns, &r.read_ns), 0);
	assert_int_equal(r.pause_ns, 100000000);
	assert_int_equal(r.read_ns, 900000);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(reader_parse_pause(bad[i], &r.pause_ns, &r.read_ns), -EINVAL);
}

CASE(pauses_come_again)
{
	const struct reader r = {.pause_ns = 10, .read_ns = 30}, never = {};

	assert_int_equal(reader_pause(&r, 100, 100), 10);
	assert_int_equal(reader_pause(&r, 100, 109), 1);
	assert_int_equal(reader_pause(&r, 100, 110), 0);
	assert_int_equal(reader_pause(&r, 100, 139), 0);
	assert_int_equal(reader_pause(&r, 100, 140), 10);
	assert_int_equal(reader_pause(&never, 100, 140), 0);
}

static enum status check(const struct tuning *t, bool ipv6, unsigned payload)
{
	const struct run_spec spec = {
		.tx = &tx_socket, .ipv6 = ipv6, .payload = payload, .tuning = *t};
	struct error err = {};

	tuning_check(&spec, 1500, &err);
	return err.status;
}

/* A receiver alone knows no engine that sends, and no MTU. */
CASE(receiver_alone)
{
	const struct run_spec spec = {.rx = &rx_socket, .payload = 2000, .tuning.send.gso = true};
	struct error err = {};

	assert_int_equal(tuning_check(&spec, 0, &err), 0);
}

CASE(options_name_their_engine)
{
	static const struct {
		const struct command *cmd;
		const char *word[6], *refused; /* NULL: accepted */
	} table[] = {
		{&cmd_run, {"--tx=xsk", "--rx=xsk"}, NULL},
		{&cmd_run, {"--gso"}, NULL},
		{&cmd_run, {"--gso", "--tx=xsk"}, "--gso needs --tx auto or --tx socket"},
		{&cmd_run, {"--gso", "--tx=socket", "--rx=xsk"}, NULL},
		{&cmd_run, {"--gro", "--rx=xsk"}, "--gro needs --rx socket or --pass"},
		{&cmd_recv, {"--rx-threads=2", "--rx=xsk"}, "--rx-threads needs --rx socket"},
		{&cmd_run, {"--rx=xdp", "--gro", "--pass"}, NULL},
		{&cmd_run, {"--gro", "--pass"}, "--pass needs --rx xdp"},
		{&cmd_run, {"--gso", "--ttl=5"}, "--gso and --ttl cannot be given"},
		{&cmd_run, {"--unconnected", "--imix=simple"}, "--unconnected and --imix cannot"},
		{&cmd_recv, {"--serve", "--stdio"}, "--serve and --stdio cannot be given"},
		{&cmd_recv, {"--port=5", "--serve"}, NULL},
		{&cmd_run, {"--rx=xdp", "--work=1us"}, "--work needs --rx socket"},
		{&cmd_recv, {"--rx=xsk", "--work=1us"}, NULL},
		{&cmd_run, {"--vlan=5", "--tx=socket"}, "--vlan and --tx socket cannot be given"},
		{&cmd_run, {"--pcap=x", "--ttl=5"}, "--pcap and --ttl cannot be given"},
		{&cmd_run, {"--sequence-header"}, "--sequence-header needs --pcap"},
		{&cmd_run, {"--reverse"}, "--reverse needs --to"},
		{&cmd_trace, {"--hex"}, "--hex needs --events"},
		{&cmd_trace, {"--snaplen=9"}, "--snaplen needs --events or --write"},
		{&cmd_trace, {"--write=x", "--snaplen=9"}, NULL},
		{&cmd_top, {"--balance", "--pid=1"}, "--balance and --pid cannot be given"},
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char *argv[LENGTH(table->word) + 1] = {(char *)table[i].cmd->name};
		void *options = mem_zero(1, table[i].cmd->size);
		struct opt_seen seen = {};
		struct error err = {};
		int argc = 1;

		for (const char *const *w = table[i].word; *w; w++)
			argv[argc++] = (char *)*w;
		opt_parse(table[i].cmd, argc, argv, options, &seen, &err);
		free(options);
		if (!strstr(err.message, table[i].refused ? table[i].refused : "") ||
		    !table[i].refused != !*err.message)
			fail_msg("%s %s: '%s'", *argv, *table[i].word, err.message);
	}
}

/* A segment is never fragmented. */
CASE(gso_needs_the_mtu)
{
	const struct tuning gso = {.send.gso = true};

	assert_int_equal(check(&gso, false, 1472), STATUS_OK);
	assert_int_equal(check(&gso, false, 1473), STATUS_USAGE);
	assert_int_equal(check(&gso, true, 1453), STATUS_USAGE);
}

CASE(group_is_multicast_of_the_family)
{
	struct tuning t = {};

	assert_int_equal(num_endpoint("239.1.2.3", &t.receive.group), 0);
	assert_int_equal(check(&t, false, 0), STATUS_OK);
	assert_int_equal(check(&t, true, 0), STATUS_USAGE);
	assert_int_equal(num_endpoint("198.18.0.1", &t.receive.group), 0);
	assert_int_equal(check(&t, false, 0), STATUS_USAGE);
	assert_int_equal(num_endpoint("239.1.2.3:99", &t.receive.group), 0);
	assert_int_equal(check(&t, false, 0), STATUS_USAGE);
}

static const struct command *const commands[] = {
	&cmd_run,   &cmd_send, &cmd_recv,  &cmd_lab,	&cmd_selftest, &cmd_check,
	&cmd_trace, &cmd_top,  &cmd_sweep, &cmd_search, &cmd_report,   &cmd_export};

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
