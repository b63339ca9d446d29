// The picture: graphology holds it, sigma draws it with WebGL, and names are drawn so that none
// covers another one.

import { boxOf, filled, fitted, settle, spread } from "./explorer-layout.js";

const FONT = "500 12px 'Inter Variable', system-ui, sans-serif";
const LABEL_SIZE = 12;
const LONGEST_LABEL = 30;

// Whether there is WebGL, and what draws with it: sigma cannot even be loaded without.
export async function canDraw({ graphology, sigma }) {
  const canvas = document.createElement("canvas");
  if (!(canvas.getContext("webgl2") ?? canvas.getContext("webgl"))) return false;
  try {
    await Promise.all([import(graphology), import(sigma)]);
  } catch {
    return false;
  }
  return Boolean(window.graphology && window.Sigma);
}

const shortened = (name) =>
  name.length > LONGEST_LABEL ? `${name.slice(0, LONGEST_LABEL - 1).trimEnd()}…` : name;

export class Picture {
  constructor(container, handlers) {
    this.container = container;
    this.graph = new window.graphology.Graph({ multi: false, type: "undirected" });
    this.lit = null; // what stands out while something is chosen; everything else is dimmed
    this.path = new Set();
    this.selected = new Set();
    this.focus = new Set();
    this.hovered = null;
    this.current = null;
    this.named = new Set();
    this.widths = new Map();
    this.pen = document.createElement("canvas").getContext("2d");
    this.pen.font = FONT;
    this.readColours();
    this.sigma = new window.Sigma(this.graph, container, this.settings());
    this.listen(handlers);
  }

  // --- colours ------------------------------------------------------------------------------------
  readColours() {
    const styles = getComputedStyle(this.container);
    const read = (name) => styles.getPropertyValue(name).trim();
    this.colours = {
      paper: read("--surface"),
      ink: read("--ink"),
      faint: read("--ink-3"),
      line: read("--explorer-line"),
      dim: read("--explorer-dim"),
      accent: read("--accent"),
      mark: read("--mark-line"),
    };
    this.colourOf = (name) => read(name) || this.colours.faint;
  }

  recolour(colourOf) {
    this.readColours();
    this.graph.forEachNode((id, data) => this.graph.setNodeAttribute(id, "color", colourOf(data)));
    this.sigma.refresh();
  }

  // --- settings -----------------------------------------------------------------------------------
  settings() {
    const border = window.Sigma.rendering.createNodeBorderProgram({
      borders: [
        { size: { attribute: "ring", defaultValue: 0.12 }, color: { attribute: "ringColor" } },
        { size: { fill: true }, color: { attribute: "color" } },
      ],
    });
    return {
      nodeProgramClasses: { circle: border },
      defaultNodeType: "circle",
      allowInvalidContainer: true, // while it is being laid out, or printed
      enableEdgeEvents: true,
      labelDensity: 200,
      labelRenderedSizeThreshold: 0,
      labelSize: LABEL_SIZE,
      hideEdgesOnMove: false,
      minEdgeThickness: 0.8,
      stagePadding: 44,
      minCameraRatio: 0.06,
      maxCameraRatio: 2.5,
      zIndex: true,
      nodeReducer: (id, data) => this.shownNode(id, data),
      edgeReducer: (id, data) => this.shownEdge(id, data),
      defaultDrawNodeLabel: (context, data) => this.drawName(context, data),
      defaultDrawNodeHover: (context, data) => this.drawName(context, data, true),
    };
  }

  shownNode(id, data) {
    const shown = { ...data, ringColor: this.colours.paper };
    const isChosen = this.selected.has(id) || id === this.current;
    if (this.selected.has(id)) Object.assign(shown, { ring: 0.34, ringColor: this.colours.accent });
    else if (id === this.current || this.path.has(id) || this.focus.has(id))
      Object.assign(shown, { ring: 0.26, ringColor: this.colours.mark });
    if (this.lit && !this.lit.has(id)) Object.assign(shown, { color: this.colours.dim, zIndex: 0 });
    else shown.zIndex = isChosen ? 3 : this.lit ? 2 : 1;
    return shown;
  }

  shownEdge(id, data) {
    const [a, b] = this.graph.extremities(id);
    const isHidden = this.graph.getNodeAttribute(a, "hidden") || this.graph.getNodeAttribute(b, "hidden");
    const shown = { ...data, hidden: isHidden, color: this.colours.line };
    const around = this.hovered ?? this.current;
    if (this.path.has(a) && this.path.has(b) && data.isPath)
      Object.assign(shown, { color: this.colours.mark, size: 3, zIndex: 3 });
    else if (around && (a === around || b === around))
      Object.assign(shown, { color: this.colours.accent, size: Math.max(1.2, data.size), zIndex: 2 });
    else if (this.lit && !(this.lit.has(a) && this.lit.has(b))) shown.color = this.colours.dim;
    return shown;
  }

