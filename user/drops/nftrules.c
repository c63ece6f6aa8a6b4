// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/nftrules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "host/caps.h"
#include "host/nl.h"

#define NAMESPACES 512
#define LIST_MS	   5000		 /* for one list */
#define LIST_MOST  (64UL << 20)	 /* bytes of it */
#define FRESH_NS   1000000000ULL /* a second list serves all hooks asked for within so long */

struct place {
	uint32_t inum;
	struct netns ns;		      /* while there is work */
	struct list before, after;	      /* nftlist_parse() */
	bool has_before, wants_after, failed; /* failed: there is no first list to compare with */
	bool late;			      /* the first list is of after nftrules_wait() */
	bool lost;			      /* nftrules_lost() was called */
	uint64_t before_at, after_at;	      /* clock_now() */
	bool legacy;
	char problem[160]; /* of the last list */
};

struct nftrules {
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t work, done;
	struct place place[NAMESPACES];
	unsigned n;
	bool begun, ending; /* begun: nftrules_wait() is over */
};

struct sought {
	const char *type;
	int found;
};

static int take_chain(const struct nlmsghdr *nlh, void *arg)
{
	struct sought *s = arg;
	char type[16];

	nl_text(nl_attr(nlh, sizeof(struct nfgenmsg), NFTA_CHAIN_TYPE), type, sizeof(type));
	s->found += !s->type || !strcmp(type, s->type);
	return MNL_CB_OK;
}

int nft_chains(const struct netns *ns, const char *type)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh =
		nl_header(buf, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN, NLM_F_DUMP);
	struct sought s = {.type = type};
	int ret;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct nfgenmsg));
	ret = nl_query_bus(ns, NETLINK_NETFILTER, nlh, take_chain, &s);
	return ret ? ret : s.found;
}

/* Without the lock. */
static int read_list(const struct netns *ns, struct list *list, char problem[160])
{
	char *const argv[] = {"nft", "-j", "list", "ruleset", NULL};
	struct error err = {};
	char *text;
	int ret;

	problem[0] = '\0';
	if (!nft_chains(ns, NULL)) /* as in most: 100 times faster than to run nft */
		return 0;
	ret = netns_exec_read(ns, argv, LIST_MS, LIST_MOST, &text, &err);
	if (ret) {
		snprintf(problem, 160, "%.159s", err.message);
		return ret;
	}
	ret = nftlist_parse(text, list);
	free(text);
	if (ret)
		snprintf(problem, 160, "the output of nft cannot be read: %s", strerror(-ret));
	return ret;
}

/* With the lock, which is given up meanwhile. Only this thread writes lists. */
static void do_work(struct nftrules *n, struct place *p)
{
	struct list list = {};
	char problem[160];
	bool legacy, failed;

	pthread_mutex_unlock(&n->lock);
	failed = read_list(&p->ns, &list, problem);
	if (failed)
		list_free(&list);
	legacy = netns_has_xtable(&p->ns, "");
	pthread_mutex_lock(&n->lock);

	if (p->has_before) {
		list_free(&p->after);
		p->after = list;
		p->after_at = clock_now();
		p->wants_after = false;
	} else {
		p->before = list;
		p->has_before = true;
		p->failed = failed;
		p->late = n->begun;
		p->before_at = clock_now();
	}
	netns_close(&p->ns);
	p->legacy = legacy;
	memcpy(p->problem, problem, sizeof(p->problem));
	pthread_cond_broadcast(&n->done);
}

