// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes as texts: what is a value, the command, the way back, the file for the next boot. */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/change.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CHANGE(k, i, n, o, w)                                                                      \
	{                                                                                          \
		.kind = k, .ifname = i, .name = n, .old = o, .wanted = w                           \
	}

CASE(every_kind_is_whole)
{
	for (unsigned k = 0; k < CHANGE_KINDS; k++) {
		const struct change_ops *o = &change_ops[k];

		assert_non_null(change_words[k]);
		assert_true(!strpbrk(change_words[k], " \n"));
		assert_true(o->before && o->after && o->risk);
		assert_true(o->read && o->argv);
		assert_true(!o->front == !o->rest);
		assert_true(!o->ethtool || o->letter);
		assert_true(!o->of_interface || o->of_namespace);
		for (unsigned other = 0; other < k; other++)
			assert_string_not_equal(change_words[k], change_words[other]);
	}
}

CASE(every_setting_is_whole)
{
	unsigned seen[CHANGE_KINDS] = {};

	for (const struct change_setting *s = change_settings; s->name; s++) {
		const struct change_ops *o = &change_ops[s->kind];

		seen[s->kind]++;
		assert_true((s->form == FORM_OWN) == (o->check != NULL));
		assert_true(s->form != FORM_NUMBER || s->max > s->min);
		assert_true(!s->max_offset || o->ethtool);
		/* field 0 is the command, and fields have 32 bits */
		assert_true(!o->ethtool == !s->offset && s->offset % 4 == 0);
		if (s->link) {
			const char *value = strchr(s->link, '%');

			assert_true(value && value[1] == 's' && !strchr(value + 1, '%'));
			assert_int_equal(value[-1], '=');
		}
		/* nothing before it takes its name away */
		assert_ptr_equal(strpbrk(s->name, "[*") ? s : change_setting(s->kind, s->name), s);
	}
	for (unsigned k = 0; k < CHANGE_KINDS; k++)
		assert_true(seen[k]);
}

CASE(names_stay_in_their_directory)
{
	static const struct {
		enum change_kind kind;
		const char *name;
	} bad[] = {
		{CHANGE_SYSCTL, ""},
		{CHANGE_SYSCTL, "/etc/passwd"},
		{CHANGE_SYSCTL, "net/../../../etc/passwd"},
		{CHANGE_SYSCTL, "net/core/rmem max"},
		{CHANGE_SYSCTL, "net/core/rmem_max\n"},
		{CHANGE_SYSFS, "queues/rx-0/../../../x/rps_cpus"},
		{CHANGE_SYSFS, "operstate"},
		{CHANGE_SYSFS, "threaded"},
		{CHANGE_SYSFS, "device/remove"},
		{CHANGE_IRQ, "24x"},
		{CHANGE_IRQ, "-1"},
		{CHANGE_GOVERNOR, "0/../1"},
		{CHANGE_RING, "rx-pending"},
		{CHANGE_QDISC, "ingress"},
	};
	char value[JOURNAL_VALUE_SIZE], name[CHANGE_NAME_SIZE + 1];

	for (unsigned i = 0; i < COUNT(bad); i++) {
		assert_null(change_setting(bad[i].kind, bad[i].name));
		assert_int_equal(change_read(NULL, bad[i].kind, "lo", bad[i].name, value), -ENOENT);
	}
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_null(change_setting(CHANGE_SYSCTL, name));
	name[sizeof(name) - 2] = '\0';
	assert_non_null(change_setting(CHANGE_SYSCTL, name));
}

