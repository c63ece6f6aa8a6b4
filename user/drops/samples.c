// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/samples.h"

#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "filter_abi.h"

#define TAG_AT	   12 /* behind the addresses of an Ethernet frame */
#define TAG_LEN	   4
#define SMALLEST   (sizeof(struct sample) + 8) /* in the ring */
#define LOOK_EVERY 64			       /* samples between two looks at the clock */

struct samples {
	struct ring_buffer *ring;
	samples_each *each;
	void *arg;
	uint64_t deadline_ns;
	uint64_t read;
	uint8_t tagged[SAMPLE_SNAPLEN_MAX + TAG_LEN];
};

/* The frame as it was on the wire. */
static void tell_tagged(struct samples *s, const struct sample *from, const uint64_t *stack,
			const uint8_t *bytes)
{
	const uint32_t tag = htonl(from->tag);
	struct sample sample = *from;

	memcpy(s->tagged, bytes, TAG_AT);
	memcpy(s->tagged + TAG_AT, &tag, TAG_LEN);
	memcpy(s->tagged + TAG_AT + TAG_LEN, bytes + TAG_AT, from->len - TAG_AT);
	sample.len += TAG_LEN;
	sample.wire_len += TAG_LEN;
	s->each(s->arg, &sample, stack, s->tagged);
}

static int take(void *arg, void *data, size_t size)
{
	const struct sample *sample = data;
	const uint64_t *stack = (const uint64_t *)(sample + 1);
	struct samples *s = arg;
	const uint8_t *bytes;

	if (size < sizeof(*sample) || sample->frames > sample->frames_room ||
	    sample->len > SAMPLE_SNAPLEN_MAX ||
	    sizeof(*sample) + sample->frames_room * sizeof(*stack) + sample->len > size)
		return -EBADMSG;
	bytes = (const uint8_t *)(stack + sample->frames_room);
	if (sample->tag && sample->layer == FILTER_L2 && sample->len >= TAG_AT)
		tell_tagged(s, sample, stack, bytes);
	else
		s->each(s->arg, sample, stack, bytes);
	s->read++;
	if (!s->deadline_ns)
		return s->read >= SAMPLES_RING / SMALLEST ? -ETIME : 0;
	return s->read % LOOK_EVERY == 0 && clock_now() > s->deadline_ns ? -ETIME : 0;
}

int samples_open(struct samples **out, int fd, samples_each *each, void *arg, struct error *err)
{
	struct samples *s = calloc(1, sizeof(*s));

	if (!s)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	s->each = each;
	s->arg = arg;
	s->ring = ring_buffer__new(fd, take, s, NULL);
	if (!s->ring) {
		int rc = -errno;

		free(s);
		return error_set(err, STATUS_FAILED, rc, NULL, "cannot map the ring of samples: %s",
				 strerror(-rc));
	}
	*out = s;
	return 0;
}

int64_t samples_read(struct samples *s, uint64_t budget_ns)
{
	int rc;

	s->read = 0;
	s->deadline_ns = budget_ns ? clock_now() + budget_ns : 0;
	rc = ring_buffer__consume(s->ring);
	return rc < 0 && rc != -ETIME ? rc : (int64_t)s->read;
}

void samples_close(struct samples *s)
{
	if (!s)
		return;
	ring_buffer__free(s->ring);
	free(s);
}
