/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A document against the schema of its command, by python3-jsonschema. */
#ifndef PKTLEDGER_TESTS_SCHEMA_H
#define PKTLEDGER_TESTS_SCHEMA_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/document.h"

/*
 * Gives the document and its schema to a validator: it must pass, and must not once any required
 * key of start, end, or a stage is gone.
 */
static const char validator[] =
	"import sys, json\n"
	"try:\n"
	"    import jsonschema\n"
	"except ImportError:\n"
	"    sys.exit(77)\n"
	"doc = json.load(sys.stdin)\n"
	"schema = json.load(open(sys.argv[1]))\n"
	"jsonschema.Draft202012Validator.check_schema(schema)\n"
	"check = jsonschema.Draft202012Validator(schema).is_valid\n"
	"for e in jsonschema.Draft202012Validator(schema).iter_errors(doc):\n"
	"    sys.exit('%s: %s' % (list(e.absolute_path), e.message))\n"
	"if 'end' not in doc:\n"
	"    sys.exit(0)\n"
	"parts = {'start': doc['start'], 'end': doc['end'], 'stage': doc['end']['stages'][0]}\n"
	"for name, part in parts.items():\n"
	"    for key in schema['$defs'][name]['required']:\n"
	"        value = part.pop(key)\n"
	"        if check(doc):\n"
	"            sys.exit('%s without %s passes' % (name, key))\n"
	"        part[key] = {'of': 'wrong type'} if not isinstance(value, dict) else 1\n"
	"        if check(doc):\n"
	"            sys.exit('%s with a wrong %s passes' % (name, key))\n"
	"        part[key] = value\n"
	"if not check(doc):\n"
	"    sys.exit('not as before')\n";

/*
 * Exit status of the validator, 77 if there is none; `command`: whose document it is; `expected`:
 * it need not tell why.
 */
static int validate(const char *of, const char *document, bool expected)
{
	char path[] = "/tmp/pktledger-validator-XXXXXX", data[64], command[192];
	struct json_object *schema = json_schema(of);
	int fd = mkstemp(path), status;
	FILE *f;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, validator, strlen(validator)), strlen(validator));
	close(fd);
	snprintf(data, sizeof(data), "%s.json", path);
	assert_int_equal(json_object_to_file(data, schema), 0);
	json_object_put(schema);
	snprintf(command, sizeof(command), "/usr/bin/python3 %s %s%s", path, data,
		 expected ? " 2>/dev/null" : "");
	f = popen(command, "w");
	assert_non_null(f);
	fputs(document, f);
	status = pclose(f);
	unlink(path);
	unlink(data);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

#endif