CASE(values)
{
	static const struct {
		enum change_kind kind;
		const char *name, *old, *wanted;
		int ret;
		const char *value;
	} rows[] = {
		{CHANGE_SYSCTL, "net/core/rmem_max", "212992", "8388608", 0, "8388608"},
		{CHANGE_SYSCTL, "net/core/rmem_max", "212992", " 8388608\n", 0, "8388608"},
		{CHANGE_SYSCTL, "net/core/rmem_max", "212992", "8M", -EINVAL, NULL},
		{CHANGE_SYSCTL, "net/core/rmem_max", "212992", "", -EINVAL, NULL},
		{CHANGE_SYSCTL, "net/core/rmem_max", "212992", "1 2", -EINVAL, NULL},
		{CHANGE_SYSCTL, "net/ipv4/udp_mem", "1 2 3", "4\t5  6", 0, "4 5 6"},
		{CHANGE_SYSCTL, "net/ipv4/udp_mem", "1 2 3", "4 5", -EINVAL, NULL},
		{CHANGE_SYSCTL, "net/x", "-1", "-2", 0, "-2"},
		{CHANGE_SYSCTL, "net/x", "-1", "-", -EINVAL, NULL},
		{CHANGE_SYSCTL, "net/x", "", "8080,9000-9999", 0, "8080,9000-9999"},
		{CHANGE_SYSCTL, "net/x", "", "", -EINVAL, NULL},
		{CHANGE_SYSCTL, "net/core/default_qdisc", "pfifo_fast", "fq", 0, "fq"},
		{CHANGE_SYSCTL, "net/core/default_qdisc", "pfifo_fast", "1", -EINVAL, NULL},
		{CHANGE_SYSCTL, "net/core/default_qdisc", "pfifo_fast", "f\033q", -EINVAL, NULL},
		{CHANGE_SYSCTL, "net/core/flow_limit_cpu_bitmap", "00", "3", 0, "03"},

		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "0", "F", 0, "f"},
		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "3", "00000003", 0, "3"},
		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "3", "10", -ERANGE, NULL},
		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "000,00000000", "fffffffff", 0,
		 "00f,ffffffff"},
		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "000,00000000", "f,ffffffff", 0,
		 "00f,ffffffff"},
		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "0", "", -EINVAL, NULL},
		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "0", "0x1", -EINVAL, NULL},
		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "0", ",1", -EINVAL, NULL},
		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "0", "1,", -EINVAL, NULL},
		{CHANGE_SYSFS, "queues/rx-0/rps_cpus", "0", "1,,1", -EINVAL, NULL},

		{CHANGE_IRQ, "24", "0-1", "0", 0, "0"},
		{CHANGE_IRQ, "24", "0-1", "0,1", 0, "0-1"},
		{CHANGE_IRQ, "24", "0", "8,0-2,3", 0, "0-3,8"},
		{CHANGE_IRQ, "24", "0", "8191", 0, "8191"},
		{CHANGE_IRQ, "24", "0", "8192", -ERANGE, NULL},
		{CHANGE_IRQ, "24", "0", "99999999999999999999", -ERANGE, NULL},
		{CHANGE_IRQ, "24", "0", "3-1", -EINVAL, NULL},
		{CHANGE_IRQ, "24", "0", "1-", -EINVAL, NULL},
		{CHANGE_IRQ, "24", "0", "1,", -EINVAL, NULL},
		{CHANGE_IRQ, "24", "0", "", -EINVAL, NULL},
		{CHANGE_IRQ, "24", "0", "-1", -EINVAL, NULL},

		{CHANGE_RING, "rx", "256", "4096", 0, "4096"},
		{CHANGE_RING, "rx", "256", "0", -ERANGE, NULL},
		{CHANGE_COALESCE, "rx-usecs", "3", "+1", -EINVAL, NULL},
		{CHANGE_COALESCE, "rx-usecs", "3", "0010000", 0, "10000"},
		{CHANGE_COALESCE, "rx-usecs", "3", "4294967296", -ERANGE, NULL},
		{CHANGE_PAUSE, "tx", "off", "on", 0, "on"},
		{CHANGE_PAUSE, "tx", "off", "ON", -EINVAL, NULL},
		{CHANGE_PAUSE, "tx", "off", "1", -EINVAL, NULL},
		{CHANGE_GOVERNOR, "0", "powersave", "performance", 0, "performance"},
		{CHANGE_GOVERNOR, "0", "powersave", "per formance", -EINVAL, NULL},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct change_setting *set = change_setting(rows[i].kind, rows[i].name);
		char value[JOURNAL_VALUE_SIZE];
		int ret;

		assert_non_null(set);
		ret = change_form(set, set->max, rows[i].old, rows[i].wanted, value);
		if (ret != rows[i].ret || (!ret && strcmp(value, rows[i].value)))
			fail_msg("%s, '%s' to '%s': %d '%s'", rows[i].name, rows[i].old,
				 rows[i].wanted, ret, ret ? "" : value);
	}
}

