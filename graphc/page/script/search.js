// Search: every word must be found in a node's id, op, name, Cell, class, file:line or types, or say what it costs.

const haystacks = [];
function haystack(node) {
  haystacks[node.k] ??= [
    `%${node.id}`,
    node.op,
    node.name,
    node.cell >= 0 ? `${cells[node.cell].path} ${cells[node.cell].class}` : "",
    ...node.locs.slice(0, 2).map(place),
    node.types.join(" "),
    node.region,
  ]
    .join("\u0001")
    .toLowerCase();
  return haystacks[node.k];
}

// Nodes that cost more than so much: a share of the step, or time, which only a profiled step has.
function costs(number, unit) {
  const least = unit === "%" ? (number / 100) * allCost : timed ? number * { s: 1e3, ms: 1, us: 1e-3, µs: 1e-3 }[unit] : Infinity;
  return (node) => (shareOf.get(node.id) ?? 0) > least;
}

function found(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const exact = /^%\d+$/.test(query.trim()) ? byId.get(Number(query.trim().slice(1))) : undefined;
  if (exact) return [exact];
  // A dtype alone means results of it; f16 does not mean bf16. >1ms and >2% mean what it costs at least.
  const fits = words.map((word) => {
    const [, number, unit] = /^>(\d*\.?\d+)(%|s|ms|us|µs)$/.exec(word) ?? [];
    if (number) return costs(Number(number), unit);
    return /^(b1|bf16|[fiu]\d+|c\d+)$/.test(word)
      ? (node) => node.types.some((type) => type.startsWith(`${word}[`))
      : (node) => haystack(node).includes(word);
  });
  return nodes.filter((node) => fits.every((fit) => fit(node)));
}

function searched(query) {
  state.query = query;
  state.hits = found(query);
  state.hit = -1;
  markHits();
  drawResults();
}

function markHits() {
  state.hitRows = new Set(state.hits.map((node) => placeOf(node.id)?.row).filter(Boolean));
  if (state.view === "step" && canvas.scroller) mark();
}

function drawResults() {
  const list = document.getElementById("results"),
    most = 40;
  list.hidden = state.query.trim() === "";
  if (list.hidden) return;
  const rank = { forward: 0, backward: 1, optimizer: 2, overflow: 3, state: 4 },
    sorted = [...state.hits].sort((a, b) => rank[a.region] - rank[b.region]);
  state.hits = sorted;
  list.replaceChildren(
    element(
      "div",
      { class: "dim" },
      state.hits.length ? `${plural(state.hits.length, "node")}; Enter goes to the next` : "nothing found",
    ),
    ...sorted.slice(0, most).map((node, k) =>
      element(
        "button",
        {
          class: "result",
          "data-hit": k,
          onclick: () => {
            state.hit = k;
            select(node.id);
          },
        },
        element("i", { class: `dot r-${node.region}` }),
        element("b", {}, `%${node.id} ${node.op}`),
        element("span", {}, node.name || (node.cell >= 0 ? cells[node.cell].path : "")),
        element("span", { class: "dim" }, place(node.locs[0]) || node.types[0]),
      ),
    ),
  );
}

function nextHit(by) {
  if (!state.hits.length) return;
  state.hit = (state.hit + by + state.hits.length) % state.hits.length;
  select(state.hits[state.hit].id);
  for (const line of document.querySelectorAll("[data-hit]"))
    line.classList.toggle("now", Number(line.dataset.hit) === state.hit);
}