static void *worker(void *arg)
{
	struct nftrules *n = arg;

	/* to enter namespaces, and for nft there; a thread keeps what others give up */
	caps_drop_but(CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_NET_ADMIN));
	pthread_mutex_lock(&n->lock);
	while (!n->ending) {
		struct place *p = NULL;

		for (unsigned i = 0; i < n->n; i++) { /* somebody waits for a second list */
			if (n->place[i].wants_after || (!p && !n->place[i].has_before))
				p = &n->place[i];
		}
		if (p)
			do_work(n, p);
		else
			pthread_cond_wait(&n->work, &n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

struct nftrules *nftrules_new(void)
{
	struct nftrules *n = mem_new(n);
	pthread_condattr_t attr;
	sigset_t all, before;
	int ret;

	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&n->work, NULL);
	pthread_cond_init(&n->done, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = -pthread_create(&n->thread, NULL, worker, n);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!ret)
		return n;
	free(n);
	return NULL;
}

static struct place *find(struct nftrules *n, uint32_t inum)
{
	for (unsigned i = 0; i < n->n; i++) {
		if (n->place[i].inum == inum)
			return &n->place[i];
	}
	return NULL;
}

static int hold(struct place *p, const struct netns *ns)
{
	if (!ns || ns->fd < 0)
		return 0;
	p->ns.fd = fcntl(ns->fd, F_DUPFD_CLOEXEC, 0);
	return p->ns.fd < 0 ? -errno : 0;
}

int nftrules_note(struct nftrules *n, uint32_t inum, const struct netns *ns)
{
	struct place new = {.inum = inum, .ns = NETNS_NONE};
	int ret = 0;

	pthread_mutex_lock(&n->lock);
	if (!find(n, inum)) {
		ret = n->n == NAMESPACES ? -ENOSPC : hold(&new, ns);
		if (!ret)
			n->place[n->n++] = new;
	}
	pthread_cond_signal(&n->work);
	pthread_mutex_unlock(&n->lock);
	return ret;
}

bool nftrules_known(struct nftrules *n, uint32_t inum)
{
	bool known;

	pthread_mutex_lock(&n->lock);
	known = find(n, inum);
	pthread_mutex_unlock(&n->lock);
	return known;
}

static struct timespec time_in(int ms)
{
	uint64_t end = clock_now() + (uint64_t)ms * 1000000;

	return (struct timespec){(time_t)(end / 1000000000), (long)(end % 1000000000)};
}

/* With the lock: until the first list is there. A positive errno. */
static int wait_first(struct nftrules *n, const struct place *p, const struct timespec *until)
{
	int ret = 0;

	while (!ret && !p->has_before)
		ret = pthread_cond_timedwait(&n->done, &n->lock, until);
	return ret;
}

bool nftrules_wait(struct nftrules *n, int timeout_ms)
{
	struct timespec until = time_in(timeout_ms);
	int ret = 0;

	pthread_mutex_lock(&n->lock);
	for (unsigned i = 0; i < n->n && !ret; i++)
		ret = wait_first(n, &n->place[i], &until);
	n->begun = true;
	pthread_mutex_unlock(&n->lock);
	return !ret;
}

void nftrules_lost(struct nftrules *n, uint32_t inum, uint64_t since_ns)
{
	struct place *p;

	pthread_mutex_lock(&n->lock);
	p = find(n, inum);
	if (p && !p->lost) {
		p->lost = true;
		p->late &= !p->has_before || p->before_at > since_ns;
	}
	pthread_mutex_unlock(&n->lock);
}

/* With the lock. Waits until both lists are there. */
static int get_lists(struct nftrules *n, struct place *p, const struct netns *ns, int timeout_ms)
{
	struct timespec until = time_in(timeout_ms);
	int ret = wait_first(n, p, &until);

	if (!ret && !p->failed && !p->wants_after &&
	    (!p->after_at || clock_now() - p->after_at > FRESH_NS)) {
		ret = -hold(p, ns);
		p->wants_after = !ret;
		pthread_cond_signal(&n->work);
	}
	while (!ret && p->wants_after)
		ret = pthread_cond_timedwait(&n->done, &n->lock, &until);
	return -ret;
}

void nftrules_compare(struct nftrules *n, uint32_t inum, const struct netns *ns,
		      enum netfilter_hook hook, int timeout_ms, struct nft_result *out)
{
	struct list none = {};
	struct place *p;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&n->lock);
	p = find(n, inum);
	if (!p) {
		snprintf(out->problem, sizeof(out->problem),
			 "rules are listed in %d network namespaces only", NAMESPACES);
	} else if (get_lists(n, p, ns, timeout_ms)) {
		snprintf(out->problem, sizeof(out->problem),
			 "nft did not list the rules within %d ms", timeout_ms);
	} else {
		if (!p->failed)
			nftlist_compare(p->late ? &none : &p->before, &p->after, hook, out);
		memcpy(out->problem, p->problem, sizeof(out->problem));
		out->legacy = p->legacy;
		out->late = p->late;
		out->window_ns = p->after_at - p->before_at;
		for (unsigned i = 0; i < out->n; i++)
			out->rule[i].exact &= !p->late;
	}
	pthread_mutex_unlock(&n->lock);
}

void nftrules_close(struct nftrules *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->ending = true;
	pthread_cond_signal(&n->work);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	for (unsigned i = 0; i < n->n; i++) {
		list_free(&n->place[i].before);
		list_free(&n->place[i].after);
		netns_close(&n->place[i].ns);
	}
	free(n);
}
