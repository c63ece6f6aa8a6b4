// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kinds of changes: how each setting is read, validated and set. */
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

#define MAX_CPUS   8192			    /* NR_CPUS of the largest kernels */
#define OUR_HANDLE 0x10000		    /* "1:", the default qdisc has no handle in use */
#define RAW_SIZE   (2 * JOURNAL_VALUE_SIZE) /* bytes, a value may be written with more blanks */

/* Checks a name that becomes part of a path: it must stay below the directory of its kind. */
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

/* Counts the decimal numbers in the text, separated by a single blank. 0: not a list of numbers. */
static unsigned count_numbers(const char *s)
{
	unsigned n = 0;

	for (;; s++) {
		if (*s == '-')
			s++;
		if (!isdigit((unsigned char)*s))
			return 0;
		while (isdigit((unsigned char)*s))
			s++;
		n++;
		if (!*s)
			return n;
		if (*s != ' ')
			return 0;
	}
}

static bool is_printable(const char *s)
{
	for (; *s; s++) {
		if (!isprint((unsigned char)*s))
			return false;
	}
	return true;
}

/* The kernel writes as many digits as it has CPUs or queues: use the width of `old`. */
static int form_mask(const char *old, const char *wanted, char value[JOURNAL_VALUE_SIZE])
{
	size_t at = strlen(old), from = strlen(wanted);

	if (!from || at >= JOURNAL_VALUE_SIZE)
		return -EINVAL;
	for (const char *c = wanted; *c; c++) {
		if (*c == ',' ? c == wanted || !c[1] || c[1] == ',' : !isxdigit((unsigned char)*c))
			return -EINVAL;
	}
	value[at] = '\0';
	while (at--) {
		if (old[at] == ',') {
			value[at] = ',';
			continue;
		}
		while (from && wanted[from - 1] == ',')
			from--;
		value[at] = from ? tolower((unsigned char)wanted[--from]) : '0';
	}
	while (from--) {
		if (wanted[from] != '0' && wanted[from] != ',')
			return -ERANGE;
	}
	return 0;
}

/* Parses "3" or "0-3" at *s and advances *s. */
static int read_range(const char **s, bool cpus[MAX_CPUS])
{
	char *end;
	unsigned long first, last;

	if (!isdigit((unsigned char)**s))
		return -EINVAL;
	first = last = strtoul(*s, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return -EINVAL;
		last = strtoul(end + 1, &end, 10);
	}
	if (last < first)
		return -EINVAL;
	if (last >= MAX_CPUS)
		return -ERANGE;
	memset(cpus + first, true, last - first + 1);
	*s = end;
	return 0;
}

/* Formats CPUs like bitmap_list_string() of lib/vsprintf.c. */
static int form_cpus(const char *wanted, char value[JOURNAL_VALUE_SIZE])
{
	bool cpus[MAX_CPUS + 1] = {};
	size_t len = 0;
	int ret;

	for (;; wanted++) {
		ret = read_range(&wanted, cpus);
		if (ret)
			return ret;
		if (!*wanted)
			break;
		if (*wanted != ',')
			return -EINVAL;
	}
	for (unsigned first = 0; first < MAX_CPUS; first++) {
		unsigned last = first;

		if (!cpus[first])
			continue;
		while (cpus[last + 1])
			last++;
		len += snprintf(value + len, JOURNAL_VALUE_SIZE - len,
				last > first ? "%s%u-%u" : "%s%u", len ? "," : "", first, last);
		if (len >= JOURNAL_VALUE_SIZE)
			return -ENOSPC;
		first = last;
	}
	return 0;
}

