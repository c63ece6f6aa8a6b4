// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kinds of changes: how each setting is read and set. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "host/change.h"
#include "host/netdev.h"
#include "host/nl.h"

#define RAW_SIZE (2 * JOURNAL_VALUE_SIZE) /* bytes: a value may be written with extra blanks */

/* Checks a name used in a path, which must not leave the directory of its kind. */
static bool is_name(enum change_kind kind, const char *name)
{
	bool number = kind == CHANGE_IRQ || kind == CHANGE_GOVERNOR;

	if (!*name || *name == '/' || strlen(name) >= CHANGE_NAME_SIZE || strstr(name, ".."))
		return false;
	for (const char *c = name; *c; c++) {
		if (number ? !isdigit((unsigned char)*c) : !isgraph((unsigned char)*c))
			return false;
	}
	return true;
}

const struct change_setting *change_setting(enum change_kind kind, const char *name)
{
	if (!is_name(kind, name))
		return NULL;
	for (const struct change_setting *s = change_settings; s->name; s++) {
		if (s->kind == kind && !fnmatch(s->name, name, 0))
			return s;
	}
	return NULL;
}

/* ---- files, below /proc/sys, /sys and /proc/irq ---- */

static void file_path(const struct change *c, char *buf, size_t size)
{
	const struct change_ops *ops = &change_ops[c->kind];

	snprintf(buf, size, "%s%s%s%s%s", ops->front, c->ifname, *c->ifname ? "/" : "", c->name,
		 ops->rest);
}

/* Another namespace's /sys may have a different interface with the same name. */
static int check_sysfs(const struct change *c)
{
	int ifindex = nl_ifindex(c->ns, c->ifname), ret;
	char path[PATH_MAX], text[32];
	uint64_t there;

	if (ifindex < 0)
		return ifindex;
	snprintf(path, sizeof(path), "class/net/%s/ifindex", c->ifname);
	ret = netns_sysfs(c->ns, path, NULL, text, sizeof(text));
	if (ret)
		return ret == -ENOENT || ret == -EOPNOTSUPP ? -EXDEV : ret;
	return num_u64(text, 0, INT_MAX, &there) || there != (uint64_t)ifindex ? -EXDEV : 0;
}

static int read_file(const struct change *c, char value[JOURNAL_VALUE_SIZE])
{
	int ret = c->kind == CHANGE_SYSFS ? check_sysfs(c) : 0;
	char path[PATH_MAX], raw[RAW_SIZE];

	file_path(c, path, sizeof(path));
	if (!ret)
		ret = netns_file(c->ns, path, NULL, raw, sizeof(raw));
	if (!ret && strlen(raw) >= JOURNAL_VALUE_SIZE)
		ret = -ENOSPC;
	if (!ret)
		journal_value_normal(value, raw, strlen(raw));
	return ret;
}

int change_possible(const struct change *c, struct error *why)
{
	const char *program = c->kind == CHANGE_QDISC ? "tc" : "ethtool";
	char path[PATH_MAX];
	int ret = 0, saved;

	if (!change_ops[c->kind].front && !netns_exec_finds(program, path))
		ret = error_set(why, STATUS_UNABLE, -ENOENT, "install it", "there is no %s here",
				program);
	/* /sys files of another namespace cannot be reached by a path here */
	if (!change_ops[c->kind].front || (c->kind == CHANGE_SYSFS && c->ns && c->ns->fd >= 0))
		return ret;
	file_path(c, path, sizeof(path));
	saved = netns_push(c->ns);
	if (saved < 0)
		return saved;
	ret = access(path, W_OK) ? -errno : 0;
	netns_pop(saved);
	return ret;
}

char *change_sysctl_name(const char *path, char *buf, size_t size)
{
	bool dotted = strchr(path, '.');

	snprintf(buf, size, "%s", path);
	for (char *c = buf; *c && !dotted; c++) {
		if (*c == '/')
			*c = '.';
	}
	return buf;
}

/* ---- driver settings: read with an ioctl, set with ethtool ---- */

/* All of them start with the command, followed by 32-bit fields. */
union params {
	uint32_t field[16];
	struct ethtool_ringparam ring;
	struct ethtool_channels channels;
	struct ethtool_pauseparam pause;
};

