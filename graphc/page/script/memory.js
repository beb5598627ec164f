// Bytes alive at every kernel call, and the view of them: a chart by class; what is alive at the call that is clicked.

const CLASSES = ["saved", "activation", "gradient", "workspace", "state", "weight", "output", "input", "constant"];
const inArena = buffers.filter((buffer) => buffer.space === "arena" && buffer.first >= 0);
const drawnClasses = CLASSES.filter((name) => inArena.some((buffer) => buffer.class === name));

// The running sum of what begins and ends.
function aliveOf(list) {
  const change = new Float64Array(calls.length + 2);
  for (const buffer of list) {
    change[Math.min(buffer.first, calls.length)] += buffer.bytes;
    change[Math.min(buffer.last, calls.length) + 1] -= buffer.bytes;
  }
  let now = 0;
  return Float64Array.from({ length: calls.length + 1 }, (_, k) => (now += change[k]));
}
const alive = aliveOf(inArena);
const peakCall = alive.reduce((best, value, k) => (value > alive[best] ? k : best), 0);
const peakBytes = alive[peakCall];
const aliveAt = (call) => inArena.filter((buffer) => buffer.first <= call && call <= buffer.last);

const savedOf = (node) =>
  total(
    (buffersOf.get(node.id) ?? []).filter((b) => b.class === "saved" && b.values[0] === node.id),
    (b) => b.bytes,
  );

const ownerOf = (buffer) => byId.get(buffer.values[0]);
function cellName(buffer) {
  const node = ownerOf(buffer);
  return node === undefined
    ? "workspace of kernels"
    : node.cell < 0 || cells[node.cell].path === ""
      ? "the step itself"
      : cells[node.cell].path;
}

function summedBy(list, key) {
  const found = new Map();
  for (const buffer of list) found.set(key(buffer), (found.get(key(buffer)) ?? 0) + buffer.bytes);
  return [...found].sort((a, b) => b[1] - a[1]);
}

function memoryView(parent) {
  parent.append(
    element(
      "div",
      { class: "view memory" },
      element("h2", {}, "Memory over the step"),
      element(
        "p",
        { class: "hint" },
        `The arena is ${bytes(data.memory.arena ?? peakBytes)} at fixed places; `,
        `at its peak, kernel ${count(peakCall + 1)} of ${count(calls.length)}, `,
        `${bytes(peakBytes)} are alive. Weights and optimizer state (${bytes(
          total(
            buffers.filter((b) => b.space === "param"),
            (b) => b.bytes,
          ),
        )}) live outside it. Click the chart, or move with ← and →.`,
      ),
      legend(drawnClasses.map((name) => [name, `m-${name}`])),
      chart(),
      regionStrip(),
    ),
  );
  memoryPanel(state.call ?? peakCall);
}

const legend = (entries) =>
  element("p", { class: "legend" }, ...entries.map(([name, kind]) => element("span", {}, element("i", { class: kind }), name)));

function chart() {
  const width = 1000,
    height = 260,
    frame = element("div", {
      class: "chart",
      role: "slider",
      tabindex: "0",
      "aria-label": "kernel call",
      "aria-valuemin": 1,
      "aria-valuemax": calls.length,
    });
  const svg = shape(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    frame,
  );
  const x = (k) => (k / (calls.length || 1)) * width,
    y = (v) => height - (v / (peakBytes || 1)) * (height - 8);
  const base = new Float64Array(calls.length + 1);
  for (const name of drawnClasses) {
    const own = aliveOf(inArena.filter((buffer) => buffer.class === name));
    const top = base.map((value, k) => value + own[k]);
    const step = (line) => {
      const points = [];
      for (let k = 0; k < calls.length; k++)
        points.push(`${x(k).toFixed(1)} ${y(line[k]).toFixed(1)}`, `${x(k + 1).toFixed(1)} ${y(line[k]).toFixed(1)}`);
      return points;
    };
    shape("path", { class: `m-${name}`, d: `M${step(top).join("L")}L${step(base).reverse().join("L")}Z` }, svg);
    base.set(top);
  }
  const mark = element("div", { class: "mark" }),
    peak = element("div", { class: "peak" }, `peak ${bytes(peakBytes)}`);
  const at = (k) => `${(100 * (k + 0.5)) / (calls.length || 1)}%`;
  peak.style.left = at(peakCall);
  peak.classList.toggle("late", peakCall > calls.length * 0.8);
  frame.append(peak, mark);
  markCall(frame, state.call ?? peakCall);
  frame.addEventListener("click", (event) => {
    const box = frame.getBoundingClientRect();
    showCall(Math.min(calls.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * calls.length))));
  });
  return frame;
}