int change_form(const struct change_setting *set, uint64_t max, const char *old, const char *wanted,
		char value[JOURNAL_VALUE_SIZE])
{
	uint64_t n;
	int ret;

	switch (set->form) {
	case FORM_NUMBER:
		ret = num_u64(wanted, set->min, max, &n);
		if (!ret)
			snprintf(value, JOURNAL_VALUE_SIZE, "%llu", (unsigned long long)n);
		return ret;
	case FORM_NUMBERS:
		if (strlen(wanted) >= JOURNAL_VALUE_SIZE)
			return -ENOSPC;
		journal_value_normal(value, wanted, strlen(wanted));
		return *value && is_printable(value) &&
				       (!*old || count_numbers(value) == count_numbers(old))
			       ? 0
			       : -EINVAL;
	case FORM_MASK:
		return form_mask(old, wanted, value);
	case FORM_CPUS:
		return form_cpus(wanted, value);
	case FORM_SWITCH:
		if (strcmp(wanted, "on") && strcmp(wanted, "off"))
			return -EINVAL;
		break;
	case FORM_WORD:
	case FORM_OWN: /* checked by check() */
		if (!*wanted || !is_printable(wanted) || strchr(wanted, ' '))
			return -EINVAL;
		break;
	}
	return snprintf(value, JOURNAL_VALUE_SIZE, "%s", wanted) < JOURNAL_VALUE_SIZE ? 0 : -ENOSPC;
}

static void add_word(struct json_object *argv, const char *word)
{
	json_object_array_add(argv, json_object_new_string(word));
}

/* Adds the words of a value, separated by a single blank. */
static void add_words(struct json_object *argv, const char *text)
{
	for (size_t len;; text += len + 1) {
		len = strcspn(text, " ");
		json_object_array_add(argv, json_object_new_string_len(text, (int)len));
		if (!text[len])
			break;
	}
}

/* ---- files, below /proc/sys, /sys and /proc/irq ---- */

static void file_path(const struct change *c, char *buf, size_t size)
{
	const struct change_ops *ops = &change_ops[c->kind];

	snprintf(buf, size, "%s%s%s%s%s", ops->front, c->ifname, *c->ifname ? "/" : "", c->name,
		 ops->rest);
}

/* The /sys of another namespace may have a different interface with this name. */
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

/*
 * Opens a file below the namespace's /sys, or below /proc for a path that starts with /proc/sys.
 * Writes `text`, or reads into `raw` if that is NULL.
 */
static int use_file(const struct change *c, const char *text, char *raw, size_t size)
{
	int ret = c->kind == CHANGE_SYSFS ? check_sysfs(c) : 0;
	char path[PATH_MAX], below[PATH_MAX];

	if (ret)
		return ret;
	file_path(c, path, sizeof(path));
	if (!strncmp(path, "/sys/", 5))
		return netns_sysfs(c->ns, path + 5, text, raw, size);
	snprintf(below, sizeof(below), "../%s", path + strlen("/proc/"));
	return netns_sysctl(c->ns, below, text, raw, size);
}

static int read_file(const struct change *c, char value[JOURNAL_VALUE_SIZE])
{
	char raw[RAW_SIZE];
	int ret = use_file(c, NULL, raw, sizeof(raw));

	if (!ret && strlen(raw) >= JOURNAL_VALUE_SIZE)
		ret = -ENOSPC;
	if (!ret)
		journal_value_normal(value, raw, strlen(raw));
	return ret;
}

int change_write_file(const struct change *c, const char *value)
{
	return use_file(c, *value ? value : "\n", NULL, 0); /* writing nothing would not be a
							     * write */
}

