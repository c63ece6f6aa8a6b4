"use strict";
/*
 * Draws a page from the JSON it contains, except for the command's text. export's live page is
 * redrawn for each state that the server sends. Names may be hostile, so they are inserted only as
 * text.
 */

const PER_S = "packets/s", DRAWN = 400;

/* Elements. Text is never treated as markup. */
const main = document.querySelector("main");
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
	/* characters that could reorder the rest of a line */
const clean = (s) => String(s).replace(BIDI, "\ufffd");

function fill(e, attributes, children) {
	for (const [name, value] of Object.entries(attributes ?? {})) {
		if (typeof value === "function")
			e.addEventListener(name, value);
		else if (value !== undefined && value !== false && value !== null)
			e.setAttribute(name, value === true ? "" : clean(value));
	}
	e.append(...children.flat(9).filter((c) => c !== null && c !== undefined && c !== false
		&& c !== "")
		.map((c) => c instanceof Node ? c : clean(c)));
	return e;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes,
	children);
const svg = (tag, attributes, ...children) =>
	fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const dim = (...text) => el("span", {class: "dim"}, ...text);

/* State to keep when a live page is redrawn: zoom, sort order, filter, unfolded parts. */
const kept = new Map();
function keep(name, initial) {
	if (!kept.has(name))
		kept.set(name, initial);
	return kept.get(name);
}
/* Adds a part that can be unfolded. `children` are created when that happens. */
function fold(id, summary, children) {
	const state = keep(id, {open: false}), content = el("div");
	const show = () => state.open && !content.firstChild && fill(content, {}, [children()]);
	show();
	return el("details", {id, open: state.open, toggle(e) {
		state.open = e.target.open;
		show();
	}}, el("summary", {}, summary), content);
}
const section = (title, note, ...children) =>
	children.flat(9).some((c) => c) && el("section", {}, el("h2", {}, title, " ", note
		&& dim(note)), ...children);

const charts = (...found) => found.some((c) => c) && el("div", {class: "charts"}, found);

/* Numbers, formatted as in the command's text. */
const list = (v) => Array.isArray(v) ? v.filter((o) => o !== null) : [];
const num = (v) => Number.isFinite(v) ? v : 0;
const sum = (a, f) => a.reduce((n, o) => n + num(f(o)), 0);
const most = (a) => a.reduce((n, v) => Math.max(n, num(v)), 0);
const count = (n) => Math.round(num(n)).toLocaleString("en-US");
const many = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
function scaled(v, base, digits, units, blank = " ") {
	let i = 0;
	v = num(v);
	if (v === Math.floor(v) && v < base)
		return v + blank + units[0];
	while (i < units.length - 1 && Number(v.toPrecision(digits)) >= base) {
		v /= base;
		i++;
	}
	return v.toFixed(Math.max(0, digits - Math.max(1, Math.floor(Math.log10(Math.max(v, 1)))
		+ 1))) +
		blank + units[i];
}
const rate = (v) => scaled(v, 1000, 4, ["pps", "kpps", "Mpps", "Gpps"]);
const time = (ns) => scaled(ns, 1000, 3, ["ns", "us", "ms", "s"]);
const short = (v) => v && v < 10 ? String(Number(v.toPrecision(3)))
	: scaled(v, 1000, 3, ["", "k", "M", "G", "T"], "").replace(
		/\.0+(?=\D|$)|(\.\d*?[1-9])0+(?=\D|$)/, "$1");
function percent(part, whole) {
	const v = 100 * part / whole;
	return !(whole > 0) ? "" : part > 0 && v < 0.01 ? "<0.01 %"
		: part < whole && v > 99.99 ? ">99.99 %" : `${v.toFixed(2)} %`;
}
const utc = (s, digits = 0) => { /* takes seconds since 1970 */
	const date = new Date(s * 1000);
	return isNaN(date) ? "" : date.toISOString().slice(11, digits ? 20 + digits : 19);
};
const day = (s) => isNaN(new Date(s * 1000)) ? "" : new Date(s * 1000).toISOString().slice(0, 10);

let view = {};
const order = (stage) => { const i = Object.keys(view.stages).indexOf(stage); return i < 0 ? 99 : i;
	};
/* Each part of the path has the same colour everywhere. The stage's name is shown next to it. */
const colour = (stage) =>
	({refused : "refused", "in flight" : "waiting", copy : "waiting"}[stage] ??
	 (Object.hasOwn(view.parts, stage) ? `c${view.parts[stage]}` : "unknown"));
const key = (name, kind = colour(name)) => el("i", {class: `key ${kind}`});
const named = (stage, kind) => el("span", {class: "stage", title: view.stages[stage]}, key(stage, kind),
	stage);
const worst = (o) => list(o.stages).reduce((a, b) => num(b.packets) > num(a?.packets) ? b : a,
	null);

/* Axes */
function ticks(axis, wanted) {
	const {min, max} = axis, found = [];
	if (axis.log) {
		const decades = Math.round(Math.log10(max / min)), by = Math.ceil(decades / wanted);
		for (let v = Math.log10(min); v <= Math.log10(max) + 1e-9; v += by)
			found.push(10 ** Math.round(v));
		return found;
	}
	const least = (max - min) / wanted, decade = 10 ** Math.floor(Math.log10(least));
	const steps = axis.clock && least > 1 ? [2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
		7200,
		10800, 21600, 43200, 86400] : [1, 2, 5, 10].map((k) => k * decade);
	const step = steps.find((s) => s >= least * (1 - 1e-9)) ?? steps.at(-1) * Math.ceil(
		least / steps.at(-1));
	const shift = axis.clock ?? 0;
	for (let v = Math.ceil((min + shift) / step - 1e-9) * step; v <= max + shift + step * 1e-9;
		v += step)
		found.push(Number((Math.round(v / step) * step - shift).toPrecision(12)));
	return found;
}
const LOG = (values, ends) => {
	const seen = values.filter((v) => v > 0);
	const min = 10 ** Math.floor(Math.log10(Math.min(...seen, ...(seen.length ? [] : [1]))) + 1e-9);
	const max = 10 ** Math.ceil(Math.log10(most(seen) || 1) - 1e-9);
	return {log: true, min, max: Math.max(max, min * 10), ...ends};
};
function LINEAR(highest, ends) {
	const axis = {min: 0, max: highest > 0 ? highest : 1, ...ends}, step = ticks(axis, 4)[1]
		?? axis.max;
	return {...axis, max: Math.ceil(axis.max / step - 1e-9) * step};
}
const place = (axis, v) => {
	const at = axis.log ? Math.log(Math.max(v, axis.min) / axis.min) / Math.log(axis.max / axis.min)
		: (v - axis.min) / (axis.max - axis.min);
	return Math.min(Math.max(num(at), 0), 1);
};

/*
 * Calls resize() with the width of a box, now and when it changes. Pages are printed before a
 * ResizeObserver is called, so on paper pictures are drawn at once, and scaled.
 */
let printing = false;
function watch(box, resize, paper) {
	if (printing)
		resize(paper);
	else
		new ResizeObserver(([entry]) => resize(Math.round(entry.contentRect.width))).observe(box);
}

/*
 * Draws a chart. `draw` receives X() and Y() and returns marks. The chart uses the available width
 * and is redrawn when the width changes. `at` returns the text for a position on x: [x, lines].
 * `zoom` is {from, to, all, charts}, shared by charts with the same time axis. Users zoom by
 * dragging, with the keys + and -, or reset with 0 or a double click.
 */
