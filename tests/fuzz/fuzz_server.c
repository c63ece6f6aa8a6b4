// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Messages of a client of `recv --stdio`, in any order: the server's side of the connection. */
#include "lines.h"
#include "site.h"

#include "experiment/remote.h"

/* Reading the facts of this host takes most of the time. */
struct json_object *env_read(const struct lab *lab)
{
	(void)lab;
	return json_object_new_object();
}

static unsigned served;

static void on_served(void *arg, const struct server_served *what)
{
	(void)arg;
	MUST(strlen(what->host) < sizeof(what->host) && strlen(what->why) < sizeof(what->why));
	served++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct run_spec spec = {.port = 28779};
	const struct server_view view = {.on_served = on_served};
	struct server_config cfg = {.spec = &spec, .stdio = true, .max_pps = 1000};
	struct error err = {};
	char path[32];
	int fd = fuzz_file(data, size, path);

	cfg.in = open(path, O_RDONLY | O_CLOEXEC);
	cfg.out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	MUST(cfg.in >= 0 && cfg.out >= 0);
	served = 0;
	MUST(!server_run(&cfg, &view, &err) && served == 1);
	close(fd);
	return 0;
}
