"use strict";
// Draws the runs of the JSON beside it. Names in it may hold anything: they get into the page as text only.
(() => {
  const { runs } = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const PAD = { left: 54, right: 12, top: 10, bottom: 24 };
  const tip = document.getElementById("tip");
  const state = { smooth: 0, hidden: new Set(), range: null, at: null };
  const charts = [];

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function shape(tag, attributes, parent) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    parent.append(made);
    return made;
  }

  // ---- numbers

  function plain(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
    return String(Number(value.toPrecision(4)));
  }

  function power(value) {
    const exponent = Math.log2(value);
    const raised = String(exponent).replace(/[-\d]/g, (digit) => (digit === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]));
    return Number.isInteger(exponent) && (value > 4096 || value < 1) ? `2${raised}` : plain(value);
  }

  function inUnits(units) {
    return (value) => {
      const [name, size] = units.find(([, size]) => Math.abs(value) >= size) ?? units.at(-1);
      return value === 0 ? "0" : `${Number((value / size).toPrecision(3))} ${name}`;
    };
  }

  const seconds = inUnits([["s", 1], ["ms", 1e-3], ["µs", 1e-6]]);
  const bytes = inUnits([["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024], ["B", 1]]);
  const count = (value) => Math.round(value).toLocaleString("en");

  // Round numbers between two: multiples of 1, 2, 2.5 or 5 times a power of ten, or of two for bytes.
  function ticks(low, high, wanted, base = 10) {
    const rough = (high - low) / wanted;
    const unit = base ** Math.floor(Math.log(rough) / Math.log(base));
    const step = unit * (base === 2 ? 1 : [1, 2, 2.5, 5, 10].find((m) => m * unit >= rough * 0.999));
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(k * step);
    return found.length > 2 * wanted ? found.filter((_, i) => i % 2 === 0) : found;
  }

  function powers(low, high, wanted, base) {
    const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
    const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
    if (last - first < 1 && base === 10) return ticks(low, high, wanted).filter((v) => v > 0);
    if (last - first < 3 && base === 10) {
      const digits = [0.2, 0.5, 1, 2, 5].flatMap((m) => Array.from({ length: last - first + 1 }, (_, k) => m * base ** (first + k)));
      return [...new Set(digits)].filter((v) => v >= low && v <= high);
    }
    const every = Math.max(1, Math.ceil((last - first + 1) / wanted));
    const found = [];
    for (let k = first; k <= last; k += every) found.push(base ** k);
    return found.length ? found : [low];
  }

  // An average that forgets, by the share that is kept of what was before; empty places stay empty.
  function smoothed(values, kept) {
    let sum = 0, weight = 0;
    return values.map((value) => {
      if (value === null) return null;
      sum = kept * sum + (1 - kept) * value;
      weight = kept * weight + (1 - kept);
      return sum / weight;
    });
  }

  // The median of about so many values around each: what a step usually takes, however long the first one took.
  function medians(values, many) {
    const half = Math.round(many);
    return values.map((value, i) => {
      if (value === null) return null;
      const around = values.slice(Math.max(0, i - half), i + half + 1).filter((v) => v !== null).sort((a, b) => a - b);
      return around[Math.floor(around.length / 2)];
    });
  }

  // ---- what the charts show

  const middle = (run) => run.first.map((first, i) => (first + run.last[i]) / 2);
  const curve = (x, y, more = {}) => ({ x, y, ...more });

  function lossOf(run) {
    const x = middle(run);
    const marks = [];
    x.forEach((at, i) => {
      if (run.nans[i]) marks.push({ x: at, kind: "nan", text: `NaN${run.nans[i] > 1 ? ` × ${run.nans[i]}` : ""}` });
      else if (run.infinities[i]) marks.push({ x: at, kind: "inf", text: "infinite" });
    });
    const merged = run.width > 1 ? { low: run.least, high: run.most } : {};
    const curves = state.smooth > 0
      ? [curve(x, run.loss, { raw: true, ...merged }), curve(x, smoothed(run.loss, state.smooth))]
      : [curve(x, run.loss, merged)];
    return { curves, marks, values: curve(x, run.loss) };
  }

  function scaleOf(run) {
    const x = middle(run);
    const marks = [];
    x.forEach((at, i) => {
      if (run.overflows[i]) marks.push({ x: at, kind: "over", text: run.overflows[i] > 1 ? `${run.overflows[i]} overflows` : "overflow", on: run.scale[i] });
    });
    const drawn = curve(x, run.scale, { stairs: true });
    return { curves: [drawn], marks, values: drawn };
  }

  function timeOf(run) {
    const x = middle(run);
    const values = curve(x, run.seconds);
    const curves = state.smooth > 0 ? [{ ...values, raw: true }, curve(x, medians(run.seconds, 1 / (1 - state.smooth)))] : [values];
    return { curves, marks: [], values };
  }

  function memoryOf(run) {
    const values = curve(middle(run), run.memory);
    return { curves: [values], marks: [], values };
  }

  function ratesOf(run) {
    const curves = run.rates.map((rates) => curve(middle(run), rates));
    return { curves, marks: [], values: curves[0] ?? curve([], []) };
  }

  const specs = [
    { title: "Loss", wide: true, of: lossOf, format: plain, toggle: true },
    { title: "Loss scale", of: scaleOf, format: power, log: 2 },
    { title: "Learning rate", of: ratesOf, format: plain },
    { title: "Step time", of: timeOf, format: seconds, clip: true, zero: true },
    { title: "Peak memory", of: memoryOf, format: bytes, base: 2, zero: true },
  ];
  for (const name of [...new Set(runs.flatMap((run) => Object.keys(run.metrics)))].sort()) {
    const of = (run) => {
      const [x, y] = run.metrics[name] ?? [[], []];
      const drawn = curve(x, y, { dots: true });
      return { curves: [drawn], marks: [], values: drawn };
    };
    specs.push({ title: name, of, format: plain, said: "metric" });
  }

  // The steps of all runs that are shown: every chart has the same ones.
  function extent() {
    let first = Infinity, last = -Infinity;
    runs.forEach((run, index) => {
      if (state.hidden.has(index)) return;
      for (const at of [...run.first, ...run.last, ...Object.values(run.metrics).flatMap(([x]) => x)]) {
        first = Math.min(first, at);
        last = Math.max(last, at);
      }
    });
    return [first, last];
  }

  // ---- a chart

  class Chart {
    constructor(spec) {
      this.spec = spec;
      this.log = spec.log ?? 0;
      this.key = element("div", { class: "key" });
      const title = element("h2", {}, spec.title);
      const top = element("div", { class: "top" }, title);
      if (spec.toggle) {
        const button = element("button", { type: "button", "aria-pressed": "false" }, "log");
        button.addEventListener("click", () => {
          this.log = this.log ? 0 : 10;
          button.setAttribute("aria-pressed", String(Boolean(this.log)));
          button.textContent = this.log ? "linear" : "log";
          this.draw();
        });
        top.append(button);
      }
      this.svg = document.createElementNS(SVG, "svg");
      this.svg.setAttribute("tabindex", "0");
      this.svg.setAttribute("role", "img");
      this.empty = element("p", { class: "empty" }, "Not recorded.");
      this.card = element("article", { class: spec.wide ? "card wide" : "card" }, top, this.key, this.svg, this.empty);
      this.listen();
    }

    // What is to be drawn of the runs that are shown, within the range.
    collect() {
      const found = [];
      runs.forEach((run, index) => {
        if (!state.hidden.has(index)) found.push({ index, run, ...this.spec.of(run) });
      });
      return found;
    }

    ranges(parts) {
      let low = Infinity, high = -Infinity;
      const all = [];
      const [first, last] = state.range ?? extent();
      for (const { curves } of parts) {
        for (const drawn of curves) {
          drawn.x.forEach((at, i) => {
            if (at < first || at > last) return;
            for (const value of [drawn.y[i], drawn.low?.[i], drawn.high?.[i]]) {
              if (value !== null && value !== undefined && (!this.log || value > 0)) {
                low = Math.min(low, value);
                high = Math.max(high, value);
                all.push(value);
              }
            }
          });
        }
      }
      let beyond = Infinity;
      if (this.spec.clip && all.length > 3) {
        // A few slow steps, the first above all, would leave no room for the others.
        all.sort((a, b) => a - b);
        const usual = all[Math.floor((all.length - 1) * 0.98)] * 1.25;
        if (usual < high) beyond = high = usual;
      }
      if (this.spec.zero) low = 0;
      return { low, high, first, last, beyond };
    }

    draw() {
      const parts = this.collect();
      const { low, high, first, last, beyond } = this.ranges(parts);
      const some = Number.isFinite(low) || parts.some((p) => p.marks.length);
      this.svg.toggleAttribute("hidden", !some);
      this.empty.hidden = some;
      this.key.replaceChildren();
      this.svg.replaceChildren();
      this.parts = parts;
      if (!some) return;
      const { width, height } = this.svg.getBoundingClientRect();
      if (!width) return;
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.scales(low, high, first, last, width, height);
      this.axes(width, height);
      const clip = shape("clipPath", { id: `clip${charts.indexOf(this)}` }, this.svg);
      shape("rect", { x: PAD.left - 5, y: PAD.top - 4, width: Math.max(0, width - PAD.left - PAD.right + 10), height: Math.max(0, height - PAD.top - PAD.bottom + 6) }, clip);
      const inside = shape("g", { "clip-path": `url(#${clip.id})` }, this.svg);
      for (const part of parts) this.curves(part, inside, beyond);
      for (const part of parts) this.marks(part, inside, beyond);
      this.cross = shape("line", { class: "cross", y1: PAD.top, y2: height - PAD.bottom, visibility: "hidden" }, this.svg);
      this.explain(parts, beyond);
      const names = parts.map((p) => p.run.name).join(", ");
      this.svg.setAttribute("aria-label", `${this.spec.title} of ${names}: ${Number.isFinite(low) ? `${this.spec.format(low)} to ${this.spec.format(high)}` : "not finite"}, steps ${count(first)} to ${count(last)}`);
    }

    scales(low, high, first, last, width, height) {
      if (!Number.isFinite(low)) [low, high] = [0, 1];
      if (this.log) {
        const room = Math.max(0.1, (Math.log(high) - Math.log(low)) * 0.06);
        [low, high] = [Math.exp(Math.log(low) - room), Math.exp(Math.log(high) + room)];
        low = Math.max(low, 1e-307);
        high = Math.min(high, 1e307);
      } else if (low === high) {
        const room = Math.abs(low) * 0.1 || 1;
        [low, high] = [low - (this.spec.zero ? 0 : room), high + room];
      } else {
        const room = (high - low) * 0.06;
        [low, high] = [this.spec.zero ? 0 : low - room, high + room];
      }
      if (first === last) [first, last] = [first - 0.5, last + 0.5];
      const place = this.log ? Math.log : (v) => v;
      const [bottom, top] = [place(low), place(high)];
      this.domain = { low, high, first, last };
      this.x = (at) => PAD.left + ((at - first) / (last - first)) * (width - PAD.left - PAD.right);
      this.y = (value) => height - PAD.bottom - ((place(value) - bottom) / (top - bottom)) * (height - PAD.top - PAD.bottom);
      this.back = (place) => first + ((place - PAD.left) / (width - PAD.left - PAD.right)) * (last - first);
    }

    axes(width, height) {
      const { low, high, first, last } = this.domain;
      const wanted = Math.max(3, Math.round(height / 55));
      const marks = this.log ? powers(low, high, wanted, this.log) : ticks(low, high, wanted, this.spec.base);
      for (const value of marks) {
        const y = this.y(value);
        if (y < PAD.top - 2 || y > height - PAD.bottom + 2) continue;
        shape("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: y, y2: y }, this.svg);
        shape("text", { x: PAD.left - 7, y: y + 4, "text-anchor": "end" }, this.svg).textContent = this.spec.format(value);
      }
      shape("line", { class: "axis", x1: PAD.left, x2: width - PAD.right, y1: height - PAD.bottom, y2: height - PAD.bottom }, this.svg);
      shape("text", { x: PAD.left - 7, y: height - 7, "text-anchor": "end" }, this.svg).textContent = "step";
      for (const at of ticks(first, last, Math.max(3, Math.floor(width / 75))).filter(Number.isInteger)) {
        const x = this.x(at);
        const anchor = x > width - 34 ? "end" : "middle";
        if (x < PAD.left + 14) continue;
        shape("text", { x: anchor === "end" ? width - 4 : x, y: height - 7, "text-anchor": anchor }, this.svg).textContent = count(at);
      }
    }

    curves({ index, curves }, parent, beyond) {
      for (const drawn of curves) {
        if (drawn.low) this.band(drawn, index, parent);
        let path = "", open = false, before = 0, alone = [];
        drawn.x.forEach((at, i) => {
          const value = drawn.y[i];
          if (value === null || value > beyond || (this.log && value <= 0)) { open = false; return; }
          const x = this.x(at).toFixed(1), y = this.y(value).toFixed(1);
          if (!open) alone.push([x, y, i]);
          path += open ? (drawn.stairs ? `V${before}H${x}V${y}` : `L${x} ${y}`) : `M${x} ${y}`;
          before = y;
          open = true;
        });
        shape("path", { class: `line c${index}${drawn.raw ? " raw" : ""}`, d: path }, parent);
        const few = drawn.x.length <= 40 && drawn.dots;
        if (few) alone = drawn.x.flatMap((at, i) => (drawn.y[i] === null || (this.log && drawn.y[i] <= 0) ? [] : [[this.x(at), this.y(drawn.y[i]), i]]));
        else alone = alone.filter(([, , i]) => (drawn.y[i + 1] ?? null) === null);
        for (const [x, y] of alone) shape("circle", { class: `dot c${index}`, cx: x, cy: y, r: 3 }, parent);
      }
    }

    band({ x, low, high }, index, parent) {
      const points = x.flatMap((at, i) => (low[i] === null || (this.log && low[i] <= 0) ? [] : [[this.x(at), this.y(low[i]), this.y(high[i])]]));
      const there = points.map(([px, , top]) => `${px.toFixed(1)} ${top.toFixed(1)}`);
      const back = points.reverse().map(([px, bottom]) => `${px.toFixed(1)} ${bottom.toFixed(1)}`);
      if (there.length > 1) shape("path", { class: `band c${index}`, d: `M${[...there, ...back].join("L")}Z` }, parent);
    }

    marks({ index, marks, curves }, parent, beyond) {
      const { first, last } = this.domain;
      for (const { x: at, kind, on } of marks) {
        if (at < first || at > last) continue;
        const x = this.x(at);
        if (kind === "over") {
          const y = on === null || on <= 0 ? PAD.top + 6 : this.y(on) - 5;
          shape("path", { class: "over", d: `M${x - 4.2} ${y - 7}h8.4l-4.2 7Z` }, parent);
        } else {
          const y = PAD.top + 4 + 9 * (index % 4);
          const d = kind === "nan" ? `M${x - 3.5} ${y - 3.5}l7 7m0 -7l-7 7` : `M${x - 4} ${y + 3}l4 -7l4 7Z`;
          shape("path", { class: runs.length > 1 ? `bad own c${index}` : "bad", d }, parent);
        }
      }
      for (const drawn of curves.slice(0, 1)) {
        drawn.x.forEach((at, i) => {
          if (drawn.y[i] === null || drawn.y[i] <= beyond || at < first || at > last) return;
          const x = this.x(at);
          shape("path", { class: `beyond c${index}`, d: `M${x - 4} ${PAD.top + 5}h8l-4 -7Z` }, parent);
        });
      }
    }

    // The words over the chart: what its signs mean.
    explain(parts, beyond) {
      const say = (sign, text) => this.key.append(element("span", {}, ...(sign ? [sign, " "] : []), text));
      const marks = parts.flatMap((p) => p.marks);
      const sign = (kind) => {
        const svg = document.createElementNS(SVG, "svg");
        for (const [name, value] of Object.entries({ viewBox: "0 0 10 10", width: 10, height: 10, class: "sign" })) svg.setAttribute(name, value);
        if (kind === "over") shape("path", { class: "over", d: "M0.5 1.5h9l-4.5 7.5Z" }, svg);
        else shape("path", { class: "bad", d: kind === "nan" ? "M1.5 1.5l7 7m0 -7l-7 7" : "M1 8.5l4 -7l4 7Z" }, svg);
        return svg;
      };
      if (this.spec.said) say(null, this.spec.said);
      if (marks.some((m) => m.kind === "nan")) say(sign("nan"), "NaN");
      if (marks.some((m) => m.kind === "inf")) say(sign("inf"), "infinite");
      if (marks.some((m) => m.kind === "over")) say(sign("over"), "overflow, step left out");
      const many = Math.round(1 / (1 - state.smooth));
      if (this.spec.of === lossOf && state.smooth > 0) say(null, `average of about ${many} points; the values are faint`);
      if (this.spec.of === timeOf && state.smooth > 0) say(null, `median of ${2 * many + 1} steps; the values are faint`);
      const { first, last } = this.domain;
      const far = parts.flatMap(({ values: { x, y } }) => y.filter((v, i) => v !== null && v > beyond && x[i] >= first && x[i] <= last));
      if (far.length) say(null, `▲ ${far.length} above the chart, up to ${this.spec.format(Math.max(...far))}`);
      const groups = Math.max(...parts.map((p) => p.curves.length), 0);
      if (this.spec.of === ratesOf && groups > 1) say(null, `${groups} groups of parameters`);
    }

    // ---- looking at it

    listen() {
      let start = null, box = null;
      const at = (event) => this.back(event.clientX - this.svg.getBoundingClientRect().left);
      this.svg.addEventListener("pointermove", (event) => {
        if (!this.domain) return;
        if (start !== null) {
          const [a, b] = [this.x(start), this.x(at(event))].sort((p, q) => p - q);
          box ??= shape("rect", { class: "zoom", y: PAD.top, height: this.svg.getBoundingClientRect().height - PAD.top - PAD.bottom }, this.svg);
          box.setAttribute("x", a);
          box.setAttribute("width", b - a);
        }
        look(at(event), this, event.clientX, event.clientY);
      });
      this.svg.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "mouse" && event.button === 0 && this.domain) start = at(event);
      });
      window.addEventListener("pointerup", (event) => {
        if (start === null) return;
        const range = [start, at(event)].sort((p, q) => p - q);
        const wide = Math.abs(this.x(range[1]) - this.x(range[0])) > 6;
        start = null;
        box?.remove();
        box = null;
        if (wide) zoom([Math.max(range[0], this.domain.first), Math.min(range[1], this.domain.last)]);
      });
      this.svg.addEventListener("dblclick", () => zoom(null));
      this.svg.addEventListener("pointerleave", () => look(null));
      this.svg.addEventListener("blur", () => look(null));
      this.svg.addEventListener("keydown", (event) => {
        if (event.key === "Escape") return zoom(null);
        const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!direction || !this.domain) return;
        event.preventDefault();
        const { first, last } = this.domain;
        const next = Math.min(last, Math.max(first, (state.at ?? first) + (direction * (last - first)) / 60));
        const { left, top } = this.svg.getBoundingClientRect();
        look(next, this, left + this.x(next), top + 40);
      });
    }

    // The values next to a step.
    near(step) {
      return this.parts.flatMap(({ index, run, values, marks }) => {
        let best = -1;
        values.x.forEach((at, i) => {
          if (best < 0 || Math.abs(at - step) < Math.abs(values.x[best] - step)) best = i;
        });
        if (best < 0) return [];
        const said = marks.filter((m) => m.x === values.x[best]).map((m) => m.text);
        const value = values.y[best];
        return [{ index, name: run.name, at: values.x[best], text: [value === null ? null : this.spec.format(value), ...said].filter(Boolean).join(", ") }];
      });
    }
  }

  function look(step, chart, x, y) {
    state.at = step;
    for (const each of charts) {
      if (!each.cross?.isConnected) continue;
      const inside = step !== null && step >= each.domain.first && step <= each.domain.last;
      each.cross.setAttribute("visibility", inside ? "visible" : "hidden");
      if (inside) { each.cross.setAttribute("x1", each.x(step)); each.cross.setAttribute("x2", each.x(step)); }
    }
    const rows = step === null || !chart?.parts ? [] : chart.near(step);
    tip.hidden = !rows.length;
    if (!rows.length) return;
    tip.replaceChildren(element("div", { class: "at" }, `step ${count(rows[0].at)}`), ...rows.map((row) =>
      element("p", {}, element("span", { class: `swatch c${row.index}` }), element("span", {}, row.name), element("b", {}, row.text))));
    const { width, height } = tip.getBoundingClientRect();
    const left = x + 16 + width > innerWidth - 8 ? x - width - 16 : x + 16;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, Math.min(y + 14, innerHeight - height - 8))}px`;
  }

  // ---- the page

  const redraw = () => charts.forEach((chart) => chart.draw());

  function zoom(range) {
    state.range = range && range[1] > range[0] ? range : null;
    all.disabled = !state.range;
    redraw();
  }

  const all = element("button", { type: "button" }, "All steps");
  all.disabled = true;
  all.addEventListener("click", () => zoom(null));

  const points = Math.max(0, ...runs.map((run) => run.first.length));
  state.smooth = points > 120 ? 0.9 : 0;
  const slider = element("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: state.smooth, "aria-label": "Smoothing of loss and step time" });
  const shown = element("output", {}, state.smooth.toFixed(2));
  slider.addEventListener("input", () => {
    state.smooth = Number(slider.value);
    shown.textContent = state.smooth.toFixed(2);
    redraw();
  });

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const theme = element("button", { type: "button" });
  const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  dark.addEventListener("change", nameTheme);
  nameTheme();

  document.getElementById("tools").append(element("label", {}, "Smoothing", slider, shown), all, theme);

  // In the table a run's name shows and hides it.
  if (runs.length > 1) {
    document.querySelectorAll("tbody tr").forEach((row, index) => {
      const button = element("button", { type: "button", "aria-pressed": "true", title: "Show or hide this run" });
      const name = row.querySelector(".name");
      name.replaceWith(button);
      button.append(row.querySelector(".swatch"), name);
      row.querySelector("th").prepend(button);
      button.addEventListener("click", () => {
        if (!state.hidden.delete(index)) state.hidden.add(index);
        const visible = !state.hidden.has(index);
        row.classList.toggle("off", !visible);
        button.setAttribute("aria-pressed", String(visible));
        redraw();
      });
    });
  }

  const room = document.getElementById("charts");
  for (const spec of specs) {
    const chart = new Chart(spec);
    charts.push(chart);
    room.append(chart.card);
  }
  new ResizeObserver(redraw).observe(room);
  redraw();
})();
