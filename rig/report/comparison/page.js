"use strict";
// The plots are drawn already. This script says the numbers at a place of a plot.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const digits = { ms: (v) => (v < 10 ? 1 : 0), s: (v) => (v < 1 ? 3 : 2), count: () => 0, ratio: () => 2 };

  function told(value, unit) {
    if (value === null) return "no value";
    const places = digits[unit](value);
    const text = value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
    return unit === "ms" || unit === "s" ? `${text} ${unit}` : text;
  }

  function percent(value) {
    return `${Number(value.toFixed(value < 99 ? 1 : value < 99.9 ? 2 : 4))} %`;
  }

  for (const plot of document.querySelectorAll("[data-plot]")) {
    const { unit, letters, percents, values } = data[plot.dataset.plot];
    const output = plot.parentNode.querySelector("output");
    const cursor = document.createElement("i");
    const last = percents.length - 1;
    let column = null;
    cursor.className = "cursor gone";
    plot.append(cursor);

    const show = (wanted) => {
      column = Math.min(Math.max(wanted, 0), last);
      cursor.classList.remove("gone");
      cursor.style.left = `${(100 * (column + 0.5)) / percents.length}%`;
      const parts = letters.map((letter, side) => `${letter} ${told(values[side][column], unit)}`);
      const first = values[0][column];
      letters.slice(1).forEach((letter, side) => {
        const other = values[side + 1][column];
        if (first !== null && other !== null && first > 0) parts.push(`${letter} ÷ ${letters[0]} × ${(other / first).toFixed(2)}`);
      });
      output.textContent = `at ${percent(percents[column])}: ${parts.join(", ")}`;
    };
    const hide = () => {
      column = null;
      cursor.classList.add("gone");
      output.textContent = "";
    };

    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      show(Math.floor(((event.clientX - box.left) / box.width) * percents.length));
    });
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const step = event.shiftKey ? 10 : 1;
      const to = { ArrowLeft: (column ?? last + 1) - step, ArrowRight: (column ?? -1) + step, Home: 0, End: last }[event.key];
      if (to === undefined) return;
      show(to);
      event.preventDefault();
    });
    output.setAttribute("aria-live", "polite");
  }
  document.documentElement.classList.add("js");
})();
