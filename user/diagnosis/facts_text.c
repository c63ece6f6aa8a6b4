// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads facts about another host from the output of nstat, netstat -s, ethtool -S or ss -uam, or
 * from /proc files.
 */
#include "diagnosis/facts.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"

/* Contents of one text. */
struct taken {
	struct counters counters;
	struct counters_device device;
	struct facts_socks socks;
};

/* Sentences printed by `netstat -s`, which prints newer counters by name. */
static const struct {
	const char *words, *counter;
} sentences[] = {
	{"packets to unknown port received", "Udp:NoPorts"},
	{"packet receive errors", "Udp:InErrors"},
	{"receive buffer errors", "Udp:RcvbufErrors"},
	{"send buffer errors", "Udp:SndbufErrors"},
	{"with invalid headers", "Ip:InHdrErrors"},
	{"with invalid addresses", "Ip:InAddrErrors"},
	{"dropped because of missing route", "Ip:OutNoRoutes"},
	{"packet reassemblies failed", "Ip:ReasmFails"},
	{"packet reassembles failed", "Ip:ReasmFails"},
	{"SYNs to LISTEN sockets dropped", "TcpExt:ListenDrops"},
	{"times the listen queue of a socket overflowed", "TcpExt:ListenOverflows"},
};

static void add(struct taken *t, const char *group, const char *name, uint64_t value)
{
	char whole[COUNTER_NAME_LEN];

	snprintf(whole, sizeof(whole), "%s%s%s", group, *group ? ":" : "", name);
	counters_add(&t->counters, FACTS_HERE, whole, value);
}

/* Reads "UdpNoPorts 12 0.0": nstat does not print a colon after the group. */
static void take_nstat(struct taken *t, const char *name, uint64_t value)
{
	static const char *const groups[] = {"TcpExt", "IpExt", "UdpLite", "Udp", "Tcp", "Icmp", "Ip"};

	for (unsigned i = 0; i < LENGTH(groups); i++) {
		const size_t n = strlen(groups[i]);

		if (!strncmp(name, groups[i], n) && name[n] != '6')
			return add(t, groups[i], name + n, value);
	}
	if (strstr(name, "6") || !strncmp(name, "Xfrm", 4))
		add(t, "", name, value);
}

/* Reads a `netstat -s` or `ethtool -S` line below its heading. */
static void take_below(struct taken *t, const char *section, const char *line)
{
	char name[64];
	uint64_t value;
	int n = 0;

	if (sscanf(line, " %63[^:\n]: %" SCNu64, name, &value) == 2) {
		if (!strcmp(section, "NIC statistics"))
			nic_sample_add(&t->device.nic, name, value);
		else
			add(t, section, name, value);
	} else if (sscanf(line, " %" SCNu64 " %n", &value, &n) == 1) {
		for (unsigned i = 0; i < LENGTH(sentences); i++) {
			if (!strncmp(line + n, sentences[i].words, strlen(sentences[i].words)))
				add(t, "", sentences[i].counter, value);
		}
	}
}

/* Reads a socket: its address, then its memory, on one or two lines. */
static void take_socket(struct taken *t, const char *line, unsigned *port)
{
	struct sockmem_row row = {.family = AF_INET};
	char state[16], local[64];
	const char *memory = strstr(line, "skmem:("), *end = strchr(line, '\n');
	unsigned queued, rcvbuf, sndbuf, drops;

	if (sscanf(line, "%15[A-Z0-9-] %*u %*u %63s", state, local) == 2 && strrchr(local, ':'))
		*port = (unsigned)strtoul(strrchr(local, ':') + 1, NULL, 10);
	if (!memory || (end && memory > end) || !*port ||
	    sscanf(memory, "skmem:(r%u,rb%u,t%*u,tb%u,f%*u,w%*u,o%*u,bl%*u,d%u", &queued, &rcvbuf,
		   &sndbuf, &drops) != 4)
		return;
	row.port = (uint16_t)*port;
	row.inode = t->socks.all + 1; /* the second text has the same number */
	row.rmem = queued;
	row.rcvbuf = rcvbuf;
	row.sndbuf = sndbuf;
	row.drops = drops;
	facts_socks_add(&t->socks, &row);
	*port = 0;
}

