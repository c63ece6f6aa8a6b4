// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_check.h"

#include <string.h>

#include "base/num.h"
#include "diagnosis/plan.h"
#include "report/text.h"
#include "drops/stagemap.h"

#define COMMANDS_SHOWN 8 /* of one finding; JSON has them all */

static void put_changes(struct page *p, const struct check_finding *c, const char *netns)
{
	char command[FINDING_COMMAND];

	for (unsigned i = 1; i < c->n_changes && i < COMMANDS_SHOWN; i++) {
		page_text(p, 2, STYLE_DIM, "and       ");
		page_verbatim(p, check_command(c, i, false, netns, command));
		page_end(p);
	}
	if (c->n_changes <= COMMANDS_SHOWN)
		return;
	page_text(p, 2, STYLE_DIM, "and       ");
	page_words(p, STYLE_PLAIN, "%u more like them: see --json", c->n_changes - COMMANDS_SHOWN);
	page_end(p);
}

static void put_finding(struct page *p, const struct check_finding *c, const char *netns)
{
	char label[160], rate[FMT_MAX];

	snprintf(label, sizeof(label), "%s: %s%s%s%s%s", severity_name(c->finding.severity),
		 c->finding.id, *c->subject ? ", " : "", c->subject, c->loss_pps > 0 ? ", " : "",
		 c->loss_pps > 0 ? fmt_rate(rate, sizeof(rate), c->loss_pps) : "");
	text_finding(p, label, &c->finding, true);
	put_changes(p, c, netns);
}

static void put_note(struct page *p, const struct check_finding *c)
{
	page_text(p, 0, STYLE_DIM, "note");
	p->indent = 2;
	page_words(p, STYLE_PLAIN, "%s: %s", c->finding.id, c->finding.text);
	if (*c->finding.evidence)
		page_words(p, STYLE_PLAIN, "(%s)", c->finding.evidence);
	page_end(p);
}

static void put_history(struct page *p, const struct check_findings *list)
{
	char number[FMT_MAX];

	if (!list->n_history)
		return;
	page_text(p, 0, STYLE_DIM, "before");
	p->indent = 2;
	for (unsigned i = 0; i < list->n_history; i++) {
		const struct check_history *h = &list->history[i];

		page_words(p, STYLE_PLAIN, "%s\v%s\v(%s)%s", stage_name(h->stage),
			   fmt_count(number, sizeof(number), h->total), h->counter,
			   i + 1 < list->n_history ? "," : "");
	}
	page_end(p);
}

static void put_unread(struct page *p, const struct facts *f)
{
	for (unsigned i = 0; i < f->n_unread; i++) {
		page_text(p, 0, STYLE_DIM, "not read");
		p->indent = 2;
		page_words(p, STYLE_PLAIN, "%s: %s", f->unread[i].what, f->unread[i].why);
		page_end(p);
	}
}

static const char *on_off(bool on)
{
	return on ? "on" : "off";
}

/* How an interface is set up: what the judge looked at. */
static void put_link(struct page *p, const struct facts_link *l)
{
	static const char *const xdp[] = {"none", "native", "generic", "offloaded"};
	const struct netdev_settings *s = &l->set;

	page_text(p, 0, STYLE_BOLD, l->dev.ifname);
	p->indent = 2;
	page_words(p, STYLE_PLAIN, "%s, MTU\v%u, queues\v%u%s",
		   *l->dev.driver ? l->dev.driver : "no driver", l->dev.mtu, l->dev.rx_queues,
		   s->channels.known ? "" : ",");
	if (s->channels.known)
		page_words(p, STYLE_PLAIN, "of\v%u,",
			   s->channels.combined_max ? s->channels.combined_max
						    : s->channels.rx_max);
	if (s->ring.known)
		page_words(p, STYLE_PLAIN, "ring\v%u of\v%u,", s->ring.rx, s->ring.rx_max);
	if (s->coalesce.known)
		page_words(p, STYLE_PLAIN, "rx-usecs\v%u%s,", s->coalesce.rx_usecs,
			   s->coalesce.adaptive_rx ? "\vadaptive" : "");
	if (s->pause.known)
		page_words(p, STYLE_PLAIN, "pause rx\v%s tx\v%s,", on_off(s->pause.rx),
			   on_off(s->pause.tx));
	if (s->rss.known)
		page_words(p, STYLE_PLAIN, "RSS over\v%u,", s->rss.used);
	page_words(p, STYLE_PLAIN, "qdisc\v%s,", *l->qdisc ? l->qdisc : "none");
	if (*l->rp_filter)
		page_words(p, STYLE_PLAIN, "rp_filter\v%s,", l->rp_filter);
	page_words(p, STYLE_PLAIN, "GSO\v%s, GRO\v%s%s%s, NAPI\v%s, XDP\v%s, AF_XDP\v%s",
		   on_off(l->gso), on_off(l->gro), l->gro_hw ? "\vin\vhardware" : "",
		   l->lro ? ", LRO\von" : "", l->threaded ? "threads" : "softirq", xdp[l->xdp],
		   !l->features_known ? "unknown"
		   : l->zero_copy     ? "zero-copy"
		   : l->native_xdp    ? "native"
				      : "generic");
	for (unsigned i = 0; i < l->n_irqs; i++) {
		if (l->irq[i].fired)
			page_words(p, STYLE_PLAIN, "IRQ\v%u\von\vCPU\v%d", l->irq[i].irq,
				   l->irq[i].cpu);
	}
	page_end(p);
}

