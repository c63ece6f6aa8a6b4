// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/reader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "diagnosis/facts.h"
#include "diagnosis/findings.h"
#include "host/counters.h"
#include "host/load.h"
#include "host/sockdiag.h"
#include "survey.skel.h"
#include "survey_abi.h"

#define ENDED	    0	  /* no thread has this number */
#define MANY_LOSSES 10000 /* between two samples, taken 100 ms apart */

/*
 * Thread times of a process between samples: on a CPU, runnable without a CPU, and asleep. They
 * come from /proc/PID/task/TID/schedstat: sum_exec_runtime and run_delay, in ns. The first lags by
 * up to a scheduler tick, and the second includes a wait only once it is over.
 */

#define THREADS_MAX 64 /* per process (further threads are ignored) */

struct thread {
	pid_t tid;
	char name[PROC_NAME];
	uint64_t run_ns, wait_ns; /* sums over the samples kept */
	bool receives;		  /* a sample found the thread waiting in a receive call */

	uint64_t last_run, last_wait; /* as read */
	uint64_t new_run, new_wait;   /* since the last threads_keep() */
	bool new_receives;
	bool seen;
};

struct threads {
	int root;
	pid_t pid;
	int fd;	      /* the socket's descriptor */
	pid_t reader; /* thread that read last, 0: unknown */
	struct thread at[THREADS_MAX];
	unsigned n;
	unsigned all; /* threads in the process */
	bool begun;   /* threads not seen before are new */
};

static struct thread *find_thread(struct threads *t, pid_t tid)
{
	for (unsigned i = 0; i < t->n; i++) {
		if (t->at[i].tid == tid)
			return &t->at[i];
	}
	return NULL;
}

static void sample_one(struct threads *t, pid_t tid, bool receives)
{
	struct thread *th = find_thread(t, tid);
	struct proc_stat st;
	uint64_t run, wait;
	char text[80];

	proc_read(t->root, text, sizeof(text), "proc/%d/task/%d/schedstat", t->pid, tid);
	if (sscanf(text, "%" SCNu64 " %" SCNu64, &run, &wait) != 2)
		return;
	if (!th) {
		th = t->n < THREADS_MAX ? &t->at[t->n] : find_thread(t, ENDED);
		if (!th || proc_stat(t->root, t->pid, tid, &st))
			return;
		t->n += th == &t->at[t->n];
		/*
		 * A thread that appeared after the first sample started at 0. The earlier times of
		 * all other threads are unknown.
		 */
		*th = (struct thread){.tid = tid,
				      .last_run = t->begun ? 0 : run,
				      .last_wait = t->begun ? 0 : wait};
		memcpy(th->name, st.name, sizeof(th->name));
	}
	th->seen = true;
	th->new_run += run - th->last_run;
	th->new_wait += wait - th->last_wait;
	th->last_run = run;
	th->last_wait = wait;
	th->new_receives |= receives && proc_receives(t->root, t->pid, tid, t->fd);
}

/*
 * Takes a sample. `receives`: also look for threads that wait in a receive call. If the process has
 * exited, keeps its times.
 */
static void threads_sample(struct threads *t, bool receives)
{
	DIR *tasks = proc_dir(t->root, "proc/%d/task", t->pid);
	uint64_t id;

	if (!tasks)
		return;
	for (unsigned i = 0; i < t->n; i++)
		t->at[i].seen = false;
	for (t->all = 0; proc_next_number(tasks, &id); t->all++) {
		if (t->all < THREADS_MAX)
			sample_one(t, (pid_t)id, receives);
	}
	closedir(tasks);
	/* Keep the times of threads that exited, as long as there is room. */
	for (unsigned i = 0; i < t->n; i++) {
		if (!t->at[i].seen)
			t->at[i].tid = ENDED;
	}
	t->begun = true;
}

