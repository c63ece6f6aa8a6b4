/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The catalogue of stages: what loses packets there, how it is seen and counted, which faults. */
#ifndef PKTLEDGER_REPORT_CATALOGUE_H
#define PKTLEDGER_REPORT_CATALOGUE_H

#include <json-c/json.h>
#include <stdio.h>

void catalogue_text(FILE *out);
struct json_object *catalogue_json(void); /* a list, in path order */

#endif