function chart(c) {
	const tip = el("div", {class: "tip", hidden: true}), legend = el("ul", {class: "legend"});
	const box = el("div", {class: "plot"}, tip), said = el("output", {class: "said"});
	let cursor = null, from = null, width = 0, X, left, right;
	const middle = () => cursor ?? (c.zoom.from + c.zoom.to) / 2;

	function draw() {
		if (!width)
			return;
		const now = c.shown(), {x, y} = now, height = 210, top = 8, bottom = top + height;
		const labels = ticks(y, 4).map((v) => [v, y.label(v)]);
		left = 14 + 6.6 * most(labels.map(([, s]) => s.length));
		right = width - 14;
		X = (v) => left + (right - left) * place(x, v);
		const Y = (v) => bottom - height * place(y, v);
		const picture = svg("svg", {viewBox: `0 0 ${width} ${bottom + 40}`, role: "img", id: c.id,
			tabindex: c.at ? 0 : undefined, "aria-label": `${c.title}. ${now.alternative}`,
			pointermove: point, pointerleave: away, pointerdown: press, pointerup: release,
			dblclick: () => zoom(), keydown: type, blur: away});
		picture.append(
			...labels.map(([v, s]) => [svg("path", {class: "grid", d: `M${left} ${Y(v)}H${right}`}),
				svg("text", {x: left - 6, y: Y(v) + 4, "text-anchor": "end"}, s)]).flat(),
			...[now.marks(X, Y, bottom)].flat(9).filter((m) => m),
			svg("path", {class: "axis", d: `M${left} ${top}V${bottom}H${right}`}));
		let free = -99;
		for (const v of ticks(x, Math.max(2, Math.min(6, width / 90)))) {
			const s = x.label(v), half = 3.8 * s.length, at = Math.min(Math.max(X(v), half),
				width - half);
			picture.append(svg("path", {class: "axis", d: `M${X(v)} ${bottom}v4`}));
			if (at - half > free)
				picture.append(svg("text", {x: at, y: bottom + 18, "text-anchor": "middle"}, s));
			free = Math.max(free, at - half > free ? at + half + 6 : free);
		}
		picture.append(svg("text", {x: left, y: bottom + 36}, x.title),
			svg("rect", {class: "chosen", y: top, height}), svg("path", {class: "cursor"}));
		const held = document.activeElement === box.querySelector("svg");
		box.querySelector("svg")?.remove();
		box.prepend(picture);
		if (held)
			picture.focus();
		legend.replaceChildren(...now.legend.map(([name, kind, value]) =>
			el("li", {}, key(name, kind), name, " ", dim(value))));
		mark();
	}
	function mark() {
		const picture = box.querySelector("svg"), found = cursor === null ? null : c.at?.(cursor);
		const line = picture?.querySelector(".cursor");
		tip.hidden = !found;
		said.textContent = found ? found[1].map(clean).join(", ") : "";
		if (!found)
			return line?.setAttribute("d", "M0 0");
		line.setAttribute("d", `M${X(found[0])} 8V218`);
		tip.replaceChildren(...found[1].map((text) => el("div", {}, text)));
		const wide = box.clientWidth / width;
		tip.style.left = `${Math.max(0, Math.min(X(found[0]) * wide + 8, box.clientWidth - tip.offsetWidth))}px`;
	}
	const value = (e) => {
		const at = e.offsetX * width / (box.clientWidth || width), {x} = c.shown();
		const part = Math.min(Math.max((at - left) / (right - left), 0), 1);
		return x.log ? x.min * (x.max / x.min) ** part : x.min + (x.max - x.min) * part;
	};
	function point(e) {
		cursor = c.at ? value(e) : null;
		if (from !== null) {
			const a = X(Math.min(from, cursor)), b = X(Math.max(from, cursor));
			const chosen = box.querySelector(".chosen");
			chosen.setAttribute("x", a);
			chosen.setAttribute("width", b - a);
		}
		mark();
	}
	function away() {
		cursor = from = null;
		mark();
	}
	function press(e) {
		if (c.zoom && e.button === 0)
			from = value(e);
	}
	function release(e) {
		const to = c.zoom ? value(e) : null, start = from;
		from = null;
		if (start !== null && Math.abs(X(to) - X(start)) > 6)
			zoom(Math.min(start, to), Math.max(start, to));
		else
			box.querySelector(".chosen")?.setAttribute("width", 0);
	}
	function zoom(a, b) {
		const z = c.zoom;
		if (!z)
			return;
		z.from = Math.max(a ?? z.all[0], z.all[0]);
		z.to = Math.min(b ?? z.all[1], z.all[1]);
		z.whole = z.from === z.all[0] && z.to === z.all[1];
		z.charts.forEach((other) => other());
	}
	function type(e) {
		const z = c.zoom, {x} = c.shown(), step = c.step?.() ?? (x.max - x.min) / 40;
		const by = {"+": 0.5, "=": 0.5, "-": 2}[e.key], move = {ArrowLeft: -1, ArrowRight: 1}[
			e.key];
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (move && x.log)
			cursor = (cursor ?? x.min) * 10 ** (move / 20);
		else if (move)
			cursor = Math.min(Math.max((cursor ?? (move > 0 ? x.min - step / 2 : x.max + step / 2))
				+ move * step, x.min), x.max);
		else if (z && by)
			zoom(middle() - (middle() - z.from) * by, middle() + (z.to - middle()) * by);
		else if (z && (e.key === "0" || e.key === "Escape"))
			zoom();
		else
			return;
		e.preventDefault();
		mark();
	}
	c.zoom?.charts.push(draw);
	const resize = (now) => {
		if (now && now !== width) {
			width = now;
			draw();
		}
	};
	watch(box, resize, 520);
	return el("figure", {}, el("figcaption", {}, el("b", {}, c.title), " ", c.note && dim(c.note)),
		legend, el("div", {class: "unit"}, c.unit), box, said);
}

/* Returns the points in the history with their rates. */
function history(doc) {
	const points = [];
	let last = {}, from = 0;
	for (const now of list(doc.intervals)) {
		const own = now.interval_ns > 0, to = now.time_ns / 1e9, before = own ? {} : last;
		const length = own ? now.interval_ns / 1e9 : to - from;
		if (!(length > 0))
			continue;
		const per = (a, b) => Math.max(num(a) - num(b), 0) / length, stages = {};
		for (const s of list(now.stages))
			stages[s.stage] = (stages[s.stage] ?? 0) +
				per(s.packets, list(before.stages).find((o) => o.stage === s.stage)?.packets);
		const point = {from: to - length, to, stages, peak: num(now.peak_pps)};
		for (const name of ["sent", "delivered", "tx_cpu_ns", "rx_cpu_ns"])
			point[name] = per(now[name], before[name]);
		points.push(point);
		last = now;
		from = to;
	}
	return points;
}

const steps = (X, Y, points, f) => points.map((p, i) =>
	`${i ? "L" : "M"}${X(p.from).toFixed(1)} ${Y(f(p)).toFixed(1)}H${X(p.to).toFixed(1)}`).join("");
const area = (X, Y, points, low, high) => svg("path", {d: steps(X, Y, points, high) +
	[...points].reverse().map((p) =>
		`L${X(p.to).toFixed(1)} ${Y(low(p)).toFixed(1)}H${X(p.from).toFixed(1)}`).join("") + "Z"});