int change_possible(const struct change *c, struct error *why)
{
	struct json_object *argv = change_argv(c, false);
	const char *program = json_object_get_string(json_object_array_get_idx(argv, 0));
	char path[PATH_MAX];
	int ret = 0, saved;

	if (!change_ops[c->kind].front && !netns_exec_finds(program, path))
		ret = error_set(why, STATUS_UNABLE, -ENOENT, "install it", "there is no %s here",
				program);
	json_object_put(argv);
	/* /sys files of another namespace have no path here */
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

/* Builds the command to show. change_write_file() writes the file itself. */
static void file_argv(const struct change *c, bool undo, struct json_object *argv)
{
	const char *to = undo ? c->old : c->wanted;
	char path[CHANGE_NAME_SIZE + 64], setting[sizeof(path) + JOURNAL_VALUE_SIZE];

	if (c->kind == CHANGE_SYSCTL) {
		change_sysctl_name(c->name, path, sizeof(path));
		snprintf(setting, sizeof(setting), "%s=%s", path, to);
		add_words(argv, "sysctl -w");
		add_word(argv, setting);
		return;
	}
	file_path(c, path, sizeof(path));
	add_word(argv, "echo");
	add_word(argv, to);
	add_word(argv, ">");
	add_word(argv, path);
}

/* ---- the driver of an interface: read by the ioctl, set by ethtool ---- */

/* All of them start with the command, followed by 32-bit fields. */
union params {
	uint32_t field[32];
	struct ethtool_ringparam ring;
	struct ethtool_channels channels;
	struct ethtool_coalesce coalesce;
	struct ethtool_pauseparam pause;
};

_Static_assert(sizeof(struct ethtool_coalesce) <= sizeof(((union params *)0)->field),
	       "the longest of them fits");

/* Reads a field of the kind's structure. */
static int get(const struct change *c, unsigned offset, uint32_t *field)
{
	union params p = {.field = {change_ops[c->kind].ethtool}};
	int ret = netdev_ethtool(c->ns, c->ifname, &p);

	*field = p.field[offset / sizeof(*field)];
	return ret < 0 ? ret : 0;
}

static int read_ethtool(const struct change *c, char value[JOURNAL_VALUE_SIZE])
{
	const struct change_setting *set = change_setting(c->kind, c->name);
	uint32_t v;
	int ret = get(c, set->offset, &v);

	if (set->form == FORM_SWITCH)
		snprintf(value, JOURNAL_VALUE_SIZE, "%s", v ? "on" : "off");
	else
		snprintf(value, JOURNAL_VALUE_SIZE, "%u", v);
	return ret;
}

int change_limit(const struct change *c, uint64_t *max)
{
	uint32_t most;
	int ret = get(c, change_setting(c->kind, c->name)->max_offset, &most);

	*max = most;
	return ret;
}

static void ethtool_argv(const struct change *c, bool undo, struct json_object *argv)
{
	char option[] = {'-', change_ops[c->kind].letter, '\0'};

	add_word(argv, "ethtool");
	add_word(argv, option);
	add_word(argv, c->ifname);
	if (c->kind != CHANGE_RSS)
		add_word(argv, c->name);
	add_words(argv, undo ? c->old : c->wanted);
}

/* An RSS table that one command can set: entry i has queue start + i % equal. */
struct spread {
	uint32_t start, equal;
};

static int count_rings(const struct change *c, uint32_t *rings)
{
	struct ethtool_rxnfc nfc = {.cmd = ETHTOOL_GRXRINGS};
	int ret = netdev_ethtool(c->ns, c->ifname, &nfc);

	*rings = nfc.data;
	return ret < 0 ? ret : *rings ? 0 : -EOPNOTSUPP;
}

/* "default" is ethtool_rxfh_indir_default() over all rings, and follows their number. */
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
		return -EINVAL; /* sscanf() would accept signs */
	if ((sscanf(value, "equal %u%n", &s->equal, &end) != 1 &&
	     sscanf(value, "start %u equal %u%n", &s->start, &s->equal, &end) != 2) ||
	    value[end])
		return -EINVAL;
	return s->equal && s->equal <= rings && s->start <= rings - s->equal ? 0 : -ERANGE;
}

static int read_rss(const struct change *c, char value[JOURNAL_VALUE_SIZE])
{
	struct ethtool_rxfh_indir *table;
	struct spread s = {.equal = 1};
	uint32_t rings;
	int ret = count_rings(c, &rings);

	if (!ret)
		ret = netdev_rss_table(c->ns, c->ifname, &table);
	if (ret)
		return ret;
	s.start = table->ring_index[0];
	while (s.equal < table->size && table->ring_index[s.equal] != s.start)
		s.equal++;
	/* A table shorter than the number of rings looks as if there were no more rings. */
	if (!s.start && s.equal == table->size && s.equal < rings)
		s.equal = rings;
	for (uint32_t i = 0; i < table->size; i++) {
		if (table->ring_index[i] != s.start + i % s.equal)
			ret = -EDOM;
	}
	if (!ret)
		print_spread(&s, rings, value);
	free(table);
	return ret;
}

static int check_rss(const struct change *c, const char *wanted, char value[JOURNAL_VALUE_SIZE])
{
	struct spread s;
	uint32_t rings;
	int ret = count_rings(c, &rings);

	if (!ret)
		ret = parse_spread(wanted, rings, &s);
	if (!ret)
		print_spread(&s, rings, value);
	return ret;
}

/* ---- root qdiscs: read by rtnetlink, set by tc ---- */

