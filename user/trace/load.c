// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/load.h"

#include <errno.h>
#include <string.h>

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
