// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The hosts that the experiment ran on. */
#include "report/html_parts.h"

static const struct {
	const char *key, *name;
} facts[] = {
	{"version", "pktledger"},
	{"kernel", "kernel"},
	{"machine", "machine"},
	{"cpu_model", "CPU"},
	{"cpus", "CPUs"},
	{"cpus_allowed", "CPUs allowed"},
	{"cgroup_cpus", "CPUs by cgroup quota"},
	{"governor", "governor"},
	{"numa_nodes", "NUMA nodes"},
};

/* A value of any type, as one would write it. */
static void put_value(struct html *h, struct json_object *value)
{
	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < html_length(value); i++) {
			html_put(h->out, "%s", i ? " " : "");
			put_value(h, html_at(value, i));
		}
	} else if (json_object_is_type(value, json_type_boolean)) {
		html_put(h->out, "%s", json_object_get_boolean(value) ? "on" : "off");
	} else if (value) {
		html_put(h->out, "%s", json_object_get_string(value));
	} else {
		html_put(h->out, "–");
	}
}

static void put_facts(struct html *h, struct json_object *env)
{
	html_put(h->out, "<dl class=\"facts\">");
	for (unsigned i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct json_object *value = json_get(env, facts[i].key);

		if (!value)
			continue;
		html_put(h->out, "<div><dt>%s</dt><dd>", facts[i].name);
		put_value(h, value);
		html_put(h->out, "</dd></div>");
	}
	html_put(h->out, "</dl>");
}

static void put_offloads(struct html *h, struct json_object *offloads)
{
	if (!html_has_members(offloads))
		return;
	html_put(h->out, "<br><span class=\"dim\">on:");
	json_object_object_foreach (offloads, name, on) {
		if (json_object_get_boolean(on))
			html_put(h->out, " %s", name);
	}
	html_put(h->out, "</span>");
}

static void put_interfaces(struct html *h, struct json_object *list)
{
	static const char *const keys[] = {"driver",	"mtu",	 "speed_mbit", "rx_queues",
					   "tx_queues", "qdisc", "xdp"};

	if (!html_length(list))
		return;
	html_put(h->out, "<div class=\"scroll\"><table><thead><tr><th>interface<th>driver<th>MTU"
			 "<th>Mbit/s<th>rx queues<th>tx queues<th>qdisc<th>XDP</thead><tbody>");
	for (size_t i = 0; i < html_length(list); i++) {
		struct json_object *dev = html_at(list, i);

		html_put(h->out, "<tr><td><b>%s %s</b>", json_get_text(dev, "netns"),
			 json_get_text(dev, "ifname"));
		put_offloads(h, json_get(dev, "offloads"));
		for (unsigned k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			html_put(h->out, "<td>");
			put_value(h, json_get(dev, keys[k]));
		}
	}
	html_put(h->out, "</tbody></table></div>");
}

static void put_sysctls(struct html *h, struct json_object *sysctls)
{
	if (!html_has_members(sysctls))
		return;
	html_put(h->out, "<details><summary>%d sysctls</summary><table class=\"facts\"><tbody>",
		 json_object_object_length(sysctls));
	json_object_object_foreach (sysctls, name, value) {
		html_put(h->out, "<tr><th><code>%s</code><td>", name);
		put_value(h, value);
	}
	html_put(h->out, "</tbody></table></details>");
}

static void put_host(struct html *h, const char *name, struct json_object *env)
{
	if (!env)
		return;
	html_section(h, "Host", name);
	put_facts(h, env);
	put_interfaces(h, json_get(env, "interfaces"));
	put_sysctls(h, json_get(env, "sysctls"));
	html_section_end(h);
}

void html_env(struct html *h, struct json_object *start)
{
	static const char *const sides[] = {"tx", "rx"};

	put_host(h, json_get_text(start, "host"), json_get(start, "env"));
	for (unsigned i = 0; i < 2; i++) {
		struct json_object *host = json_get(json_get(start, "hosts"), sides[i]);

		put_host(h, json_get_text(host, "name"), json_get(host, "env"));
	}
}