function overTime(doc, name) {
	const points = history(doc), last = points.at(-1), begin = Date.parse(doc.start?.time) / 1000;
	const joined = num(doc.covers?.joined), clock = num(begin);
	if (!last || !points.some((p) => p.sent || p.delivered || Object.keys(p.stages).length)
		&& !view.live)
		return null;
	const zoom = keep(`${name}-zoom`, {whole: true});
	zoom.all = [points[0].from, last.to];
	zoom.charts = [];
	if (zoom.whole)
		[zoom.from, zoom.to] = zoom.all;
	const axis = () => {
		const span = zoom.to - zoom.from, clocked = clock && (span >= 120 || view.live);
		return {min: zoom.from, max: zoom.to, clock: clocked ? clock : undefined,
			label: (v) => clocked ? utc(clock + v).slice(0, span >= 1800 ? 5 : 8)
				: String(Number(v.toPrecision(6))),
			title: clocked ? `UTC, ${day(clock + zoom.from)}` : clock
				? `seconds after ${utc(clock, 3)} UTC` : "seconds"};
	};
	const shown = () => points.filter((p) => p.to > zoom.from && p.from < zoom.to);
	const inside = (v) => points.find((p) => v >= p.from && v <= p.to) ??
		points.reduce((a, b) => Math.abs(b.to - v) < Math.abs(a.to - v) ? b : a);
	const when = (p) => `${clock ? `${utc(clock + p.from, 3)} to ${utc(clock + p.to, 3)} UTC` : `${p.from} to ${p.to} s`}`;
	const sides = (id, title, unit, series, label, scale, note) => series.some(([, f]) =>
		points.some(f)) && chart({
		id: `${name}-${id}`, title, unit, note, zoom, step: () => last.to - last.from,
		shown() {
			const now = shown(), y = LINEAR(most(now.flatMap((p) => series.map(([, f]) => f(p)))),
				{label: scale});
			const total = (f) => sum(now, (p) => f(p) * (p.to - p.from)) / sum(now, (p) =>
				p.to - p.from);
			return {x: axis(), y, legend: series.map(([text, f, kind]) => [text, kind,
				label(total(f))]),
				alternative: series.map(([text, f]) =>
					`${text}: ${label(total(f))} on average, at most ${label(most(now.map(f)))}`).join("; "),
				marks: (X, Y) => [...series].reverse().map(([, f, kind]) => kind === "flow"
					? svg("g", {class: "flow"}, area(X, Y, now, () => 0, f))
					: svg("path", {class: `line ${kind}`, d: steps(X, Y, now, f)}))};
		},
		at: (v) => { const p = inside(v); return [(p.from + p.to) / 2,
			[when(p), ...series.map(([text, f]) => `${text} ${label(f(p))}`)]]; },
	});
	const stages = [...new Set(points.flatMap((p) => Object.keys(p.stages).filter((s) =>
		p.stages[s] > 0)))]
		.sort((a, b) => colour(a).localeCompare(colour(b)) || order(a) - order(b));
	const lost = (p) => sum(stages, (s) => p.stages[s]), peaks = joined > 1 && points.some((p) =>
		p.peak > 0);
	const losses = stages.length > 0 && chart({
		id: `${name}-losses`, title: "Losses by stage", unit: PER_S, zoom,
			note: "each fragment counts",
		step: () => last.to - last.from,
		shown() {
			const now = shown(), sums = stages.map((s) => sum(now, (p) => num(p.stages[s]) * (
				p.to - p.from)));
			return {x: axis(), y: LINEAR(most(now.flatMap((p) => [lost(p), peaks ? p.peak : 0])),
				{label: short}),
				legend: [...stages.map((s, i) => [s, colour(s), count(sums[i])]),
					...(peaks ? [["highest within a point", "line sent",
					rate(most(now.map((p) => p.peak)))]] : [])],
				alternative: stages.map((s, i) =>
					`${s}: ${many(Math.round(sums[i]), "packet")}`).join("; "),
				marks(X, Y) {
					const below = (s) => (p) => sum(stages.slice(0, s), (name) => p.stages[name]);
					return [stages.map((s, i) => svg("g", {class: `${colour(s)} band`},
						area(X, Y, now, below(i), below(i + 1)))),
						peaks && svg("path", {class: "line sent", d: steps(X, Y, now, (p) =>
							p.peak)}),
						stages.map((s, i) => { /* label, if it fits */
							const p = now.reduce((a, b) => num(b.stages[s]) > num(a.stages[s]) ? b
								: a);
							const room = Y(below(i)(p)) - Y(below(i + 1)(p));
							return room > 15 && X(p.to) - X(p.from) > 8 * s.length &&
								svg("text", {class: "inside", x: (X(p.from) + X(p.to)) / 2,
									y: Y(below(i + 1)(p)) + room / 2 + 4, "text-anchor": "middle"},
									s);
						})];
				}};
		},
		at: (v) => { const p = inside(v); return [(p.from + p.to) / 2,
			[when(p), ...stages.filter((s) => p.stages[s] > 0).map((s) =>
			`${s} ${rate(p.stages[s])}`), ...(peaks ? [`highest ${rate(p.peak)}`] : [])]]; },
	});
	const span = points.length > 1 ? points[0].to - points[0].from : 0;
	return section("Over time",
		`${many(points.length, "point")}${span ? ` of ${time(span * 1e9)}` : ""}${joined > 1 ? `, each the sum of ${joined} intervals` : ""}; drag or + to zoom, 0 or double click to go back`,
		charts(
			sides("rates", "Rates", PER_S, [["sent", (p) => p.sent, "line sent"],
				["delivered", (p) => p.delivered, "flow"]]
				.filter(([, f]) => points.some(f)), rate, short), losses,
			sides("cpu", "CPU", "% of one CPU", [["sender", (p) => p.tx_cpu_ns / 1e7, "line sent"],
				["receiver", (p) => p.rx_cpu_ns / 1e7, "flow"]],
				(v) => `${v.toFixed(1)} %`, (v) => String(Number(v.toPrecision(4))),
					"threads that send and receive")));
}

/* Latency at several ends, each [name, latency, histogram, packets, colour]. */
const NINES = [["min", "min", 1], ["p50", "p50", 2], ["p90", "p90", 10], ["p99", "p99", 100],
	["p999", "p99.9", 1e3],
	["p9999", "p99.99", 1e4], ["max", "max", Infinity]];
function latency(id, ends) {
	ends = ends.filter(([, l]) => l && num(l.min) >= 0);
	if (!ends.length)
		return null;
	const curves = ends.map(([name, l, , packets, kind]) => {
		const points = [];
		for (const [key, text, rarity] of NINES) {
			const x = Math.min(rarity, Math.max(num(packets), 2));
			if (key in l && (!points.length || x > points.at(-1).x))
				points.push({x, y: Math.max(l[key], 1), text, ns: l[key]});
		}
		return {name, kind, points};
	});
	const every = curves.flatMap((c) => c.points), nearest = (v, points) =>
		points.reduce((a, b) => Math.abs(Math.log(b.x / v)) < Math.abs(Math.log(a.x / v)) ? b : a);
	const quantiles = chart({
		id: `${id}-quantiles`, title: "Quantiles", unit: "one-way latency",
			note: "this percentage of packets took at most so long",
		shown: () => ({
			x: LOG(every.map((p) => p.x), {label: (v) => String(Number((100 - 100 / v).toFixed(6))),
				title: "% of the packets delivered"}),
			y: LOG(every.map((p) => p.y), {label: (v) => time(v)}),
			legend: curves.length > 1 ? curves.map((c) => [c.name, c.kind, ""]) : [],
			alternative: curves.map((c) =>
				`${c.name} ${c.points.map((p) => `${p.text} ${time(p.ns)}`).join(", ")}`).join(
				"; "),
			marks: (X, Y) => curves.map((c) => [
				svg("path", {class: `line ${c.kind}`, d: c.points.map((p, i) =>
					`${i ? "L" : "M"}${X(p.x)} ${Y(p.y)}`).join("")}),
				c.points.map((p) => svg("circle", {class: c.kind, cx: X(p.x), cy: Y(p.y), r: 4}))]),
		}),
		at: (v) => [nearest(v, curves[0].points).x,
			curves.map((c) => { const p = nearest(v, c.points);
			return `${c.name} ${p.text}: ${time(p.ns)}`; })],
	});
	const [, , buckets, , kind] = ends[0], bars = list(buckets).filter((b) => b.packets > 0);
	const histogram = ends.length === 1 && bars.length > 0 && chart({
		id: `${id}-histogram`, title: "Distribution", unit: "packets",
			note: "four columns for each doubling",
		shown: () => ({
			x: LOG(bars.flatMap((b) => [b.from_ns, b.to_ns]), {label: (v) => time(v),
				title: "one-way latency"}),
			y: LINEAR(most(bars.map((b) => b.packets)), {label: short}), legend: [],
			alternative: `${many(sum(bars, (b) => b.packets), "packet")} from ${time(bars[0].from_ns)} to ${time(bars.at(-1).to_ns)}`,
			marks: (X, Y, bottom) => svg("path", {class: `${kind} columns`, d: bars.map((b) =>
				`M${X(b.from_ns)} ${bottom}V${Y(b.packets)}H${X(b.to_ns + 1)}V${bottom}Z`).join(
					"")}),
		}),
		at: (v) => { const b = bars.find((o) => v <= o.to_ns) ?? bars.at(-1);
			return [Math.sqrt(Math.max(b.from_ns, 1) * b.to_ns),
				[`${time(b.from_ns)} to ${time(b.to_ns)}`, many(b.packets, "packet")]]; },
	});
	return charts(histogram, quantiles);
}

