// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Settings of a device's driver: the ethtool ioctl. */
#include <errno.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "host/change_parts.h"
#include "host/netdev_ethtool.h"

/* All of them begin with the command and go on with fields of 32 bits. */
union params {
	uint32_t field[32];
	struct ethtool_ringparam ring;
	struct ethtool_channels channels;
	struct ethtool_coalesce coalesce;
	struct ethtool_pauseparam pause;
};

_Static_assert(sizeof(struct ethtool_coalesce) <= sizeof(((union params *)0)->field),
	       "the longest of them fits");

static int get(const struct change_at *at, union params *p)
{
	memset(p, 0, sizeof(*p));
	p->field[0] = change_ops[at->kind].ethtool.get;
	return netdev_ethtool(at->ns, at->ifname, p);
}

int change_ethtool_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE])
{
	union params p;
	int ret = get(at, &p);
	uint32_t v;

	if (ret < 0)
		return ret;
	v = p.field[at->set->offset / sizeof(v)];
	if (at->set->form == FORM_SWITCH)
		snprintf(value, JOURNAL_VALUE_SIZE, "%s", v ? "on" : "off");
	else
		snprintf(value, JOURNAL_VALUE_SIZE, "%u", v);
	return 0;
}

/* The fields beside it are given back as they are. */
int change_ethtool_write(const struct change_at *at, const char *value)
{
	uint64_t v = !strcmp(value, "on");
	union params p;
	int ret = get(at, &p);

	if (ret < 0)
		return ret;
	if (at->set->form == FORM_NUMBER)
		ret = num_u64(value, 0, UINT32_MAX, &v);
	if (ret < 0)
		return ret;
	p.field[0] = change_ops[at->kind].ethtool.set;
	p.field[at->set->offset / sizeof(p.field[0])] = v;
	ret = netdev_ethtool(at->ns, at->ifname, &p);
	return ret < 0 ? ret : 0;
}

int change_ethtool_limit(const struct change_at *at, uint64_t *max)
{
	union params p;
	int ret = get(at, &p);

	if (ret < 0)
		return ret;
	*max = p.field[at->set->max_offset / sizeof(p.field[0])];
	return 0;
}

void change_ethtool_command(const struct change_at *at, const char *from, const char *to, char *buf,
			    size_t size)
{
	char ifname[64], name[CHANGE_NAME_SIZE * 4];

	(void)from;
	snprintf(buf, size, "ethtool -%c %s %s %s", change_ops[at->kind].ethtool.letter,
		 change_quote(at->ifname, ifname, sizeof(ifname)),
		 change_quote(at->name, name, sizeof(name)), to);
}

int change_feature_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE])
{
	bool on;
	int ret = netdev_get_feature(at->ns, at->ifname, at->name, &on);

	if (!ret)
		snprintf(value, JOURNAL_VALUE_SIZE, "%s", on ? "on" : "off");
	return ret;
}

int change_feature_write(const struct change_at *at, const char *value)
{
	return netdev_set_feature(at->ns, at->ifname, at->name, !strcmp(value, "on"));
}

/* An RSS table that a command can make: entry i has queue start + i % equal. */
struct spread {
	uint32_t start, equal;
};

static int count_rings(const struct change_at *at, uint32_t *rings)
{
	struct ethtool_rxnfc nfc = {.cmd = ETHTOOL_GRXRINGS};
	int ret = netdev_ethtool(at->ns, at->ifname, &nfc);

	if (ret < 0)
		return ret;
	*rings = nfc.data;
	return *rings ? 0 : -EOPNOTSUPP;
}

/* The table, to be freed. */
static int read_table(const struct change_at *at, struct ethtool_rxfh_indir **table)
{
	struct ethtool_rxfh_indir ask = {.cmd = ETHTOOL_GRXFHINDIR};
	int ret = netdev_ethtool(at->ns, at->ifname, &ask);

	if (ret < 0)
		return ret;
	if (!ask.size)
		return -EOPNOTSUPP;
	*table = calloc(1, sizeof(ask) + ask.size * sizeof(ask.ring_index[0]));
	if (!*table)
		return -ENOMEM;
	(*table)->cmd = ETHTOOL_GRXFHINDIR;
	(*table)->size = ask.size;
	ret = netdev_ethtool(at->ns, at->ifname, *table);
	if (ret >= 0)
		return 0;
	free(*table);
	return ret;
}

