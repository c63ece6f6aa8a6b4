// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/socket.h>

#include "host/counters.h"
#include "host/sockdiag.h"
#include "recorded.h"

struct samples {
	struct counters now, before;
};

static void tell_counters(const struct counters *c)
{
	for (size_t i = 0; i < c->n; i++)
		tell("%s=%llu", c->items[i].name, (unsigned long long)c->items[i].value);
}

static void tell_socket(void *arg, const struct sockmem_row *row)
{
	assert_int_equal(row->family, AF_INET);
	tell("port %u inode %d drops %d rmem %d%s", row->port, (int)row->inode, (int)row->drops,
	     (int)row->rmem, row->connected ? " connected" : "");
}

/* Counters of one scope are not those of another. A missing counter is "-". */
static void tell_values(const struct counters *c, char *const word[], int n)
{
	uint64_t value = 0;

	for (int i = 0; i < n; i++) {
		assert_false(counters_get(c, "tx", word[i], &value));
		if (counters_get(c, "rx", word[i], &value))
			tell("%llu", (unsigned long long)value);
		else
			tell("-");
	}
}

static void parse(struct counters *c, const char *verb, const char *word)
{
	char *text = recorded_input(word);
	const size_t len = strlen(text);

	counters_free(c);
	if (!strcmp(verb, "snmp"))
		procnet_snmp(c, "rx", text, len);
	else if (!strcmp(verb, "snmp6"))
		procnet_snmp6(c, "rx", text, len);
	else if (!strcmp(verb, "softnet"))
		procnet_softnet(c, "rx", text, len);
	else
		procnet_neigh_stat(c, "rx", "arp_cache", text, len);
	if (*word != '@')
		tell_counters(c);
	free(text);
}

static bool is_odd(const struct counter *it)
{
	return it->value % 2;
}

static bool is_large(const struct counter *it)
{
	return it->value > 100;
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct counters moved = {0};
	struct samples *s = arg;
	char *word[8], *file;
	const bool begins = !strcmp(verb, "case");
	const int n = begins ? 0 : recorded_words(text, word, LENGTH(word));

	if (begins) {
		counters_free(&s->now);
		counters_free(&s->before);
	} else if (!strcmp(verb, "get")) {
		tell_values(&s->now, word, n);
	} else if (!strcmp(verb, "before")) { /* the counters so far */
		counters_free(&s->before);
		s->before = s->now;
		s->now = (struct counters){0};
	} else if (!strcmp(verb, "add")) {
		counters_add(&s->now, "rx", word[0], strtoull(word[1], NULL, 0));
	} else if (!strcmp(verb, "delta")) {
		counters_delta(&s->before, &s->now, &moved);
		tell("%zu moved", moved.n);
		tell_values(&moved, word, n);
		counters_free(&moved);
	} else if (!strcmp(verb, "keep")) {
		counters_keep(&s->now, strcmp(word[0], "odd") ? is_large : is_odd);
		tell("%zu:", s->now.n);
		tell_counters(&s->now);
		if (s->now.n)
			assert_int_equal(malloc_usable_size(s->now.items) / sizeof(*s->now.items),
					 s->now.n);
	} else if (!strcmp(verb, "udp")) {
		file = recorded_input(word[0]);
		sockmem_parse(file, strlen(file), AF_INET, tell_socket, NULL);
		free(file);
	} else {
		parse(&s->now, verb, word[0]);
	}
}

CASE(recorded)
{
	struct samples s = {};

	recorded_stories("tests/fixtures/proc/values", take_line, &s);
	counters_free(&s.now);
	counters_free(&s.before);
}

CASE(this_host)
{
	const struct counters_scope scope = {.role = "host", .what = COUNTERS_RUN};
	struct counters c = {0};
	uint64_t v;

	assert_int_equal(counters_read(&c, &scope, 1), 0);
	assert_true(counters_get(&c, "host", "Udp:InErrors", &v));
	assert_true(counters_get(&c, "host", "Ip:InReceives", &v));
	counters_free(&c);
}

CASE(device_gone)
{
	static const char *const names[] = {"no-such-dev", "lo", NULL};
	struct counters_scope scope = {.role = "rx", .ifnames = names, .what = COUNTERS_RUN};
	struct counters c = {0};

	assert_int_equal(counters_read(&c, &scope, 1), -ENODEV);
	assert_int_equal(c.n_devices, 0);
	counters_free(&c);
	scope.what |= COUNTERS_GOING;
	assert_int_equal(counters_read(&c, &scope, 1), 0);
	assert_int_equal(c.n_devices, 1);
	assert_string_equal(c.devices[0].link.ifname, "lo");
	counters_free(&c);
}
