// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json_check.h"

#include "report/document.h"
#include "drops/stagemap.h"

static struct json_object *finding_object(const struct check_finding *c, const char *netns)
{
	struct json_object *o = json_finding(&c->finding);
	struct json_object *changes = json_object_new_array();

	json_put_text(o, "scope", check_scope_name(c->scope));
	json_put_text(o, "subject", c->subject);
	json_put_bool(o, "losing", c->losing);
	json_put_double(o, "loss_pps", c->loss_pps);
	for (unsigned i = 0; i < c->n_changes; i++)
		json_object_array_add(changes, json_change(&c->changes[i], netns));
	json_put(o, "changes", changes);
	return o;
}

static struct json_object *queues_object(const struct facts_link *l)
{
	const struct netdev_settings *s = &l->set;
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "rx", l->dev.rx_queues);
	json_put_u64(o, "tx", l->dev.tx_queues);
	if (s->channels.known)
		json_put_u64(o, "rx_max",
			     s->channels.combined_max ? s->channels.combined_max
						      : s->channels.rx_max);
	if (s->rss.known)
		json_put_u64(o, "rss_used", s->rss.used);
	return o;
}

static void put_settings(struct json_object *o, const struct netdev_settings *s)
{
	struct json_object *ring = NULL, *coalesce = NULL, *pause = NULL;

	if (s->ring.known) {
		ring = json_object_new_object();
		json_put_u64(ring, "rx", s->ring.rx);
		json_put_u64(ring, "rx_max", s->ring.rx_max);
		json_put_u64(ring, "tx", s->ring.tx);
		json_put_u64(ring, "tx_max", s->ring.tx_max);
	}
	if (s->coalesce.known) {
		coalesce = json_object_new_object();
		json_put_u64(coalesce, "rx_usecs", s->coalesce.rx_usecs);
		json_put_u64(coalesce, "rx_frames", s->coalesce.rx_frames);
		json_put_bool(coalesce, "adaptive_rx", s->coalesce.adaptive_rx);
	}
	if (s->pause.known) {
		pause = json_object_new_object();
		json_put_bool(pause, "rx", s->pause.rx);
		json_put_bool(pause, "tx", s->pause.tx);
	}
	json_put(o, "ring", ring);
	json_put(o, "coalesce", coalesce);
	json_put(o, "pause", pause);
}

static struct json_object *irqs_array(const struct facts_link *l)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < l->n_irqs; i++) {
		struct json_object *o = json_object_new_object();

