// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Capture files, pcap and pcapng, and making their packets ours. */
#include "fuzz.h"

#include <netinet/in.h>

#include "traffic/shape.h"

static void measure(struct capture *c, int family)
{
	struct flow flow = {.family = family, .dst_port = 9, .payload = 18};
	struct error err = {0};

	if (!capture_measure(c, family, &err))
		capture_stamp(c, &flow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture *c = NULL;
	struct error err = {0};
	char path[32];
	int fd = fuzz_file(data, size, path);

	if (!capture_open(&c, path, &err)) {
		MUST(c->packets && c->at[c->packets] <= CAPTURE_BYTES_MAX);
		for (uint32_t i = 1; i < c->packets; i++)
			MUST(c->due_ns[i] >= c->due_ns[i - 1] && c->at[i] >= c->at[i - 1]);
		measure(c, size % 2 ? AF_INET6 : AF_INET); /* once for each capture */
	} else {
		MUST(err.status != STATUS_OK);
	}
	capture_free(c);
	close(fd);
	return 0;
}