/* Adds the increase since the last call to the sums, or discards it. */
static void threads_keep(struct threads *t, bool keep)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct thread *th = &t->at[i];

		if (keep) {
			th->run_ns += th->new_run;
			th->wait_ns += th->new_wait;
			th->receives |= th->new_receives;
		}
		th->new_run = th->new_wait = 0;
		th->new_receives = false;
	}
}

static uint64_t busy_ns(const struct thread *th)
{
	return th->run_ns + th->new_run + th->wait_ns + th->new_wait;
}

static bool receives(const struct thread *th)
{
	return th->receives || th->new_receives;
}

/*
 * Returns the thread that reads. If that is unknown, it is chosen from the threads seen in a
 * receive call, or else from all threads: the one that ran and waited the longest. NULL without a
 * sample, or if the kernel does not record these times.
 */
static const struct thread *threads_reader(const struct threads *t)
{
	const struct thread *best = NULL;

	for (const struct thread *th = t->at; th < t->at + t->n; th++) {
		if (t->reader && th->tid == t->reader)
			return th->last_run ? th : NULL;
		if (!best ||
		    (receives(th) == receives(best) ? busy_ns(th) > busy_ns(best) : receives(th)))
			best = th;
	}
	/* A real thread has run for more than 0 ns. Without CONFIG_SCHED_INFO all times are 0. */
	return best && best->last_run ? best : NULL;
}

/* Socket that loses packets, and the process that reads it. */

#define READING_LEVELS 8 /* cgroup levels that have a quota */
#define AWAKE	       3 /* samples that never found the reader asleep */

/* Sums over the time with losses. `now`: since the last interval. */
struct reading_sums {
	uint64_t window_ns, queue_bytes, lost, received_around;
	uint64_t samples, full, sampled, slept, stopped;
};

struct reading_sock {
	struct reading_socket id;
	struct threads threads; /* pid 0: the reader is unknown */
	char process[PROC_NAME];
	unsigned holders;

	uint64_t lost_at;   /* CLOCK_MONOTONIC ns, 0: never */
	bool asleep;	    /* in the last sample */
	bool noted;	    /* a loss was noted in this interval */
	uint64_t beginning; /* start of the interval if it has a first sample, otherwise 0 */
	struct reading_sums sum, now;

	uint64_t in_datagrams; /* the namespace's datagram counter, as read */
	bool has_in_datagrams;
	uint64_t levels[READING_LEVELS], throttled[READING_LEVELS];
	unsigned n_levels;
	char sleeps_in[48]; /* result of a majority vote over the samples */
	int votes;
	bool full; /* the vote is over samples with a full buffer */
};

static void on_queue(void *arg, const struct sockmem_row *row)
{
	struct reading_sock *s = arg;

	if (row->inode != s->id.inode || !s->asleep)
		return;
	s->now.queue_bytes += row->rmem;
	s->now.samples++;
	s->now.full += 4ULL * row->rmem >= 3ULL * row->rcvbuf;
}

/* Reads the reader's state, and the function in which it sleeps, "" if unknown. */
static void sample_state(struct reading_sock *s, int root, char sleeps_in[64])
{
	const struct thread *th = threads_reader(&s->threads);
	struct proc_stat st = {.state = 0};
	bool there = th && !proc_stat(root, s->threads.pid, th->tid, &st);

	s->asleep = st.state == 'S' || st.state == 'D';
	if (!there)
		return;
	s->now.sampled++;
	s->now.slept += s->asleep;
	s->now.stopped += st.state == 'T' || st.state == 't';
	if (s->asleep &&
	    proc_read(root, sleeps_in, 64, "proc/%d/task/%d/wchan", s->threads.pid, th->tid) <= 1)
		*sleeps_in = '\0';
}

/*
 * Boyer-Moore vote: finds the value that more than half of the samples have. After the first sample
 * with a full buffer, only such samples count, because waiting for data does no harm.
 */