static int read_ethtool(const struct change *c, char value[JOURNAL_VALUE_SIZE])
{
	union params p = {.field = {change_ops[c->kind].ethtool}};
	int ret = netdev_ethtool(c->ns, c->ifname, &p);
	uint32_t v = p.field[change_setting(c->kind, c->name)->offset / sizeof(v)];

	if (c->kind == CHANGE_PAUSE)
		snprintf(value, JOURNAL_VALUE_SIZE, "%s", v ? "on" : "off");
	else
		snprintf(value, JOURNAL_VALUE_SIZE, "%u", v);
	return ret < 0 ? ret : 0;
}

/*
 * Reads an RSS table if a single command can set it, that is, if entry i is queue start + i %
 * equal. "default" is ethtool_rxfh_indir_default() over all rings and follows the number of rings.
 */
static int read_rss(const struct change *c, char value[JOURNAL_VALUE_SIZE])
{
	struct ethtool_rxnfc nfc = {.cmd = ETHTOOL_GRXRINGS};
	struct ethtool_rxfh_indir *table;
	int ret = netdev_ethtool(c->ns, c->ifname, &nfc);
	uint32_t rings = nfc.data, start, equal = 1;

	if (ret >= 0)
		ret = rings ? netdev_rss_table(c->ns, c->ifname, &table) : -EOPNOTSUPP;
	if (ret)
		return ret;
	start = table->ring_index[0];
	while (equal < table->size && table->ring_index[equal] != start)
		equal++;
	/* A table with fewer entries than there are rings looks as if there were no more rings. */
	if (!start && equal == table->size && equal < rings)
		equal = rings;
	for (uint32_t i = 0; i < table->size; i++) {
		if (table->ring_index[i] != start + i % equal)
			ret = -EDOM;
	}
	free(table);
	if (start)
		snprintf(value, JOURNAL_VALUE_SIZE, "start %u equal %u", start, equal);
	else if (equal == rings)
		snprintf(value, JOURNAL_VALUE_SIZE, "default");
	else
		snprintf(value, JOURNAL_VALUE_SIZE, "equal %u", equal);
	return ret;
}

/* ---- root qdiscs: read over rtnetlink, set with tc ---- */

/*
 * Reads "default fq_codel limit 10240" for the kernel's default and "pfifo handle 8001: limit 1000"
 * for a configured qdisc. Two changes can be undone exactly: changing the limit of a configured
 * qdisc (its other options stay the same) and replacing the default with our qdisc (removing ours
 * brings the default back).
 */
static int read_qdisc(const struct change *c, char value[JOURNAL_VALUE_SIZE])
{
	int ret = nl_ifindex(c->ns, c->ifname), n;
	struct netdev_qdisc q;

	if (ret >= 0)
		ret = netdev_qdisc_root(c->ns, ret, &q);
	if (ret)
		return ret;
	if (q.handle)
		n = snprintf(value, JOURNAL_VALUE_SIZE, "%s handle %x:", q.kind, q.handle >> 16);
	else
		n = snprintf(value, JOURNAL_VALUE_SIZE, "default %s", q.kind);
	if (q.limited)
		snprintf(value + n, JOURNAL_VALUE_SIZE - n, " limit %u", q.limit);
	return 0;
}

static bool is_default(const char *qdisc)
{
	return !strncmp(qdisc, "default ", strlen("default "));
}

static int check_qdisc(const struct change *c)
{
	size_t len = strcspn(c->wanted, " ");

	if (is_default(c->old) || (!strncmp(c->old, c->wanted, len) && c->old[len] == ' '))
		return 0;
	return -EDOM;
}

/* The default qdisc has no handle. Ours is 1:. */
static void qdisc_text(const struct change *c, bool undo, char *buf, size_t size)
{
	const char *to = is_default(c->old) ? undo ? "del" : "replace" : "change";
	unsigned handle = 1;
	char kind[16] = "";
	int end = 0;

	if (!*c->old) /* without the old value there is no undo command */
		return;
	if (!is_default(c->old))
		sscanf(c->old, "%15s handle %x:%n", kind, &handle, &end);
	if (undo && is_default(c->old))
		snprintf(buf, size, "qdisc del dev %s root", c->ifname);
	else
		snprintf(buf, size, "qdisc %s dev %s root handle %x: %s%s", to, c->ifname, handle,
			 undo ? kind : c->wanted, undo ? c->old + end : "");
}

struct recipe_step change_step(const struct change *c, bool undo)
{
	const struct change_ops *ops = &change_ops[c->kind];
	struct recipe_step s = {.tool = ops->tool, .ns = c->ns};
	const char *to = undo ? c->old : c->wanted;
	char path[PATH_MAX];