/* Returns the driver that has the most of these counters, because the texts do not name it. */
static void find_driver(struct counters_device *d)
{
	unsigned most = 0, n;

	for (unsigned i = 0; d->nic.n && i < nic_driver_count; i++) {
		char name[sizeof(d->driver)];
		struct nic_plan *plan;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(nic_drivers[i].names, "|"),
			 nic_drivers[i].names);
		plan = nic_plan_new(name, &d->nic);
		nic_plan_items(plan, &n);
		nic_plan_free(plan);
		if (n <= most)
			continue;
		most = n;
		memcpy(d->driver, name, sizeof(name));
	}
}

static struct taken *take(const char *text)
{
	struct taken *t = mem_new(t);
	char section[32] = "", name[64];
	unsigned port = 0;
	uint64_t value;

	procnet_snmp(&t->counters, FACTS_HERE, text, strlen(text));
	if (strspn(text, "0123456789abcdef") == 8 && text[8] == ' ')
		procnet_softnet(&t->counters, FACTS_HOST, text, strlen(text));
	for (const char *line = text; line; line = next_line(line)) {
		const size_t n = strcspn(line, "\n");
		int end = 0;

		if (n && !isspace((unsigned char)*line) && line[n - 1] == ':')
			snprintf(section, sizeof(section), "%.*s", (int)n - 1, line);
		else if (sscanf(line, "%63[A-Za-z0-9] %" SCNu64 " %*f%n", name, &value, &end) == 2 &&
			 end == (int)n)
			take_nstat(t, name, value);
		else if (*section)
			take_below(t, section, line);
		else
			take_socket(t, line, &port);
	}
	find_driver(&t->device);
	return t;
}

/* Counters in both of two texts. */
struct shared {
	unsigned all, larger, smaller; /* in the second text */
};

static void compare(struct shared *s, uint64_t was, uint64_t now)
{
	s->all++;
	s->larger += now > was;
	s->smaller += now < was;
}

static struct shared shared(const struct taken *was, const struct taken *now)
{
	struct shared s = {};
	uint64_t before, after;

	for (size_t i = 0; i < now->counters.n; i++) {
		const struct counter *it = &now->counters.items[i];

		if (counters_get(&was->counters, it->scope, it->name, &before) &&
		    counters_get(&now->counters, it->scope, it->name, &after))
			compare(&s, before, after);
	}
	for (unsigned i = 0; i < now->device.nic.n; i++) {
		const struct nic_value *it = &now->device.nic.at[i];

		for (unsigned k = 0; k < was->device.nic.n; k++) {
			if (!strcmp(was->device.nic.at[k].name, it->name))
				compare(&s, was->device.nic.at[k].value, it->value);
		}
	}
	for (unsigned i = 0; i < smaller(now->socks.n, was->socks.n); i++)
		compare(&s, was->socks.at[i].drops, now->socks.at[i].drops);
	return s;
}

int facts_text(struct facts *f, const char *before, const char *after)
{
	struct taken *now = take(after), *was = before ? take(before) : mem_new(was);
	const struct shared both = shared(was, now);
	struct facts_link *link = &f->link[0];
	int rc = 0;

	if (!now->counters.n && !now->device.nic.n && !now->socks.n)
		rc = -ENOMSG;
	else if (before && !both.all)
		rc = -EXDEV;
	else if (both.smaller > both.larger) /* a few may be levels, such as Tcp:CurrEstab */
		rc = -ERANGE;

	f->self.btf = true; /* unknown, and not reported as a finding */
	f->cpus.n = FACTS_CPUS;
	f->counters_only = !now->socks.n;
	if (before) {
		counters_delta(&was->counters, &now->counters, &f->moved);
		facts_socks_rates(&was->socks, &now->socks);
	} else {
		was->device.nic.at = mem_zero(now->device.nic.n, sizeof(struct nic_value));
		for (unsigned i = 0; i < now->device.nic.n; i++)
			memcpy(was->device.nic.at[was->device.nic.n++].name,
			       now->device.nic.at[i].name, NIC_NAME);
	}
	if (now->device.nic.n) {
		f->n_links = 1;
		strcpy(link->dev.link.ifname, "IFNAME");
		facts_link_rates(link, &was->device, &now->device);
	}
	for (unsigned i = 0; i < link->n_losses && !before; i++) {
		link->loss[i].total = link->loss[i].lost;
		link->loss[i].lost = 0;
	}
	f->socks = now->socks;
	f->after = now->counters;
	nic_plan_free(now->device.plan);
	nic_sample_free(&now->device.nic);
	nic_sample_free(&was->device.nic);
	counters_free(&was->counters);
	free(now);
	free(was);
	return rc;
}
