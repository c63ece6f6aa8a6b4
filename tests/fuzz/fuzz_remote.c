// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages of the other host of `run --to`, in any order: the client's side of the connection. */
#include "lines.h"
#include "site.h"

#include "experiment/remote.h"

static const char *input;

int via_open(struct via *v, const struct via_config *cfg, struct conn *c, struct error *err)
{
	int in = open(input, O_RDONLY | O_CLOEXEC), out = open("/dev/null", O_WRONLY | O_CLOEXEC);

	MUST(in >= 0 && out >= 0 && cfg->command && err);
	*v = (struct via){.argv = {"file"}, .words = 1};
	conn_init(c, in, out);
	return 0;
}

int via_close(struct via *v)
{
	(void)v;
	return 0;
}

/* Of ends that stand alone, and of labs. */

int ports_rate(const struct run_spec *spec, double *pps, struct error *err)
{
	MUST(spec && err);
	*pps = 0;
	return 0;
}

struct discovery *discover_new(struct site *s, const struct experiment_view *view,
			       struct recv_result *out)
{
	MUST(!s || !view || !out);
	return NULL;
}

void discover_move(struct discovery *d, uint64_t now_ns)
{
	MUST(!d && now_ns);
}

uint64_t discover_streams(const struct discovery *d)
{
	MUST(!d);
	return 0;
}

void discover_end(struct discovery *d)
{
	MUST(!d);
}

int fault_begin(struct fault_state *f, struct error *err)
{
	MUST(!f || !err);
	return 0;
}

static void run(bool reverse)
{
	const struct peer_target target = {
		.to = {.family = AF_INET, .ip4.s_addr = htonl(INADDR_LOOPBACK)},
		.via.command = "file"};
	const struct experiment_view view = {};
	static struct result res;
	struct run_spec spec = {
		.tx = &tx_socket,
		.rx = &rx_socket,
		.count = 2 * SITE_COUNT,
		.payload = 100,
		.port = 28779,
		.flows = 1,
		.threads = 2,
		.settle_ns = 50000000,
		.reverse = reverse,
	};
	struct error err = {};

	if (peer_connect(&spec.far, &target, &err)) {
		MUST(err.status != STATUS_OK);
		return;
	}
	experiment_run(&spec, &view, &res, NULL, &err);
	MUST(res.sent == res.delivered + res.dropped + res.in_flight + res.unaccounted);
	MUST(res.attempted == res.sent + res.refused);
	MUST(!res.balanced || err.status == STATUS_OK || !spec.far->lost);
	peer_close(spec.far);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[32];
	int fd = fuzz_file(data, size, path);

	input = path;
	run(false);
	run(true);
	close(fd);
	return 0;
}
