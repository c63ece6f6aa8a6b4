// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Findings of several namespaces, and changes that are planned. The rest is in test_advice.c. */

#include <errno.h>
#include <unistd.h>

#include "cases.h"
#include "diagnosis/look.h"
#include "drops/stagemap.h"
#include "facts_of.h"
#include "recorded.h"

struct host {
	struct facts f;
	struct counters before;
};

/* A host with a NIC of 4 of 8 queues on 4 CPUs, one socket, and nothing wrong. */
static struct host *healthy_host(void)
{
	struct json_object *o = json_object_from_file("tests/fixtures/advice/host.json");
	struct host *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	if (!o)
		fail_msg("no host.json (run from the top of the tree)");
	facts_load(o, &h->f);
	json_object_put(o);
	return h;
}

/* A counter that has moved by `delta` since, and stood at 1000 before. */
static void move(struct host *h, const char *scope, const char *name, uint64_t delta)
{
	counters_add(&h->before, scope, name, 1000);
	counters_add(&h->f.after, scope, name, 1000 + delta);
}

static void judge_host(struct host *h, struct check_findings *list)
{
	*list = (struct check_findings){0};
	counters_delta(&h->before, &h->f.after, &h->f.moved);
	judge(&h->f, list);
}

static void end(struct host *h, struct check_findings *list)
{
	check_findings_free(list);
	counters_free(&h->before);
	facts_free(&h->f);
	free(h);
}

static const struct check_finding *by_id(const struct check_findings *list, const char *id)
{
	for (unsigned i = 0; i < list->n; i++) {
		if (!strcmp(list->at[i].finding.id, id))
			return &list->at[i];
	}
	return NULL;
}

static void backlog(struct host *h)
{
	move(h, "host", "softnet:cpu1:dropped", 50);
}

static void ring(struct host *h)
{
	struct facts_link *l = &h->f.link[0];

	l->loss[l->n_losses++] = (struct link_loss){
		.cause = NIC_RING, .class = NIC_LOSS, .counter = "rx_something", .lost = 40};
}

CASE(names_of_processes)
{
	static const struct {
		struct facts_sock sock;
		const char *name;
	} rows[] = {
		{{.pid = 7, .process = "reader"}, "reader (7)"},
		{{.pid = 7, .holders = 3, .process = "reader"}, "reader (7)"},
		{{.holders = 3}, "one of 3 processes"},
		{{.pid = 0}, "an unknown process"},
	};
	char buf[PROCESS_SIZE];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(judge_process(&rows[i].sock, buf), rows[i].name);
}

/* Another namespace: host facts appear once, with their own history. */
CASE(several_namespaces)
{
	struct host *one = healthy_host(), *other = healthy_host();
	struct check_findings all = {0}, list;
	struct check_finding swapped;

	ring(one);
	one->f.n_captures = 1;
	move(one, "here", "Udp:RcvbufErrors", 0);
	judge_host(one, &list);
	check_findings_join(&all, &list, "", false);
	other->f.n_captures = 1;
	backlog(other);
	other->f.stack.conntrack = 900;
	move(other, "here", "Ip:ReasmFails", 0);
	judge_host(other, &list);
	check_findings_join(&all, &list, "red", true);
	assert_int_equal(list.n + list.n_history, 0);
	check_findings_sort(&all);
	assert_int_equal(all.n, 4);
	assert_string_equal(all.at[0].finding.id, "nic_ring");
	assert_string_equal(all.at[0].finding.netns, "");
	assert_int_equal(all.at[0].n_changes, 1);
	assert_string_equal(all.at[1].finding.id, "conntrack-near");
	assert_string_equal(all.at[1].finding.netns, "red");
	assert_string_equal(all.at[2].finding.netns, ""); /* two captures, in the order of finding */
	assert_string_equal(all.at[3].finding.netns, "red");
	swapped = all.at[2]; /* and not in the order of the list */
	all.at[2] = all.at[3];
	all.at[3] = swapped;
	check_findings_sort(&all);
	assert_string_equal(all.at[3].finding.netns, "red");
	assert_int_equal(all.n_history, 1);
	assert_string_equal(all.history[0].counter, "Udp:RcvbufErrors");
	end(one, &all);
	end(other, &list);
}

