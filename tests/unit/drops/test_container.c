// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "drops/owners.h"
#include "recorded.h"

#define ID "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961"

static const char *or_dash(const char *s)
{
	return s && *s ? s : "-";
}

static void take_line(void *arg, const char *path, char *text)
{
	struct container c;
	const bool found = container_of_cgroup(path, &c);

	tell("%s %s %s", or_dash(c.runtime), or_dash(c.id), or_dash(c.uid));
	assert_int_equal(found, c.runtime || *c.uid);
}

CASE(forms)
{
	recorded_stories("tests/fixtures/owners/cgroup-paths", take_line, NULL);
}

/* Each row decides a path of the fixture, so no row is hidden by an earlier row. */
CASE(every_row_is_reached)
{
	for (unsigned i = 0; i < container_rows_n; i++) {
		const struct container_row *row = &container_rows[i];
		struct container c;
		char path[256];

		snprintf(path, sizeof(path), "/x/%s/%s%s%s", row->parent ? row->parent : "x",
			 row->prefix, row->form == FORM_NAME ? "name" : ID, row->suffix);
		container_of_cgroup(path, &c);
		assert_string_equal(or_dash(c.runtime),
				    row->form == FORM_BESIDE ? "-" : row->runtime);
	}
}

CASE(no_path_is_too_long)
{
	char path[8192];
	struct container c;

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_false(container_of_cgroup(path, &c));
	memcpy(path, "/lxc/", 5);
	assert_true(container_of_cgroup(path, &c));
	assert_int_equal(strlen(c.id), CONTAINER_ID - 1);
	assert_false(container_of_cgroup("", &c));
	assert_false(container_of_cgroup("////:::", &c));
	assert_false(container_of_cgroup("pod/-pod.slice/podx/\\x", &c));
}

CASE(texts)
{
	struct container c = {.runtime = "docker", .id = ID};
	char text[512];

	assert_string_equal(container_text(&c, text, sizeof(text)), "9bca8d63d5fa");
	assert_string_equal(container_pod_text(&c, text, sizeof(text)), "");
	strcpy(c.uid, "0b7632a2-a56e-4278-987a-22de18008dbe");
	assert_string_equal(container_pod_text(&c, text, sizeof(text)),
			    "pod-0b7632a2-a56e-4278-987a-22de18008dbe");
	strcpy(c.pod, "voice-0");
	strcpy(c.k8s_ns, "prod");
	assert_string_equal(container_pod_text(&c, text, sizeof(text)), "prod/voice-0");
	assert_string_equal(container_text(&c, text, sizeof(text)), "9bca8d63d5fa");
	strcpy(c.name, "rtp");
	assert_string_equal(container_text(&c, text, sizeof(text)), "prod/voice-0/rtp");
	c = (struct container){.runtime = "lxc", .id = "web-1"};
	assert_string_equal(container_text(&c, text, sizeof(text)), "web-1");
	c = (struct container){};
	assert_string_equal(container_text(&c, text, sizeof(text)), "");
}