  // --- names --------------------------------------------------------------------------------------
  widthOf(name) {
    if (!this.widths.has(name)) this.widths.set(name, this.pen.measureText(name).width);
    return this.widths.get(name);
  }

  // Choose the names to draw, the most important first, as long as they cover no other name.
  chooseNames() {
    const { width, height } = this.sigma.getDimensions();
    const scale = this.sigma.scaleSize.bind(this.sigma);
    const rows = [];
    this.graph.forEachNode((id, data) => {
      if (data.hidden) return;
      const at = this.sigma.graphToViewport(data);
      if (at.x < -60 || at.y < -30 || at.x > width + 60 || at.y > height + 30) return;
      const isFirst = id === this.current || this.selected.has(id) || this.path.has(id);
      const isLit = !this.lit || this.lit.has(id);
      const weight = (isFirst ? 1e6 : 0) + (this.focus.has(id) ? 1e4 : 0) + data.size;
      if (isLit) rows.push({ id, at, weight, radius: scale(data.size), width: this.widthOf(data.label) });
    });
    rows.sort((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1));
    const taken = [];
    this.named = new Set();
    for (const { id, at, radius, width: wide } of rows) {
      const top = at.y + radius + 2;
      const box = [at.x - wide / 2 - 2, top, at.x + wide / 2 + 2, top + LABEL_SIZE + 2];
      const covers = (other) =>
        box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1];
      // The circles of more important ones stay free too.
      const circle = [at.x - radius, at.y - radius, at.x + radius, at.y + radius];
      if (!taken.some(covers)) {
        taken.push(box);
        this.named.add(id);
      }
      taken.push(circle);
    }
  }

  drawName(context, data, isHover = false) {
    if (!isHover && !this.named.has(data.key)) return;
    if (!data.label) return;
    context.font = isHover ? FONT.replace("500", "650") : FONT;
    context.textAlign = "center";
    context.textBaseline = "top";
    context.lineJoin = "round";
    context.lineWidth = isHover ? 6 : 4;
    context.strokeStyle = this.colours.paper;
    context.fillStyle = this.colours.ink;
    const text = isHover ? data.fullName : data.label;
    context.strokeText(text, data.x, data.y + data.size + 3);
    context.fillText(text, data.x, data.y + data.size + 3);
  }

  // --- content ------------------------------------------------------------------------------------
  // Bring the drawing in line with the nodes and edges; new ones are put near where they come from.
  show(nodes, edges, { colourOf, from = null }) {
    const ids = nodes.map((node) => node.id);
    const wanted = new Set(ids);
    this.graph.filterNodes((id) => !wanted.has(id)).forEach((id) => this.graph.dropNode(id));
    const isFirst = this.graph.order === 0;
    const most = Math.max(1, ...nodes.map((node) => node.degree));
    const isSmall = this.container.clientWidth < 600;
    const points = this.pointsFor(nodes, from);
    const known = new Set(ids.flatMap((id, place) => (this.graph.hasNode(id) ? [place] : [])));
    const radius = (node) => (isSmall ? 3.5 : 4.5) + (isSmall ? 8 : 11) * Math.sqrt(node.degree / most);
    const places = new Map(ids.map((id, place) => [id, place]));
    const links = edges.map((edge) => [places.get(edge.a), places.get(edge.b)]);
    const { width, height } = this.stage();
    const boxes = nodes.map((node) => boxOf(radius(node), this.widthOf(shortened(node.name))));
    if (isFirst || known.size < nodes.length) {
      const fixed = isFirst ? new Set() : known;
      settle(points, links, { width, height, fixed });
      if (isFirst && points.length > 8) filled(points, width, height);
      spread(points, boxes, { aspect: width / height, fixed });
      if (isFirst && points.length > 8) filled(points, width, height);
      const circles = nodes.map((node) => ({ width: 2 * radius(node), height: 2 * radius(node) }));
      spread(points, circles, { aspect: 1, fixed });
    }
    nodes.forEach((node, place) => {
      const values = { label: shortened(node.name), fullName: node.name, size: radius(node) };
      const more = { x: points[place].x, y: points[place].y, type: "circle", kind: node.type };
      this.graph.mergeNode(node.id, { ...values, ...more, topic: node.topic });
      this.graph.setNodeAttribute(node.id, "color", colourOf(this.graph.getNodeAttributes(node.id)));
    });
    this.connect(edges);
    // Once drawn, the frame stays while things are added, until someone asks for everything.
    if (isFirst) this.fit(false);
    this.sigma.refresh();
  }

  connect(edges) {
    this.graph.clearEdges();
    const heaviest = Math.max(1, ...edges.map((edge) => edge.weight));
    for (const edge of edges) {
      if (!this.graph.hasNode(edge.a) || !this.graph.hasNode(edge.b)) continue;
      const size = 0.7 + 2.3 * Math.sqrt(edge.weight / heaviest);
      this.graph.mergeEdge(edge.a, edge.b, { size, isPath: Boolean(edge.isPath) });
    }
  }

  stage() {
    return {
      width: Math.max(320, this.container.clientWidth - 80),
      height: Math.max(320, this.container.clientHeight - 80),
    };
  }

  pointsFor(nodes, from) {
    const { width, height } = this.stage();
    const fresh = fitted(nodes, width, height);
    const origin = from && this.graph.hasNode(from) ? this.graph.getNodeAttributes(from) : null;
    return nodes.map((node, place) => {
      if (this.graph.hasNode(node.id)) {
        const { x, y } = this.graph.getNodeAttributes(node.id);
        return { x, y };
      }
      if (!origin) return fresh[place];
      const angle = place * 2.399963;
      return { x: origin.x + 60 * Math.cos(angle), y: origin.y + 60 * Math.sin(angle) };
    });
  }

  hide(isHidden) {
    this.graph.forEachNode((id, data) =>
      this.graph.setNodeAttribute(id, "hidden", isHidden(data)),
    );
    this.sigma.refresh();
  }

  // --- what stands out ----------------------------------------------------------------------------
  mark({ current = this.current, selected = this.selected, path = this.path, focus = this.focus }) {
    Object.assign(this, { current, selected, path, focus });
    this.light();
  }

  light() {
    const around = this.hovered ?? this.current;
    this.lit = null;
    if (around && this.graph.hasNode(around)) {
      this.lit = new Set([around, ...this.graph.neighbors(around)]);
    } else if (this.path.size) {
      this.lit = new Set(this.path);
    }
    this.sigma.refresh({ skipIndexation: true });
  }

  listen(handlers) {
    this.sigma.on("beforeRender", () => this.chooseNames());
    this.sigma.on("enterNode", ({ node }) => {
      this.hovered = node;
      this.container.style.cursor = "pointer";
      this.light();
    });
    this.sigma.on("leaveNode", () => {
      this.hovered = null;
      this.container.style.cursor = "";
      this.light();
    });
    this.sigma.on("clickNode", ({ node, event }) => {
      const { shiftKey, ctrlKey, metaKey } = event.original;
      if (shiftKey || ctrlKey || metaKey) handlers.select(node);
      else handlers.open(node);
    });
    this.sigma.on("doubleClickNode", (event) => {
      event.preventSigmaDefault();
      handlers.expand(event.node);
    });
    this.sigma.on("clickEdge", ({ edge }) => handlers.between(...this.graph.extremities(edge)));
    this.sigma.on("clickStage", () => handlers.leave());
  }

  // --- the camera ---------------------------------------------------------------------------------
  get pace() {
    return window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 450;
  }

  fit(isAnimated = true) {
    this.sigma.setCustomBBox(null);
    this.sigma.refresh();
    const state = { x: 0.5, y: 0.5, ratio: 1, angle: 0 };
    if (isAnimated) this.sigma.getCamera().animate(state, { duration: this.pace });
    else this.sigma.getCamera().setState(state);
    this.sigma.setCustomBBox(this.sigma.getBBox());
  }

  fly(id) {
    const at = this.sigma.getNodeDisplayData(id);
    if (!at) return;
    const camera = this.sigma.getCamera();
    const ratio = Math.min(camera.ratio, 0.55);
    camera.animate({ x: at.x, y: at.y, ratio }, { duration: this.pace });
  }

  zoom(isIn) {
    const camera = this.sigma.getCamera();
    if (isIn) camera.animatedZoom({ duration: this.pace / 2 });
    else camera.animatedUnzoom({ duration: this.pace / 2 });
  }

  // --- a picture to keep --------------------------------------------------------------------------
  async png(caption) {
    this.sigma.refresh();
    const layers = this.sigma.getCanvases();
    const first = layers.edges ?? Object.values(layers)[0];
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [first.width, first.height];
    const context = canvas.getContext("2d");
    context.fillStyle = this.colours.paper;
    context.fillRect(0, 0, canvas.width, canvas.height);
    for (const name of ["edges", "edgeLabels", "nodes", "labels"]) {
      if (layers[name]) context.drawImage(layers[name], 0, 0, canvas.width, canvas.height);
    }
    const scale = canvas.width / this.container.clientWidth;
    context.font = FONT.replace("12px", `${12 * scale}px`);
    context.fillStyle = this.colours.faint;
    context.fillText(caption, 14 * scale, canvas.height - 14 * scale);
    return new Promise((resolve) => {
      canvas.toBlob(resolve, "image/png");
    });
  }
}
