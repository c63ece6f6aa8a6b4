// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "report/drop.h"
#include "watch_abi.h"

#define BUDGET_NS 80000000 /* of a tick */

const struct opt events_opts[] = {
	{"events", 0, OPT_FLAG, offsetof(struct events_options, shown),
	 .help = "a line for each packet that is lost"},
	{"hex", 0, OPT_FLAG, offsetof(struct events_options, hex),
	 .help = "its bytes below the line"},
	{"stack", 0, OPT_FLAG, offsetof(struct events_options, stack),
	 .help = "the functions of the kernel that led to it, below the line"},
	{"write", 'w', OPT_STRING, offsetof(struct events_options, file), .metavar = "FILE",
	 .default_text = "none",
	 .help = "lost packets as pcapng, each with what befell it as its comment"},
	{"snaplen", 0, OPT_SIZE, offsetof(struct events_options, snaplen), .min = 1,
	 .max = SAMPLE_SNAPLEN_MAX, .set_offset = OPT_SET(struct events_options, snaplen_set),
	 .metavar = "BYTES", .default_text = "headers and stamp",
	 .help = "keep so much of a packet, as far as the kernel has it in one piece"},
	{0},
};

struct events {
	const struct events_options *o;
	struct events_view view;
	struct live *live; /* NULL: no drop is looked at */
	struct pcapng *file;
	int file_error, read_error;
	uint64_t shown, left_out; /* left_out: of the document */
	uint64_t captured;
};

static void file_failed(struct events *e, int rc)
{
	if (rc && !e->file_error) {
		log_error("cannot write %s: %s; the trace goes on without it", e->o->file,
			  strerror(-rc));
		e->file_error = rc;
	}
}

static void show(struct events *e, const struct live_drop *drop)
{
	const struct events_view *v = &e->view;

	if (v->document && e->shown >= EVENTS_IN_DOCUMENT) {
		e->left_out++;
		return;
	}
	if (v->json)
		json_out_each(v->json, "drop", drop_json(drop, e->o->hex, e->o->stack));
	else
		drop_text(stdout, drop, v->netns, e->o->hex);
	e->shown++;
}

static void take(void *arg, const struct live_drop *drop)
{
	struct events *e = arg;

	if (e->o->shown)
		show(e, drop);
	if (e->file && !e->file_error)
		file_failed(e, drop_capture(e->file, drop));
}

int events_open(struct events **out, const struct events_options *o, struct error *err)
{
	const struct {
		bool is;
		const char *what, *hint;
	} wrong[] = {
		{o->hex && !o->shown, "--hex needs --events", "add --events"},
		{o->stack && !o->shown, "--stack needs --events", "add --events"},
		{o->file && !strcmp(o->file, "-"), "-w -: stdout is for the tables",
		 "name a file, or a pipe by mkfifo"},
		{o->snaplen_set && !o->shown && !o->file, "--snaplen needs packets to keep",
		 "add --events or -w FILE"},
	};
	struct events *e;
	int rc;

	*out = NULL;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (wrong[i].is)
			return error_set(err, STATUS_USAGE, -EINVAL, wrong[i].hint, "%s",
					 wrong[i].what);
	}
	if (!o->shown && !o->file)
		return 0;
	e = calloc(1, sizeof(*e));
	if (!e)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	e->o = o;
	rc = o->file ? pcapng_create(&e->file, o->file, events_snaplen(e), err) : 0;
	if (rc) {
		free(e);
		return rc;
	}
	*out = e;
	return 0;
}

uint32_t events_snaplen(const struct events *e)
{
	if (!e)
		return 0;
	return e->o->snaplen_set ? (uint32_t)e->o->snaplen : LIVE_SNAPLEN;
}

int events_begin(struct events *e, struct live *l, const struct events_view *v, struct error *err)
{
	if (!e)
		return 0;
	e->view = *v;
	e->live = l;
	return live_open_drops(l, e->o->snaplen_set, v->all, take, e, err);
}

void events_read(struct events *e, bool all)
{
	int64_t n;

	if (!e || !e->live || e->read_error)
		return;
	if (e->o->shown && !e->view.json)
		log_progress_clear();
	n = live_read_drops(e->live, all ? 0 : BUDGET_NS);
	if (n < 0) {
		e->read_error = (int)n;
		log_error("cannot read samples of drops: %s; the trace goes on without them",
			  strerror(-e->read_error));
	}
	if (e->file && !e->file_error)
		file_failed(e, pcapng_flush(e->file));
	if (e->o->shown)
		output_flush();
}

bool events_finish(struct events *e)
{
	if (!e)
		return true;
	if (e->file) {
		if (!e->file_error)
			file_failed(e, pcapng_flush(e->file));
		e->captured = pcapng_written(e->file);
		file_failed(e, pcapng_close(e->file));
		e->file = NULL;
		log_info("%s: %llu packets%s", e->o->file, (unsigned long long)e->captured,
			 e->file_error ? ", not all" : "");
	}
	if (e->left_out)
		log_warn("%llu drops are not in the document, which keeps %d; --json-lines has all",
			 (unsigned long long)e->left_out, EVENTS_IN_DOCUMENT);
	return !e->file_error && !e->read_error;
}

void events_json_end(const struct events *e, struct json_object *end)
{
	struct json_object *capture;

	if (!e)
		return;
	json_put_u64(end, "drops_left_out", e->left_out);
	if (!e->o->file)
		return;
	capture = json_object_new_object();
	json_put_text(capture, "file", e->o->file);
	json_put_u64(capture, "packets", e->captured);
	json_put_text(capture, "error", e->file_error ? strerror(-e->file_error) : NULL);
	json_put(end, "capture", capture);
}

void events_close(struct events *e)
{
	if (!e)
		return;
	pcapng_close(e->file);
	free(e);
}
