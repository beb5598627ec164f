// State, views, keyboard, links into the page.

const state = {
  view: "step",
  selected: null,
  row: null,
  call: null,
  pass: null,
  open: new Set(),
  unfolded: new Set(),
  colour: false,
  query: "",
  hits: [],
  hit: -1,
  hitRows: new Set(),
  printing: false,
};
const VIEWS = { step: stepView, memory: memoryView, passes: passesView };
const main = document.getElementById("main");

function show(view) {
  state.view = view;
  main.replaceChildren();
  main.className = view;
  canvas.scroller = null;
  document.body.classList.remove("sheet");
  VIEWS[view](main);
  for (const button of document.querySelectorAll("[data-view]"))
    button.setAttribute("aria-pressed", String(button.dataset.view === view));
  if (view === "step") {
    markHits();
    overview();
  }
  remember();
}

// Selects a node; follow: opens and scrolls to where it stands.
function select(id, follow = true) {
  const node = byId.get(id);
  if (!node) return false;
  if (state.view !== "step") show("step");
  state.selected = id;
  if (
    follow &&
    (placeOf(id) === null || !placeOf(id).row.leaf || placeOf(id).row.all.length > 1 || placeOf(id).row.kind === "group")
  ) {
    reveal(id);
    rearrange();
    markHits();
  }
  const at = placeOf(id);
  if (at) {
    state.row = at.row.key;
    if (follow) scrollTo(at.row);
  }
  showNode(node);
  document.body.classList.add("sheet");
  paint();
  remember();
  return true;
}

function scrollTo(row) {
  // On a phone the lower part is under the sheet.
  const top = topOf(row),
    height = (canvas.scroller.clientHeight - 40) * (innerWidth <= 860 ? 0.4 : 1);
  if (top < canvas.scroller.scrollTop + HEIGHT || top > canvas.scroller.scrollTop + height - 2 * HEIGHT)
    canvas.scroller.scrollTop = Math.max(0, top - height / 3);
  paint();
}

function clear() {
  state.selected = null;
  state.row = null;
  document.body.classList.remove("sheet");
  if (state.view === "step") {
    overview();
    paint();
  } else if (state.view === "memory") memoryPanel(state.call ?? peakCall);
  remember();
}

// ---- links: #%42, #cell/blocks.0, #memory/55, #passes/3

function remember() {
  const row = layout.rows.find((r) => r.key === state.row);
  const hash =
    state.view === "memory"
      ? `#memory${state.call === null ? "" : `/${state.call + 1}`}`
      : state.view === "passes"
        ? `#passes/${state.pass}`
        : state.selected !== null
          ? `#%${state.selected}`
          : row && row.kind === "group"
            ? `#cell/${cells[row.cell]?.path ?? row.label}`
            : "";
  try {
    history.replaceState(null, "", hash || location.pathname + location.search);
  } catch {
    /* A frame without an address of its own. */
  }
}

function follow() {
  let hash;
  try {
    hash = decodeURIComponent(location.hash.slice(1).replace(/^%(?=\d+$)/, "%25"));
  } catch {
    return;
  }
  const [word, ...rest] = hash.split("/"),
    number = Number(rest[0]);
  if (/^%\d+$/.test(hash)) select(Number(hash.slice(1)));
  else if (word === "memory") {
    state.call = Number.isInteger(number) && number >= 1 && number <= calls.length ? number - 1 : null;
    show("memory");
  } else if (word === "passes") {
    state.pass = Number.isInteger(number) && passes[number] ? number : null;
    show("passes");
  } else if (word === "cell") showCell(rest.join("/"));
}

function showCell(path) {
  const node = forward.find((n) => chainOf(n.cell).some((cell) => cells[cell].path === path));
  if (!node) return;
  if (state.view !== "step") show("step");
  reveal(node.id);
  rearrange();
  const row = layout.rows.find((r) => r.kind === "group" && r.cell >= 0 && cells[r.cell].path === path) ?? placeOf(node.id)?.row;
  if (!row) return;
  state.row = row.key;
  scrollTo(row);
  showRow(row);
}

// ---- keyboard

const KEYS = [
  ["/", "search"],
  ["↑ ↓", "row by row"],
  ["→ ←", "open, close"],
  ["Enter", "select the row's node"],
  ["g", "its gradient"],
  ["u", "unfold or fold ×N"],
  ["e", "open all"],
  ["c", "as at first"],
  ["t", "colour by time"],
  ["m p s", "memory, passes, step"],
  ["[ ]", "pass by pass"],
  ["Esc", "close"],
];

