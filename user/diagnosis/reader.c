// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/reader.h"

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
#include "diagnosis/facts.h"
#include "diagnosis/findings.h"
#include "host/counters.h"
#include "host/sockdiag.h"

#define ENDED 0 /* no thread has this number */

void threads_init(struct threads *t, int root, pid_t pid, int fd, bool newborn)
{
	*t = (struct threads){.root = root, .pid = pid, .fd = fd, .begun = newborn};
}

static struct thread *find_thread(struct threads *t, pid_t tid)
{
	for (unsigned i = 0; i < t->n; i++) {
		if (t->at[i].tid == tid)
			return &t->at[i];
	}
	return NULL;
}

/* A thread that is new since the first sample began at 0; of the others nobody knows. */
static struct thread *add_thread(struct threads *t, pid_t tid, uint64_t run, uint64_t wait)
{
	struct thread *th = t->n < THREADS_MAX ? &t->at[t->n] : find_thread(t, ENDED);
	struct proc_stat st;

	if (!th || proc_stat(t->root, t->pid, tid, &st))
		return NULL;
	t->n += th == &t->at[t->n];
	*th = (struct thread){.tid = tid};
	memcpy(th->name, st.name, sizeof(th->name));
	if (!t->begun) {
		th->last_run = run;
		th->last_wait = wait;
	}
	return th;
}

static void sample_one(struct threads *t, pid_t tid, bool receives)
{
	struct thread *th = find_thread(t, tid);
	uint64_t run, wait;
	char text[80];

	if (proc_read(t->root, text, sizeof(text), "proc/%d/task/%d/schedstat", t->pid, tid) < 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &run, &wait) != 2)
		return;
	if (!th)
		th = add_thread(t, tid, run, wait);
	if (!th)
		return;
	th->seen = true;
	th->new_run += run - th->last_run;
	th->new_wait += wait - th->last_wait;
	th->last_run = run;
	th->last_wait = wait;
	th->new_receives += receives && proc_receives(t->root, t->pid, tid, t->fd);
}

/* Those that ended leave their times as long as there is room. */
static void retire(struct threads *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		if (!t->at[i].seen)
			t->at[i].tid = ENDED;
	}
}

int threads_sample(struct threads *t, bool receives)
{
	DIR *tasks = proc_dir(t->root, "proc/%d/task", t->pid);
	uint64_t id;

	if (!tasks)
		return -ESRCH;
	for (unsigned i = 0; i < t->n; i++)
		t->at[i].seen = false;
	for (t->all = 0; proc_next_number(tasks, &id); t->all++) {
		if (t->all < THREADS_MAX)
			sample_one(t, (pid_t)id, receives);
	}
	closedir(tasks);
	retire(t);
	t->begun = true;
	return t->all ? 0 : -ESRCH;
}

void threads_keep(struct threads *t, bool keep)
{
	for (unsigned i = 0; i < t->n; i++) {
		struct thread *th = &t->at[i];

		if (keep) {
			th->run_ns += th->new_run;
			th->wait_ns += th->new_wait;
			th->receives += th->new_receives;
		}
		th->new_run = th->new_wait = th->new_receives = 0;
	}
}

static uint64_t busy(const struct thread *th)
{
	return th->run_ns + th->new_run + th->wait_ns + th->new_wait;
}

static bool received(const struct thread *th)
{
	return th->receives + th->new_receives;
}

const struct thread *threads_reader(const struct threads *t)
{
	const struct thread *best = NULL;

	for (unsigned i = 0; i < t->n; i++) {
		const struct thread *th = &t->at[i];

		if (!best || received(th) > received(best) ||
		    (received(th) == received(best) && busy(th) > busy(best)))
			best = th;
	}
	/* Who has never run is no thread: without CONFIG_SCHED_INFO all times are 0. */
	return best && best->last_run ? best : NULL;
}

/* One socket that loses packets, and the process that reads it. */

#define READING_LEVELS 8 /* of cgroups with a quota */

/* What is summed while packets are lost; `now`: since the last interval. */
struct reading_sums {
	uint64_t window_ns, queue_bytes, drops, lost, received_around;
	unsigned samples, sampled, stopped;
};

struct reading_sock {
	struct reading_socket id;
	struct threads threads; /* pid 0: the reader is not known */
	char process[PROC_NAME];
	unsigned holders;
	struct sockmem *mem;

	uint64_t lost_at;   /* CLOCK_MONOTONIC; 0: never */
	bool noted;	    /* in this interval */
	uint64_t beginning; /* of the interval, if it has a first sample; else 0 */
	struct reading_sums sum, now;

	struct sockmem_row row; /* the last sample of the queue */
	bool has_row;
	uint64_t queue_max, rcvbuf;
	uint64_t in_datagrams; /* of the namespace, as read */
	bool has_in_datagrams;
	uint64_t levels[READING_LEVELS], throttled[READING_LEVELS];
	unsigned n_levels;
	char sleeps_in[48]; /* majority vote over the samples */
	int votes;
};

static void free_socket(void *object)
{
	struct reading_sock *s = object;

	sockmem_close(s->mem);
	free(s);
}

/* Its reader from now on. `beginning`: it was born then (CLOCK_MONOTONIC), in this interval; or 0.
 */
