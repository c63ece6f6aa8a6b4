// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes as texts: the command, its undo, the file for the next boot. */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "host/change.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CHANGE(k, i, n, o, w)                                                                      \
	{                                                                                          \
		.kind = k, .ifname = i, .name = n, .old = o, .wanted = w                           \
	}

/* A step that was cut would be another command, so no step of its recipe is run. */
CASE(step_that_is_too_long)
{
	const char *fits = "/proc/self/comm=not-run";
	char word[sizeof(((struct recipe_step *)0)->text)], name[16];
	struct recipe r = RECIPE;
	struct error err = {};

	memset(word, 'x', sizeof(word));
	for (unsigned room = 0; room < 2; room++) {
		recipe_add(&r, RECIPE_FILE, NULL, "%s", fits);
		recipe_add(&r, RECIPE_NOTE, NULL, "%.*s", (int)(sizeof(word) - room), word);
		assert_int_equal(recipe_run(&r, "set a name", &err), room ? 0 : -E2BIG);
		assert_int_equal(r.steps.n, 0);
		assert_int_equal(prctl(PR_GET_NAME, name), 0);
		assert_int_equal(!strcmp(name, "not-run"), room);
	}
	assert_int_equal(err.status, STATUS_FAILED);
	assert_string_equal(err.message, "cannot set a name: a command has more than 1023 bytes");
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

/* Two changes of a qdisc can be undone: of the default, and of the limit of another. */
CASE(qdiscs_that_cannot_be_undone)
{
	static const struct {
		const char *old, *wanted;
		int ret;
	} rows[] = {
		{"default noqueue", "pfifo limit 1000", 0},
		{"default fq_codel limit 10240", "fq limit 20000", 0},
		{"pfifo handle 8001: limit 10", "pfifo limit 1000", 0},
		{"pfifo handle 8001: limit 10", "pfifo_fast limit 1000", -EDOM},
		{"pfifo_fast handle 8001:", "pfifo limit 1000", -EDOM},
		{"htb handle 1:", "pfifo limit 1000", -EDOM},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct change c = {.kind = CHANGE_QDISC};

		strcpy(c.old, rows[i].old);
		strcpy(c.wanted, rows[i].wanted);
		assert_int_equal(change_ops[CHANGE_QDISC].check(&c), rows[i].ret);
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
		{CHANGE(CHANGE_QDISC, "eth1", "root", "default mq", "fq limit 20000"),
		 "tc qdisc replace dev eth1 root handle 1: fq limit 20000",
		 "tc qdisc del dev eth1 root", "eth1 root qdisc"},
		{CHANGE(CHANGE_QDISC, "eth1", "root", "fq handle 8001: limit 100",
			"fq limit 20000"),
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
		CHANGE(CHANGE_QDISC, "eth1", "root", "default mq", "fq limit 20000"),
		CHANGE(CHANGE_GOVERNOR, "", "1", "powersave", "performance"),
	};
	struct change elsewhere = CHANGE(CHANGE_SYSCTL, "", "net/ipv4/udp_mem", "1 2 3", "4 5 6");
	const struct netns ns = NETNS_NONE;
	static const char udev_only[] =
		"# /etc/udev/rules.d/90-pktledger.rules\n"
		"# eth1 rx ring\n"
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
		      "# eth1 rx ring\n"
		      "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"eth1\", "
		      "RUN+=\"/usr/sbin/ethtool -G eth1 rx 4096\"\n"
		      "# eth1 queues/rx-0/rps_cpus\n"
		      "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"eth1\", "
		      "ATTR{queues/rx-0/rps_cpus}=\"f\"\n"
		      "# eth1 rx-usecs\n"
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
	static const struct {
		enum change_kind kind;
		const char *ifname, *name, *wanted;
		int ret;
	} rows[] = {
		{CHANGE_SYSCTL, NULL, "net/core/rmem_max", "1234567", 0},
		{CHANGE_SYSCTL, NULL, "net/core/rmem_max", "1\n2", -EINVAL},
		{CHANGE_SYSCTL, NULL, "net/core/rmem_max", "", -EINVAL},
		{CHANGE_SYSCTL, "lo", "net/core/rmem_max", "1", -EINVAL},
		{CHANGE_SYSCTL, NULL, "net/no/such", "1", -ENOENT},
		{CHANGE_RING, "pl-none", "rx", "64", -ENODEV},
		{CHANGE_SYSFS, "../net/lo", "queues/rx-0/rps_cpus", "1", -ENODEV},
	};
	char now[JOURNAL_VALUE_SIZE];
	struct change c;

	if (change_read(NULL, CHANGE_SYSCTL, NULL, "net/core/rmem_max", now))
		skip();
	assert_int_equal(change_plan(&c, NULL, CHANGE_SYSCTL, NULL, "net/core/rmem_max", now),
			 -EALREADY);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		assert_int_equal(change_plan(&c, NULL, rows[i].kind, rows[i].ifname, rows[i].name,
					     rows[i].wanted),
				 rows[i].ret);
		if (rows[i].ret)
			continue;
		assert_string_equal(c.old, now);
		assert_string_equal(c.wanted, rows[i].wanted);
	}
}
