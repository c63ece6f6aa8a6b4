// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text.h"

#include <string.h>

#include "base/num.h"
#include "traffic/tx.h"
#include "report/text_parts.h"

static void put_engine(struct page *p, const char *name, const char *mode)
{
	page_words(p, STYLE_BOLD, "%s", name);
	if (*mode)
		page_words(p, STYLE_PLAIN, "(%s)", mode);
}

static void put_port(struct page *p, const struct header_port *port, const char *host)
{
	page_words(p, STYLE_PLAIN, "%s%s%s", port->role, *port->ifname ? "\v" : "", port->ifname);
	if (*host)
		page_words(p, STYLE_PLAIN, "on\v%s", host);
	if (*port->address)
		page_words(p, STYLE_PLAIN, "%s", port->address);
}

static void put_header(struct page *p, const struct run_header *h)
{
	char rate[FMT_MAX];

	p->indent = 0;
	put_engine(p, h->tx, h->tx_mode);
	page_words(p, STYLE_BOLD, "->");
	put_engine(p, h->rx, h->rx_mode);
	if (h->mean_frame_bytes > 0)
		page_words(p, STYLE_PLAIN, "| up to %u bytes a frame, %.0f on average |",
			   h->frame_bytes, h->mean_frame_bytes);
	else
		page_words(p, STYLE_PLAIN, "| %u bytes of payload, %u a frame |", h->payload_bytes,
			   h->frame_bytes);
	if (h->rate_pps > 0)
		page_words(p, STYLE_PLAIN, "%s", fmt_rate(rate, sizeof(rate), h->rate_pps));
	else
		page_words(p, STYLE_PLAIN, "unthrottled");
	if (h->threads > 1)
		page_words(p, STYLE_PLAIN, "| %u\vthreads", h->threads);
	if (h->flows > 1)
		page_words(p, STYLE_PLAIN, "| %u\vflows", h->flows);
	page_end(p);
	put_port(p, &h->tx_port, h->tx_host.name);
	if (lab_middle(h->topology))
		page_words(p, STYLE_PLAIN, "-> %s ->", lab_middle(h->topology));
	else
		page_words(p, STYLE_PLAIN, "->");
	put_port(p, &h->rx_port, h->rx_host.name);
	page_words(p, STYLE_PLAIN, "port\v%u", h->port);
	if (h->faults)
		page_words(p, STYLE_WARN, "| fault\v%s", h->faults);
	page_end(p);
	page_end(p);
}

static void put_refused(struct page *p, const struct result *res)
{
	struct text_count by[RESULT_ERRNOS];

	for (unsigned i = 0; i < res->n_refused_by; i++) {
		const struct result_errno *e = &res->refused_by[i];
		const char *name = e->error == TX_ERRNO_LOST ? NULL : strerrorname_np(e->error);

		by[i] = (struct text_count){e->packets, name ? name : "unknown"};
	}
	page_row(p, STYLE_PLAIN, 0, "refused", res->refused, 0);
	text_counts(p, STYLE_PLAIN, by, res->n_refused_by);
	page_end(p);
}

/* Faults made on purpose, as traffic/shape.h tells them. */
static void put_deliberate(struct page *p, const struct result *res)
{
	char number[3][FMT_MAX];

	if (!res->deliberate.asked)
		return;
	page_words(p, STYLE_DIM, "|\von\vpurpose: %s\vtwice, %s\vlate, %s\vleft\vout",
		   fmt_count(number[0], FMT_MAX, res->deliberate.duplicates),
		   fmt_count(number[1], FMT_MAX, res->deliberate.reordered),
		   fmt_count(number[2], FMT_MAX, res->deliberate.gaps));
}

static void put_sent(struct page *p, const struct result *res)
{
	char number[FMT_MAX], time[FMT_MAX];

	page_row(p, STYLE_PLAIN, 0, "sent", res->sent, 0);
	if (res->duration_ns)
		page_words(p, STYLE_PLAIN, "%s in %s",
			   page_glue(fmt_rate(number, sizeof(number), res->tx_pps)),
			   page_glue(fmt_ns(time, sizeof(time), res->duration_ns)));
	if (res->waits)
		page_words(p, STYLE_DIM, "(%s\vwaits, %s)",
			   fmt_count(number, sizeof(number), res->waits),
			   page_glue(fmt_ns(time, sizeof(time), res->wait_ns)));
	if (res->slipped_ns)
		page_words(p, STYLE_WARN, "|\v%s\vbehind\vschedule",
			   page_glue(fmt_ns(time, sizeof(time), res->slipped_ns)));
	if (res->held_ns)
		page_words(p, STYLE_WARN, "|\vheld\vback\vfor\v%s,\vas\vnumbers\vhad\vto\vsettle",
			   page_glue(fmt_ns(time, sizeof(time), res->held_ns)));
	put_deliberate(p, res);
	page_end(p);
}