static void vote(struct reading_sock *s, const char *sleeps_in, bool full)
{
	if (!*sleeps_in || full < s->full)
		return;
	if (full > s->full)
		s->votes = 0;
	s->full = full;
	if (!s->votes)
		snprintf(s->sleeps_in, sizeof(s->sleeps_in), "%.47s", sleeps_in);
	s->votes += strcmp(s->sleeps_in, sleeps_in) ? -1 : 1;
}

/*
 * Samples the number of received datagrams. A process's /proc/PID/net shows its own namespace,
 * which is usually the socket's.
 */
static void sample_received(struct reading_sock *s, int root)
{
	bool v6 = s->id.family == AF_INET6;
	struct counters c = {};
	char text[8192];
	uint64_t value;

	proc_read(root, text, sizeof(text), "proc/%d/net/%s", s->threads.pid,
		  v6 ? "snmp6" : "snmp");
	if (proc_netns(root, s->threads.pid) == s->id.netns)
		(v6 ? procnet_snmp6 : procnet_snmp)(&c, "", text, strlen(text));
	if (counters_get(&c, "", v6 ? "Udp6InDatagrams" : "Udp:InDatagrams", &value)) {
		if (s->has_in_datagrams)
			s->now.received_around = value - s->in_datagrams;
		s->in_datagrams = value;
		s->has_in_datagrams = true;
	}
	counters_free(&c);
}

/* Samples the queue's fill level and the function in which the reader waits. */
static void sample_socket(struct reading_sock *s, int root, struct owners *owners)
{
	const uint64_t full = s->now.full;
	char sleeps_in[64] = "";
	struct netns ns;

	if (!s->threads.pid)
		return;
	sample_state(s, root, sleeps_in);
	if (!s->id.tcp && !owners_netns_open(owners, s->id.netns, &ns, NULL)) {
		sockmem_udp(&ns, s->id.family, s->id.port, on_queue, s);
		netns_close(&ns);
	}
	vote(s, sleeps_in, s->now.full > full);
}

/*
 * Ends the interval, including thread times. If packets were lost, adds the increase since the last
 * interval, otherwise discards it. lately: the socket lost packets in recent intervals.
 */
static void end_interval(struct reading_sock *s, int root, uint64_t now, bool lately)
{
	bool known = s->threads.pid, keep = known && s->noted && s->beginning;

	if (known) {
		threads_sample(&s->threads, lately);
		if (!s->id.tcp)
			sample_received(s, root);
	}
	s->now.window_ns = now - s->beginning;
	if (keep)
		sum_words(&s->sum, &s->now, sizeof(s->sum));
	threads_keep(&s->threads, keep);
	if (known) {
		uint64_t ns[READING_LEVELS];
		unsigned n = group_throttled(root, s->threads.pid, ns, READING_LEVELS);

		for (unsigned i = 0; keep && i < smaller(n, s->n_levels); i++)
			s->throttled[i] += counter_grown(s->levels[i], ns[i]);
		memcpy(s->levels, ns, n * sizeof(*ns));
		s->n_levels = n;
	}
	s->now = (struct reading_sums){};
	s->beginning = s->threads.begun ? now : 0;
	s->noted = false;
}

#define LATELY_NS 10000000000ULL /* ns to continue sampling after a socket's last loss */

struct readings {
	struct owners *owners;
	int root;		   /* root used by the owners */
	struct list socks;	   /* struct reading_sock, by inode */
	uint32_t walked;	   /* namespace of the sockets that are being listed */
	uint64_t interval_end;	   /* CLOCK_BOOTTIME ns, like process starts, 0 before the first
				      interval */
	struct survey_bpf *bursts; /* NULL before the first sample, or if not supported here */
	bool sampled;		   /* sampled at least once */
	uint32_t losses;	   /* losses as of the last sample */
};

struct readings *readings_new(struct owners *owners)
{
	struct readings *r = mem_new(r);