function move(by) {
  const at = layout.rows.findIndex((row) => row.key === state.row),
    row = layout.rows[Math.min(layout.rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  if (!row) return;
  state.row = row.key;
  // A screen reader hears of the row only where the picture has the focus.
  canvas.body.focus({ preventScroll: true });
  scrollTo(row);
  mark();
}

function onRow(what) {
  const row = layout.rows.find((r) => r.key === state.row);
  if (row) what(row);
}

const ACTIONS = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  PageDown: () => move(20),
  PageUp: () => move(-20),
  Home: () => move(-1e9),
  End: () => move(1e9),
  ArrowRight: () => onRow((row) => row.kind === "group" && !row.open && toggle(row)),
  ArrowLeft: () =>
    onRow((row) => {
      if (row.kind === "group" && row.open) return toggle(row);
      const up = layout.rows
        .slice(0, row.index)
        .reverse()
        .find((r) => r.depth < row.depth);
      if (up) {
        state.row = up.key;
        scrollTo(up);
        mark();
      }
    }),
  Enter: () => onRow((row) => (row.kind === "node" ? select(factsOf(row).first[0].id, false) : showRow(row))),
  g: () => onRow((row) => factsOf(row).gradient[0] && select(factsOf(row).gradient[0].id, false)),
  u: () => onRow((row) => change(() => (row.folds ? state.unfolded.add(row.key) : state.unfolded.delete(row.key)))),
  e: () =>
    change(() => {
      state.open = everyKey(tree);
    }),
  c: () =>
    change(() => {
      state.unfolded.clear();
      state.open = firstGlance();
    }),
  t: () => colour(),
};
const MEMORY = {
  ArrowLeft: () => showCall(Math.max(0, (state.call ?? peakCall) - 1)),
  ArrowRight: () => showCall(Math.min(calls.length - 1, (state.call ?? peakCall) + 1)),
  Home: () => showCall(0),
  End: () => showCall(calls.length - 1),
};
const ALWAYS = {
  "/": () => document.getElementById("query").focus(),
  "?": () => help(),
  Escape: () => clear(),
  m: () => show("memory"),
  p: () => show("passes"),
  s: () => show("step"),
  "[": () => stepPass(-1),
  "]": () => stepPass(1),
};

function stepPass(by) {
  if (state.view !== "passes") show("passes");
  else showPass(Math.min(passes.length - 1, Math.max(0, (state.pass ?? 0) + by)));
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.id === "query") {
    if (event.key === "Enter") {
      nextHit(event.shiftKey ? -1 : 1);
      event.preventDefault();
    }
    if (event.key === "Escape") {
      event.target.value = "";
      searched("");
      event.target.blur();
    }
    return;
  }
  if (event.key === "Enter" && event.target.closest("button, a, summary")) return;
  const action =
    (state.view === "step" ? ACTIONS[event.key] : state.view === "memory" ? MEMORY[event.key] : undefined) ?? ALWAYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

const help = () => {
  panel("Keys", facts3(KEYS));
  document.body.classList.add("sheet");
};

function colour() {
  state.colour = !state.colour;
  document.getElementById("colour").setAttribute("aria-pressed", String(state.colour));
  document.body.classList.toggle("coloured", state.colour);
  change(() => {});
}

function theme() {
  const root = document.documentElement,
    dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

// ---- start

function headOf() {
  const facts = document.getElementById("facts"),
    weightBytes = total(
      parameters.filter((p) => trained.has(p.id)),
      bytesOf,
    );
  const fact = (value, word) => element("span", {}, element("b", {}, value), ` ${word}`);
  const many = (number, word, more = "") => fact(count(number), `${word}${number === 1 ? "" : "s"}${more}`);
  facts.append(many(nodes.length, "node"));
  if (trained.size) facts.append(many(trained.size, "weight", `, ${bytes(weightBytes)}`));
  facts.append(many(calls.length, "kernel call"));
  if (timed) facts.append(fact(time(profile.step_ms), "a step"));
  if (inArena.length) facts.append(fact(bytes(data.memory.arena ?? peakBytes), "arena"));
  if (order)
    facts.append(
      element(
        "span",
        {},
        "overflow order ",
        element(
          "b",
          { class: order.ordered === order.tested ? "good" : "bad" },
          order.ordered === order.tested ? "holds" : "broken",
        ),
      ),
    );
  document
    .getElementById("views")
    .append(
      ...Object.keys(VIEWS).map((name) =>
        element(
          "button",
          { "data-view": name, "aria-pressed": "false", onclick: () => show(name) },
          name[0].toUpperCase() + name.slice(1),
        ),
      ),
    );
  document
    .getElementById("tools")
    .append(
      element(
        "button",
        {
          id: "colour",
          "aria-pressed": "false",
          title: timed ? "colour by measured time; hatched where it is a share of a kernel" : "colour by flops",
          onclick: colour,
        },
        timed ? "Time colours" : "Flop colours",
      ),
      element("button", { title: "light or dark", "aria-label": "light or dark", onclick: theme }, "◐"),
      element("button", { title: "keys", "aria-label": "keys", onclick: help }, "?"),
      element(
        "div",
        { class: "search" },
        element("input", {
          id: "query",
          type: "search",
          placeholder: "/  op, Cell, %id, file:line",
          "aria-label": "search",
          autocomplete: "off",
          spellcheck: "false",
          oninput: (event) => searched(event.target.value),
        }),
        element("div", { id: "results", hidden: true }),
      ),
    );
}

headOf();
state.open = firstGlance();
show("step");
follow();
document.addEventListener("keydown", pressed);
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search")) document.getElementById("results").hidden = true;
});
addEventListener("hashchange", follow);
let waiting = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => canvas.scroller && resize());
});
addEventListener("beforeprint", () => {
  state.printing = true;
  if (canvas.scroller) paint();
});
addEventListener("afterprint", () => {
  state.printing = false;
  if (canvas.scroller) paint();
});
document.documentElement.dataset.ready = "1";
})();