static void put_delivered(struct page *p, const struct result *res)
{
	char rate[FMT_MAX];

	page_row(p, STYLE_BOLD, 0, "delivered", res->delivered, res->sent);
	if (res->rx_pps > 0)
		page_words(p, STYLE_PLAIN, "%s", fmt_rate(rate, sizeof(rate), res->rx_pps));
	page_end(p);
}

static void put_open(struct page *p, const struct result *res)
{
	const struct text_count seen[] = {
		{res->unaccounted_seen[0], "nowhere"},
		{res->unaccounted_seen[SEEN_TX_DEVICE], "tx\vdevice"},
		{res->unaccounted_seen[SEEN_XDP], "xdp"},
		{res->unaccounted_seen[SEEN_RX_DEVICE], "rx\vdevice"},
		{res->unaccounted_seen[SEEN_SOCKET], "socket"},
	};

	page_row(p, res->in_flight ? STYLE_BAD : STYLE_PLAIN, 0, "in flight", res->in_flight,
		 res->in_flight ? res->sent : 0);
	if (res->in_flight)
		page_words(p, STYLE_PLAIN, "%s", res->in_flight_where);
	page_end(p);
	page_row(p, res->unaccounted ? STYLE_BAD : STYLE_PLAIN, 0, "unaccounted", res->unaccounted,
		 res->unaccounted ? res->sent : 0);
	if (res->unaccounted) {
		page_words(p, STYLE_PLAIN, "last\vseen:");
		text_counts(p, STYLE_PLAIN, seen, sizeof(seen) / sizeof(seen[0]));
	}
	page_end(p);
	if (res->impossible) {
		page_row(p, STYLE_BAD, 0, "impossible", res->impossible, 0);
		page_words(p, STYLE_PLAIN, "fates of numbers never sent");
		page_end(p);
	}
}

static void put_verdict(struct page *p, const struct run_header *head, const struct result *res)
{
	unsigned disagree = text_disagreements(res);
	char number[3][FMT_MAX];

	p->indent = 0;
	if (res->balanced)
		page_words(p, STYLE_GOOD, "balanced:");
	else
		page_words(p, STYLE_BAD, "NOT BALANCED:");
	if (res->balanced)
		page_words(p, STYLE_PLAIN, "every packet sent has its place.");
	else if (!res->unaccounted && !res->in_flight && !res->impossible)
		page_words(p, STYLE_BAD, "ledgers are missing, or not whole.");
	else
		page_words(p, STYLE_BAD, "%s unaccounted, %s in flight, %s impossible.",
			   fmt_count(number[0], FMT_MAX, res->unaccounted),
			   fmt_count(number[1], FMT_MAX, res->in_flight),
			   fmt_count(number[2], FMT_MAX, res->impossible));
	if (disagree)
		page_words(p, STYLE_BAD, "%u %s of the kernel disagree%s (!=).", disagree,
			   disagree == 1 ? "counter" : "counters", disagree == 1 ? "s" : "");
	if (disagree && (*head->lab || !head->in_lab))
		page_words(p, STYLE_PLAIN, "Traffic of others counts there, too.");
	if (res->interrupted)
		page_words(p, STYLE_WARN, "Interrupted: these are the books of what was sent.");
	page_end(p);
}

void text_result(FILE *out, const struct run_header *head, const struct result *res, bool colour,
		 int verbosity)
{
	struct page p = page_open(out, colour, res->attempted);

	put_header(&p, head);
	page_row(&p, STYLE_PLAIN, 0, "attempted", res->attempted, 0);
	page_end(&p);
	put_refused(&p, res);
	put_sent(&p, res);
	text_path(&p, res, verbosity);
	put_delivered(&p, res);
	put_open(&p, res);
	text_beside(&p, res);
	put_verdict(&p, head, res);
	if (verbosity >= 0)
		text_findings(&p, res, verbosity);
}