/* Draws a table that can be sorted by its headings and filtered by a word. Columns: [name,
   value(row), shown(row)?, picture?]. */
function table(id, columns, rows, caption, filter = rows.length > 4) {
	const state = keep(id, {by: -1, down: false, words: ""}), body = el("tbody"),
		found = el("output", {class: "dim"});
	const number = columns.map(([, f]) => rows.some((r) => typeof f(r) === "number"));
	columns.forEach((c, i) => { c.used = rows.some((r) => ![undefined, null, ""].includes(c[1](r)));
		c.number = number[i]; c.style = number[i] && !c[3] ? "n" : undefined; });
	const used = columns.filter((c) => c.used), text = (c, r) => c[2] ? c[2](r) : c.number
		? count(c[1](r)) : c[1](r) ?? "";
	const whole = (r) => used.map((c) => String(text(c, r) instanceof Node ? text(c, r).textContent
		: text(c, r))).join(" ").toLowerCase();
	const heads = used.map((c, i) => el("th", {class: c.style, scope: "col"},
		el("button", {type: "button", id: `${id}-by${i}`, click() {
			state.down = state.by === i ? !state.down : c.number;
			state.by = i;
			draw();
		}}, c[0])));
	function draw() {
		const words = state.words.toLowerCase().split(/\s+/), c = used[state.by];
		const shown = rows.filter((r) => words.every((w) => whole(r).includes(w)));
		if (c)
			shown.sort((a, b) => (c.number ? num(c[1](a)) - num(c[1](b)) : String(c[1](a)
				?? "").localeCompare(String(c[1](b) ?? ""))) * (state.down ? -1 : 1));
		heads.forEach((h, i) => h.setAttribute("aria-sort", i !== state.by ? "none" : state.down
			? "descending" : "ascending"));
		body.replaceChildren(...shown.map((r) => el("tr", {},
			used.map((o) => el("td", {class: o.style}, text(o, r))))));
		found.textContent = state.words ? `${count(shown.length)} of ${many(rows.length, "row")}`
			: "";
	}
	draw();
	return el("div", {}, filter && el("p", {class: "filter"},
		el("input", {type: "search", id: `${id}-filter`, value: state.words,
		placeholder: "filter", "aria-label": `filter: ${caption}`,
			input(e) { state.words = e.target.value; draw(); }}), " ", found),
	el("div", {class: "scroll", tabindex: 0}, el("table", {id}, el("caption", {}, caption),
		el("thead", {}, el("tr", {}, heads)), body)));
}

function losses(name, end) {
	const whole = end.sent ?? end.arrived ?? sum(list(end.stages), (s) => s.packets), rows = [];
	for (const [kind, text] of [["stages", ""], ["suspected", "suspected"],
		["expected", "expected"]])
		for (const s of list(end[kind]))
			for (const c of list(s.causes).length ? s.causes : [{}])
				rows.push({...s, ...c, stage: s.stage ?? "copy", packets: c.packets ?? s.packets, kind: text,
					agree: list(s.counters).length
						? `${list(s.counters).filter((o) => o.agrees).length} of ${s.counters.length}` : ""});
	const members = [["location", "function"], ["ifname", "interface"],
		["netns", "namespace"], ["host"], ["process"], ["rule"],
		["socket"], ["flow"], ["pod"], ["container"], ["hook"], ["source", "by"]];
	return rows.length > 0 && section("Losses",
		`${many(rows.length, "cause")}; click a head to sort`, table(`${name}-table`, [
		["stage", (r) => r.stage, (r) => named(r.stage)], ["packets", (r) => num(r.packets)],
		["of all", (r) => r.kind ? 0 : num(r.packets) / whole, (r) => r.kind ? r.kind
			: percent(r.packets, whole)],
		["reason", (r) => r.reason ?? r.note, (r) => el("span", {}, r.reason ?? "", r.note
			&& el("small", {}, r.reason ? el("br") : "", r.note))],
		...members.map(([m, head]) => [head ?? m, (r) => r[m]]), ["counters agree", (r) =>
			r.agree]], rows, "losses by cause"));
}

