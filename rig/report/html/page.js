
"use strict";
// The figure is drawn already. This script changes which part of it is seen, and reads numbers out of it.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.getElementById("timeline");
  const grid = document.getElementById("grid");
  const axis = document.getElementById("ticks");
  const view = document.getElementById("view");
  const whole = data.span / data.width;
  const plots = [...root.querySelectorAll("svg.z")];
  const placed = [...root.querySelectorAll("[data-x]")].map((node) => ({
    node, from: Number(node.dataset.x), to: node.dataset.x2 === undefined ? null : Number(node.dataset.x2),
  }));
  const outputs = [...root.querySelectorAll("[data-row]")].map((row) => ({
    node: row.querySelector("output"), numbers: data.rows[row.dataset.row],
  }));
  const incidents = [...root.querySelectorAll("a.mark")].map((node) => Number(node.dataset.x)).sort((a, b) => a - b);
  const least = Math.min(whole, Math.max(4, 0.5 / data.width));
  let from = 0, to = whole, cursor = null, dragged = null;

  const line = document.createElement("i");
  line.id = "cursor";
  const chosen = document.createElement("i");
  chosen.id = "chosen";
  line.className = chosen.className = "gone";
  grid.append(line, chosen);

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const percent = (x) => `${(100 * (x - from)) / (to - from)}%`;
  const seconds = (x) => x * data.width;

  function clock(at, step) {
    if (data.span < 60 || step < 1) return `${Number(at.toFixed(step < 0.1 ? 2 : 1))} s`;
    const total = Math.round(at), rest = String(total % 60).padStart(2, "0"), minutes = Math.floor(total / 60);
    if (total < 60) return `${total} s`;
    return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
  }

  function show(newFrom, newTo) {
    const width = clamp(newTo - newFrom, least, whole);
    from = clamp(newFrom, 0, whole - width);
    to = from + width;
    for (const plot of plots) plot.setAttribute("viewBox", `${from} 0 ${width} 100`);
    for (const { node, from: x, to: end } of placed) {
      const out = end === null ? x < from || x > to : end < from || x > to;
      node.classList.toggle("gone", out);
      if (out) continue;
      const left = end === null ? x : Math.max(x, from);
      node.style.left = percent(left);
      if (end !== null) node.style.width = `${(100 * (Math.min(end, to) - left)) / width}%`;
    }
    ticks();
    point(cursor, false);
    tell();
  }

  function ticks() {
    const steps = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
    const wanted = Math.max(2, Math.floor(axis.clientWidth / 90)), span = seconds(to - from);
    const step = steps.find((each) => span / each <= wanted) || 86400;
    axis.replaceChildren();
    for (const old of grid.querySelectorAll(".line")) old.remove();
    for (let at = Math.ceil(seconds(from) / step - 1e-9) * step; at <= seconds(to) + 1e-9; at += step) {
      const label = document.createElement("span"), rule = document.createElement("i");
      label.className = "tick";
      rule.className = "line";
      label.textContent = clock(at, step);
      label.style.left = rule.style.left = percent(at / data.width);
      if (at / data.width - from > (to - from) * 0.02) label.style.transform = "translateX(-50%)";
      axis.append(label);
      grid.append(rule);
    }
  }

  function text(value, unit) {
    if (value === null || value === undefined) return "–";
    return `${Number.isInteger(value) ? value : value.toFixed(value < 10 ? 1 : 0)}${unit ? ` ${unit}` : ""}`;
  }

  function numbersAt(numbers, bin) {
    return Object.entries(numbers.s)
      .map(([name, values]) => `${name} ${text(values[bin], name === "turns" ? "" : numbers.u)}`.trim()).join("\n");
  }

  function point(x, aloud) {
    cursor = x;
    const seen = x !== null && x >= from && x <= to;
    line.classList.toggle("gone", !seen);
    if (seen) line.style.left = percent(x);
    for (const { node, numbers } of outputs) {
      if (!numbers) continue;
      node.classList.toggle("live", seen);
      node.textContent = seen ? numbersAt(numbers, Math.floor(seconds(x) / numbers.w + 1e-9)) : node.dataset.atRest;
      node.style.whiteSpace = "pre";
    }
    if (aloud) tell();
  }

  function tell() {
    const at = cursor === null ? "" : ` Cursor at ${seconds(cursor).toFixed(2)} s.`;
    const part = to - from >= whole ? "The whole run" : `${seconds(from).toFixed(2)} s to ${seconds(to).toFixed(2)} s`;
    view.textContent = `${part} (of ${data.span.toFixed(1)} s); a bin is ${data.width} s.${at}`;
  }

  function zoom(factor, around) {
    const x = around === undefined ? (cursor !== null && cursor >= from && cursor <= to ? cursor : (from + to) / 2) : around;
    const width = clamp((to - from) * factor, least, whole);
    const part = (x - from) / (to - from);
    show(x - part * width, x - part * width + width);
  }

  const pan = (part) => show(from + part * (to - from), to + part * (to - from));
  const reset = () => { point(null, false); show(0, whole); };

  function goTo(x) {
    const half = clamp((to - from) / 2, least / 2, Math.max(least, 20 / data.width) / 2 + 0);
    const reach = Math.max(half, 15 / data.width);
    show(x - reach, x + reach);
    point(x, true);
  }

  function step(direction) {
    const here = cursor === null ? (direction > 0 ? -1 : Infinity) : cursor;
    const ahead = incidents.filter((x) => (direction > 0 ? x > here + 1e-6 : x < here - 1e-6));
    if (ahead.length > 0) goTo(direction > 0 ? ahead[0] : ahead[ahead.length - 1]);
  }

  function nudge(direction) {
    const start = cursor === null ? (from + to) / 2 : cursor;
    const x = clamp(Math.floor(start) + direction + 0.5, 0, whole);
    if (x < from || x > to) show(x - (to - from) / 2, x + (to - from) / 2);
    point(x, true);
  }

  const keys = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "_": () => zoom(2),
    "0": reset, "Home": reset, "Escape": reset, "n": () => step(1), "p": () => step(-1),
  };
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const sideways = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (sideways !== 0) event.shiftKey ? nudge(sideways) : pan(sideways * 0.2);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });
  const buttons = {
    "zoom-in": () => zoom(0.5), "zoom-out": () => zoom(2), "pan-left": () => pan(-0.5), "pan-right": () => pan(0.5),
    "whole": reset, "previous": () => step(-1), "next": () => step(1),
  };
  for (const [id, act] of Object.entries(buttons)) document.getElementById(id).addEventListener("click", act);

  function xOf(event) {
    const box = grid.getBoundingClientRect();
    return clamp(from + ((event.clientX - box.left) / box.width) * (to - from), 0, whole);
  }
  const inPlot = (event) => event.target.closest(".plot, .axis") !== null;

  root.addEventListener("pointermove", (event) => {
    if (dragged !== null) {
      const x = xOf(event), low = Math.max(Math.min(dragged, x), from), high = Math.min(Math.max(dragged, x), to);
      chosen.className = "";
      chosen.style.left = percent(low);
      chosen.style.width = `${(100 * (high - low)) / (to - from)}%`;
    }
    if (inPlot(event)) point(xOf(event), false);
  });
  root.addEventListener("pointerleave", () => { if (dragged === null) point(null, false); });
  root.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !inPlot(event) || event.target.closest("a") || event.pointerType === "touch") return;
    dragged = xOf(event);
  });
  window.addEventListener("pointerup", (event) => {
    if (dragged === null) return;
    const x = xOf(event), low = Math.min(dragged, x), high = Math.max(dragged, x);
    dragged = null;
    chosen.className = "gone";
    if (high - low > (to - from) * 0.01) show(low, high);
  });
  root.addEventListener("dblclick", (event) => { if (inPlot(event)) reset(); });
  root.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.8 : 1.25, xOf(event));
  }, { passive: false });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link === null) return;
    if (link.dataset.t !== undefined) {
      goTo(Number(link.dataset.t) / data.width);
      root.focus();
    } else {
      const target = document.querySelector(link.hash || "#none");
      const details = target && target.querySelector("details");
      if (details) details.open = true;
    }
  });
  window.addEventListener("beforeprint", () => {
    reset();
    for (const each of document.querySelectorAll("details")) each.open = true;
  });
  window.addEventListener("resize", ticks);
  document.documentElement.classList.add("js");
  show(0, whole);
})();
