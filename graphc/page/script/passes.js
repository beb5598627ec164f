// The passes one by one: what each removed and added, by rule, and into what it went.

function passesView(parent) {
  const list = element(
    "div",
    { class: "stepper", role: "tablist" },
    ...passes.map((pass) =>
      element(
        "button",
        { role: "tab", "data-pass": pass.k, "aria-selected": "false", onclick: () => showPass(pass.k) },
        element("span", { class: "dim" }, String(pass.k)),
        element("b", {}, pass.name),
        element("span", { class: "plus" }, pass.added.length ? `+${count(pass.added.length)}` : ""),
        element("span", { class: "minus" }, pass.removed.length ? `−${count(pass.removed.length)}` : ""),
        element("span", { class: "dim" }, pass.changed.length ? `~${count(pass.changed.length)}` : ""),
      ),
    ),
  );
  parent.append(
    element(
      "div",
      { class: "view passes" },
      element("h2", {}, "Passes"),
      element(
        "p",
        { class: "hint" },
        "What each pass added (+), removed (−) and changed (~). [ and ] step; a pass without numbers changed nothing.",
      ),
      list,
      element("div", { id: "pass", role: "tabpanel" }),
    ),
  );
  showPass(
    state.pass ??
      Math.max(
        0,
        passes.findIndex((pass) => pass.k && pass.added.length + pass.removed.length + pass.changed.length),
      ),
  );
  overview();
}

function showPass(k) {
  if (!passes[k]) return;
  state.pass = k;
  const pass = passes[k],
    own = rewrites.filter((rewrite) => rewrite.pass === pass.name),
    target = document.getElementById("pass");
  for (const tab of document.querySelectorAll("[data-pass]"))
    tab.setAttribute("aria-selected", String(Number(tab.dataset.pass) === k));
  const rules = [...listed(own.map((rewrite) => [rewrite.rule || "without a rule's name", rewrite]))].sort(
    (a, b) => b[1].length - a[1].length,
  );
  const before = k ? passes[k - 1].nodes : null;
  target.replaceChildren(
    element(
      "p",
      {},
      element("b", {}, pass.name),
      before === null ? `: ${count(pass.nodes)} nodes` : `: ${count(before)} → ${count(pass.nodes)} nodes`,
      pass.ms ? `, ${time(pass.ms)}` : "",
    ),
    rules.length
      ? element(
          "div",
          { class: "bars rules" },
          ...rules.slice(0, 12).map(([name, list]) => bar(name, list.length / own.length, `×${count(list.length)}`, "plain")),
        )
      : "",
    element(
      "div",
      { class: "columns" },
      changeList("removed", "minus", pass.removed, own, became, "to"),
      element(
        "div",
        {},
        changeList("added", "plus", pass.added, own, madeBy, "from"),
        pass.changed.length ? changeList("changed", "other", pass.changed, own, madeBy, "from") : null,
      ),
    ),
  );
  remember();
}

function changeList(title, kind, ids, own, next, side) {
  const mine = new Set(own),
    most = 300;
  const line = (id) => {
    const rewrite = (next.get(id) ?? []).find((r) => mine.has(r)),
      others = rewrite?.[side].filter((other) => other !== id) ?? [];
    const text = byId.has(id) ? nodeText(byId.get(id)) : (gone.get(id) ?? `%${id}`);
    return element(
      "div",
      { class: kind },
      element("code", { title: text }, text),
      rewrite
        ? element(
            "span",
            { class: "dim" },
            `${rewrite.rule || rewrite.pass}${others.length ? (side === "to" ? " → " : " ← ") : ""}`,
            ...nodeLinks(others, 3),
          )
        : null,
      byId.has(id)
        ? element(
            "a",
            {
              href: `#%${id}`,
              onclick: (event) => {
                event.preventDefault();
                select(id);
              },
            },
            "show",
          )
        : null,
    );
  };
  return element(
    "section",
    { class: "changes" },
    element("h3", {}, `${title}: ${count(ids.length)}`),
    ...ids.slice(0, most).map(line),
    ids.length > most ? element("div", { class: "dim" }, `and ${count(ids.length - most)} more`) : null,
  );
}
