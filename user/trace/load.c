// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int trace_load_error(struct error *err, int rc)
{
	if (rc == -EPERM || rc == -EACCES)
		return error_set(err, STATUS_UNABLE, rc,
				 "run as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN",
				 "the kernel does not let us load tracing programs: %s",
				 strerror(-rc));
	return error_set(err, STATUS_UNABLE, rc, "run with -vv to see what the verifier says",
			 "cannot load the tracing programs: %s", strerror(-rc));
}

/* CPU numbers may have gaps; the list ends with the highest: "0-3,8-11". */
unsigned trace_cpus(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/possible", "r");
	unsigned cpu = 0;
	int c;

	if (!f)
		return (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	while (fscanf(f, "%u", &cpu) == 1 && (c = fgetc(f)) != EOF && c != '\n')
		;
	fclose(f);
	return cpu + 1;
}
