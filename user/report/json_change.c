// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json_change.h"

#include "base/json.h"

struct json_object *json_change(const struct change *c, const char *netns)
{
	struct json_object *o = json_object_new_object();
	char text[2 * CHANGE_COMMAND_SIZE];

	json_put_text(o, "title", change_title(c, text, sizeof(text)));
	json_put_text(o, "ifname", c->ifname);
	json_put_text(o, "name", c->name);
	json_put_text(o, "old", c->old);
	json_put_text(o, "wanted", c->wanted);
	json_put_text(o, "command", change_command_in(c, false, netns, text, sizeof(text)));
	json_put_text(o, "undo", change_command_in(c, true, netns, text, sizeof(text)));
	json_put_text(o, "risk", change_risk(c));
	return o;
}

struct json_object *json_change_told(const struct change_told *told, const char *netns)
{
	static const char *const outcomes[] = {
		[CHANGE_DONE] = "done", [CHANGE_NOTHING] = "nothing", [CHANGE_FOREIGN] = "foreign",
		[CHANGE_GONE] = "gone", [CHANGE_KEPT] = "kept",	      [CHANGE_FAILED] = "failed",
		[CHANGE_BACK] = "back",
	};
	struct json_object *o =
		told->change ? json_change(told->change, netns) : json_object_new_object();

	json_put_text(o, "title", told->title);
	json_put_text(o, "outcome", outcomes[told->outcome]);
	json_put_text(o, "current", told->current);
	json_put_text(o, "why", told->why);
	return o;
}