static bool fits(const struct ethtool_rxfh_indir *table, const struct spread *s)
{
	for (uint32_t i = 0; i < table->size; i++) {
		if (table->ring_index[i] != s->start + i % s->equal)
			return false;
	}
	return true;
}

/* "default" is what ethtool_rxfh_indir_default() makes of all rings, and follows their number. */
static void print_spread(const struct spread *s, uint32_t rings, char value[JOURNAL_VALUE_SIZE])
{
	if (!s->start && s->equal == rings)
		snprintf(value, JOURNAL_VALUE_SIZE, "default");
	else if (!s->start)
		snprintf(value, JOURNAL_VALUE_SIZE, "equal %u", s->equal);
	else
		snprintf(value, JOURNAL_VALUE_SIZE, "start %u equal %u", s->start, s->equal);
}

static int parse_spread(const char *value, uint32_t rings, struct spread *s)
{
	int end = 0;

	*s = (struct spread){.equal = rings};
	if (!strcmp(value, "default"))
		return 0;
	if (strchr(value, '-') || strchr(value, '+'))
		return -EINVAL; /* sscanf() takes signs */
	if ((sscanf(value, "equal %u%n", &s->equal, &end) != 1 &&
	     sscanf(value, "start %u equal %u%n", &s->start, &s->equal, &end) != 2) ||
	    value[end])
		return -EINVAL;
	return s->equal && s->equal <= rings && s->start <= rings - s->equal ? 0 : -ERANGE;
}

int change_rss_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE])
{
	struct ethtool_rxfh_indir *table;
	struct spread s = {.equal = 1};
	uint32_t rings;
	int ret = count_rings(at, &rings);

	if (!ret)
		ret = read_table(at, &table);
	if (ret)
		return ret;
	s.start = table->ring_index[0];
	while (s.equal < table->size && table->ring_index[s.equal] != s.start)
		s.equal++;
	/* A table shorter than the rings are many looks as if it had no more of them. */
	if (!s.start && s.equal == table->size && s.equal < rings)
		s.equal = rings;
	if (fits(table, &s))
		print_spread(&s, rings, value);
	else
		ret = -EDOM;
	free(table);
	return ret;
}

int change_rss_write(const struct change_at *at, const char *value)
{
	struct ethtool_rxfh_indir *table, reset = {.cmd = ETHTOOL_SRXFHINDIR};
	struct spread s;
	uint32_t rings;
	int ret = count_rings(at, &rings);

	if (!ret)
		ret = parse_spread(value, rings, &s);
	if (ret)
		return ret;
	if (!strcmp(value, "default")) {
		ret = netdev_ethtool(at->ns, at->ifname, &reset);
		return ret < 0 ? ret : 0;
	}
	ret = read_table(at, &table);
	if (ret)
		return ret;
	table->cmd = ETHTOOL_SRXFHINDIR;
	for (uint32_t i = 0; i < table->size; i++)
		table->ring_index[i] = s.start + i % s.equal;
	ret = netdev_ethtool(at->ns, at->ifname, table);
	free(table);
	return ret < 0 ? ret : 0;
}

int change_rss_check(const struct change_at *at, const char *old, const char *wanted,
		     char value[JOURNAL_VALUE_SIZE])
{
	struct spread s;
	uint32_t rings;
	int ret = count_rings(at, &rings);

	(void)old;
	if (!ret)
		ret = parse_spread(wanted, rings, &s);
	if (!ret)
		print_spread(&s, rings, value);
	return ret;
}

void change_rss_command(const struct change_at *at, const char *from, const char *to, char *buf,
			size_t size)
{
	char ifname[64];

	(void)from;
	snprintf(buf, size, "ethtool -X %s %s", change_quote(at->ifname, ifname, sizeof(ifname)),
		 to);
}