	r->owners = owners;
	r->root = owners_root(owners);
	r->socks = (struct list){.size = sizeof(struct reading_sock), .key = sizeof(uint64_t)};
	return r;
}

void readings_close(struct readings *r)
{
	if (!r)
		return;
	list_free(&r->socks);
	survey_bpf__destroy(r->bursts);
	free(r);
}

static struct reading_sock *get(struct readings *r, const struct reading_socket *id)
{
	struct reading_sock *s = list_get(&r->socks, &id->inode), *oldest = NULL;

	if (s || !id->inode)
		return s;
	if (r->socks.n == READING_SOCKETS) {
		for (unsigned i = 0; i < r->socks.n; i++) {
			s = (struct reading_sock *)r->socks.at + i;
			oldest = oldest && oldest->lost_at < s->lost_at ? oldest : s;
		}
		if (oldest->noted)
			return NULL;
		*oldest = (struct reading_sock){.id = *id};
		list_index(&r->socks);
		return oldest;
	}
	s = list_row(&r->socks, &id->inode);
	s->id = *id;
	return s;
}

/* Finds the reader. If it has changed, starts new sums. */
static void find_reader(struct readings *r, struct reading_sock *s)
{
	uint64_t now = clock_ns(CLOCK_BOOTTIME), born = 0, beginning = 0;
	struct proc_stat st;
	struct owner who;

	if (owners_socket(r->owners, s->id.inode, s->id.netns, s->id.cgroup, &who))
		return;
	s->holders = who.holders;
	if (!who.reads || who.pid == s->threads.pid)
		return;
	/* A process that started in this interval did nothing before it. */
	if (r->interval_end && !proc_stat(r->root, who.pid, 0, &st))
		born = st.start * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	if (born > r->interval_end && born < now)
		beginning = clock_now() - (now - born);
	/* for a new process, CPU time before the first sample also counts */
	s->threads = (struct threads){
		.root = r->root, .pid = who.pid, .fd = who.fd, .begun = beginning};
	memcpy(s->process, who.process, sizeof(s->process));
	s->beginning = beginning;
	s->sum = (struct reading_sums){};
	s->now = (struct reading_sums){.lost = s->now.lost};
	s->n_levels = group_throttled(r->root, who.pid, s->levels, READING_LEVELS);
}

static bool lately(const struct reading_sock *s, uint64_t now)
{
	return now - s->lost_at < LATELY_NS;
}

/*
 * Counts bursts and packets that were refused for udp_mem, and, if the kernel can (Linux 6.3),
 * notes the threads that read.
 */
static void begin_bursts(struct readings *r)
{
	static const char *const beside[] = {"read_thread", "exceed_udp_mem", NULL};

	for (unsigned i = 0; i < 2 && !r->bursts; i++) {
		if (!survey_open(&r->bursts, "lose_one", "bursts", beside + i) &&
		    survey_bpf__attach(r->bursts)) {
			survey_bpf__destroy(r->bursts);
			r->bursts = NULL;
		}
	}
}

/* Returns what is known of a socket's bursts and its reader, zeros if nothing. */
static struct burst_record burst_of(const struct readings *r, uint64_t inode)
{
	struct burst_record b = {};

	if (r->bursts)
		bpf_map_lookup_elem(bpf_map__fd(r->bursts->maps.bursts), &inode, &b);
	return b;
}

/*
 * Detaches the burst counter. With this many losses its overhead matters, and the losses are not
 * bursts that a larger buffer could absorb.
 */
static void end_bursts(struct readings *r)
{
	uint32_t losses;

	if (!r->bursts)
		return;
	losses = __atomic_load_n(&r->bursts->bss->losses, __ATOMIC_RELAXED);
	if (losses - r->losses > MANY_LOSSES) {
		bpf_link__destroy(r->bursts->links.lose_one);
		bpf_link__destroy(r->bursts->links.exceed_udp_mem);
		r->bursts->links.lose_one = r->bursts->links.exceed_udp_mem = NULL;
	}
	r->losses = losses;
}