/* What pktledger can use of this kernel. */
static void put_self(struct page *p, const struct facts *f)
{
	const struct facts_self *s = &f->self;

	page_text(p, 0, STYLE_BOLD, "pktledger");
	p->indent = 2;
	page_words(p, STYLE_PLAIN, "BTF\v%s, drop\vreasons\v%u%s, AF_XDP\v%s,", on_off(s->btf),
		   s->reasons, s->drop_socket ? "\vwith\vsocket" : "", on_off(s->af_xdp));
	page_words(p, STYLE_PLAIN, "features of drivers\v%s, buffers of sockets\v%s",
		   on_off(s->xdp_features), on_off(!f->socks.no_buffer));
	if (*s->missing_caps)
		page_words(p, STYLE_PLAIN, "; without %s", s->missing_caps);
	page_end(p);
}

/* One line, also for a host that is well. */
static void put_verdict(struct page *p, const struct facts *f, unsigned losing, unsigned likely)
{
	char window[FMT_MAX];

	fmt_ns(window, sizeof(window), f->window_ns);
	p->indent = 0;
	if (!losing)
		page_words(p, likely ? STYLE_WARN : STYLE_GOOD, "nothing was lost in %s%s;", window,
			   likely ? "" : ", and no limit is near");
	page_words(p, STYLE_PLAIN, "looked at %u interface%s, %u UDP socket%s, %u CPU%s%s%s",
		   f->n_links, f->n_links == 1 ? "" : "s", f->socks.n, f->socks.n == 1 ? "" : "s",
		   f->cpus.online, f->cpus.online == 1 ? "" : "s", losing ? " for " : "",
		   losing ? window : "");
	page_end(p);
}

void text_check(FILE *out, const struct facts *f, const struct check_findings *list,
		const char *netns, bool colour, int verbosity)
{
	struct page p = page_open(out, colour, 0);
	unsigned losing = 0, likely = 0;

	for (unsigned i = 0; i < list->n; i++) {
		const struct check_finding *c = &list->at[i];

		if (c->finding.severity == SEVERITY_INFO && !c->losing)
			continue;
		losing += c->losing;
		likely += !c->losing;
		put_finding(&p, c, netns);
	}
	if (losing || likely)
		page_end(&p);
	put_verdict(&p, f, losing, likely);
	if (verbosity < 0)
		return;
	for (unsigned i = 0; i < list->n; i++) {
		if (list->at[i].finding.severity == SEVERITY_INFO && !list->at[i].losing)
			put_note(&p, &list->at[i]);
	}
	put_history(&p, list);
	put_unread(&p, f);
	for (unsigned i = 0; verbosity > 0 && i < f->n_links; i++)
		put_link(&p, &f->link[i]);
	if (verbosity > 0)
		put_self(&p, f);
}

void text_about(FILE *out, const char *id, const char *about, bool colour)
{
	struct page p = page_open(out, colour, 0);

	page_text(&p, 0, STYLE_BOLD, id);
	page_end(&p);
	page_text(&p, 4, STYLE_PLAIN, "");
	page_words(&p, STYLE_PLAIN, "%s", about);
	page_end(&p);
}
