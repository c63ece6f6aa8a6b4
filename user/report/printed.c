// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/printed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "report/html.h"

#define SCHEMA "pktledger/"

bool printed_is(const char *path)
{
	FILE *f = fopen(path, "re");
	char head[sizeof(HTML_BEGIN)] = "";
	bool is;

	if (!f)
		return false; /* whoever reads it says why */
	is = fread(head, 1, sizeof(head) - 1, f) && (*head == '{' || !strcmp(head, HTML_BEGIN));
	fclose(f);
	return is;
}

static int add_document(struct json_object *list, const char *path, const char *text, size_t len,
			struct error *err)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *doc =
		tokener && len <= INT32_MAX ? json_tokener_parse_ex(tokener, text, (int)len) : NULL;

	json_tokener_free(tokener);
	if (!doc)
		return error_set(err, STATUS_FAILED, -EINVAL, NULL,
				 "%s is cut, or no JSON document", path);
	json_object_array_add(list, doc);
	if (strncmp(json_get_text(doc, "schema"), SCHEMA, strlen(SCHEMA)) ||
	    !json_object_is_type(json_get(doc, "start"), json_type_object))
		return error_set(err, STATUS_USAGE, -EINVAL,
				 "--html takes what -j has printed, what --ledger has kept, and "
				 "its own pages",
				 "%s is not of pktledger", path);
	return 0;
}

/* Each is in an element of its own, in which no other can begin. */
static int add_of_page(struct json_object *list, const char *path, const char *text,
		       struct error *err)
{
	int rc = 0;

	while (!rc && (text = strstr(text, HTML_DOCUMENT))) {
		const char *begin = strchr(text, '>'),
			   *end = begin ? strstr(begin, "</script>") : NULL;

		if (!end)
			return error_set(err, STATUS_FAILED, -EINVAL, NULL, "%s is cut", path);
		rc = add_document(list, path, begin + 1, (size_t)(end - begin - 1), err);
		text = end;
	}
	if (!rc && !json_object_array_length(list))
		rc = error_set(err, STATUS_USAGE, -EINVAL, NULL, "%s is no page of pktledger",
			       path);
	return rc;
}

int printed_load(const char *path, struct json_object **documents, struct error *err)
{
	size_t len;
	char *text;
	int rc = file_read(path, &text, &len);

	*documents = NULL;
	if (rc)
		return error_set(err, STATUS_FAILED, rc, NULL, "cannot read %s: %s", path,
				 strerror(-rc));
	*documents = json_object_new_array();
	rc = *text == '{' ? add_document(*documents, path, text, len, err)
			  : add_of_page(*documents, path, text, err);
	free(text);
	if (rc) {
		json_object_put(*documents);
		*documents = NULL;
	}
	return rc;
}