/* Draws the path and its exits, in order. Narrow pages show bars instead. */
function path(id, from, first, exits, last, arrived, alternative) {
	exits = exits.filter(([, n]) => n > 0);
	const whole = num(arrived) + sum(exits, ([, n]) => n), box = el("div", {class: "path"});
	let width = 0;
	const bars = () => exits.map(([name, n, kind]) => el("div", {class: "exit"}, named(name, kind),
		svg("svg", {viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": true},
			svg("rect", {class: kind ?? colour(name), width: Math.max(100 * n / whole, 0.4),
			height: 6})),
		el("b", {}, count(n)), dim(percent(n, first))));
	function stream() {
		const thick = (n) => Math.max(140 * n / whole, 1.5), down = 214, end = width - 34,
			parts = [], labels = [];
		const slot = (end - 20) / exits.length, thin = num(arrived) > 0 ? thick(arrived) : 0;
		let w = 140, d = `M2 8V${8 + w}`;
		exits.forEach(([name, n, kind], i) => {
			const t = thick(n), r = 14, x = 20 + slot * i + Math.max(slot / 2 - t / 2 - r, 0),
				low = 8 + w, tipw = t + 10;
			const mid = x + r + t / 2;
			d += `H${x}V${8 + Math.max(w - t, thin)}`;
			parts.push(svg("g", {class: kind ?? colour(name)}, svg("title", {},
				`${name}: ${many(n, "packet")}${view.stages[name] ? `\n${view.stages[name]}` : ""}`),
				svg("path", {d: `M${x - 1} ${low - t}H${x}A${r + t} ${r + t} 0 0 1 ${x + r + t} ${low + r}V${down - 12}h5L${mid} ${down}L${mid - tipw / 2} ${down - 12}h5V${low + r}A${r} ${r} 0 0 0 ${x} ${low}H${x - 1}Z`})));
			labels.push([["name", name], ["", count(n)], ["dim", percent(n, first)]].map(
				([style, text], line) =>
				svg("text", {class: style, x: mid, y: down + 18 + 17 * line,
					"text-anchor": "middle"}, text)));
			w = Math.max(w - t, thin);
		});
		d += thin ? `H${end}v4l${Math.min(8 + thin / 4, 28)} ${-(w / 2 + 4)}l${-Math.min(8 + thin / 4, 28)} ${-(w / 2 + 4)}v4Z` : "V8Z";
		return svg("svg", {viewBox: `0 0 ${width} ${exits.length ? down + 60 : 160}`, role: "img",
			"aria-label": alternative},
			svg("path", {class: "flow", d}), parts, labels);
	}
	watch(box, (now) => {
		const room = exits.every(([, n]) =>
			(now - 60) / exits.length > Math.max(112, 140 * n / whole + 44));
		if (!now || now === width)
			return;
		width = now;
		box.replaceChildren(...(now > 560 && room ? [stream()] : bars()));
	}, 720);
	return el("div", {id}, el("div", {class: "ends"}, el("span", {}, `${from} `,
		el("b", {}, count(first))),
		arrived !== null && el("span", {}, `${last} `, el("b", {}, count(arrived)), " ",
			dim(percent(arrived, first)))), box);
}

function pathOf(name, end, title = "The path of the packets") {
	const balance = !end.attempted && end.arrived > 0, stages = list(end.stages).filter((s) => !balance
		|| !["interface", "host"].includes(s.scope)), lost = sum(stages, (s) => s.packets);
	const first = balance ? end.arrived : end.attempted ? num(end.sent) : lost;
	const arrived = !end.attempted && !balance ? null : end.delivered ?? Math.max(first - lost, 0);
	const exits = [["refused", num(end.refused)], ...stages.map((s) => [s.stage, num(s.packets)]),
		["in flight", num(end.in_flight)], ["unaccounted", num(end.unaccounted)]];
	return (first > 0 || lost > 0) && section(title, "widths are packets", path(`${name}-path`,
		balance ? "arrived" : end.attempted ? "sent" : "lost", first, exits,
		end.delivered === undefined ? "not lost here" : "delivered", arrived,
			exits.filter(([, n]) => n > 0).map(([s, n]) => `${s}: ${many(n, "packet")}`).join("; ")
			|| "nothing was lost"));
}

/* Draws host, wire, host with the losses at each, [name, [[what, n]..]]. */
const hops = (places, unit) => section("Host, wire, host", unit, el("ol", {class: "hops"},
	places.map(([name, parts]) => {
	const shown = parts.filter(([, n]) => n > 0);
	return el("li", {class: shown.length ? "" : "good"}, el("b", {}, name), shown.length
		? el("ul", {}, shown.map(([what, n]) =>
		el("li", {}, what in view.stages ? named(what) : what, " ", el("b", {}, count(n)))))
			: el("p", {class: "dim"}, "nothing lost"));
})));
function betweenHosts(doc) {
	const hosts = doc.start?.hosts, tcp = doc.joined;
	if (tcp) {
		const wires = list(tcp.wire), lost = list(tcp.lost),
			names = [...new Set([...wires.map((w) => w.from), ...lost.map((l) => l.host),
			...wires.map((w) => w.to)])];
		return names.length > 0
			&& hops(names.flatMap((host) => [[host, lost.filter((l) => l.host === host).map((l) =>
			[l.stage, l.segments])],
			...wires.filter((w) => w.from === host).map((w) => [`wire to ${w.to}`,
				[["wire", w.segments]]])]), "first transmissions of TCP that were lost");
	}
	if (!hosts?.tx?.name || !hosts?.rx?.name || !doc.end)
		return null;
	const side = (s, c) => s.stage === "wire" ? 1 : c.host ? (c.host === hosts.rx.name
		&& c.host !== hosts.tx.name ? 2 : 0) : order(s.stage) < order("wire") ? 0 : 2;
	const places = [[hosts.tx.name, {}], ["wire", {}], [hosts.rx.name, {}]];
	for (const s of list(doc.end.stages))
		for (const c of list(s.causes).length ? s.causes : [s])
			places[side(s, c)][1][s.stage] = (places[side(s, c)][1][s.stage] ?? 0) + num(c.packets);
	return hops(places.map(([name, parts]) => [name, Object.entries(parts)]),
		"packets lost at each");
}

/* Findings. Commands can be copied and pasted. */
function fact(k, v) {
	const [, name, unit] = typeof v === "number" && k.match(/^(.+)_(ns|pps|percent|bytes)$/) || [, k, ""];
	return [(name === "ifname" ? "interface" : name).replace(/_/g, " "),
		typeof v !== "number" ? v : unit === "ns" ? time(v) : unit === "pps" ? rate(v)
		: unit === "percent" ? `${count(v)} %` : unit === "bytes" ? `${count(v)} bytes`
		: /(^|_)(port|pid|cpu)$/.test(k) ? String(v) : count(v)];
}
function facts(o, said) {
	return Object.entries(o).flatMap(([k, v]) => v === null || said.includes(k)
		|| typeof v === "boolean" ? []
		: Array.isArray(v) ? v.filter((c) => c?.command).map((c) => [el("dt", {}, "and"),
			el("dd", {}, el("code", {}, c.command))])
		: typeof v === "object" ? facts(v, said)
		: /^(command|undo)$/.test(k) ? [el("dt", {}, k), el("dd", {}, el("code", {}, v))]
		: [el("dt", {}, fact(k, v)[0]), el("dd", {}, fact(k, v)[1])]);
}
const findings = (end) => section("Findings", "", list(end.findings).map((f) => el("article",
	{class: `finding ${{error: "bad", warning: "warn"}[f.severity] ?? ""}`},
	el("h3", {}, f.stage in view.stages && key(f.stage), f.id === f.stage || !f.id ? f.stage : f.id,
		f.subject && `, ${f.subject}`, f.netns && ` in ${f.netns}`, f.host && ` on ${f.host}`,
		f.loss_pps > 0 && `, ${rate(f.loss_pps)}`, " ", dim(f.severity ?? "")), el("p", {}, f.cause ?? ""),
	/* what to do comes first */
	el("dl", {class: "facts"}, facts({fix: null, command: null, undo: null, risk: null, ...f}, ["id", "stage", "severity", "cause", "host",
		"netns", "subject", "loss_pps", "page_bytes"])))));

/* Draws tiles below the headline: [name, value, more]. */
const tiles = (shown) => el("dl", {class: "figures"}, shown.filter((t) => t).map(
	([name, value, more]) => el("div", {}, el("dt", {}, name), el("dd", {}, value, el("small", {},
	more ?? "")))));
function figures(end) {
	const tcp = end.tcp, ns = num(end.duration_ns), lost = num(end.probes?.dropped ?? end.dropped ?? end.lost),
		whole = end.sent ?? end.arrived, cpu = num(end.tx_cpu_ns) + num(end.rx_cpu_ns);
	const flow = (k, r) => end[k] !== undefined && [k, count(end[k]), end[r] > 0 && rate(end[r])];
	return tiles([flow("sent", "tx_pps"), flow("arrived"), flow("received", "rx_pps"),
		flow("delivered", "rx_pps"),
		tcp?.data_segs_out > 0 && ["sent by TCP", count(tcp.data_segs_out), "segments with data"],
		tcp?.data_segs_out > 0 && ["sent again", count(tcp.retransmitted),
			percent(tcp.retransmitted, tcp.data_segs_out)],
		[tcp ? "lost on this host" : "lost", count(lost), percent(lost, whole)],
		end.unaccounted > 0 && ["unaccounted", count(end.unaccounted), percent(end.unaccounted,
			whole)],
		end.latency_ns && ["latency, median", time(end.latency_ns.p50),
			`p99 ${time(end.latency_ns.p99)}`],
		ns > 0 && [view.live ? "watched for" : "duration", time(ns)],
		ns > 0 && cpu > 0 && ["CPU, sender + receiver",
			`${Math.round(100 * num(end.tx_cpu_ns) / ns)} + ${Math.round(100 * num(end.rx_cpu_ns) / ns)} %`]]);
}

function tcpParts(name, doc) {
	const tcp = doc.end?.tcp, of = doc.joined ?? tcp;
	if (!(tcp?.retransmitted > 0))
		return null;
	const parts = doc.joined ? [] : [["lost here", num(of.lost_here)],
		["downstream", sum(list(of.downstream), (o) => o.segments)]];
	parts.push(["spurious", num(of.spurious)], ["undecided", num(of.undecided)
		+ num(of.unjoined)]);
	if (doc.joined)
		parts.unshift(...list(of.lost).map((l) => [`${l.stage} on ${l.host}`, l.segments]),
			...list(of.wire).map((w) => [`${w.from} to ${w.to}`, w.segments]));
	const kinds = {spurious: "flow", undecided: "unknown", downstream: "c2", "lost here": "c6"};
	return section("TCP: why segments were sent again", many(tcp.retransmitted, "segment"),
		path(`${name}-tcp`, "sent again", num(doc.joined?.segments ?? tcp.retransmitted),
		parts.map(([text, n]) => [text, n, kinds[text] ?? "c2"]), "", null, parts.map(([text, n]) =>
			`${text}: ${n}`).join("; ")),
	list(tcp.flows).length > 0 && fold(`${name}-tcpflows`, many(tcp.flows.length, "flow"),
		() => table(`${name}-tcpflow`, ["src", "dst", "netns", "retransmitted", "lost_here",
		"downstream", "spurious", "undecided"]
		.map((k) => [k.replace(/_/g, " "), (r) => r[k]]), tcp.flows, "flows of TCP")));
}

/* Trials from a sweep, a search or --repeat. */
const labelOf = (t, i) => { const p = Object.entries(t.parameters ?? {}); return p.length
	? p.map(([k, v]) => k === "trial" && p.length === 1 ? v : `${k}=${v}`).join(" ")
	: `trial ${i + 1}`; };
const lossOf = (t) => t.loss_fraction ?? (t.sent > 0 ? Math.max(1 - (num(t.delivered)
	+ num(t.in_flight)) / t.sent, 0) : 0);
const loadOf = (t) => num(t.parameters?.rate_pps) || num(t.tx_pps);
const differ = (s) => s && s.max > 2 * s.min && s.max > 1e-4;
const GOALS = [["ndr", "NDR, no drop", "good"], ["pdr", "PDR, partial drop", "warn"],
	["mrr", "MRR, as fast as it goes", "dim"]];
const found = (end, k) => num(k === "mrr" ? end[k]?.throughput_pps : end[k]?.lower_pps);
const split = (t, scale) => {
	const parts = [["delivered", t.delivered, "flow"], ...list(t.stages).map((s) => [s.stage,
		s.packets, colour(s.stage)]), ["in flight", t.in_flight, "waiting"], ["unaccounted",
		t.unaccounted, "unknown"]];
	let x = 0;
	return svg("svg", {class: "bar", viewBox: "0 0 200 12", role: "img", "aria-label": parts.filter(
		([, n]) => n > 0).map(([s, n]) => `${s} ${count(n)}`).join(", ")},
		parts.filter(([, n]) => n > 0).map(([name, n, kind]) => { const w = 200 * scale * Math.min(
			n / num(t.sent), 1), at = x; x += w;
			return svg("rect", {class: kind, x: at.toFixed(2), width: w.toFixed(2), height: 12},
				svg("title", {}, `${name}: ${many(n, "packet")}, ${percent(n, t.sent)}`)); }));
};
function lossOverRate(name, doc) {
	const tried = list(doc.trials).filter((t) => loadOf(t) > 0).slice(0, DRAWN), end = doc.end
		?? {}, goals = GOALS.filter(([k]) => found(end, k) > 0);
	if (!tried.length || !(goals.length || tried.some((t) => t.parameters && ("rate" in t.parameters
		|| "rate_pps" in t.parameters))))
		return null;
	const seen = tried.map(lossOf).filter((v) => v > 0), least = Math.min(...seen, 1e-4) / 10,
		ndr = num(end.ndr?.lower_pps);
	const below = (t) => ndr > 0 && loadOf(t) <= ndr && lossOf(t) > 0
		&& t.parameters?.phase !== "warm-up";
	const kind = (t) => t.parameters?.phase === "warm-up" ? "waiting" : worst(t)
		? colour(worst(t).stage) : lossOf(t) > 0 ? "refused" : "flow";
	const say = (t) => `${rate(loadOf(t))}: ${percent(lossOf(t), 1)} lost${worst(t) ? `, most at ${worst(t).stage}` : ""}`;
	return section("Capacity of this path",
		"a dot is a trial, coloured by the stage that lost most",
		goals.length > 0 && tiles(GOALS.filter(([k]) => end[k]).map(([k, title]) =>
			[title, rate(found(end, k)),
			`${end[k].upper_pps > end[k].lower_pps && k !== "mrr" ? `${rate(end[k].upper_pps)} did not hold${end[k].stage ? `: ${end[k].stage}` : ""}` : k !== "mrr" ? `at least that${end[k].done === false ? "; not finished" : ""}` : end[k].stage ? `limited by ${end[k].stage}` : ""}${end[k].lost_below > 0 ? `; ${end[k].lost_below} of ${many(num(end[k].trials_below), "trial")} up to the lower rate lost more` : ""}`])),
		chart({
			id: `${name}-loss`, title: "Loss over rate",
				unit: "lost or unsent (bottom: nothing)",
			shown: () => ({
				x: most(tried.map(loadOf)) > 30 * Math.min(...tried.map(loadOf))
					? LOG(tried.map(loadOf), {label: short, title: PER_S})
					: LINEAR(most(tried.map(loadOf)) * 1.02, {label: short, title: PER_S}),
				y: {...LOG([least, ...seen, 1e-3],
					{label: (v) => `${Number((100 * v).toPrecision(3))} %`})},
				legend: [["no loss", "flow", ""], ...(tried.some((t) => kind(t) === "waiting")
					? [["warm-up", "waiting", ""]] : []),
					...[...new Set(tried.map((t) => worst(t)?.stage).filter((s) => s))].map((s) =>
					[s, colour(s), ""]),
					...goals.map(([k, title, style]) => [title, `line ${style}`,
						rate(found(end, k))]), ...(tried.some(below)
						? [["lost below the NDR", "ring", String(tried.filter(below).length)]]
						: [])],
				alternative: tried.map(say).join("; "),
				marks: (X, Y, bottom) =>
					[goals.map(([k, , style]) => [end[k].upper_pps > end[k].lower_pps && svg("path",
					{class: `zone ${style}`,
					d: `M${X(end[k].lower_pps)} 8H${X(end[k].upper_pps)}V${bottom}H${X(end[k].lower_pps)}Z`}),
					svg("path", {class: `line dashed ${style}`,
						d: `M${X(found(end, k))} 8V${bottom}`})]),
				tried.map((t) => svg("circle", {class: `${kind(t)}${below(t) ? " below" : ""}`,
					cx: X(loadOf(t)), cy: Y(lossOf(t)), r: below(t) ? 6 : 4.5}, svg("title", {},
					say(t))))],
			}),
			at: (v) => { const t = tried.reduce((a, b) =>
				Math.abs(Math.log(loadOf(b) / v)) < Math.abs(Math.log(loadOf(a) / v)) ? b : a);
				return [loadOf(t), tried.filter((o) => loadOf(o) === loadOf(t)).slice(0,
				8).map(say)]; },
		}),
		tried.some(below) && table(`${name}-below`, [["rate", loadOf, (t) => rate(loadOf(t))],
			["lost", lossOf, (t) => percent(lossOf(t), 1)], ["stage", (t) => worst(t)?.stage]],
			tried.filter(below), "trials at or below the NDR that lost packets"));
}
function heat(title, note, rows, columns, cell) {
	return section(title, note, el("div", {class: "scroll", tabindex: 0},
		el("table", {class: "heat"}, el("caption", {}, note), el("thead", {}, el("tr", {}, el("td"),
		columns.map((c) => el("th", {scope: "col"}, c)))),
		el("tbody", {}, rows.map((r) => el("tr", {}, el("th", {scope: "row"}, r),
			columns.map((c) => { const o = cell(r, c);
			return o ? el("td", {class: `n h${o.lost > 0 ? Math.min(9, Math.max(1, Math.ceil(9 + 2 * Math.log10(o.lost)))) : 0}`, title: o.title}, percent(o.lost, 1) || "?", " ", dim(o.more ?? ""), o.balanced === false && el("b", {}, " not balanced")) : el("td", {}, ""); })))))));
}
function trials(name, doc) {
	const tried = list(doc.trials), points = list(doc.end?.points),
		names = list(doc.start?.parameters), top = most(tried.map((t) => t.tx_pps));
	if (!tried.length)
		return null;
	const columns = (of) => [...new Set(of.flatMap((t) => Object.keys(t.parameters ?? {})))].map(
		(k) => [k.replace(/_(pps|ns)$/, ""), (t) => t.parameters?.[k], k === "rate_pps" ? (t) =>
		rate(t.parameters[k]) : k.endsWith("_ns") ? (t) => time(t.parameters?.[k]) : (t) =>
		String(t.parameters?.[k] ?? "")]);
	const unlike = points.filter((p) => differ(p.lost_fraction) || differ(p.rx_pps)
		|| differ(p.tx_pps));
	const at = (r, c) => points.find((p) => String(p.parameters?.[names[0]]) === r
		&& String(p.parameters?.[names[1]]) === c);
	const values = (i) => [...new Set(points.map((p) => String(p.parameters?.[names[i]])))];
	return [lossOverRate(name, doc),
		names.length === 2 && points.length > 1 && heat("Loss",
			`${names[0]} down, ${names[1]} across`, values(0), values(1),
			(r, c) => { const p = at(r, c);
			return p && {lost: num(p.lost_fraction?.median), more: p.stage, balanced: p.balanced}; }),
		points.length > 0 && points.some((p) => p.trials > 1) && section("Points", unlike.length
			? "" : "medians of repeated trials",
			unlike.length > 0 && el("p", {class: "warn"},
				`Repeats of ${many(unlike.length, "point")} differ by more than 2x: do not compare their medians.`),
			table(`${name}-points`, [...columns(points), ["trials", (p) => num(p.trials)],
				["sent at", (p) => num(p.tx_pps?.median), (p) => rate(p.tx_pps?.median)],
				["lost", (p) => num(p.lost_fraction?.median), (p) => percent(num(p.lost_fraction?.median),
					1)], ["from best to worst", (p) => num(p.lost_fraction?.max), (p) =>
					p.lost_fraction?.max !== undefined
					? `${percent(p.lost_fraction.min, 1)} to ${percent(p.lost_fraction.max, 1)}` : ""],
				["most at", (p) => p.stage, (p) => p.stage ? named(p.stage) : ""],
					["repeats", (p) => unlike.includes(p) ? "differ by more than 2x" : ""]], points,
					"medians of each point")),
		section("Trials", "each bar is the rate sent, split by outcome", table(`${name}-trials`,
			[["trial", (t) => labelOf(t, tried.indexOf(t))], ...(columns(tried).length > 1
			? columns(tried) : []).map(([k, f, s]) => [k, f, s]),
			["sent at", (t) => num(t.tx_pps), (t) => t.error ? `failed: ${t.error.message ?? ""}`
				: rate(t.tx_pps)], ["outcome", (t) => t.error ? "" : num(t.tx_pps), (t) => !t.error
				&& t.sent > 0 ? split(t, num(t.tx_pps) / top) : "", true],
			["lost", lossOf, (t) => t.error ? "" : percent(lossOf(t), 1)],
				["most at", (t) => worst(t)?.stage, (t) => worst(t) ? named(worst(t).stage) : ""],
				["p99", (t) => t.latency_ns?.p99, (t) => t.latency_ns ? time(t.latency_ns.p99)
				: ""],
			["", (t) => t.balanced === false ? "not balanced" : ""]].map((c) => c).filter((c, i,
				all) => !(i === 0 && all[1][0] !== "sent at")), tried.slice(0, DRAWN),
				`trials${tried.length > DRAWN ? `, the first ${DRAWN} of ${count(tried.length)}` : ""}`))];
}

/* A and B in the same chart. */
function comparison(c, docs) {
	const ends = docs.map((d) => d.end ?? {}), shares = (e) => Object.fromEntries(
		list(e.stages).map((s) => [s.stage, num(s.packets) / num(e.sent ?? e.arrived
		?? e.dropped)]));
	const both = ends.map(shares), stages = [...new Set(both.flatMap((s) => Object.keys(s)))].sort(
		(a, b) => order(a) - order(b)), top = most(both.flatMap((s) => Object.values(s))) || 1;
	const curves = latency("compared", ends.map((e, i) => ["AB"[i], e.latency_ns, null, e.delivered,
		["flow", "line second"][i]]));
	const unit = (name) => name.startsWith("-") ? "" : name.match(/_(pps|ns)$/)?.[1] ?? "";
	const label = (r) => ({tx_pps: "sent at", rx_pps: "received at"})[r.name]
		?? (r.name in view.stages || /[.-]/.test(r.name) ? r.name
		: r.name.replace(/_(pps|ns)$/, "").replace(/_/g, " "));
	const value = (v, name = "") => typeof v === "number" && unit(name) ? (unit(name) === "ns" ? time
		: rate)(v) : v === null || v === undefined ? "–" : typeof v === "object"
		? JSON.stringify(v) : typeof v === "number" && v === Math.floor(v) ? count(v)
		: typeof v === "number" ? String(Number(v.toPrecision(6))) : String(v);
	return [el("header", {}, el("p", {class: "dim"}, "comparison"), el("h1", {}, c.verdict
		?? "A and B compared")),
		section("A and B compared", "", stages.length > 0 && el("figure", {}, el("figcaption",
			{}, el("b", {}, "Losses"), " ", dim("percentage of sent packets")),
			el("div", {class: "pairs"},
				stages.map((s) => [named(s),
				el("div", {}, both.map((of, i) => el("div", {class: "pair"},
				svg("svg", {viewBox: "0 0 200 10", preserveAspectRatio: "none", role: "img",
				"aria-label": `${"AB"[i]}: ${percent(num(of[s]), 1)}`},
				svg("rect", {class: ["flow", "second"][i], width: 200 * num(of[s]) / top,
					height: 10})), el("span", {}, `${"AB"[i]} ${percent(num(of[s]), 1)}`))))]))),
					curves),
		list(c.results).length > 0 && section("Results", "", table("results", [["", label],
			["A", (r) => r.a, (r) => value(r.a, r.name)], ["B", (r) => r.b, (r) => value(r.b, r.name)],
			["change", (r) => r.change ?? 0, (r) => r.change === null ? "–"
				: `${r.change > 0 ? "+" : ""}${(100 * r.change).toFixed(1)} %`]], list(c.results),
				"results of A and B")),
		[...list(c.setup), ...list(c.env)].length > 0 && section("What was different", "",
			table("different", [["", label], ["A", (r) => value(r.a, r.name)],
			["B", (r) => value(r.b, r.name)]], [...list(c.setup), ...list(c.env)],
			"different settings"))];
}

/* Shows any object in full, for readers who want details. */
const tree = (o) => el("table", {class: "tree"}, el("tbody", {}, Object.entries(o).filter(([, v]) =>
	v !== null).map(([k, v]) => el("tr", {}, el("th", {scope: "row"}, k),
	el("td", {}, Array.isArray(v) && typeof v[0] === "object" || v && typeof v === "object"
		&& !Array.isArray(v) ? (Array.isArray(v) ? v : [v]).map(tree) : Array.isArray(v)
		? v.join(" ") : String(v))))));

function drawDocument(doc, i) {
	const start = doc.start ?? {}, only = list(doc.trials).length === 1
		&& doc.trials[0].intended === undefined && doc.trials[0].attempted > 0 ? doc.trials[0]
		: null;
	const end = only ?? doc.end ?? doc.sum ?? {}, name = `d${i}`, what = String(doc.schema).split(
		"/")[1], begin = Date.parse(start.time) / 1000, between = doc.between;
	const letter = view.comparison ? `${"AB"[i]} · ` : "", many_ = list(doc.trials).length > 0
		&& !only, file = doc.file ?? view.names[i];
	const gaps = end.loss_bursts, histogram = (title, note, of, from, n) => list(of).length > 0
		&& el("figure", {}, el("figcaption", {}, el("b", {}, title), " ", dim(note)),
		table(`${name}-${title}`, [[from, (b) => num(b.from), (b) => b.from === b.to ? count(b.from)
			: `${count(b.from)} – ${count(b.to)}`], ["", (b) => num(b[n]), (b) => svg("svg",
			{class: "bar", viewBox: "0 0 200 12", "aria-hidden": true},
			svg("rect", {class: "flow", height: 12, width: 200 * num(b[n]) / most(
			list(of).map((o) => o[n]))})), true], [n, (b) => num(b[n])]], of, title, false));
	const limits = list(doc.limits).filter((l) => l.broken), envs = [[start.host, start.env],
		[start.hosts?.rx?.name, start.peer_env]].filter(([, e]) => e);
	return el("div", {class: "document", id: name},
		el("header", {}, el("p", {class: "dim"}, letter, view.live ? "live since" : what,
			isNaN(begin) ? "" : ` · ${day(begin)} ${utc(begin)} UTC`, start.host
			&& ` · ${start.host}`, file && ` · ${file}`, doc.number && ` (${doc.number})`),
			el("h1", {}, view.headlines[i]), !many_ && end.balanced === false
				&& el("p", {class: "bad"}, "NOT BALANCED: some packets are not accounted for."),
			many_ && doc.end?.balanced === false && el("p", {class: "bad"},
				"NOT BALANCED: some of the trials."), doc.error && el("p", {class: "bad"},
				doc.error.message, " ", dim(doc.error.hint ?? "")),
			limits.map((l) => el("p", {class: "bad"},
				`limit ${l.limit} is broken: ${l.unit === "fraction" ? percent(l.measured, 1) : l.unit === "pps" ? rate(l.measured) : count(l.measured)}`)),
			list(start.command).length > 0 && el("pre", {}, start.command.map((w) =>
				/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replace(/'/g, "'\\''")}'`).join(" ")),
			!many_ && !between && end.namespaces === undefined && Object.keys(end).length > 0
				&& figures(end)),
		between && section("From A to B", `${between.a?.file ?? "A"} to ${between.b?.file ?? "B"}`,
			path(`${name}-path`, "in A", num(between.a?.compared),
			[["lost", num(between.lost), "c0"], ["B not there", num(between.unknown?.outside),
			"waiting"],
			["dropped or cut", num(between.unknown?.dropped_or_cut), "unknown"]], "in A and B",
				num(between.matched), `${many(num(between.lost), "packet")} lost`)),
		between && section("Latency", "from A to B",
			latency(name, [["", between.latency_ns, between.latency_histogram, between.matched,
			"flow"]])),
		betweenHosts(doc), !many_ && !between && end.namespaces === undefined
			&& end.received === undefined && pathOf(name, end), tcpParts(name, doc),
			findings(doc.end ?? {}), many_ && trials(name, doc), many_ ? null : overTime(only
			?? doc, name),
		section("Latency", end.clock?.doubt ?? "",
			latency(name, [["", end.latency_ns, end.latency_histogram, end.delivered, "flow"]])),
		list(end.latency_breakdown).length > 0 && section("Latency breakdown", "", table(`${name}-legs`,
			[["from", (l) => l.from], ["to", (l) => l.to], ["packets", (l) => num(l.packets)],
			...["p50", "p99", "max"].map((q) => [q, (l) => num(l.latency_ns?.[q]), (l) =>
			time(l.latency_ns?.[q])])], end.latency_breakdown, "from probe to probe")),
		!many_ && losses(name, end),
		section("Loss bursts and reordering", "", charts(histogram("Loss bursts",
			"losses in a row, and how often", gaps?.length, "length", "bursts"),
			histogram("Reordering", "how many packets too late", end.reordering?.extent, "extent",
			"packets"))),
		list(end.flows).length > 1 && section("Flows", many(end.flows.length + num(end.flows_more),
			"flow"), fold(`${name}-flows`, "show", () => table(`${name}-flow`,
			[["from", (f) => f.source], ...["delivered", "reordered", "duplicated"].map((k) =>
			[k, (f) => num(f[k])]),
			...["p50", "p99"].map((q) => [q, (f) => f.latency_ns?.[q], (f) => f.latency_ns
				? time(f.latency_ns[q]) : ""])], end.flows, "flows"))),
		list(doc.senders).length > 1 && section("Senders", "packets of each, by outcome",
			table(`${name}-senders`, [["host", (s) => s.start?.hosts?.tx?.name ?? s.start?.host],
			["sent", (s) => num(s.end?.sent)], ["delivered", (s) => num(s.end?.delivered)],
			["lost", (s) => num(s.end?.dropped)], ["unaccounted", (s) => num(s.end?.unaccounted)],
				["most at", (s) => worst(s.end ?? {})?.stage, (s) => worst(s.end ?? {})
				? named(worst(s.end).stage) : ""], ["file", (s) => s.file]], doc.senders,
				"senders")),
		list(doc.notes).length > 0 && section("Notes", "",
			doc.notes.map((n) => el("p", {class: "warn"}, n))),
		envs.length > 0 && section("Hosts", "", envs.map(([host, env], k) => fold(`${name}-env${k}`,
			host ?? "host", () => tree(env)))));
}

function draw(state) {
	const focus = document.activeElement?.id, caret = document.activeElement?.selectionStart;
	view = state;
	const pairs = view.matrix?.pairs, parts = [list(view.joined).map((text, i) => el(i ? "p" : "h1", {}, text))];
	if (view.comparison)
		parts.push(comparison(view.comparison, view.documents));
	if (view.matrix)
		parts.push(el("h1", {}, `Loss between ${view.matrix.nodes.length} hosts`),
			heat("From whom, to whom", "senders down, receivers across", view.matrix.nodes,
			view.matrix.nodes, (r, c) => { const p = list(pairs).find((o) =>
			o.from === r && o.to === c);
			return p && {lost: num(p.lost_fraction), more: p.stage, balanced: p.balanced,
				title: `${count(p.sent - p.delivered)} packets of ${many(p.runs, "run")}`}; }));
	else
		parts.push(view.documents.map(drawDocument));
	main.replaceChildren(...parts.flat(9).filter((p) => p));
	const again = focus ? document.getElementById(focus) : null;
	again?.focus();
	if (caret !== undefined && caret !== null)
		again?.setSelectionRange?.(caret, caret);
}

const read = (of) => [...document.querySelectorAll(`script.pktledger-${of}`)];
const documents = read("document");
draw({...JSON.parse(read("view")[0].textContent), documents: documents.map((e) =>
	JSON.parse(e.textContent)), names: documents.map((e) => e.dataset.name)});

/* Printed pages show every chart and table in full. */
let before = null;
addEventListener("beforeprint", () => {
	printing = true;
	before = [...kept].map(([k, v]) => [k, {...v}]);
	for (const v of kept.values())
		Object.assign(v, "words" in v ? {words: ""} : "whole" in v ? {whole: true} : {});
	draw(view);
});
addEventListener("afterprint", () => {
	printing = false;
	before?.forEach(([k, v]) => Object.assign(kept.get(k), v));
	before = null;
	draw(view);
});

if (view.live) {
	const pause = document.querySelector("footer button"), age = document.querySelector(
		"footer output"), pre = document.querySelector("#full pre");
	let last = Date.now(), held = null, paused = false;
	const show = (state) => { draw({names: [], ...state}); pre.textContent = state.text; };
	pause.hidden = false;
	pause.addEventListener("click", () => {
		paused = !paused;
		if (!paused && held)
			show(held);
		held = null;
		pause.textContent = paused ? "Go on" : "Pause";
	});
	const ask = () => fetch("live").then((answer) => answer.json()).then((state) => {
		last = Date.now();
		held = state;
		if (!paused)
			show(held);
	}).catch(() => {}).finally(() => setTimeout(ask, 1000)); /* the age reveals a failure */
	ask();
	setInterval(() => {
		const seconds = Math.round((Date.now() - last) / 1000);
		age.textContent = `${paused ? "paused, " : ""}updated ${seconds} s ago`;
		document.body.classList.toggle("stale", seconds >= 5);
	}, 1000);
}
