// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/reading_sock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/counters.h"
#include "diagnosis/facts_group.h"

void reading_sock_free(void *object)
{
	struct reading_sock *s = object;

	sockmem_close(s->mem);
	free(s);
}

void reading_sock_set_reader(struct reading_sock *s, int root, const struct owner *who,
			     uint64_t beginning)
{
	threads_init(&s->threads, root, who->pid, who->fd, beginning);
	memcpy(s->process, who->process, sizeof(s->process));
	s->holders = who->holders;
	s->beginning = beginning;
	s->sum = s->now = (struct reading_sums){};
	s->n_levels = 0;
}

static void open_queue(struct reading_sock *s, struct owners *owners)
{
	struct netns ns;
	struct error err = {};

	if (owners_netns_open(owners, s->id.netns, &ns, &err))
		return;
	sockmem_open(&s->mem, &ns);
	netns_close(&ns);
}

static void on_row(void *arg, const struct sockmem_row *row)
{
	struct reading_sock *s = arg;

	if (row->inode != s->id.inode)
		return;
	if (s->has_row)
		s->now.drops += row->drops - s->row.drops;
	s->row = *row;
	s->has_row = true;
	s->rcvbuf = row->rcvbuf;
	s->now.queue_bytes += row->rmem;
	s->now.samples++;
	if (row->rmem > s->queue_max)
		s->queue_max = row->rmem;
}

/* Boyer and Moore's vote: the name that more than half of the samples have is left, if there is
 * one.
 */
static void vote(struct reading_sock *s, const char *name)
{
	if (!s->votes)
		snprintf(s->sleeps_in, sizeof(s->sleeps_in), "%.47s", name);
	s->votes += strcmp(s->sleeps_in, name) ? -1 : 1;
}

static void sample_state(struct reading_sock *s, int root)
{
	const struct thread *th = threads_reader(&s->threads);
	struct proc_stat st;
	char name[64];

	if (!th || proc_stat(root, s->threads.pid, th->tid, &st))
		return;
	s->now.sampled++;
	s->now.stopped += st.state == 'T' || st.state == 't';
	if ((st.state == 'S' || st.state == 'D') &&
	    proc_read(root, name, sizeof(name), "proc/%d/task/%d/wchan", s->threads.pid, th->tid) >
		    1)
		vote(s, name);
}

static void sample_quota(struct reading_sock *s, int root, bool keep)
{
	uint64_t ns[READING_LEVELS];
	unsigned n = group_throttled(root, s->threads.pid, ns, READING_LEVELS);

	for (unsigned i = 0; keep && i < n && i < s->n_levels; i++)
		s->throttled[i] += ns[i] - s->levels[i];
	memcpy(s->levels, ns, n * sizeof(*ns));
	s->n_levels = n;
}

/* A process's own /proc/PID/net shows its namespace, usually the socket's. */
static void sample_received(struct reading_sock *s, int root)
{
	bool v6 = s->id.family == AF_INET6;
	struct counters c = {};
	char text[8192];
	uint64_t value;
	int n = proc_read(root, text, sizeof(text), "proc/%d/net/%s", s->threads.pid,
			  v6 ? "snmp6" : "snmp");

	if (n > 0 && proc_netns(root, s->threads.pid) == s->id.netns &&
	    !(v6 ? procnet_snmp6(&c, "", text, (size_t)n)
		 : procnet_snmp(&c, "", text, (size_t)n)) &&
	    counters_get(&c, "", v6 ? "Udp6InDatagrams" : "Udp:InDatagrams", &value)) {
		if (s->has_in_datagrams)
			s->now.received_around = value - s->in_datagrams;
		s->in_datagrams = value;
		s->has_in_datagrams = true;
	}
	counters_free(&c);
}

void reading_sock_sample(struct reading_sock *s, int root, struct owners *owners)
{
	if (!s->threads.pid)
		return;
	sample_state(s, root);
	if (!s->mem)
		open_queue(s, owners);
	if (s->mem)
		sockmem_udp(s->mem, s->id.family, s->id.port, on_row, s);
}

static void add(struct reading_sums *to, const struct reading_sums *from)
{
	to->window_ns += from->window_ns;
	to->queue_bytes += from->queue_bytes;
	to->drops += from->drops;
	to->lost += from->lost;
	to->received_around += from->received_around;
	to->samples += from->samples;
	to->sampled += from->sampled;
	to->stopped += from->stopped;
}

void reading_sock_end_interval(struct reading_sock *s, int root, uint64_t now, bool lately)
{
	bool known = s->threads.pid, keep = known && s->noted && s->beginning;

	if (known) {
		threads_sample(&s->threads, lately);
		sample_received(s, root);
	}
	if (keep) {
		s->now.window_ns = now - s->beginning;
		add(&s->sum, &s->now);
	}
	threads_keep(&s->threads, keep);
	if (known)
		sample_quota(s, root, keep);
	/* it would keep the namespace alive */
	sockmem_close(s->mem);
	s->mem = NULL;
	s->now = (struct reading_sums){};
	s->beginning = s->threads.begun ? now : 0;
	s->noted = false;
}

static uint64_t longest(const uint64_t *ns, unsigned n)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < n; i++)
		most = ns[i] > most ? ns[i] : most;
	return most;
}

int reading_sock_get(const struct reading_sock *s, struct reading *out)
{
	const struct thread *th = threads_reader(&s->threads);

	memset(out, 0, sizeof(*out));
	if (!th || !s->sum.window_ns)
		return -ENOENT;
	*out = (struct reading){
		.pid = s->threads.pid,
		.threads = s->threads.all,
		.holders = s->holders,
		.seen = th->receives,
		.window_ns = s->sum.window_ns,
		.run_ns = th->run_ns,
		.wait_ns = th->wait_ns,
		.throttled_ns = longest(s->throttled, READING_LEVELS),
		.stopped = s->sum.stopped * 2 > s->sum.sampled,
		.samples = s->sum.samples,
		.queue_bytes = s->sum.samples ? s->sum.queue_bytes / s->sum.samples : 0,
		.queue_max_bytes = s->queue_max,
		.rcvbuf = s->rcvbuf,
		.drops = s->sum.drops,
		.lost = s->sum.lost,
		.received_around = s->sum.received_around,
	};
	if (th->run_ns + th->wait_ns < s->sum.window_ns)
		out->sleep_ns = s->sum.window_ns - th->run_ns - th->wait_ns;
	memcpy(out->process, s->process, sizeof(out->process));
	memcpy(out->thread, th->name, sizeof(out->thread));
	if (s->votes > 0)
		memcpy(out->sleeps_in, s->sleeps_in, sizeof(out->sleeps_in));
	for (unsigned i = 0; i < s->threads.n; i++) {
		out->process_run_ns += s->threads.at[i].run_ns;
		out->process_wait_ns += s->threads.at[i].wait_ns;
	}
	return 0;
}
