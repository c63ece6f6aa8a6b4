/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sentences of the table of findings, with what was measured put in. A text may name facts as
 * {lost}. A part in [brackets] goes away if one of its facts is unknown; outside of brackets an
 * unknown fact empties the text.
 */
#ifndef PKTLEDGER_DIAGNOSIS_FINDINGS_FILL_H
#define PKTLEDGER_DIAGNOSIS_FINDINGS_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the value of the fact `name`; false if it is not known. */
typedef bool (*findings_fact)(const void *arg, const char *name, char *buf, size_t size);

/* `template` NULL: empty. What does not fit is cut. */
void findings_fill(char *out, size_t size, const char *template, findings_fact fact,
		   const void *arg);

/* Facts as text. All return false, and write nothing, for what means "not known": NULL, "" or 0. */
bool fact_text(char *buf, size_t size, const char *s);
bool fact_count(char *buf, size_t size, uint64_t v);
/* 1234567 as 1.23M: rates are measured, more digits would pretend. */
bool fact_rate(char *buf, size_t size, double v);

#endif