	if (ops->front) {
		file_path(c, path, sizeof(path));
		snprintf(s.text, sizeof(s.text), "%.500s=%s", path, to);
	} else if (c->kind == CHANGE_QDISC) {
		qdisc_text(c, undo, s.text, sizeof(s.text));
	} else if (c->kind == CHANGE_RSS) {
		snprintf(s.text, sizeof(s.text), "-X %s %s", c->ifname, to);
	} else {
		snprintf(s.text, sizeof(s.text), "-%c %s %s %s", ops->letter, c->ifname, c->name,
			 to);
	}
	return s;
}

/* ---- the tables ---- */

#define FILE_OPS .read = read_file, .tool = RECIPE_FILE
#define ETHTOOL_OPS                                                                                \
	.of_interface = true, .of_namespace = true, .file = CHANGE_FILE_UDEV, .tool = RECIPE_ETHTOOL

#define RESTART                                                                                    \
	"the driver may restart the device: packets in flight are lost, the link may go down"

const char *const change_words[CHANGE_KINDS] = {
	"sysctl", "sysfs", "irq", "ring", "channels", "pause", "rss", "qdisc", "governor",
};

const struct change_ops change_ops[CHANGE_KINDS] = {
	[CHANGE_SYSCTL] = {"", "", "", .of_namespace = true, .front = "/proc/sys/", .rest = "",
			   FILE_OPS},
	[CHANGE_SYSFS] = {"", "", "", .file = CHANGE_FILE_UDEV, .of_interface = true,
			  .of_namespace = true, .front = "/sys/class/net/", .rest = "", FILE_OPS},
	[CHANGE_IRQ] = {"interrupt ", " CPUs", "irqbalance, where it runs, may set it again",
			.file = CHANGE_FILE_NONE, .front = "/proc/irq/",
			.rest = "/smp_affinity_list", FILE_OPS},
	[CHANGE_RING] = {"", " ring", RESTART, .ethtool = ETHTOOL_GRINGPARAM, .letter = 'G',
			 .read = read_ethtool, ETHTOOL_OPS},
	[CHANGE_CHANNELS] = {"", " channels", RESTART, .ethtool = ETHTOOL_GCHANNELS, .letter = 'L',
			     .read = read_ethtool, ETHTOOL_OPS},
	[CHANGE_PAUSE] = {"", " pause frames",
			  "the link may renegotiate and be down for some seconds", .wait_ms = 3000,
			  .ethtool = ETHTOOL_GPAUSEPARAM, .letter = 'A', .read = read_ethtool,
			  ETHTOOL_OPS},
	[CHANGE_RSS] = {"RSS ", "", "flows move to other CPUs: some reordering", .letter = 'X',
			.read = read_rss, ETHTOOL_OPS},
	[CHANGE_QDISC] = {"", " qdisc", "replacing a qdisc drops its queued packets",
			  .file = CHANGE_FILE_UDEV, .of_interface = true, .of_namespace = true,
			  .read = read_qdisc, .check = check_qdisc, .tool = RECIPE_TC},
	[CHANGE_GOVERNOR] = {"CPU ", " governor", "more power and heat", .file = CHANGE_FILE_UDEV,
			     .front = "/sys/devices/system/cpu/cpu",
			     .rest = "/cpufreq/scaling_governor", FILE_OPS},
};

/* Settings that a finding can change. The first match applies. */
const struct change_setting change_settings[] = {
	{CHANGE_SYSCTL, "net/core/[rw]mem_default",
	 .effect = "sockets that are opened from now on"},
	{CHANGE_SYSCTL, "net/core/[rw]mem_max",
	 .effect = "programs that ask for a larger buffer from now on"},
	{CHANGE_SYSCTL, "*", .offset = 0},
	{CHANGE_SYSFS, "queues/rx-[0-9]*/rps_cpus",
	 .risk = "flows move to other CPUs: some reordering"},
	{CHANGE_IRQ, "[0-9]*", .offset = 0},
	{CHANGE_RING, "rx", .offset = offsetof(struct ethtool_ringparam, rx_pending)},
	{CHANGE_CHANNELS, "rx", .offset = offsetof(struct ethtool_channels, rx_count)},
	{CHANGE_CHANNELS, "combined", .offset = offsetof(struct ethtool_channels, combined_count)},
	{CHANGE_PAUSE, "tx", .offset = offsetof(struct ethtool_pauseparam, tx_pause)},
	{CHANGE_RSS, "indirection", .offset = 0},
	{CHANGE_QDISC, "root", .offset = 0},
	{CHANGE_GOVERNOR, "[0-9]*", .offset = 0},
	{0},
};
