// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "live/reading.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/idmap.h"
#include "host/counters.h"
#include "host/procnet.h"
#include "live/cgroup.h"
#include "live/sockmem.h"
#include "live/threads.h"

#define LATELY_NS 10000000000ULL /* after its last loss a socket is sampled for so long */
#define LEVELS	  8		 /* of cgroups with a quota */

/* What is summed while packets are lost; `now`: since the last interval. */
struct sums {
	uint64_t window_ns, queue_bytes, drops, lost, received_around;
	unsigned samples, sampled, stopped;
};

struct sock {
	struct reading_socket id;
	struct threads threads; /* pid 0: the reader is not known */
	char process[PROC_NAME];
	struct sockmem *mem;
	bool asked_mem; /* if `mem` is NULL: in vain */

	uint64_t lost_at;   /* CLOCK_MONOTONIC; 0: never */
	bool noted;	    /* in this interval */
	uint64_t beginning; /* of the interval, if it has a first sample; else 0 */
	struct sums sum, now;

	struct sockmem_row row; /* the last sample of the queue */
	bool has_row;
	uint64_t queue_max, rcvbuf;
	uint64_t in_datagrams; /* of the namespace, as read */
	bool has_in_datagrams;
	uint64_t levels[LEVELS], throttled[LEVELS];
	unsigned n_levels;
	char sleeps_in[48]; /* majority vote over the samples */
	int votes;
};

struct readings {
	struct owners *owners;
	int root;
	struct idmap socks;    /* struct sock, by inode */
	uint64_t interval_end; /* CLOCK_BOOTTIME, as births of processes; 0: none yet */
	uint64_t cpu_ns;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int readings_open(struct readings **readings, struct owners *owners, const char *root,
		  struct error *err)
{
	int fd = proc_root(root);
	struct readings *r;

	*readings = NULL;
	if (fd < 0)
		return error_set(err, STATUS_FAILED, fd, NULL, "cannot open %s: %s",
				 root ? root : "/", strerror(-fd));
	r = calloc(1, sizeof(*r));
	if (!r) {
		close(fd);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "not enough memory");
	}
	r->owners = owners;
	r->root = fd;
	*readings = r;
	return 0;
}

static void free_sock(void *object)
{
	struct sock *s = object;

	sockmem_close(s->mem);
	free(s);
}

void readings_close(struct readings *r)
{
	if (!r)
		return;
	idmap_free(&r->socks, free_sock);
	close(r->root);
	free(r);
}

static bool make_room(struct readings *r)
{
	struct sock *oldest = r->socks.at[0].object;

	for (unsigned i = 1; i < r->socks.n; i++) {
		struct sock *s = r->socks.at[i].object;

		if (s->lost_at < oldest->lost_at)
			oldest = s;
	}
	if (oldest->noted)
		return false;
	free_sock(idmap_take(&r->socks, oldest->id.inode));
	return true;
}

static struct sock *get(struct readings *r, const struct reading_socket *id)
{
	struct sock *s = idmap_find(&r->socks, id->inode);

	if (s || !id->inode || (r->socks.n == READING_SOCKETS && !make_room(r)))
		return s;
	s = calloc(1, sizeof(*s));
	if (s && idmap_add(&r->socks, id->inode, s)) {
		free(s);
		s = NULL;
	}
	if (s)
		s->id = *id;
	return s;
}

/* A process that was born in this interval has done nothing before it. */
static uint64_t age_ns(const struct readings *r, pid_t pid, uint64_t now)
{
	struct proc_stat st;
	uint64_t born;

	if (!r->interval_end || proc_stat(r->root, pid, 0, &st))
		return 0;
	born = st.start * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	return born > r->interval_end && born < now ? now - born : 0;
}

/* The reader, or another one than before; then all begins anew. */
static void find_reader(struct readings *r, struct sock *s)
{
	struct owner who;
	uint64_t age;

	if (owners_socket(r->owners, s->id.inode, s->id.netns, s->id.cgroup, &who) ||
	    who.pid == s->threads.pid)
		return;
	age = age_ns(r, who.pid, clock_ns(CLOCK_BOOTTIME));
	threads_init(&s->threads, r->root, who.pid, who.fd, age);
	memcpy(s->process, who.process, sizeof(s->process));
	s->beginning = age ? clock_ns(CLOCK_MONOTONIC) - age : 0;
	s->sum = s->now = (struct sums){};
	s->n_levels = 0;
}

static void open_queue(struct readings *r, struct sock *s)
{
	struct netns ns;
	struct error err = {};

	s->asked_mem = true;
	if (owners_netns_open(r->owners, s->id.netns, &ns, &err))
		return;
	sockmem_open(&s->mem, &ns);
	netns_close(&ns);
}