/* Host facts have no namespace, and a command enters the namespace from the shell of the user. */
CASE(whose_findings)
{
	const struct netns ns = NETNS_NONE;
	static const struct {
		bool inside;
		const char *enter;
		enum check_scope scope;
		const char *command;
	} rows[] = {
		{true, "e", CHECK_NAMESPACE, "e ss -uanp"},
		{true, "e", CHECK_INTERFACE, "e ss -uanp"},
		{true, "e", CHECK_HOST, "ss -uanp"},
		{true, "", CHECK_NAMESPACE, "ss -uanp"},
		{false, "e", CHECK_NAMESPACE, "ss -uanp"},
	};
	struct host *h = healthy_host();
	struct check_findings all = {0}, list;

	ring(h);
	backlog(h);
	judge_host(h, &list);
	check_findings_join(&all, &list, "blue", false);
	assert_int_equal(all.n, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_string_equal(all.at[i].finding.netns,
				    all.at[i].scope == CHECK_HOST ? "" : "blue");
	end(h, &all);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct check_finding c[2] = {
			{.scope = rows[i].scope, .finding.command = "ss -uanp"},
			{.scope = CHECK_NAMESPACE, .finding.command = "of nobody"},
		};

		check_plan(&(struct check_findings){.at = c, .n = 1}, rows[i].inside ? &ns : NULL,
			   rows[i].enter);
		assert_string_equal(c[0].finding.command, rows[i].command);
		assert_string_equal(c[1].finding.command, "of nobody");
	}
}

/* Only what can be changed here has a command. */
CASE(changes_are_planned)
{
	struct host *h = healthy_host();
	struct check_findings list;
	const struct check_finding *c;

	ring(h); /* of a device that is not here */
	h->f.n_captures = 1;
	move(h, "host", "softnet:cpu0:time_squeeze", 50);
	move(h, "host", "softnet:cpu1:dropped", 50);
	judge_host(h, &list);
	check_plan(&list, NULL, "");
	c = by_id(&list, "nic_ring");
	assert_int_equal(c->n_changes, 0);
	assert_string_equal(c->finding.command, "");
	assert_string_equal(c->finding.applies, "");
	c = by_id(&list, "cpu-budget");
	if (access("/proc/sys/net/core/netdev_budget_usecs", W_OK)) {
		end(h, &list);
		skip();
	}
	assert_int_equal(c->n_changes, 2);
	assert_false(c->on_host);
	assert_non_null(strstr(c->finding.command, "netdev_budget=600"));
	assert_string_equal(c->changes[1].wanted, "4000");
	assert_non_null(strstr(c->finding.undo, "netdev_budget="));
	assert_null(strstr(c->finding.undo, "netdev_budget=600"));
	assert_non_null(strstr(by_id(&list, "capture-ring")->finding.command, "ss"));
	end(h, &list);
}

/* Texts of other programs, "BEFORE" or "-" and "AFTER". A single text is history. */
static void take_line(void *arg, const char *verb, char *text)
{
	struct check_findings list = {0};
	struct facts *f;
	char *word[2];
	int rc;

	if (strcmp(verb, "texts"))
		return;
	f = calloc(1, sizeof(*f));
	assert_int_equal(recorded_words(text, word, LENGTH(word)), 2);
	rc = facts_text(f, strcmp(word[0], "-") ? word[0] : NULL, word[1]);
	if (!rc)
		judge(f, &list);
	for (unsigned i = 0; i < list.n; i++)
		tell("%s %s", list.at[i].finding.id, fact(&list.at[i].finding, "lost"));
	for (unsigned i = 0; i < list.n_history; i++)
		tell("%s %d %s", stage_name(list.history[i].stage), (int)list.history[i].total,
		     list.history[i].counter);
	if (rc)
		tell("%s", rc == -EXDEV	   ? "no common counter"
			   : rc == -ERANGE ? "decreased"
					   : "no counters");
	check_findings_free(&list);
	facts_free(f);
	free(f);
}

CASE(texts_of_other_programs)
{
	recorded_stories("tests/fixtures/programs", take_line, NULL);
}