CASE(values_have_an_end)
{
	const struct change_setting *set = change_setting(CHANGE_SYSCTL, "net/x");
	char value[JOURNAL_VALUE_SIZE], wanted[JOURNAL_VALUE_SIZE + 1], list[4096];
	size_t len = 0;

	memset(wanted, 'a', JOURNAL_VALUE_SIZE);
	wanted[JOURNAL_VALUE_SIZE] = '\0';
	assert_int_equal(change_form(set, 0, "word", wanted, value), -ENOSPC);
	wanted[JOURNAL_VALUE_SIZE - 1] = '\0';
	assert_int_equal(change_form(set, 0, "word", wanted, value), 0);
	assert_string_equal(value, wanted);
	set = change_setting(CHANGE_IRQ, "1");
	for (unsigned cpu = 0; cpu < COUNT(list) / 5; cpu++)
		len += sprintf(list + len, "%s%u", cpu ? "," : "", 2 * cpu);
	assert_int_equal(change_form(set, 0, "0", list, value), -ENOSPC);
	*strchr(list + JOURNAL_VALUE_SIZE - 6, ',') = '\0';
	assert_int_equal(change_form(set, 0, "0", list, value), 0);
	assert_string_equal(value, list);
}

CASE(root_qdiscs)
{
	static const struct {
		const char *old, *wanted;
		int ret;
		const char *value;
	} rows[] = {
		{"default noqueue", "pfifo limit 1000", 0, "pfifo handle 1: limit 1000"},
		{"default fq_codel limit 10240", "fq_codel limit 20480", 0,
		 "fq_codel handle 1: limit 20480"},
		{"default fq_codel limit 10240", "fq_codel limit 10240", 0,
		 "default fq_codel limit 10240"},
		{"default mq", "mq", 0, "default mq"},
		{"default pfifo_fast", "mq", 0, "mq handle 1:"},
		{"pfifo handle 8001: limit 10", "pfifo limit 1000", 0,
		 "pfifo handle 8001: limit 1000"},
		{"pfifo handle 8001: limit 10", "fq limit 1000", -EDOM, NULL},
		{"htb handle 1:", "pfifo limit 1000", -EDOM, NULL},
		{"htb handle 1:", "htb", 0, "htb handle 1:"},
		{"default noqueue", "pfifo", -EINVAL, NULL},
		{"default noqueue", "pfifo limit 0", -EINVAL, NULL},
		{"default noqueue", "pfifo limit -1", -EINVAL, NULL},
		{"default noqueue", "pfifo limit 10 x", -EINVAL, NULL},
		{"default noqueue", "pfifo limit 10p", -EINVAL, NULL},
		{"default noqueue", "mq limit 10", -EINVAL, NULL},
		{"default noqueue", "default mq", -EINVAL, NULL},
		{"default noqueue", "pfifo handle 3: limit 10", -EINVAL, NULL},
		{"default noqueue", "", -EINVAL, NULL},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		char value[JOURNAL_VALUE_SIZE];
		struct change c = {.kind = CHANGE_QDISC};
		int ret;

		strcpy(c.old, rows[i].old);
		ret = change_qdisc_check(&c, rows[i].wanted, value);
		if (ret != rows[i].ret || (!ret && strcmp(value, rows[i].value)))
			fail_msg("'%s' to '%s': %d '%s'", rows[i].old, rows[i].wanted, ret,
				 ret ? "" : value);
	}
}

