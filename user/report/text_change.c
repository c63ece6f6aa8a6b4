// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/text_change.h"

#include "report/page.h"

static const char *shown(const char *value)
{
	return *value ? value : "(empty)";
}

void text_change(FILE *out, const struct change *c, const char *risk, const char *netns,
		 bool colour)
{
	struct page p = page_open(out, colour, 0);
	char text[2 * CHANGE_COMMAND_SIZE];

	page_text(&p, 0, STYLE_BOLD, change_title(c, text, sizeof(text)));
	page_words(&p, STYLE_PLAIN, ": %s ->\v%s", shown(c->old), shown(c->wanted));
	page_end(&p);
	page_text(&p, 2, STYLE_DIM, "command   ");
	page_verbatim(&p, change_command_in(c, false, netns, text, sizeof(text)));
	page_end(&p);
	page_text(&p, 2, STYLE_DIM, "undo      ");
	page_verbatim(&p, change_command_in(c, true, netns, text, sizeof(text)));
	page_end(&p);
	if (!*risk)
		return;
	page_text(&p, 2, STYLE_DIM, "risk      ");
	page_words(&p, STYLE_PLAIN, "%s", risk);
	page_end(&p);
}

void text_change_told(FILE *out, const struct change_told *told, bool colour)
{
	static const struct {
		const char *label;
		enum style style;
	} labels[] = {
		[CHANGE_DONE] = {"done     ", STYLE_GOOD},
		[CHANGE_NOTHING] = {"was so   ", STYLE_DIM},
		[CHANGE_FOREIGN] = {"left     ", STYLE_WARN},
		[CHANGE_GONE] = {"gone     ", STYLE_DIM},
		[CHANGE_KEPT] = {"not done ", STYLE_BAD},
		[CHANGE_FAILED] = {"failed   ", STYLE_BAD},
		[CHANGE_BACK] = {"put back ", STYLE_WARN},
	};
	struct page p = page_open(out, colour, 0);
	char command[CHANGE_COMMAND_SIZE];

	page_text(&p, 0, labels[told->outcome].style, labels[told->outcome].label);
	page_words(&p, STYLE_PLAIN, "%s%s%s%s%s", told->title, *told->current ? ": " : "",
		   told->current, *told->why ? "; " : "", told->why);
	page_end(&p);
	if (told->outcome != CHANGE_FOREIGN && told->outcome != CHANGE_KEPT)
		return;
	if (!told->change)
		return;
	page_text(&p, 9, STYLE_DIM, "to put it back all the same: ");
	page_verbatim(&p, change_undo_command(told->change, command, sizeof(command)));
	page_end(&p);
}
