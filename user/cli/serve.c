// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/serve.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "cli/commands.h"
#include "host/caps.h"
#include "diagnosis/env.h"
#include "report/document.h"
#include "experiment/server.h"
#include "base/watch.h"

const struct opt serve_opts[] = {
	{"serve", 0, OPT_FLAG, offsetof(struct serve_options, serve),
	 .help = "answer `run --to` of other hosts, one at a time"},
	{"control-port", 0, OPT_U64, offsetof(struct serve_options, control_port), .min = 1,
	 .max = 65535, .default_text = "as --port", .help = "TCP port to be asked at"},
	{"token-file", 0, OPT_STRING, offsetof(struct serve_options, token_file), .metavar = "FILE",
	 .default_text = "none",
	 .help = "serve only those who know its first line, 8 to 256 bytes"},
	{"max-rate", 0, OPT_RATE, offsetof(struct serve_options, max_rate),
	 .help = "when a client asks to be sent to (--reverse): no faster, packets/s or max"},
	{0},
};

struct serving {
	const struct server_config *cfg;
	struct json_out *json; /* NULL: text */
	unsigned clients, refused;
};

static void on_listening(void *arg)
{
	const struct serving *s = arg;
	struct json_object *start;

	log_info("waiting for `run --to` at TCP port %u; packets at UDP port %u",
		 s->cfg->control_port, s->cfg->port);
	if (!s->cfg->token.len)
		log_warn("without --token-file everybody who reaches the port is served");
	if (!s->json)
		return;
	start = json_solo_origin(program_argc, program_argv, env_read(NULL));
	json_put_u64(start, "port", s->cfg->port);
	json_put_u64(start, "control_port", s->cfg->control_port);
	json_out_once(s->json, "start", start);
}

static void print_client(const struct server_served *v, const char *where)
{
	char delivered[FMT_MAX], sent[FMT_MAX];

	printf("%s (%s): %u experiment%s, %s delivered here, %s sent%s%s\n", v->host, where,
	       v->experiments, v->experiments == 1 ? "" : "s",
	       fmt_count(delivered, sizeof(delivered), v->delivered),
	       fmt_count(sent, sizeof(sent), v->sent), *v->why ? "; " : "", v->why);
	output_flush();
}

static struct json_object *json_client(const struct server_served *v, const char *where)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "host", v->host);
	json_put_text(o, "address", where);
	json_put_u64(o, "experiments", v->experiments);
	json_put_u64(o, "delivered", v->delivered);
	json_put_u64(o, "sent", v->sent);
	json_put_text(o, "why", v->why);
	return o;
}

static void on_served(void *arg, const struct server_served *v)
{
	struct serving *s = arg;
	struct endpoint address = v->peer;
	char where[FMT_MAX];

	address.port = 0;
	num_text_endpoint(where, sizeof(where), &address);
	s->refused += v->refused;
	s->clients += !v->refused;
	if (v->refused)
		log_warn("%s was refused: %s", where, v->why);
	else if (s->json)
		json_out_each(s->json, "client", json_client(v, where));
	else
		print_client(v, where);
}

static int configure(const struct serve_options *o, struct server_config *cfg, struct error *err)
{
	int rc;

	if (o->max_rate.unit != RATE_PPS && o->max_rate.unit != RATE_MAX)
		return error_set(err, STATUS_USAGE, -EINVAL, "for example --max-rate 50k, or max",
				 "--max-rate is in packets/s: their size is the client's");
	cfg->max_pps = o->max_rate.value;
	rc = caps_require(&cmd_recv, "--serve", err);
	if (!rc && o->token_file)
		rc = auth_read_token(&cfg->token, o->token_file, err);
	return rc;
}

static void finish(struct serving *s, struct error *err)
{
	struct json_object *end;

	if (s->json && err->status == STATUS_OK) {
		end = json_object_new_object();
		json_put_u64(end, "clients", s->clients);
		json_put_u64(end, "refused", s->refused);
		json_out_once(s->json, "end", end);
	} else if (s->json) {
		json_out_error(s->json, err);
	}
	output_end(s->json, err);
}

int serve(const struct serve_options *o, enum output output, const char *ifname, uint16_t port,
	  bool stay, struct error *err)
{
	struct server_config cfg = {
		.port = port,
		.control_port = o->control_port ? (uint16_t)o->control_port : port,
		.ifname = ifname,
		.stay = stay,
	};
	struct serving s = {.cfg = &cfg};
	const struct server_view view = {on_listening, on_served, &s};

	if (output != OUTPUT_TEXT)
		s.json = json_out_new(stdout, output == OUTPUT_JSON ? JSON_DOC : JSON_LINES,
				      "pktledger/recv/1");
	if (!configure(o, &cfg, err)) {
		watch_block_signals();
		caps_give_up(cmd_recv.needs, NULL, CAPS_AGAIN);
		server_run(&cfg, &view, err);
	}
	finish(&s, err);
	return err->status;
}