// Which part of the step runs: a strip under the chart.
function regionStrip() {
  const strip = element("div", { class: "strip" });
  const regionAt = (call) => byId.get(call.nodes.at(-1))?.region ?? "forward";
  let from = 0;
  for (let k = 1; k <= calls.length; k++) {
    if (k < calls.length && regionAt(calls[k]) === regionAt(calls[from])) continue;
    const part = element("i", {
      class: `r-${regionAt(calls[from])}`,
      title: `${regionAt(calls[from])}: kernels ${from + 1} to ${k}`,
    });
    part.style.flexGrow = k - from;
    strip.append(part);
    from = k;
  }
  return element("div", {}, strip, legend(["forward", "backward", "overflow", "optimizer"].map((name) => [name, `r-${name}`])));
}

function markCall(frame, k) {
  frame.querySelector(".mark").style.left = `${(100 * (k + 0.5)) / (calls.length || 1)}%`;
  frame.setAttribute("aria-valuenow", k + 1);
  frame.setAttribute("aria-valuetext", `kernel ${count(k + 1)} of ${count(calls.length)}: ${bytes(alive[k] ?? 0)} alive`);
}

function showCall(k) {
  state.call = k;
  const frame = document.querySelector(".chart");
  if (frame) markCall(frame, k);
  memoryPanel(k);
  remember();
}

function memoryPanel(k) {
  const call = calls[k],
    here = aliveAt(k).sort((a, b) => b.bytes - a.bytes),
    most = 14;
  const bars = (pairs, kind) =>
    element(
      "div",
      { class: "bars" },
      ...pairs.slice(0, 9).map(([name, value]) => bar(name, value / (alive[k] || 1), bytes(value), kind(name))),
    );
  panel(
    `Alive at kernel ${count(k + 1)} of ${count(calls.length)}`,
    call
      ? element(
          "p",
          {},
          element("b", {}, bytes(alive[k])),
          k === peakCall ? ", the peak, while " : " while ",
          element("code", {}, call.family),
          " computes ",
          ...nodeLinks(call.nodes, 4),
        )
      : null,
    section(
      "by class",
      bars(
        summedBy(here, (b) => b.class),
        (name) => `m-${name}`,
      ),
    ),
    section(
      "by Cell",
      bars(summedBy(here, cellName), () => "plain"),
    ),
    section(
      "largest buffers",
      element(
        "div",
        { class: "list" },
        ...here
          .slice(0, most)
          .map((buffer) =>
            element(
              "div",
              {},
              element("span", { class: "num" }, bytes(buffer.bytes)),
              ownerOf(buffer) ? nodeLink(ownerOf(buffer).id) : element("span", {}, `workspace ${buffer.type}`),
              element("span", { class: "dim" }, `${buffer.first + 1}–${buffer.last + 1}`),
            ),
          ),
        here.length > most ? element("div", { class: "dim" }, `and ${count(here.length - most)} more`) : null,
      ),
    ),
  );
}

// go: where a click leads.
function bar(name, share, text, kind, go = null) {
  const fill = element("i", { class: `fill ${kind}` });
  fill.style.width = `${Math.max(100 * share, 0.5)}%`;
  return element(
    go ? "button" : "div",
    { class: go ? "bar link" : "bar", title: name, onclick: go },
    fill,
    element("span", { class: "what" }, name),
    element("span", { class: "num" }, text),
  );
}
