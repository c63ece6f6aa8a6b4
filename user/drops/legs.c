// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/legs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "host/load.h"
#include "legs.skel.h"

struct legs {
	struct legs_bpf *skel;
	volatile struct leg_times *times; /* LEG_SLOTS */
};

static int load(struct legs *l, uint16_t port, const struct legs_device *const at[2])
{
	struct legs_bpf *s = l->skel = mem_new(s);
	int rc = legs_bpf__create_skeleton(s);

	if (!rc)
		rc = trace_open(s->skeleton, NULL);
	if (rc)
		return rc;
	s->rodata->leg_port = port;
	for (unsigned i = 0; i < 2; i++) {
		s->rodata->leg_netns[i] = at[i]->ns ? at[i]->ns->inum : 0;
		s->rodata->leg_ifindex[i] = at[i]->ifindex;
	}
	bpf_program__set_autoload(s->progs.leg_out, at[LEG_DEVICE_OUT]->ns);
	bpf_program__set_autoload(s->progs.leg_in, at[LEG_DEVICE_IN]->ns);
	bpf_program__set_autoload(s->progs.leg_socket, true);
	rc = legs_bpf__load(s);
	if (!rc)
		rc = legs_bpf__attach(s);
	if (rc)
		return rc;
	l->times = trace_map(s->maps.times, LEG_SLOTS * sizeof(*l->times));
	return l->times ? 0 : -errno;
}

int legs_open(struct legs **out, uint16_t port, const struct legs_device *leaves,
	      const struct legs_device *comes, struct error *err)
{
	const struct legs_device *const at[] = {[LEG_DEVICE_OUT] = leaves, [LEG_DEVICE_IN] = comes};
	struct legs *l = mem_new(l);
	int rc = load(l, port, at);

	if (!rc) {
		*out = l;
		return 0;
	}
	legs_close(l);
	return trace_load_error(err, rc);
}

int legs_attach(const struct legs *l, int socket)
{
	int fd = bpf_program__fd(l->skel->progs.leg_socket);

	return setsockopt(socket, SOL_SOCKET, SO_ATTACH_BPF, &fd, sizeof(fd)) ? -errno : 0;
}

void legs_close(struct legs *l)
{
	if (!l)
		return;
	trace_unmap((void *)l->times, LEG_SLOTS * sizeof(*l->times));
	legs_bpf__destroy(l->skel);
	free(l);
}

/* Returns a histogram, allocated on first use. */
static struct hist *made(struct hist **h)
{
	if (!*h)
		*h = mem_new(*h);
	return *h;
}

static void add(struct legs_sums *sums, unsigned from, unsigned to, uint64_t ns)
{
	hist_add(made(&sums->leg[from * RESULT_POINTS + to]), ns);
}

/* The clocks of two CPUs may differ by nanoseconds. */
static uint64_t since(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

void legs_read(const struct legs *l, struct legs_sums *sums, uint64_t word, uint64_t sent_ns,
	       uint64_t came_ns, uint64_t now_ns)
{
	const volatile struct leg_times *t = &l->times[leg_slot(word)];
	uint64_t at[RESULT_POINTS] = {[RESULT_SENT] = sent_ns, [RESULT_READ] = now_ns};
	unsigned from = RESULT_SENT;

	for (unsigned i = 0; i < LEG_POINTS; i++)
		at[RESULT_DEVICE_OUT + i] = t->at[i];
	/* another packet may have claimed the slot or be claiming it now */
	if (t->word != word)
		memset(&at[RESULT_DEVICE_OUT], 0, LEG_POINTS * sizeof(*at));
	if (came_ns) {
		sums->stamped++;
		if (at[RESULT_DEVICE_IN])
			hist_add(made(&sums->backlog), since(came_ns, at[RESULT_DEVICE_IN]));
		else
			at[RESULT_DEVICE_IN] = came_ns;
	}
	for (unsigned to = RESULT_DEVICE_OUT; to < RESULT_POINTS; to++) {
		if (!at[to] || (to == RESULT_READ && from == RESULT_SENT))
			continue;
		add(sums, from, to, since(at[from], at[to]));
		from = to;
	}
	if (from == RESULT_READ)
		add(sums, RESULT_SENT, RESULT_READ, since(sent_ns, now_ns));
}

void legs_merge(struct legs_sums *into, const struct legs_sums *from)
{
	for (unsigned i = 0; i < RESULT_POINTS * RESULT_POINTS; i++) {
		if (from->leg[i])
			hist_merge(made(&into->leg[i]), from->leg[i]);
	}
	if (from->backlog)
		hist_merge(made(&into->backlog), from->backlog);
	into->stamped += from->stamped;
}

void legs_forget(struct legs_sums *sums)
{
	for (unsigned i = 0; i < RESULT_POINTS * RESULT_POINTS; i++)
		free(sums->leg[i]);
	free(sums->backlog);
	*sums = (struct legs_sums){};
}

unsigned legs_result(const struct legs_sums *sums, struct result_leg leg[RESULT_LEGS],
		     struct result_stamps *stamps)
{
	const unsigned whole = RESULT_READ, end = RESULT_POINTS * RESULT_POINTS;
	unsigned n = 0;

	for (unsigned i = 0; i <= end; i++) {
		const unsigned k = i < end ? i : whole;
		const struct hist *h = sums->leg[k];

		if (!h || i == whole)
			continue;
		leg[n] = (struct result_leg){.from = k / RESULT_POINTS,
					     .to = k % RESULT_POINTS,
					     .packets = h->count,
					     .mean_ns = hist_mean(h)};
		result_latency_fill(&leg[n++].latency, h);
	}
	stamps->kind = sums->stamped ? STAMPED_BY_SOFTWARE : STAMPED_BY_NONE;
	stamps->packets = sums->stamped;
	result_latency_fill(&stamps->backlog, sums->backlog);
	return n;
}
