// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/ports.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/flow.h"

int ports_open(const struct run_spec *spec, enum lab_topology topology, struct lab *lab,
	       struct error *err)
{
	struct lab_spec lab_spec = {
		.topology = topology,
		.queues = spec->tx == &tx_xsk || spec->rx == &rx_xsk ? spec->threads : 1,
	};
	int rc;

	if (!spec->lab)
		return lab_open(lab, &lab_spec, err);
	rc = lab_open_named(lab, spec->lab, err);
	if (!rc && lab->topology != topology) {
		lab_close(lab);
		rc = error_set(err, STATUS_USAGE, -EINVAL, "leave --lab out: run makes its own",
			       "lab '%s' has not the topology that this fault needs", spec->lab);
	}
	return rc;
}

int ports_rate(const struct run_spec *spec, double *pps, struct error *err)
{
	struct flow flow = {.family = spec->ipv6 ? AF_INET6 : AF_INET, .payload = spec->payload};
	int rc = rate_to_pps(&spec->rate, flow_frame_bytes(&flow), -1, pps);

	if (rc == -ENODATA)
		return error_set(err, STATUS_USAGE, rc, "give packets/s or bit/s",
				 "a veth has no speed to take a share of");
	return rc ? error_set(err, STATUS_USAGE, rc, NULL, "this rate has no meaning here") : 0;
}
