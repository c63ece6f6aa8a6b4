// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What run tells before it sends; json_run.c has the rest. */
#include "report/json.h"

static struct json_object *port_object(const struct header_port *p)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "netns", p->role);
	json_put_text(o, "ifname", p->ifname);
	json_put_text(o, "address", p->address);
	return o;
}

static struct json_object *lab_object(const struct run_header *h)
{
	struct json_object *o;

	if (!h->in_lab)
		return NULL;
	o = json_object_new_object();
	json_put_text(o, "name", h->lab);
	json_put_text(o, "topology", lab_topologies[h->topology].name);
	return o;
}

/* Each with the place of its checkpoint: the wire is what lies between these two. */
static struct json_object *hosts_object(const struct run_header *h)
{
	const struct result_host *host[] = {&h->tx_host, &h->rx_host};
	struct json_object *o = json_object_new_object();

	for (unsigned i = 0; i < 2; i++) {
		struct json_object *one = json_object_new_object();

		json_put_text(one, "name", host[i]->name);
		json_put_text(one, "checkpoint", host[i]->place);
		json_put(o, i ? "rx" : "tx", one);
	}
	return o;
}

static struct json_object *mode_object(const struct run_header *h)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "tx", h->tx_mode);
	json_put_text(o, "rx", h->rx_mode);
	return o;
}

static struct json_object *streams_array(const struct run_header *h)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < h->streams; i++) {
		struct json_object *o = json_object_new_object();
		uint64_t count = run_header_stream_count(h, i);

		json_put_u64(o, "stream", (uint16_t)(h->stream0 + i));
		json_put_u64(o, "base", h->base);
		json_put(o, "count", count == UINT64_MAX ? NULL : json_object_new_uint64(count));
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *json_command(int argc, char *const *argv)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; argv && i < argc; i++)
		json_object_array_add(list,
				      *argv[i] ? json_text(argv[i]) : json_object_new_string(""));
	return list;
}

struct json_object *json_start(const struct run_header *h, struct json_object *env)
{
	struct json_object *o = json_object_new_object(), *rx;
	char time[32];

	json_put_text(o, "time", json_time(time, sizeof(time), h->time_ns));
	json_put_text(o, "host", h->host);
	if (env)
		json_put(o, "env", env);
	json_put(o, "command", json_command(h->argc, h->argv));
	json_put(o, "lab", lab_object(h));
	json_put_text(o, "tx", h->tx);
	json_put_text(o, "rx", h->rx);
	json_put(o, "granted_mode", mode_object(h));
	json_put(o, "tx_port", port_object(&h->tx_port));
	rx = port_object(&h->rx_port);
	json_put_u64(rx, "port", h->port);
	json_put(o, "rx_port", rx);
	if (h->two_hosts)
		json_put(o, "hosts", hosts_object(h));
	if (h->far_env)
		json_put(o, "far_env", json_object_get(h->far_env));
	json_put(o, "streams", streams_array(h));
	json_put_u64(o, "flows", h->flows);
	json_put_u64(o, "frame_bytes", h->frame_bytes);
	json_put_u64(o, "payload_bytes", h->payload_bytes);
	if (h->mean_frame_bytes > 0)
		json_put_double(o, "mean_frame_bytes", h->mean_frame_bytes);
	if (h->rate_pps > 0)
		json_put_double(o, "rate_pps", h->rate_pps);
	else
		json_put(o, "rate_pps", NULL);
	json_put(o, "duration_ns", h->duration_ns ? json_object_new_uint64(h->duration_ns) : NULL);
	json_put_text(o, "faults", h->faults);
	return o;
}