CASE(commands)
{
	static const struct {
		struct change change;
		const char *command, *undo, *title;
	} rows[] = {
		{CHANGE(CHANGE_SYSCTL, "", "net/core/rmem_max", "212992", "8388608"),
		 "sysctl -w net.core.rmem_max=8388608", "sysctl -w net.core.rmem_max=212992",
		 "net.core.rmem_max"},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv4/udp_mem", "1 2 3", "4 5 6"),
		 "sysctl -w net.ipv4.udp_mem='4 5 6'", "sysctl -w net.ipv4.udp_mem='1 2 3'",
		 "net.ipv4.udp_mem"},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv4/conf/eth0.7/rp_filter", "1", "2"),
		 "sysctl -w net/ipv4/conf/eth0.7/rp_filter=2",
		 "sysctl -w net/ipv4/conf/eth0.7/rp_filter=1", "net/ipv4/conf/eth0.7/rp_filter"},
		{CHANGE(CHANGE_SYSCTL, "", "net/x", "", "it's"), "sysctl -w net.x='it'\\''s'",
		 "sysctl -w net.x=''", "net.x"},
		{CHANGE(CHANGE_SYSFS, "eth1", "queues/rx-0/rps_cpus", "0", "f"),
		 "echo f > /sys/class/net/eth1/queues/rx-0/rps_cpus",
		 "echo 0 > /sys/class/net/eth1/queues/rx-0/rps_cpus", "eth1 queues/rx-0/rps_cpus"},
		{CHANGE(CHANGE_SYSFS, "$(date)", "queues/rx-0/rps_cpus", "0", "1"),
		 "echo 1 > '/sys/class/net/$(date)/queues/rx-0/rps_cpus'",
		 "echo 0 > '/sys/class/net/$(date)/queues/rx-0/rps_cpus'",
		 "$(date) queues/rx-0/rps_cpus"},
		{CHANGE(CHANGE_IRQ, "", "24", "0-1", "0"),
		 "echo 0 > /proc/irq/24/smp_affinity_list",
		 "echo 0-1 > /proc/irq/24/smp_affinity_list", "interrupt 24 CPUs"},
		{CHANGE(CHANGE_RING, "eth1", "rx", "256", "4096"), "ethtool -G eth1 rx 4096",
		 "ethtool -G eth1 rx 256", "eth1 rx ring"},
		{CHANGE(CHANGE_CHANNELS, "eth1", "combined", "1", "8"),
		 "ethtool -L eth1 combined 8", "ethtool -L eth1 combined 1",
		 "eth1 combined channels"},
		{CHANGE(CHANGE_COALESCE, "a;b", "rx-usecs", "3", "50"),
		 "ethtool -C 'a;b' rx-usecs 50", "ethtool -C 'a;b' rx-usecs 3", "a;b rx-usecs"},
		{CHANGE(CHANGE_PAUSE, "eth1", "tx", "on", "off"), "ethtool -A eth1 tx off",
		 "ethtool -A eth1 tx on", "eth1 tx pause frames"},
		{CHANGE(CHANGE_RSS, "eth1", "indirection", "start 2 equal 4", "default"),
		 "ethtool -X eth1 default", "ethtool -X eth1 start 2 equal 4",
		 "eth1 RSS indirection"},
		{CHANGE(CHANGE_QDISC, "eth1", "root", "default mq", "fq handle 1: limit 20000"),
		 "tc qdisc replace dev eth1 root handle 1: fq limit 20000",
		 "tc qdisc del dev eth1 root", "eth1 root qdisc"},
		{CHANGE(CHANGE_QDISC, "eth1", "root", "fq handle 8001: limit 100",
			"fq handle 8001: limit 20000"),
		 "tc qdisc change dev eth1 root handle 8001: fq limit 20000",
		 "tc qdisc change dev eth1 root handle 8001: fq limit 100", "eth1 root qdisc"},
		{CHANGE(CHANGE_GOVERNOR, "", "1", "powersave", "performance"),
		 "echo performance > /sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
		 "echo powersave > /sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
		 "CPU 1 governor"},
	};
	char buf[CHANGE_COMMAND_SIZE], title[CHANGE_TITLE_SIZE];
	bool seen[CHANGE_KINDS] = {};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct change *c = &rows[i].change;

		seen[c->kind] = true;
		assert_string_equal(change_command(c, false, buf, sizeof(buf)), rows[i].command);
		assert_string_equal(change_command(c, true, buf, sizeof(buf)), rows[i].undo);
		assert_string_equal(change_title(c, title, sizeof(title)), rows[i].title);
		assert_non_null(change_risk(c));
	}
	for (unsigned k = 0; k < CHANGE_KINDS; k++)
		assert_true(seen[k]);
}

/* What is run is not what a shell makes of the print: a word is one whatever is in it. */
CASE(words)
{
	static const struct {
		struct change change;
		const char *words[6];
	} rows[] = {
		{CHANGE(CHANGE_SYSFS, "$(date)", "queues/rx-0/rps_cpus", "0", "1"),
		 {"echo", "1", ">", "/sys/class/net/$(date)/queues/rx-0/rps_cpus"}},
		{CHANGE(CHANGE_PAUSE, "a;b", "tx", "on", "off"),
		 {"ethtool", "-A", "a;b", "tx", "off"}},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv4/udp_mem", "1 2 3", "4 5 6"),
		 {"sysctl", "-w", "net.ipv4.udp_mem=4 5 6"}},
		{CHANGE(CHANGE_RSS, "-x", "indirection", "default", "equal 8"),
		 {"ethtool", "-X", "-x", "equal", "8"}},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct json_object *argv = change_argv(&rows[i].change, false);
		size_t n = json_object_array_length(argv);

		assert_in_range(n, 3, 5);
		assert_null(rows[i].words[n]);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(
				json_object_get_string(json_object_array_get_idx(argv, k)),
				rows[i].words[k]);
		json_object_put(argv);
	}
}

