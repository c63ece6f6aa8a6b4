// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/container_data.h"

#include <stddef.h>

const struct container_row container_rows[] = {
	/* "parent.slice:docker:ID" is what runc is given for systemd; a row with a parent covers it
	 */
	{"docker", NULL, "docker-", ".scope", FORM_ID},
	{"docker", "docker", "", "", FORM_ID},

	/* containerd's CRI plugin (getCgroupsPath()), nerdctl */
	{"containerd", NULL, "cri-containerd-", ".scope", FORM_ID},
	{"containerd", "cri-containerd", "", "", FORM_ID},
	{"containerd", NULL, "nerdctl-", ".scope", FORM_ID},

	/* CRI-O; conmon watches a container from outside */
	{"cri-o", NULL, "crio-conmon-", "", FORM_BESIDE},
	{"cri-o", NULL, "crio-", ".scope", FORM_ID},
	{"cri-o", NULL, "crio-", "", FORM_ID},
	{"cri-o", "crio", "", "", FORM_ID},

	/* Podman; the payload with --cgroups=split */
	{"podman", NULL, "libpod-conmon-", "", FORM_BESIDE},
	{"podman", NULL, "libpod-payload-", "", FORM_ID},
	{"podman", NULL, "libpod-", ".scope", FORM_ID},
	{"podman", NULL, "libpod-", "", FORM_ID},
	{"podman", "libpod", "", "", FORM_ID},

	/* LXC 4 and later, LXD, Incus; before them /lxc/NAME. The monitor is outside. */
	{"lxc", NULL, "lxc.monitor", "", FORM_BESIDE},
	{"lxc", NULL, "lxc.payload.", "", FORM_NAME},
	{"lxc", "lxc.payload", "", "", FORM_NAME},
	{"lxc", "lxc", "", "", FORM_NAME},

	/* systemd-nspawn; machined's scopes are of virtual machines, too */
	{"systemd-nspawn", NULL, "systemd-nspawn@", ".service", FORM_NAME},
	{"machine", "machine.slice", "machine-", ".scope", FORM_NAME},

	/* a pod's child with the cgroupfs driver, `ctr run`, ECS: the runtime is not in the path */
	{"oci", NULL, "", "", FORM_ID},
};

const unsigned container_rows_n = sizeof(container_rows) / sizeof(container_rows[0]);
