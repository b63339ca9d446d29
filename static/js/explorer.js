// The graph's page: what is shown, how it grows, and what is said beside it. The picture and the
// tables show the same, and everything one can do in the picture can be done in the tables.

import { toast } from "./app.js";
import { canDraw, Picture } from "./explorer-picture.js";
import { Tables } from "./explorer-tables.js";

const STEP = 60;
const NOBODY = "00000000-0000-0000-0000-000000000000";
const TOPIC_HUES = 8;
const MOST_MERGED = 5;
// Addresses with this parameter show the picture again that the person left there.
const AGAIN = ["picture", "last"];

const root = document.getElementById("explorer");
if (root) canDraw(root.dataset).then((isDrawn) => start(root, isDrawn));

function start(root, isDrawn) {
  const state = {
    nodes: new Map(),
    edges: new Map(),
    topics: [],
    added: new Map(), // by the entity that was expanded
    selected: new Set(),
    hiddenTypes: new Set(),
    hiddenTopics: new Set(),
    path: new Set(),
    focus: new Set(),
    current: null,
    gone: [], // of a picture that was left: entities that are no longer there
    total: 0,
    terms: 0,
    limit: window.innerWidth < 600 ? STEP : 2 * STEP,
    colour: "type",
  };
  const find = (selector) => root.querySelector(selector);
  const tables = new Tables(document);
  const panel = document.getElementById("explorer-panel");
  const picture = drawing();
  let origin = null; // where the focus goes back to from the panel

  function drawing() {
    const say = () => {
      find("[data-stage]").hidden = true;
      find("[data-no-picture]").hidden = false;
      root.dataset.picture = "none";
      return null;
    };
    if (!isDrawn) return say();
    try {
      return new Picture(find("[data-canvas]"), {
        open: (id) => open(id),
        select: (id) => select(id),
        expand: (id) => expand(id),
        between: (a, b) => between(a, b),
        leave: () => {
          state.current = null;
          state.path = new Set();
          mark();
        },
      });
    } catch {
      return say();
    }
  }

  // --- data ---------------------------------------------------------------------------------------
  async function ask(url, body) {
    const headers = { Accept: "application/json" };
    if (body) headers["X-CSRFToken"] = JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
    root.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(url, { method: body ? "POST" : "GET", headers, body });
      if (response.ok) return await response.json();
      toast(
        response.status === 404
          ? "This is no longer in the graph: it was merged or deleted. Reload the page."
          : "The graph could not be loaded. Nothing was changed. Try again.",
      );
    } catch {
      toast("The server did not answer. Nothing was changed. Try again.");
    } finally {
      root.removeAttribute("aria-busy");
    }
    return null;
  }

  function more(values) {
    const body = new FormData();
    body.set("shown", [...state.nodes.keys()].join(","));
    for (const [name, value] of Object.entries(values)) body.set(name, value);
    return ask(root.dataset.more, body);
  }

  // Rows name entities by number: first those the request named, then the new ones.
  function take(data, shown) {
    const ids = [...shown];
    const fresh = [];
    for (const [id, name, type, topic, degree, x, y, isTerm] of data.nodes) {
      if (!shown.includes(id)) ids.push(id);
      if (state.nodes.has(id)) continue;
      state.nodes.set(id, { id, name, type, topic, degree, x, y, isTerm });
      fresh.push(id);
    }
    for (const [a, b, weight, evidence] of data.edges) {
      const [first, second] = [ids[a], ids[b]].sort();
      state.edges.set(`${first} ${second}`, { a: first, b: second, weight, evidence });
    }
    state.topics = data.topics;
    return fresh;
  }

  // --- leaving and coming back ----------------------------------------------------------------------
  const page = new URL(location.href);
  const isBack = page.searchParams.get(AGAIN[0]) === AGAIN[1];
  page.searchParams.delete(AGAIN[0]);
  const here = `graph ${page.pathname}${page.search}`;

  function keep() {
    if (!state.nodes.size) return;
    const { total, terms, limit, colour, gone } = state;
    const kept = { ids: [...state.nodes.keys(), ...gone], focus: [...state.focus] };
    sessionStorage.setItem(here, JSON.stringify({ ...kept, total, terms, limit, colour }));
  }

  // Show the picture that was left. Entities merged meanwhile are missing, and come back with an undo.
  async function restore() {
    const kept = isBack && JSON.parse(sessionStorage.getItem(here) ?? "null");
    if (!kept) return load();
    const data = await more({ entities: kept.ids.slice(0, Number(root.dataset.most)).join(",") });
    if (!data) return load();
    take(data, []);
    const { total, terms, limit, colour } = kept;
    Object.assign(state, { total, terms, limit, colour, focus: new Set(kept.focus) });
    state.gone = kept.ids.filter((id) => !state.nodes.has(id));
    find("#explorer-colour").value = colour;
    return draw();
  }

  function comeBack() {
    const back = new URL(page);
    back.searchParams.set(...AGAIN);
    return encodeURIComponent(back.pathname + back.search);
  }

  async function load() {
    const data = await ask(`${root.dataset.view}&limit=${state.limit}`);
    if (!data) return;
    const before = state.nodes.size;
    take(data, []);
    state.total = data.total;
    state.terms = data.terms;
    state.focus = new Set(data.focus);
    draw();
    if (before) say(`${state.nodes.size - before} more entities are shown.`);
    if (!before && data.focus.length === 1) open(data.focus[0], { isQuiet: true });
  }

  // --- drawing ------------------------------------------------------------------------------------
  const isHidden = (node) => state.hiddenTypes.has(node.type) || state.hiddenTopics.has(node.topic);
  const visible = () => [...state.nodes.values()].filter((node) => !isHidden(node));

  function lines(nodes) {
    const ids = new Set(nodes.map((node) => node.id));
    return [...state.edges.values()].filter(({ a, b }) => ids.has(a) && ids.has(b));
  }

  const hueOf = (type) =>
    find(`[data-legend=type] [data-type="${CSS.escape(type)}"]`)?.dataset.hue ?? "other";
  const topicHue = (topic) => (topic < 0 ? "--hue-other" : `--topic-${(topic % TOPIC_HUES) + 1}`);
  const colourOf = ({ kind, topic }) =>
    picture.colourOf(state.colour === "topic" ? topicHue(topic) : `--hue-${hueOf(kind)}`);

  function draw(from = null) {
    const all = [...state.nodes.values()];
    if (picture) {
      picture.show(all, [...state.edges.values()], { colourOf, from });
      picture.hide((data) => isHidden({ type: data.kind, topic: data.topic }));
    }
    legends();
    mark();
    count(all);
  }

  // Terms are counted on their own, as lists of entities leave them out.
  function count(all) {
    const number = (value) => value.toLocaleString("en");
    const shown = visible();
    const terms = shown.filter((node) => node.isTerm).length;
    const entities = all.filter((node) => !node.isTerm).length;
    const total = Math.max(state.total - state.terms, entities);
    const more = terms ? `, and ${number(terms)} ${terms === 1 ? "term" : "terms"}` : "";
    find("[data-count]").textContent = `${number(shown.length - terms)} of ${number(total)} entities shown${more}`;
    const isWhole = entities >= total && all.length >= state.total;
    find("[data-act=more]").hidden = isWhole || state.limit >= Number(root.dataset.most);
  }

  function mark() {
    if (picture) {
      const { current, selected, path, focus } = state;
      picture.mark({ current, selected, path, focus });
    }
    const nodes = visible();
    tables.show(nodes, lines(nodes), {
      typeOf: (node) => {
        const label = find(`[data-legend=type] [data-type="${CSS.escape(node.type)}"] [data-label]`);
        return label ? label.cloneNode(true) : document.createTextNode("Other");
      },
      topicOf: (node) => state.topics[node.topic] ?? "",
      selected: state.selected,
      current: state.current,
    });
    selection();
  }

  function legends() {
    const counts = new Map();
    for (const node of state.nodes.values()) counts.set(node.type, (counts.get(node.type) ?? 0) + 1);
    for (const button of root.querySelectorAll("[data-legend=type] [data-type]")) {
      const number = counts.get(button.dataset.type) ?? 0;
      button.hidden = number === 0;
      button.querySelector("[data-number]").textContent = number;
    }
    const legend = find("[data-legend=topic]");
    const topics = [...new Set([...state.nodes.values()].map((node) => node.topic))].sort((a, b) => a - b);
    legend.replaceChildren(...topics.map(topicButton));
    for (const part of root.querySelectorAll("[data-legend]")) part.hidden = part.dataset.legend !== state.colour;
  }

  function topicButton(topic) {
    const button = document.createElement("button");
    const name = document.createElement("span");
    button.type = "button";
    button.className = "legend";
    button.dataset.topic = topic;
    button.setAttribute("aria-pressed", String(!state.hiddenTopics.has(topic)));
    name.className = "type";
    name.style.setProperty("--type-hue", `var(${topicHue(topic)})`);
    name.textContent = state.topics[topic] ?? "No topic";
    button.append(name);
    return button;
  }

  function say(text) {
    const message = find("[data-message]");
    message.textContent = text;
    message.hidden = !text;
  }

  // --- the panel ----------------------------------------------------------------------------------
  const urlOf = (...ids) => root.dataset.entity.replace(`${NOBODY}/`, `${ids.join("/")}/`);

  async function fill(url, { isQuiet = false } = {}) {
    if (!isQuiet && document.activeElement !== document.body) origin = document.activeElement;
    await window.htmx.ajax("GET", url, { target: panel, swap: "innerHTML" });
    pressed();
    if (!isQuiet) panel.querySelector("[data-panel-title]")?.focus({ preventScroll: !isNarrow() });
  }

  const isNarrow = () => window.innerWidth < 992;

  function open(id, options) {
    say("");
    state.current = id;
    mark();
    return fill(urlOf(id), options);
  }

  const between = (a, b) => fill(urlOf(a, b));

  function pressed() {
    const button = panel.querySelector("[data-do=select]");
    if (button) button.setAttribute("aria-pressed", String(state.selected.has(button.dataset.entity)));
  }

  // --- growing ------------------------------------------------------------------------------------
  async function expand(id) {
    const shown = [...state.nodes.keys()];
    const data = await more({ expand: id });
    if (!data) return;
    const fresh = take(data, shown);
    state.added.set(id, [...(state.added.get(id) ?? []), ...fresh]);
    const name = state.nodes.get(id)?.name ?? "";
    state.current = id;
    draw(id);
    const left = data.remaining ? ` ${data.remaining} more can be brought in.` : "";
    say(fresh.length ? `${fresh.length} neighbours of ${name} added.${left}` : `All neighbours of ${name} are shown.`);
  }

  // Take away what expanding brought in; of others, the neighbours that nothing else holds.
  function collapse(id) {
    const near = (one) => [...state.edges.values()].filter(({ a, b }) => a === one || b === one);
    const ends = near(id).map(({ a, b }) => (a === id ? b : a));
    const own = state.added.get(id) ?? ends.filter((one) => near(one).length === 1);
    const gone = own.filter((one) => !state.selected.has(one) && !state.added.has(one) && one !== id);
    gone.forEach(drop);
    state.added.delete(id);
    draw();
    const name = state.nodes.get(id)?.name ?? "";
    say(gone.length ? `${gone.length} neighbours of ${name} hidden.` : `${name} has no neighbours to hide.`);
  }

  function drop(id) {
    state.nodes.delete(id);
    state.path.delete(id);
    for (const [key, { a, b }] of state.edges) if (a === id || b === id) state.edges.delete(key);
  }

  async function bring(id) {
    if (state.nodes.has(id)) return;
    const shown = [...state.nodes.keys()];
    const data = await more({ entities: id });
    if (!data) return;
    take(data, shown);
    draw();
  }

  async function fly(id) {
    document.getElementById("explorer-found").replaceChildren();
    await bring(id);
    const node = state.nodes.get(id);
    if (!node) return;
    state.hiddenTypes.delete(node.type);
    state.hiddenTopics.delete(node.topic);
    draw();
    picture?.fly(id);
    await open(id);
    origin = document.getElementById("explorer-q");
  }

  // --- several ------------------------------------------------------------------------------------
  function select(id) {
    if (!state.selected.delete(id)) state.selected.add(id);
    mark();
    pressed();
  }

  function selection() {
    for (const id of state.selected) if (!state.nodes.has(id)) state.selected.delete(id);
    const ids = [...state.selected];
    find("[data-selection]").hidden = ids.length === 0;
    find("[data-selected]").replaceChildren(
      ...ids.map((id) => {
        const item = document.createElement("li");
        const button = document.createElement("button");
        Object.assign(button, { type: "button", className: "chip", textContent: `${state.nodes.get(id).name} ×` });
        Object.assign(button.dataset, { do: "select", entity: id });
        button.setAttribute("aria-label", `Deselect ${state.nodes.get(id).name}`);
        item.append(button);
        return item;
      }),
    );
    find("[data-act=path]").disabled = ids.length !== 2;
    const merge = find("a[data-act=merge]");
    if (!merge) return;
    const isFit = ids.length >= 2 && ids.length <= MOST_MERGED;
    merge.hidden = !isFit;
    const others = ids.slice(1).map((id) => `with=${id}&`).join("");
    merge.href = root.dataset.merge.replace(NOBODY, ids[0] ?? NOBODY) + `?${others}next=${comeBack()}`;
  }

  async function path() {
    const [source, target] = [...state.selected];
    const names = [source, target].map((id) => state.nodes.get(id).name);
    const shown = [...state.nodes.keys()];
    const data = await more({ from: source, to: target });
    if (!data) return;
    take(data, shown);
    for (const edge of state.edges.values()) edge.isPath = false;
    for (const way of data.paths) {
      way.slice(1).forEach((id, place) => {
        const edge = state.edges.get([way[place], id].sort().join(" "));
        if (edge) edge.isPath = true;
      });
    }
    state.path = new Set(data.paths.flat());
    state.current = null;
    draw(source);
    if (!data.paths.length) {
      say(`No path of up to three steps connects ${names[0]} and ${names[1]}.`);
      return;
    }
    const way = data.paths[0].map((id) => state.nodes.get(id).name).join(" → ");
    const others = data.paths.length - 1;
    say(`Shortest path: ${way}${others ? ` (and ${others} more)` : ""}`);
  }

  // --- hands --------------------------------------------------------------------------------------
  const DO = { open, expand, collapse, select, fly };

  document.addEventListener("click", (event) => {
    const control = event.target.closest("[data-do]");
    if (!control) return;
    const { do: name, entity, other } = control.dataset;
    if (name === "between") between(entity, other);
    else DO[name](entity);
  });

  async function save() {
    const blob = await picture.png(`${root.dataset.name} · ${find("[data-count]").textContent}`);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = "graph.png";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const ACT = {
    "zoom-in": () => picture.zoom(true),
    "zoom-out": () => picture.zoom(false),
    fit: () => picture.fit(),
    save,
    path,
    more: () => {
      state.limit += STEP;
      load();
    },
    clear: () => {
      state.selected.clear();
      state.path = new Set();
      say("");
      mark();
      pressed();
    },
  };

  root.addEventListener("click", (event) => {
    const control = event.target.closest("[data-act]");
    if (control) ACT[control.dataset.act]?.();
    const legend = event.target.closest(".legend");
    if (!legend) return;
    const { type, topic } = legend.dataset;
    const [hidden, value] =
      type === undefined ? [state.hiddenTopics, Number(topic)] : [state.hiddenTypes, type];
    if (!hidden.delete(value)) hidden.add(value);
    legend.setAttribute("aria-pressed", String(!hidden.has(value)));
    draw();
    if (topic !== undefined) find(`[data-legend=topic] [data-topic="${topic}"]`).focus();
  });

  find("#explorer-colour").addEventListener("change", (event) => {
    state.colour = event.target.value;
    legends();
    picture?.recolour(colourOf);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !origin?.isConnected || !panel.contains(document.activeElement)) return;
    origin.focus();
  });

  new MutationObserver(() => picture?.recolour(colourOf)).observe(document.documentElement, {
    attributeFilter: ["data-bs-theme"],
  });

  addEventListener("pagehide", keep);
  restore();
}