static void set_reader(struct reading_sock *s, int root, const struct owner *who,
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

static void on_queue(void *arg, const struct sockmem_row *row)
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

/* How full the queue is, and what the reader waits for. */
static void sample_socket(struct reading_sock *s, int root, struct owners *owners)
{
	if (!s->threads.pid)
		return;
	sample_state(s, root);
	if (!s->mem)
		open_queue(s, owners);
	if (s->mem)
		sockmem_udp(s->mem, s->id.family, s->id.port, on_queue, s);
}

static void add_sums(struct reading_sums *to, const struct reading_sums *from)
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

/*
 * Ends the interval, with the times of the threads: what came since the last one is summed if
 * packets were lost, else forgotten. lately: the socket has lost some in the last intervals.
 */
static void end_interval(struct reading_sock *s, int root, uint64_t now, bool lately)
{
	bool known = s->threads.pid, keep = known && s->noted && s->beginning;

	if (known) {
		threads_sample(&s->threads, lately);
		sample_received(s, root);
	}
	if (keep) {
		s->now.window_ns = now - s->beginning;
		add_sums(&s->sum, &s->now);
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

/* -ENOENT: no interval had a beginning and an end, or nothing is known of the threads. */
static int get_reading(const struct reading_sock *s, struct reading *out)
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

#define LATELY_NS 10000000000ULL /* after its last loss a socket is sampled for so long */

struct readings {
	struct owners *owners;
	int root;
	struct idmap socks;    /* struct sock, by inode */
	uint64_t interval_end; /* CLOCK_BOOTTIME, as births of processes; 0: none yet */
};

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

void readings_close(struct readings *r)
{
	if (!r)
		return;
	idmap_free(&r->socks, free_socket);
	close(r->root);
	free(r);
}

static bool make_room(struct readings *r)
{
	struct reading_sock *oldest = r->socks.at[0].object;

	for (unsigned i = 1; i < r->socks.n; i++) {
		struct reading_sock *s = r->socks.at[i].object;

		if (s->lost_at < oldest->lost_at)
			oldest = s;
	}
	if (oldest->noted)
		return false;
	free_socket(idmap_take(&r->socks, oldest->id.inode));
	return true;
}

static struct reading_sock *get(struct readings *r, const struct reading_socket *id)
{
	struct reading_sock *s = idmap_find(&r->socks, id->inode);

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
static void find_reader(struct readings *r, struct reading_sock *s)
{
	struct owner who;
	uint64_t age;

	if (owners_socket(r->owners, s->id.inode, s->id.netns, s->id.cgroup, &who) ||
	    who.pid == s->threads.pid)
		return;
	age = age_ns(r, who.pid, clock_ns(CLOCK_BOOTTIME));
	set_reader(s, r->root, &who, age ? clock_now() - age : 0);
}

static bool lately(const struct reading_sock *s, uint64_t now)
{
	return s->lost_at && now - s->lost_at < LATELY_NS;
}

void readings_sample(struct readings *r)
{
	uint64_t now = clock_now();

	for (unsigned i = 0; i < r->socks.n; i++) {
		struct reading_sock *s = r->socks.at[i].object;

		if (lately(s, now))
			sample_socket(s, r->root, r->owners);
	}
}

void readings_note(struct readings *r, const struct reading_socket *id, uint64_t packets)
{
	struct reading_sock *s = get(r, id);

	if (!s)
		return;
	s->id = *id;
	s->noted = true;
	s->now.lost += packets;
	s->lost_at = clock_now();
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
	find_readers(r);
	for (unsigned i = 0; i < r->socks.n; i++) {
		struct reading_sock *s = r->socks.at[i].object;
		uint64_t now = clock_now();

		if (lately(s, now))
			sample_socket(s, r->root, r->owners);
		end_interval(s, r->root, now, lately(s, now));
	}
	r->interval_end = clock_ns(CLOCK_BOOTTIME);
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

	find_all(r, NULL, proc_netns(r->root, getpid()));
	for (unsigned i = 0; i < n; i++) {
		struct netns ns;
		struct error err = {};

		if (owners_netns_open(r->owners, netns[i], &ns, &err))
			continue;
		find_all(r, &ns, netns[i]);
		netns_close(&ns);
	}
	readings_interval(r);
}

int readings_get(const struct readings *r, uint64_t inode, struct reading *out)
{
	const struct reading_sock *s = idmap_find(&r->socks, inode);

	memset(out, 0, sizeof(*out));
	return s ? get_reading(s, out) : -ENOENT;
}

/* Which thread, if there are several. */
static void name_thread(const struct reading *r, char buf[READING_TOLD], const char *process)
{
	if (r->threads == 1)
		snprintf(buf, READING_TOLD, "%s", process);
	else if (r->seen)
		snprintf(buf, READING_TOLD, "the thread %s of %s", r->thread, process);
	else if (strcmp(r->thread, r->process))
		snprintf(buf, READING_TOLD, "%s (its busiest thread, %s)", process, r->thread);
	else
		snprintf(buf, READING_TOLD, "%s (the busiest of its %u threads)", process,
			 r->threads);
}

/* "sip[812]", "the thread rtp-3 of sip[812] (one of 4 processes that have the socket)" */
static void name_reader(const struct reading *r, char buf[READING_TOLD])
{
	char process[32];
	size_t n;

	snprintf(process, sizeof(process), "%s[%d]", r->process, r->pid);
	name_thread(r, buf, process);
	n = strlen(buf);
	if (r->holders > 1)
		snprintf(buf + n, READING_TOLD - n, " (one of %u processes that have the socket)",
			 r->holders);
}

void reading_tell(const struct reading *r, char buf[READING_TOLD], struct finding_facts *f)
{
	name_reader(r, buf);
	f->reader = buf;
	f->reader_ns = r->window_ns;
	f->reader_run_ns = r->run_ns;
	f->reader_wait_ns = r->wait_ns;
	f->reader_throttled_ns = r->throttled_ns;
	f->reader_stopped = r->stopped;
	f->reader_sleeps_in = r->sleeps_in;
	f->queue_samples = r->samples;
	f->queue_bytes = r->queue_bytes;
	if (r->window_ns)
		f->arrival_most_pps =
			(double)(r->lost + r->received_around) * 1e9 / (double)r->window_ns;
}
