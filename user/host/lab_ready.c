// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/lab_parts.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "host/netdev.h"

#define READY_MS       5000 /* far beyond what a loaded machine needs */
#define ADDR_TENTATIVE 0x40 /* IFA_F_TENTATIVE: the multicast groups are not joined yet */
#define MLD_TIMER      0x01 /* MAF_TIMER_RUNNING of <net/if_inet6.h>: a report is to come */

/* 1: so it is; 0: not yet; or -errno. */
typedef int (*condition)(const struct lab_port *port);

static int running(const struct lab_port *port)
{
	struct netdev dev;
	int ret = netdev_get(port->ns, port->ifname, &dev);

	return ret ? ret : (dev.flags & IFF_RUNNING) != 0;
}

/* Any address of the device still tentative. Line: address ifindex prefix scope flags name. */
static int tentative(const char *ifname)
{
	FILE *f = fopen("/proc/thread-self/net/if_inet6", "re");
	char line[256], name[IFNAMSIZ];
	bool found = false;
	unsigned flags;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %*s %*s %*s %x %15s", &flags, name) == 2 &&
		    !strcmp(name, ifname) && flags & ADDR_TENTATIVE)
			found = true;
	}
	fclose(f);
	return found;
}

/* Any MLDv1 report of the device to come. Line: ifindex name group users flags timer. */
static int reporting(const char *ifname)
{
	FILE *f = fopen("/proc/thread-self/net/igmp6", "re");
	char line[256], name[IFNAMSIZ];
	bool found = false;
	unsigned flags;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %15s %*s %*s %x", name, &flags) == 2 &&
		    !strcmp(name, ifname) && flags & MLD_TIMER)
			found = true;
	}
	fclose(f);
	return found;
}

static int quiet(const struct lab_port *port)
{
	int saved, ret;

	if (!lab_has_ip6(port))
		return 1;
	saved = netns_push(port->ns);
	if (saved < 0)
		return saved;
	/*
	 * An address joins its group before it stops to be tentative, a router's anycast address
	 * after that, but under the same RTNL (addrconf_dad_work()). So pass the RTNL once, by
	 * a request that changes nothing.
	 */
	ret = tentative(port->ifname);
	if (!ret)
		ret = netdev_set_up(NULL, port->ifname, true);
	if (!ret)
		ret = reporting(port->ifname);
	netns_pop(saved);
	return ret < 0 ? ret : !ret;
}

static int wait_until(condition is, const struct lab_port *port, const char *what,
		      struct error *err)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	int ret = is(port);

	for (int i = 0; !ret && i < READY_MS; i++) {
		nanosleep(&ms, NULL);
		ret = is(port);
	}
	if (ret > 0)
		return 0;
	if (!ret)
		return error_set(err, STATUS_FAILED, -ETIMEDOUT, NULL, "%s %s for %d s",
				 port->ifname, what, READY_MS / 1000);
	return error_set(err, STATUS_FAILED, ret, NULL, "cannot tell the state of %s: %s",
			 port->ifname, strerror(-ret));
}

/* The kernel has told everybody of the carrier (linkwatch), which makes IPv6 report once more. */
static int told_up(const struct lab_port *port)
{
	char path[64], state[16];
	int ret;

	snprintf(path, sizeof(path), "class/net/%s/operstate", port->ifname);
	ret = netns_sysfs_read(port->ns, path, state, sizeof(state));
	return ret < 0 ? ret : !strcmp(state, "up");
}

int lab_wait_told_up(const struct lab_port *port, struct error *err)
{
	return wait_until(told_up, port, "was not told of as up", err);
}

int lab_wait_running(const struct lab_port *port, struct error *err)
{
	return wait_until(running, port, "had no carrier", err);
}

int lab_wait_quiet(const struct lab_port *port, struct error *err)
{
	return wait_until(quiet, port, "did not finish its MLD reports", err);
}