CASE(devices)
{
	static const struct {
		struct change change;
		const char *device;
	} rows[] = {
		{CHANGE(CHANGE_RING, "eth1", "rx", "", ""), "eth1"},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv4/conf/eth1.7/rp_filter", "", ""), "eth1.7"},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv6/neigh/eth1/gc_stale_time", "", ""), "eth1"},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv4/conf/all/rp_filter", "", ""), NULL},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv4/neigh/default/gc_thresh3", "", ""), NULL},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv4/conf/sixteen-letters-/x", "", ""), NULL},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv4/udp_mem", "", ""), NULL},
		{CHANGE(CHANGE_SYSCTL, "", "net/ipv4/conf/eth1", "", ""), NULL},
		{CHANGE(CHANGE_IRQ, "", "24", "", ""), NULL},
	};
	char buf[16];

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const char *device = change_device(&rows[i].change, buf);

		if (rows[i].device)
			assert_string_equal(device, rows[i].device);
		else
			assert_null(device);
	}
}

CASE(commands_in_a_namespace)
{
	struct change sysctl = CHANGE(CHANGE_SYSCTL, "", "net/ipv4/udp_mem", "1 2 3", "4 5 6");
	struct change sysfs = CHANGE(CHANGE_SYSFS, "eth1", "queues/rx-0/rps_cpus", "0", "1");
	struct change irq = CHANGE(CHANGE_IRQ, "", "24", "0-1", "0");
	char buf[CHANGE_COMMAND_SIZE];

	assert_string_equal(change_command(&sysctl, false, buf, sizeof(buf)),
			    "sysctl -w net.ipv4.udp_mem='4 5 6'");
	sysctl.enter = irq.enter = "ip netns exec blue";
	assert_string_equal(change_command(&sysctl, false, buf, sizeof(buf)),
			    "ip netns exec blue sysctl -w net.ipv4.udp_mem='4 5 6'");
	/* the redirection is done inside */
	sysfs.enter = "ip netns exec 'a b'";
	assert_string_equal(change_command(&sysfs, true, buf, sizeof(buf)),
			    "ip netns exec 'a b' sh -c 'echo 0 > "
			    "/sys/class/net/eth1/queues/rx-0/rps_cpus'");
	sysfs.enter = "nsenter -t 12 -n";
	assert_string_equal(change_command(&sysfs, true, buf, sizeof(buf)),
			    "nsenter -t 12 -n unshare -m sh -c 'mount -t sysfs sysfs /sys && "
			    "echo 0 > /sys/class/net/eth1/queues/rx-0/rps_cpus'");
	/* of the whole host */
	assert_string_equal(change_command(&irq, false, buf, sizeof(buf)),
			    "echo 0 > /proc/irq/24/smp_affinity_list");
}

CASE(quoting_keeps_its_room)
{
	char buf[16];

	for (size_t size = 1; size <= sizeof(buf); size++) {
		memset(buf, 'x', sizeof(buf));
		change_quote("a'''''b c", buf, size);
		assert_true(strlen(buf) < size);
		for (size_t i = size; i < sizeof(buf); i++)
			assert_int_equal(buf[i], 'x');
	}
	assert_string_equal(change_quote("a b", buf, sizeof(buf)), "'a b'");
	assert_string_equal(change_quote("", buf, sizeof(buf)), "''");
}