		json_put_u64(o, "irq", l->irq[i].irq);
		json_put_text(o, "name", l->irq[i].name);
		json_put_u64(o, "fired", l->irq[i].fired);
		json_put(o, "cpu", l->irq[i].cpu < 0 ? NULL : json_object_new_int(l->irq[i].cpu));
		json_put(o, "target",
			 l->irq[i].target < 0 ? NULL : json_object_new_int(l->irq[i].target));
		json_put_text(o, "affinity", l->irq[i].allowed);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *link_object(const struct facts_link *l)
{
	static const char *const xdp[] = {NULL, "native", "generic", "offloaded"};
	struct json_object *o = json_object_new_object();
	const char *af_xdp = l->zero_copy ? "zero-copy" : l->native_xdp ? "native" : "generic";

	json_put_text(o, "ifname", l->dev.ifname);
	json_put_text(o, "driver", l->dev.driver);
	json_put_u64(o, "mtu", l->dev.mtu);
	json_put(o, "peer_mtu", l->peer_mtu ? json_object_new_uint64(l->peer_mtu) : NULL);
	json_put_text(o, "master", l->master_name);
	json_put(o, "queues", queues_object(l));
	put_settings(o, &l->set);
	json_put_text(o, "qdisc", l->qdisc);
	json_put_u64(o, "txqueuelen", l->txqueuelen);
	json_put_text(o, "rp_filter", l->rp_filter);
	json_put_text(o, "rps_cpus", l->rps_cpus);
	json_put_u64(o, "rps_flow_cnt", l->rps_flow_cnt);
	json_put_text(o, "xps_cpus", l->xps_cpus);
	json_put_bool(o, "threaded_napi", l->threaded);
	json_put_bool(o, "gro", l->gro);
	json_put_bool(o, "gro_hw", l->gro_hw);
	json_put_bool(o, "lro", l->lro);
	json_put_bool(o, "gso", l->gso);
	json_put_bool(o, "udp_gso", l->udp_gso);
	json_put_bool(o, "rx_checksum", l->rx_csum);
	json_put_text(o, "xdp", xdp[l->xdp]);
	json_put_text(o, "af_xdp", l->features_known ? af_xdp : NULL);
	json_put(o, "irqs", irqs_array(l));
	json_put_u64(o, "rx_packets", l->rx_packets);
	json_put_u64(o, "tx_packets", l->tx_packets);
	return o;
}

static struct json_object *sock_object(const struct facts_sock *s)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "port", s->port);
	json_put_text(o, "process", s->process);
	json_put(o, "pid", s->pid ? json_object_new_int(s->pid) : NULL);
	json_put_u64(o, "queued_bytes", s->queued);
	json_put(o, "rcvbuf_bytes", s->rcvbuf ? json_object_new_uint64(s->rcvbuf) : NULL);
	json_put(o, "sndbuf_bytes", s->sndbuf ? json_object_new_uint64(s->sndbuf) : NULL);
	json_put_u64(o, "drops", s->drops);
	json_put_u64(o, "lost", s->lost);
	json_put(o, "reads", s->reads_known ? json_object_new_uint64(s->reads) : NULL);
	return o;
}

static struct json_object *history_array(const struct check_findings *list)
{
	struct json_object *array = json_object_new_array();

	for (unsigned i = 0; i < list->n_history; i++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "stage", stage_name(list->history[i].stage));
		json_put_text(o, "counter", list->history[i].counter);
		json_put_u64(o, "total", list->history[i].total);
		json_object_array_add(array, o);
	}
	return array;
}

static struct json_object *unread_array(const struct facts *f)
{
	struct json_object *array = json_object_new_array();

	for (unsigned i = 0; i < f->n_unread; i++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "what", f->unread[i].what);
		json_put_text(o, "why", f->unread[i].why);
		json_object_array_add(array, o);
	}
	return array;
}

/* What pktledger can do here. */
static struct json_object *abilities_object(const struct facts *f)
{
	struct json_object *o = json_object_new_object();

	json_put_bool(o, "btf", f->self.btf);
	json_put_text(o, "missing_capabilities", f->self.missing_caps);
	json_put_u64(o, "drop_reasons", f->self.reasons);
	json_put_bool(o, "drop_socket", f->self.drop_socket);
	json_put_bool(o, "af_xdp", f->self.af_xdp);
	json_put_bool(o, "xdp_features", f->self.xdp_features);
	json_put_bool(o, "udp_diag", !f->socks.no_buffer);
	return o;
}

struct json_object *json_check_end(const struct facts *f, const struct check_findings *list,
				   const char *netns)
{
	struct json_object *o = json_object_new_object();
	struct json_object *findings = json_object_new_array();
	struct json_object *links = json_object_new_array();
	struct json_object *socks = json_object_new_array();

	for (unsigned i = 0; i < list->n; i++)
		json_object_array_add(findings, finding_object(&list->at[i], netns));
	for (unsigned i = 0; i < f->n_links; i++)
		json_object_array_add(links, link_object(&f->link[i]));
	for (unsigned i = 0; i < f->socks.n; i++)
		json_object_array_add(socks, sock_object(&f->socks.at[i]));
	json_put_u64(o, "window_ns", f->window_ns);
	json_put(o, "findings", findings);
	json_put(o, "history", history_array(list));
	json_put(o, "unread", unread_array(f));
	json_put(o, "abilities", abilities_object(f));
	json_put(o, "interfaces", links);
	json_put(o, "sockets", socks);
	return o;
}