/*
 * Prints "default fq_codel limit 10240" for the kernel's default, and "pfifo handle 8001: limit
 * 1000" for a configured qdisc. Two changes can be undone exactly: another limit on a configured
 * qdisc (its other options stay), and a qdisc of ours replacing the default (which returns when
 * ours is removed).
 */
static void print_qdisc(const struct netdev_qdisc *q, char value[JOURNAL_VALUE_SIZE])
{
	int n;

	if (q->handle)
		n = snprintf(value, JOURNAL_VALUE_SIZE, "%s handle %x:", q->kind, q->handle >> 16);
	else
		n = snprintf(value, JOURNAL_VALUE_SIZE, "default %s", q->kind);
	if (q->limited)
		snprintf(value + n, JOURNAL_VALUE_SIZE - n, " limit %u", q->limit);
}

/* Parses the text of print_qdisc(), and "KIND" or "KIND limit N" without a handle. */
static int parse_qdisc(const char *value, struct netdev_qdisc *q, bool *is_default)
{
	const char *at = value;
	int end = 0;

	memset(q, 0, sizeof(*q));
	*is_default = !strncmp(at, "default ", 8);
	if (*is_default)
		at += 8;
	if (strlen(at) >= JOURNAL_VALUE_SIZE || strpbrk(at, "-+") ||
	    sscanf(at, "%15[a-z_]%n", q->kind, &end) != 1)
		return -EINVAL;
	at += end;
	if (!strncmp(at, " handle ", 8)) {
		if (*is_default || sscanf(at, " handle %x:%n", &q->handle, &end) != 1 ||
		    !q->handle || q->handle > UINT16_MAX)
			return -EINVAL;
		q->handle <<= 16;
		at += end;
	}
	if (!strncmp(at, " limit ", 7)) {
		if (sscanf(at, " limit %u%n", &q->limit, &end) != 1)
			return -EINVAL;
		q->limited = true;
		at += end;
	}
	return *at ? -EINVAL : 0;
}

static int read_qdisc(const struct change *c, char value[JOURNAL_VALUE_SIZE])
{
	int ret = nl_ifindex(c->ns, c->ifname);
	struct netdev_qdisc q;

	if (ret >= 0)
		ret = netdev_qdisc_root(c->ns, ret, &q);
	if (!ret)
		print_qdisc(&q, value);
	return ret;
}

int change_qdisc_check(const struct change *c, const char *wanted, char value[JOURNAL_VALUE_SIZE])
{
	bool was_default, to_default;
	struct netdev_qdisc was, q;
	int ret = parse_qdisc(c->old, &was, &was_default);

	if (!ret)
		ret = parse_qdisc(wanted, &q, &to_default);
	if (ret || q.handle || to_default || q.limited != netdev_qdisc_limited(q.kind) ||
	    (q.limited && !q.limit))
		return -EINVAL;
	if (!was_default && strcmp(was.kind, q.kind))
		return -EDOM;
	if (was_default && !strcmp(was.kind, q.kind) && was.limited == q.limited &&
	    was.limit == q.limit)
		q.handle = 0; /* already in effect */
	else
		q.handle = was_default ? OUR_HANDLE : was.handle;
	print_qdisc(&q, value);
	return 0;
}

static void qdisc_argv(const struct change *c, bool undo, struct json_object *argv)
{
	bool from_default, to_default;
	struct netdev_qdisc was, q;
	char text[64];

	if (parse_qdisc(undo ? c->wanted : c->old, &was, &from_default) ||
	    parse_qdisc(undo ? c->old : c->wanted, &q, &to_default))
		return;
	add_words(argv, "tc qdisc");
	add_word(argv, to_default ? "del" : from_default ? "replace" : "change");
	add_word(argv, "dev");
	add_word(argv, c->ifname);
	add_word(argv, "root");
	if (to_default)
		return;
	snprintf(text, sizeof(text), "handle %x: %s", q.handle >> 16, q.kind);
	add_words(argv, text);
	snprintf(text, sizeof(text), "limit %u", q.limit);
	if (q.limited)
		add_words(argv, text);
}

/* ---- the tables ---- */

#define FILE_OPS .read = read_file, .argv = file_argv
#define ETHTOOL_OPS                                                                                \
	.of_interface = true, .of_namespace = true, .file = CHANGE_FILE_UDEV, .argv = ethtool_argv