CASE(files_for_the_next_boot)
{
	static const struct change changes[] = {
		CHANGE(CHANGE_RING, "eth1", "rx", "256", "4096"),
		CHANGE(CHANGE_SYSCTL, "", "net/core/rmem_max", "212992", "8388608"),
		CHANGE(CHANGE_IRQ, "", "24", "0-1", "0"),
		CHANGE(CHANGE_SYSFS, "eth1", "queues/rx-0/rps_cpus", "0", "f"),
		CHANGE(CHANGE_COALESCE, "eth1", "rx-usecs", "3", "50"),
		CHANGE(CHANGE_SYSCTL, "", "net/ipv4/udp_mem", "1 2 3", "4 5 6"),
		CHANGE(CHANGE_QDISC, "eth1", "root", "default mq", "fq handle 1: limit 20000"),
		CHANGE(CHANGE_GOVERNOR, "", "1", "powersave", "performance"),
	};
	struct change elsewhere = CHANGE(CHANGE_SYSCTL, "", "net/ipv4/udp_mem", "1 2 3", "4 5 6");
	const struct netns ns = NETNS_NONE;
	static const char udev_only[] =
		"# /etc/udev/rules.d/90-pktledger.rules\n"
		"# eth1 rx ring; in its .link file, if it has one: RxBufferSize=4096\n"
		"ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"eth1\", "
		"RUN+=\"/usr/sbin/ethtool -G eth1 rx 4096\"\n";
	char *text;

	text = change_persist(changes, COUNT(changes));
	assert_string_equal(
		text, "# /etc/sysctl.d/90-pktledger.conf\n"
		      "net.core.rmem_max = 8388608\n"
		      "net.ipv4.udp_mem = 4 5 6\n"
		      "\n"
		      "# /etc/udev/rules.d/90-pktledger.rules\n"
		      "# eth1 rx ring; in its .link file, if it has one: RxBufferSize=4096\n"
		      "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"eth1\", "
		      "RUN+=\"/usr/sbin/ethtool -G eth1 rx 4096\"\n"
		      "# eth1 queues/rx-0/rps_cpus\n"
		      "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"eth1\", "
		      "ATTR{queues/rx-0/rps_cpus}=\"f\"\n"
		      "# eth1 rx-usecs; in its .link file, if it has one: RxCoalesceSec=50us\n"
		      "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"eth1\", "
		      "RUN+=\"/usr/sbin/ethtool -C eth1 rx-usecs 50\"\n"
		      "# eth1 root qdisc\n"
		      "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"eth1\", "
		      "RUN+=\"/usr/sbin/tc qdisc replace dev eth1 root handle 1: fq limit 20000\"\n"
		      "# CPU 1 governor\n"
		      "ACTION==\"add\", SUBSYSTEM==\"cpu\", KERNEL==\"cpu1\", "
		      "ATTR{cpufreq/scaling_governor}=\"performance\"\n"
		      "\n"
		      "# By no file: the number of an interrupt may be another after a boot.\n"
		      "# echo 0 > /proc/irq/24/smp_affinity_list\n");
	free(text);
	text = change_persist(changes, 1);
	assert_string_equal(text, udev_only);
	free(text);
	elsewhere.ns = &ns;
	text = change_persist(&elsewhere, 1);
	assert_string_equal(
		text,
		"# By no file: another network namespace has to be set up whenever it is made.\n"
		"# sysctl -w net.ipv4.udp_mem='4 5 6'\n");
	free(text);
	text = change_persist(changes, 0);
	assert_string_equal(text, "");
	free(text);
}

CASE(plans_on_this_host)
{
	struct error err = {};
	struct change c;
	char now[JOURNAL_VALUE_SIZE];

	if (change_read(NULL, CHANGE_SYSCTL, NULL, "net/core/rmem_max", now))
		skip();
	assert_int_equal(change_plan(&c, NULL, CHANGE_SYSCTL, NULL, "net/core/rmem_max", now, &err),
			 -EALREADY);
	assert_int_equal(err.status, STATUS_OK);
	assert_int_equal(
		change_plan(&c, NULL, CHANGE_SYSCTL, NULL, "net/core/rmem_max", "1234567", &err),
		0);
	assert_string_equal(c.old, now);
	assert_string_equal(c.wanted, "1234567");
	assert_int_equal(change_plan(&c, NULL, CHANGE_SYSCTL, NULL, "net/core/rmem_max", "x", &err),
			 -EINVAL);
	assert_string_equal(err.message, "net.core.rmem_max cannot be 'x': not a value of it");
	err = (struct error){};
	assert_int_equal(change_plan(&c, NULL, CHANGE_SYSCTL, "lo", "net/core/rmem_max", "1", &err),
			 -EINVAL);
	err = (struct error){};
	assert_int_equal(change_plan(&c, NULL, CHANGE_RING, "pl-none", "rx", "64", &err), -ENODEV);
	assert_string_equal(err.message, "interface 'pl-none' not found");
	err = (struct error){};
	assert_int_equal(change_plan(&c, NULL, CHANGE_SYSFS, "../net/lo", "queues/rx-0/rps_cpus",
				     "1", &err),
			 -ENODEV);
	err = (struct error){};
	assert_int_equal(change_plan(&c, NULL, CHANGE_SYSCTL, NULL, "net/no/such", "1", &err),
			 -ENOENT);
	assert_string_equal(err.message, "there is no net.no.such here");
}