void readings_sample(struct readings *r)
{
	uint64_t now = clock_now();

	if (!r->sampled)
		begin_bursts(r);
	r->sampled = true;
	end_bursts(r);
	for (unsigned i = 0; i < r->socks.n; i++) {
		struct reading_sock *s = (struct reading_sock *)r->socks.at + i;
		const uint64_t reader = burst_of(r, s->id.inode).reader;

		if (reader) {
			s->threads.reader = (pid_t)reader;
			owners_reads(r->owners, s->id.inode, (pid_t)(reader >> 32));
		}
		if (lately(s, now))
			sample_socket(s, r->root, r->owners);
	}
}

uint64_t readings_truesize(const struct readings *r, uint64_t inode)
{
	const struct burst_record b = burst_of(r, inode);

	return b.looked ? b.memory / b.looked : 0;
}

bool readings_exceeded(const struct readings *r, uint64_t inode, uint64_t *packets)
{
	*packets = burst_of(r, inode).exceeded;
	return *packets || (r->bursts && r->bursts->links.exceed_udp_mem);
}

void readings_note(struct readings *r, const struct reading_socket *id, uint64_t packets)
{
	static const struct burst_record none;
	struct reading_sock *s = get(r, id);

	if (!s)
		return;
	s->id = *id;
	s->noted = true;
	s->now.lost += packets;
	s->lost_at = clock_now();
	if (r->bursts)
		bpf_map_update_elem(bpf_map__fd(r->bursts->maps.bursts), &id->inode, &none,
				    BPF_NOEXIST);
}

void readings_interval(struct readings *r)
{
	/* A lookup queues a search. */
	for (unsigned i = 0; i < r->socks.n; i++)
		find_reader(r, (struct reading_sock *)r->socks.at + i);
	owners_tick(r->owners);
	for (unsigned i = 0; i < r->socks.n; i++)
		find_reader(r, (struct reading_sock *)r->socks.at + i);
	for (unsigned i = 0; i < r->socks.n; i++) {
		struct reading_sock *s = (struct reading_sock *)r->socks.at + i;
		uint64_t now = clock_now();

		if (lately(s, now))
			sample_socket(s, r->root, r->owners);
		end_interval(s, r->root, now, lately(s, now));
	}
	r->interval_end = clock_ns(CLOCK_BOOTTIME);
}

static void on_any(void *arg, const struct sockmem_row *row)
{
	struct readings *r = arg;

	if (r->socks.n < READING_SOCKETS / 2)
		get(r, &(struct reading_socket){.inode = row->inode,
						.netns = r->walked,
						.family = (uint16_t)row->family,
						.port = row->port});
}

static void find_all(struct readings *r, const struct netns *ns, uint32_t inum)
{
	r->walked = inum;
	sockmem_udp(ns, AF_UNSPEC, 0, on_any, r);
}

void readings_begin(struct readings *r, const uint32_t *netns, unsigned n)
{
	find_all(r, NULL, proc_netns(r->root, getpid()));
	for (unsigned i = 0; i < n; i++) {
		struct netns ns;

		if (owners_netns_open(r->owners, netns[i], &ns, NULL))
			continue;
		find_all(r, &ns, netns[i]);
		netns_close(&ns);
	}
	readings_interval(r);
}

