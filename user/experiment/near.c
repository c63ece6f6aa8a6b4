// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/near.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/reassembly.h"
#include "experiment/advice.h"

const struct tx_ops *near_tx_engine(const char *name)
{
	static const struct tx_ops *const engines[] = {&tx_socket, &tx_xsk, &tx_xdp};

	for (unsigned i = 0; i < 3; i++) {
		if (!strcmp(engines[i]->name, name))
			return engines[i];
	}
	return NULL;
}

const struct rx_ops *near_rx_engine(const char *name)
{
	static const struct rx_ops *const engines[] = {&rx_socket, &rx_xsk, &rx_xdp};

	for (unsigned i = 0; i < 3; i++) {
		if (!strcmp(engines[i]->name, name))
			return engines[i];
	}
	return NULL;
}

int near_open(struct near *n, bool sends, struct error *err)
{
	int rc;

	n->sends = sends;
	n->open = true;
	rc = sends ? sending_end_open(&n->tx, &n->send, err)
		   : receiving_end_open(&n->rx, &n->recv, err);
	if (rc)
		return rc;
	if (sends && !n->tx.traced) {
		*err = n->tx.untraced;
		return -EPERM;
	}
	rc = near_read_counters(n, &n->before);
	return rc ? error_set(err, STATUS_FAILED, rc, "look whether the interface is still there",
			      "cannot read the counters: %s", strerror(-rc))
		  : 0;
}

struct fates *near_fates(struct near *n)
{
	return n->sends ? &n->tx.tracer.fates : &n->rx.tracer.fates;
}

struct ledger *near_ledger(struct near *n)
{
	return n->sends ? &n->tx.ledger : &n->rx.ledger;
}

static void tell_settings(const struct near *n, struct peer_ready *ready)
{
	struct finding_facts f = {};
	struct rx_stats rx;

	findings_read_host(&n->rx.ns, &f);
	receiver_stats(n->rx.receiver, &rx);
	ready->rcvbuf = (uint64_t)rx.rcvbuf;
	ready->rmem_max = f.rmem_max;
	ready->netdev_max_backlog = f.netdev_max_backlog;
	memcpy(ready->udp_mem, f.udp_mem, sizeof(ready->udp_mem));
}

void near_ready(const struct near *n, struct peer_ready *ready)
{
	memset(ready, 0, sizeof(*ready));
	if (!n->sends)
		tell_settings(n, ready);
	snprintf(ready->mode, sizeof(ready->mode), "%s",
		 n->sends ? sender_mode(n->tx.sender) : receiver_mode(n->rx.receiver));
	snprintf(ready->place, sizeof(ready->place), "%s",
		 n->sends ? sending_end_place(&n->tx) : receiving_end_place(&n->rx));
}

void near_start(struct near *n)
{
	if (n->sends && !n->started)
		sender_start(n->tx.sender);
	n->started = true;
}

static void status_of_sender(const struct near *n, struct peer_status *st)
{
	const struct sending_end *e = &n->tx;

	st->running = n->started && !n->stopped && !sender_done(e->sender);
	st->dropped = drops_packets(e->tracer.drops);
	st->in_queues = sending_end_queued(e);
	st->idle = !st->in_queues && !sending_end_is_asking(e);
	for (unsigned t = 0; t < e->spec->threads; t++)
		st->next[t] = sender_next(e->sender, t) - e->config.fates->base;
}

static void status_of_receiver(const struct near *n, struct peer_status *st)
{
	const struct receiving_end *e = &n->rx;
	uint64_t waiting = e->spec->fragments ? reassembly_queues(&e->ns) : 0;

	st->running = false;
	st->delivered = receiver_delivered(e->receiver);
	st->dropped = drops_packets(e->tracer.drops);
	st->idle = !waiting && (n->stopped || receiver_idle(e->receiver));
	st->in_queues = waiting + n->unread;
}

void near_status(struct near *n, struct peer_status *st)
{
	memset(st, 0, sizeof(*st));
	if (n->sends)
		status_of_sender(n, st);
	else
		status_of_receiver(n, st);
}

static void stop_receiver(struct near *n, struct error *err)
{
	struct receiving_end *e = &n->rx;
	struct error ignored = {};
	struct sink sum;

	receiver_stop(e->receiver);
	receiver_check_log(e->receiver, err);
	if (e->config.ops == &rx_socket && !receiver_idle(e->receiver))
		drops_walk_unread(e->tracer.drops, &e->ns, false, &n->unread, &ignored);
	receiving_end_sums(e, &sum, &n->sums);
	n->sums.delivered = sum.sums.delivered;
}

void near_stop(struct near *n, struct error *err)
{
	if (n->stopped)
		return;
	n->stopped = true;
	if (!n->sends) {
		receiver_failed(n->rx.receiver, err);
		stop_receiver(n, err);
		return;
	}
	sender_stop(n->tx.sender);
	sender_join(n->tx.sender, err);
}

void near_prepare(struct near *n, const uint64_t *upto)
{
	const struct fates *f = near_fates(n);

	if (!n->sends) {
		receiving_end_name(&n->rx);
		return;
	}
	sending_end_name(&n->tx);
	for (unsigned t = 0; t < f->streams; t++)
		sending_end_note_handed(&n->tx, t, f->base + upto[t]);
}

void near_fold(struct near *n, const uint64_t *upto, const struct fates_visitor *visitor)
{
	const struct fates *f = near_fates(n);

	for (unsigned t = 0; t < f->streams; t++) {
		uint64_t number = f->base + upto[t];

		if (number <= f->tail[t])
			continue;
		if (n->sends) {
			sending_end_fold(&n->tx, t, number, visitor);
			sending_end_allow(&n->tx, t, number);
		} else {
			receiving_end_fold(&n->rx, t, number, visitor);
		}
	}
}

static void read_fragments(const struct near *n, struct result *res)
{
	const struct tracer *t = n->sends ? &n->tx.tracer : &n->rx.tracer;
	struct trace_fragments fragments;

	if ((n->sends ? n->send.fragments : n->recv.fragments) &&
	    !drops_read_fragments(t->drops, &fragments))
		res->fragments = fragments;
}

void near_end(struct near *n, struct result *res)
{
	if (n->sends) {
		read_fragments(n, res);
		sender_result(n->tx.sender, res);
		tracer_losses(&n->tx.tracer, &n->tx.ledger, res);
		return;
	}
	*res = n->sums;
	read_fragments(n, res);
	tracer_losses(&n->rx.tracer, &n->rx.ledger, res);
	for (unsigned t = 0; t < n->rx.tracer.fates.streams; t++)
		fates_beyond(&n->rx.tracer.fates, (uint16_t)t, n->rx.tracer.fates.tail[t],
			     &n->rx.ledger.tally);
	res->impossible = n->rx.ledger.tally.impossible;
}

void near_close(struct near *n)
{
	if (n->open && n->sends)
		sending_end_close(&n->tx);
	else if (n->open)
		receiving_end_close(&n->rx);
	counters_free(&n->before);
	n->open = false;
}
