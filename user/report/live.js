"use strict";
/* The page of export: each state of the host takes the place of the one before. */
const main = document.querySelector("main"), pause = document.querySelector("button");
const age = document.querySelector("output");
let last = Date.now(), held = null;

function show(text) {
	const open = [...main.querySelectorAll("details")].map((d) => d.open);

	main.innerHTML = text;
	main.querySelectorAll("details").forEach((d, i) => { d.open = !!open[i]; });
}

new EventSource("live").onmessage = (event) => {
	last = Date.now();
	if (held === null)
		show(event.data);
	else
		held = event.data;
};

pause.hidden = false;
pause.onclick = () => {
	if (held)
		show(held);
	held = held === null ? "" : null;
	pause.textContent = held === null ? "Pause" : "Go on";
};

setInterval(() => {
	const seconds = Math.round((Date.now() - last) / 1000);

	age.textContent = held !== null ? "paused" : seconds < 5 ? "live" : `no answer for ${seconds} s`;
	document.body.classList.toggle("stale", seconds >= 5);
}, 1000);