int readings_get(const struct readings *r, uint64_t inode, struct reading *out)
{
	const struct reading_sock *s = list_get(&r->socks, &inode);
	const struct thread *th = s ? threads_reader(&s->threads) : NULL;

	memset(out, 0, sizeof(*out));
	if (!th || !s->sum.window_ns)
		return -ENOENT;
	*out = (struct reading){
		.pid = s->threads.pid,
		.tid = th->tid,
		.threads = s->threads.all,
		.holders = s->holders,
		.seen = th->receives || th->tid == s->threads.reader,
		.window_ns = s->sum.window_ns,
		.run_ns = th->run_ns,
		.wait_ns = th->wait_ns,
		.stopped = s->sum.stopped * 2 > s->sum.sampled,
		.samples = (unsigned)s->sum.samples,
		.full = (unsigned)s->sum.full,
		.queue_bytes = s->sum.samples ? s->sum.queue_bytes / s->sum.samples : 0,
		.burst = burst_of(r, inode).most,
		.truesize = readings_truesize(r, inode),
		.lost = s->sum.lost,
		.received_around = s->sum.received_around,
	};
	/*
	 * an ongoing wait is counted only once it is over, but a thread that never slept must have
	 * waited
	 */
	if (s->sum.sampled >= AWAKE && !s->sum.slept && !out->stopped &&
	    out->run_ns + out->wait_ns < out->window_ns)
		out->wait_ns = out->window_ns - out->run_ns;
	for (unsigned i = 0; i < READING_LEVELS; i++)
		out->throttled_ns = larger(out->throttled_ns, s->throttled[i]);
	memcpy(out->process, s->process, sizeof(out->process));
	memcpy(out->thread, th->name, sizeof(out->thread));
	if (s->votes > 0)
		memcpy(out->sleeps_in, s->sleeps_in, sizeof(out->sleeps_in));
	return 0;
}

/*
 * Fraction of asleep samples with a full buffer below which it counts as having had room. Between
 * bursts the buffer is not full, however long the reader sleeps. A few samples prove nothing.
 */
#define FULL	      0.2
#define SAMPLES_LEAST 3

double reading_fraction(const struct reading *r, uint64_t ns)
{
	return r->window_ns ? (double)ns / (double)r->window_ns : 0;
}

uint64_t reading_sleep_ns(const struct reading *r)
{
	return counter_grown(r->run_ns + r->wait_ns, r->window_ns);
}

double reading_full(const struct reading *r)
{
	return r->samples < SAMPLES_LEAST ? -1 : (double)r->full / r->samples;
}

bool reading_had_room(const struct reading *r)
{
	const double full = reading_full(r);

	return full >= 0 && full < FULL;
}

bool reading_waits(const struct reading *r)
{
	static const char *const in[] = {"poll_schedule_timeout", "ep_poll", "do_epoll_wait",
					 "__skb_wait_for_more_packets", "io_cqring_wait",
					 "wait_woken"};

	for (unsigned i = 0; i < LENGTH(in); i++) {
		if (!strncmp(r->sleeps_in, in[i], strlen(in[i])))
			return true;
	}
	return false;
}

bool reading_decides(const struct reading *r)
{
	return r->window_ns && (r->stopped || r->samples >= SAMPLES_LEAST ||
				reading_fraction(r, r->run_ns + r->wait_ns) >= 0.5);
}

void reading_describe(const struct reading *r, char buf[READING_TEXT], struct finding_facts *f)
{
	char process[32];
	int n;

	f->reading = *r;
	f->reader = buf;
	f->truesize = f->truesize ? f->truesize : r->truesize;
	snprintf(process, sizeof(process), "%s[%d]", r->process, r->pid);
	if (r->threads == 1)
		n = snprintf(buf, READING_TEXT, "%s", process);
	else if (r->seen)
		n = snprintf(buf, READING_TEXT, "the thread %s[%d] of %s", r->thread, r->tid,
			     process);
	else if (strcmp(r->thread, r->process))
		n = snprintf(buf, READING_TEXT, "%s (its busiest thread, %s[%d])", process,
			     r->thread, r->tid);
	else
		n = snprintf(buf, READING_TEXT, "%s (the busiest of its %u threads, %d)", process,
			     r->threads, r->tid);
	if (r->holders > 1)
		snprintf(buf + n, READING_TEXT - (size_t)n,
			 " (one of %u processes that have the socket)", r->holders);
}