static void on_row(void *arg, const struct sockmem_row *row)
{
	struct sock *s = arg;

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
static void vote(struct sock *s, const char *name)
{
	if (!s->votes)
		snprintf(s->sleeps_in, sizeof(s->sleeps_in), "%.47s", name);
	s->votes += strcmp(s->sleeps_in, name) ? -1 : 1;
}

static void sample_state(struct readings *r, struct sock *s)
{
	const struct thread *th = threads_reader(&s->threads);
	struct proc_stat st;
	char name[64];

	if (!th || proc_stat(r->root, s->threads.pid, th->tid, &st))
		return;
	s->now.sampled++;
	s->now.stopped += st.state == 'T' || st.state == 't';
	if ((st.state == 'S' || st.state == 'D') &&
	    proc_read(r->root, name, sizeof(name), "proc/%d/task/%d/wchan", s->threads.pid,
		      th->tid) > 1)
		vote(s, name);
}

static void sample_quota(struct readings *r, struct sock *s, bool keep)
{
	uint64_t ns[LEVELS];
	unsigned n = cgroup_throttled(r->root, s->threads.pid, ns, LEVELS);

	for (unsigned i = 0; keep && i < n && i < s->n_levels; i++)
		s->throttled[i] += ns[i] - s->levels[i];
	memcpy(s->levels, ns, n * sizeof(*ns));
	s->n_levels = n;
}

/* A process's own /proc/PID/net shows its namespace, usually the socket's. */
static void sample_received(struct readings *r, struct sock *s)
{
	bool v6 = s->id.family == AF_INET6;
	struct counters c = {};
	char text[8192];
	uint64_t value;
	int n = proc_read(r->root, text, sizeof(text), "proc/%d/net/%s", s->threads.pid,
			  v6 ? "snmp6" : "snmp");

	if (n > 0 && proc_netns(r->root, s->threads.pid) == s->id.netns &&
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

static bool lately(const struct sock *s, uint64_t now)
{
	return s->lost_at && now - s->lost_at < LATELY_NS;
}

/* `full`: more than the times of the threads. */
static void sample(struct readings *r, struct sock *s, bool full)
{
	if (!s->threads.pid || threads_sample(&s->threads, full) || !full)
		return;
	sample_state(r, s);
	if (!s->asked_mem)
		open_queue(r, s);
	if (s->mem)
		sockmem_udp(s->mem, s->id.family, s->id.port, on_row, s);
}

void readings_sample(struct readings *r)
{
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID), now = clock_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < r->socks.n; i++) {
		struct sock *s = r->socks.at[i].object;

		if (lately(s, now))
			sample(r, s, true);
	}
	r->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

void readings_note(struct readings *r, const struct reading_socket *id, uint64_t packets)
{
	struct sock *s = get(r, id);

	if (!s)
		return;
	s->id = *id;
	s->noted = true;
	s->now.lost += packets;
	s->lost_at = clock_ns(CLOCK_MONOTONIC);
}

static void add(struct sums *to, const struct sums *from)
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

static void end_interval(struct readings *r, struct sock *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool keep = s->noted && s->beginning && s->threads.pid;

	sample(r, s, lately(s, now));
	if (s->threads.pid)
		sample_received(r, s);
	if (keep) {
		s->now.window_ns = now - s->beginning;
		add(&s->sum, &s->now);
	}
	threads_keep(&s->threads, keep);
	if (s->threads.pid)
		sample_quota(r, s, keep);
	s->now = (struct sums){};
	s->beginning = s->threads.begun ? now : 0;
	s->noted = false;
}

/* To ask is to have them looked for. */
static void find_readers(struct readings *r)
{
	for (unsigned i = 0; i < r->socks.n; i++)
		find_reader(r, r->socks.at[i].object);
	owners_tick(r->owners);
	for (unsigned i = 0; i < r->socks.n; i++)
		find_reader(r, r->socks.at[i].object);
}

void readings_interval(struct readings *r)
{
	uint64_t before;

	find_readers(r);
	before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < r->socks.n; i++)
		end_interval(r, r->socks.at[i].object);
	r->interval_end = clock_ns(CLOCK_BOOTTIME);
	r->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

struct finding_all {
	struct readings *r;
	uint32_t netns;
};

static void on_any(void *arg, const struct sockmem_row *row)
{
	const struct finding_all *all = arg;

	if (all->r->socks.n < READING_SOCKETS / 2)
		get(all->r, &(struct reading_socket){.inode = row->inode,
						     .netns = all->netns,
						     .family = (uint16_t)row->family,
						     .port = row->port});
}

static void find_all(struct readings *r, const struct netns *ns, uint32_t inum)
{
	struct finding_all all = {r, inum};
	struct sockmem *mem;

	if (sockmem_open(&mem, ns))
		return;
	sockmem_udp(mem, AF_INET, 0, on_any, &all);
	sockmem_udp(mem, AF_INET6, 0, on_any, &all);
	sockmem_close(mem);
}

void readings_begin(struct readings *r, const uint32_t *netns, unsigned n)
{
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	find_all(r, NULL, proc_netns(r->root, getpid()));
	for (unsigned i = 0; i < n; i++) {
		struct netns ns;
		struct error err = {};

		if (owners_netns_open(r->owners, netns[i], &ns, &err))
			continue;
		find_all(r, &ns, netns[i]);
		netns_close(&ns);
	}
	r->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	readings_interval(r);
}

static uint64_t longest(const uint64_t *ns, unsigned n)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < n; i++)
		most = ns[i] > most ? ns[i] : most;
	return most;
}

int readings_get(const struct readings *r, uint64_t inode, struct reading *out)
{
	const struct sock *s = idmap_find(&r->socks, inode);
	const struct thread *th = s ? threads_reader(&s->threads) : NULL;

	memset(out, 0, sizeof(*out));
	if (!th || !s->sum.window_ns)
		return -ENOENT;
	*out = (struct reading){
		.pid = s->threads.pid,
		.threads = s->threads.all,
		.seen = th->receives,
		.window_ns = s->sum.window_ns,
		.run_ns = th->run_ns,
		.wait_ns = th->wait_ns,
		.throttled_ns = longest(s->throttled, LEVELS),
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

uint64_t readings_cost(const struct readings *r)
{
	return r->cpu_ns;
}