#define RESTART                                                                                    \
	"the driver may restart the device: packets in flight are lost, the link may go down"

const char *const change_words[CHANGE_KINDS] = {
	"sysctl", "sysfs", "irq", "ring", "channels", "coalesce", "pause", "rss", "qdisc", "governor",
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
	[CHANGE_COALESCE] = {"", "",
			     "more packets an interrupt mean more delay, fewer more CPU time",
			     .ethtool = ETHTOOL_GCOALESCE, .letter = 'C', .read = read_ethtool,
			     ETHTOOL_OPS},
	[CHANGE_PAUSE] = {"", " pause frames",
			  "the link may renegotiate and be down for some seconds", .wait_ms = 3000,
			  .ethtool = ETHTOOL_GPAUSEPARAM, .letter = 'A', .read = read_ethtool,
			  ETHTOOL_OPS},
	[CHANGE_RSS] = {"RSS ", "", "flows move to other CPUs: some reordering", .letter = 'X',
			.read = read_rss, .check = check_rss, ETHTOOL_OPS},
	[CHANGE_QDISC] = {"", " qdisc", "replacing a qdisc drops its queued packets",
			  .file = CHANGE_FILE_UDEV, .of_interface = true, .of_namespace = true,
			  .read = read_qdisc, .check = change_qdisc_check, .argv = qdisc_argv},
	[CHANGE_GOVERNOR] = {"CPU ", " governor", "more power and heat", .file = CHANGE_FILE_UDEV,
			     .front = "/sys/devices/system/cpu/cpu",
			     .rest = "/cpufreq/scaling_governor", FILE_OPS},
};

/*
 * Settings that a finding changes. The first match applies. Keys of .link files: systemd,
 * src/udev/net/link-config-gperf.gperf. Names of coalescing parameters: ethtool(8), -C.
 */
const struct change_setting change_settings[] = {
	{CHANGE_SYSCTL, "net/core/flow_limit_cpu_bitmap", .form = FORM_MASK},
	{CHANGE_SYSCTL, "net/core/[rw]mem_default", .form = FORM_NUMBERS,
	 .effect = "sockets that are opened from now on"},
	{CHANGE_SYSCTL, "net/core/[rw]mem_max", .form = FORM_NUMBERS,
	 .effect = "programs that ask for a larger buffer from now on"},
	{CHANGE_SYSCTL, "*", .form = FORM_NUMBERS},

	{CHANGE_SYSFS, "queues/rx-[0-9]*/rps_cpus", .form = FORM_MASK,
	 .risk = "flows move to other CPUs: some reordering"},

	{CHANGE_IRQ, "[0-9]*", .form = FORM_CPUS},

	{CHANGE_RING, "rx", .form = FORM_NUMBER, .min = 1, .max = UINT32_MAX,
	 .link = "RxBufferSize=%s", .offset = offsetof(struct ethtool_ringparam, rx_pending),
	 .max_offset = offsetof(struct ethtool_ringparam, rx_max_pending)},
	{CHANGE_CHANNELS, "rx", .form = FORM_NUMBER, .max = UINT32_MAX, .link = "RxChannels=%s",
	 .offset = offsetof(struct ethtool_channels, rx_count),
	 .max_offset = offsetof(struct ethtool_channels, max_rx)},
	{CHANGE_CHANNELS, "combined", .form = FORM_NUMBER, .max = UINT32_MAX,
	 .link = "CombinedChannels=%s",
	 .offset = offsetof(struct ethtool_channels, combined_count),
	 .max_offset = offsetof(struct ethtool_channels, max_combined)},
	{CHANGE_COALESCE, "rx-usecs", .form = FORM_NUMBER, .max = UINT32_MAX,
	 .link = "RxCoalesceSec=%sus",
	 .offset = offsetof(struct ethtool_coalesce, rx_coalesce_usecs)},
	{CHANGE_PAUSE, "tx", .form = FORM_SWITCH, .link = "TxFlowControl=%s",
	 .offset = offsetof(struct ethtool_pauseparam, tx_pause)},
	{CHANGE_RSS, "indirection", .form = FORM_OWN},
	{CHANGE_QDISC, "root", .form = FORM_OWN},
	{CHANGE_GOVERNOR, "[0-9]*", .form = FORM_WORD},
	{0},
};
