// How full is the cluster, and with what? Nodes as tiles on a canvas that redraws only tiles that changed.

import "./lens.js";
import "./table-view.js";
import { AUTOMATIC, scaleOf, shownRows, usage } from "./bands.js";
import { coloursOf, legendOf } from "./colours.js";
import { h, setText, tell } from "./dom.js";
import { layOut, mostZoom, neighbour, sectionsOf, tileAt } from "./layout.js";
import { isLeaving } from "./picture.js";
import { drawHead, drawRing, drawTiles, eraseTile } from "./tiles.js";
import { amount, number, percent, plural, shortResource } from "./words.js";

const SLOW = 1_000; // heads, table and lens are text: once a second is enough
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];

class ClusterView extends HTMLElement {
  #picture = null;
  #scene = null;
  #layout = null;
  #emphasis = null;
  #colours = null;
  #width = 0;
  #height = 0;
  #zoom = 0;
  #by = "pool";
  #resource = AUTOMATIC;
  #rows = new Map(); // which resource is shown of each pool
  #cursor = -1;
  #hovered = -1;
  #pinned = null;
  #dirty = new Set();
  #all = true;
  #frame = 0;
  #textTimer = 0;
  #textAt = -Infinity;
  #headWords = new Map();
  #headWordsAt = -Infinity;
  #now = () => 0;
  /** What drawing cost: tests and benchmarks read it. */
  stats = { frames: 0, tiles: 0, milliseconds: 0, longest: 0, firstAt: 0 };

  #canvas = h("canvas", { role: "img", tabindex: "-1" });
  #sizer = h("div", { class: "sizer" }, this.#canvas);
  #scroll = h("div", {
    class: "scroll", tabindex: "0", role: "application", "aria-label": "Map of nodes: arrow keys move, Enter opens a node", "aria-roledescription": "map",
    onscroll: () => { this.#lensToTile(); this.#redraw(); },
    onkeydown: (event) => this.#key(event),
    onmousemove: (event) => this.#hover(event),
    onmouseleave: () => this.#hoverTile(-1),
    onclick: (event) => this.#click(event),
    onfocus: () => this.#moveTo(this.#cursor < 0 ? 0 : this.#cursor),
    onblur: () => this.#ring(),
  }, this.#sizer);
  #legend = h("ul", { class: "legend", "aria-label": "Legend" });
  #note = h("p", { class: "note", role: "status" });
  #clear = h("button", { type: "button", class: "clear", title: "Show all nodes alike again", hidden: true, onclick: () => tell(this, "clear-emphasis") }, "Clear ", h("kbd", {}, "Esc"));
  #lens = h("rp-lens", { hidden: true });
  #table = h("rp-table", { class: "table sr-only" });
  #tableButton = h("button", { type: "button", "aria-pressed": "false", "aria-keyshortcuts": "t", title: "The same as a table (t)", onclick: () => this.toggleTable() }, "Table");
  #resources = h("select", {
    "aria-label": "Resource", title: "What the height of a band stands for; automatic: a device that is used, or else cpu or memory",
    onchange: (event) => { this.#resource = event.target.value; this.#rescale(); },
  });
  #grouping = h("select", { "aria-label": "Group by", title: "What nodes are put together by", onchange: (event) => { this.#by = event.target.value; this.#arrange(); } },
    h("option", { value: "pool" }, "by pool"), h("option", { value: "zone" }, "by zone"));

  connectedCallback() {
    if (this.firstChild) return;
    this.append(
      h("div", { class: "bar" },
        h("h2", {}, "Nodes"), this.#grouping, this.#resources,
        h("span", { class: "joined" },
          h("button", { type: "button", "aria-label": "Smaller tiles", title: "Smaller tiles (-)", "aria-keyshortcuts": "-", onclick: () => this.zoom(-1) }, "−"),
          h("button", { type: "button", "aria-label": "Larger tiles", title: "Larger tiles (+)", "aria-keyshortcuts": "+", onclick: () => this.zoom(1) }, "+")),
        this.#tableButton, this.#clear, this.#note),
      this.#legend,
      h("div", { class: "stage" }, this.#scroll, this.#lens),
      this.#table,
    );
    this.addEventListener("close-lens", () => this.unpin());
    new ResizeObserver(() => this.#resized()).observe(this.#scroll);
  }

  /** @param {import("./picture.js").Picture} picture @param {() => number} now the time of the picture */
  show(picture, now) {
    this.#picture = picture;
    this.#now = now;
    const chosen = this.#resources.value || AUTOMATIC;
    this.#resources.replaceChildren(h("option", { value: AUTOMATIC }, "resource in use"),
      ...picture.resources.map((name) => h("option", { value: name }, shortResource(name))));
    this.#resources.value = chosen;
    this.#rescale();
    this.#arrange();
  }

  get picture() {
    return this.#picture;
  }

  get layout() {
    return this.#layout;
  }

  /** @param {import("./picture.js").Changed} changed */
  changed(changed) {
    if (changed.priorities) this.#rescale();
    if (changed.layout) this.#arrange();
    for (const name of changed.nodes) {
      const tile = this.#layout?.tileOf.get(name);
      if (tile !== undefined) this.#dirty.add(tile);
    }
    if (changed.nodes.size) this.#request();
  }

  /** @param {import("./emphasis.js").Emphasis | null} emphasis */
  emphasize(emphasis) {
    this.#emphasis = emphasis;
    this.#clear.hidden = emphasis === null;
    this.#headWordsAt = -Infinity; // another resource may be shown
    this.#rescene();
    this.#redraw();
    if (this.#layout !== null) this.#describe(); // a choice is answered at once, also while tiles change
  }

  retheme() {
    this.#colours = null;
    this.#rescene();
    this.#redraw();
  }

  zoom(step) {
    this.#zoom = Math.max(0, Math.min(this.#layout ? mostZoom(this.#layout) + this.#zoom : 0, this.#zoom + step));
    this.#arrange();
  }

  toggleTable() {
    const shown = this.#table.classList.toggle("sr-only");
    this.#tableButton.setAttribute("aria-pressed", String(!shown));
    this.classList.toggle("with-table", !shown);
    this.#showTable();
  }

  /** Opens the card of a node, and keeps it open. */
  pin(name) {
    if (!this.#picture?.nodes.has(name)) return;
    this.#pinned = [name];
    const tile = this.#layout.tileOf.get(name);
    this.#cursor = tile;
    this.#bringIntoView(tile);
    this.#showLens();
    this.#redraw();
  }

  unpin() {
    const held = this.#lens.contains(document.activeElement);
    this.#pinned = null;
    this.#showLens();
    this.#redraw();
    if (held) this.#scroll.focus();
  }

  get hasPinned() {
    return this.#pinned !== null;
  }

  focusMap() {
    this.#scroll.focus();
  }

  #rescale() {
    if (this.#picture === null) return;
    this.scale = scaleOf(this.#picture.priorities(), this.scale?.levels);
    this.#legend.replaceChildren(...legendOf(this.scale));
    this.#headWordsAt = -Infinity;
    this.#rows = shownRows(this.#picture, this.#resource, this.#rows);
    this.#rescene();
    this.#redraw();
  }

  #rescene() {
    this.#colours ??= coloursOf(this);
    const missing = this.#emphasis?.near?.row ?? -1; // what is missing is what is shown
    const rowOf = ({ pool }) => (missing >= 0 ? missing : this.#rows.get(pool) ?? 0);
    this.#scene = { picture: this.#picture, scale: this.scale, rowOf, emphasis: this.#emphasis, colours: this.#colours };
  }

  /** Shows another resource where another one has come into use. */
  #reconsiderRows() {
    const rows = shownRows(this.#picture, this.#resource, this.#rows);
    if ([...rows].every(([pool, row]) => this.#rows.get(pool) === row)) return;
    this.#rows = rows;
    this.#all = true;
    this.#request();
  }

  #resized() {
    const { clientWidth, clientHeight } = this.#scroll;
    if (clientWidth !== this.#width || clientHeight !== this.#height) this.#arrange();
  }

  #arrange() {
    const [width, height] = [this.#scroll.clientWidth, this.#scroll.clientHeight];
    if (this.#picture === null || !width || !height) return;
    [this.#width, this.#height] = [width, height];
    const under = this.#layout?.tiles[this.#cursor]?.nodes[0];
    this.#headWordsAt = -Infinity;
    this.#layout = layOut(sectionsOf(this.#picture.nodes.values(), this.#by), width, height, this.#zoom);
    this.#cursor = this.#layout.tileOf.get(under) ?? -1;
    this.#hovered = -1;
    this.#sizer.style.height = `${Math.max(height, this.#layout.height)}px`;
    const ratio = window.devicePixelRatio;
    this.#canvas.width = width * ratio;
    this.#canvas.height = height * ratio;
    this.#canvas.style.width = `${width}px`;
    this.#canvas.style.height = `${height}px`;
    this.#showLens();
    this.#redraw();
  }

  #redraw() {
    this.#all = true;
    clearTimeout(this.#textTimer);
    [this.#textTimer, this.#textAt] = [0, -Infinity];
    this.#request();
  }

  #request() {
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#frame = 0;
    if (this.#layout === null) return;
    const start = performance.now();
    const pen = this.#pen();
    const top = this.#scroll.scrollTop;
    const isSeen = (tile) => tile.y + tile.height >= top && tile.y <= top + this.#scroll.clientHeight;
    const drawn = this.#all ? this.#drawAll(pen, top, isSeen) : this.#drawSome(pen, isSeen);
    this.#all = false;
    this.#dirty.clear();
    this.#measure(drawn, performance.now() - start);
    this.#textSoon();
  }

  #pen() {
    const pen = this.#canvas.getContext("2d");
    const ratio = window.devicePixelRatio;
    pen.setTransform(ratio, 0, 0, ratio, 0, -this.#scroll.scrollTop * ratio);
    return pen;
  }

  #drawAll(pen, top, isSeen) {
    pen.clearRect(0, top, this.#canvas.width, this.#canvas.height);
    const seen = this.#layout.tiles.filter(isSeen);
    drawTiles(pen, this.#scene, seen);
    this.#drawHeads(pen);
    this.#drawRings(pen);
    return seen.length;
  }

  #drawHeads(pen) {
    for (const head of this.#layout.heads) {
      pen.clearRect(head.x - 2, head.y, head.width + 4, 24);
      drawHead(pen, this.#scene, head, this.#headWords.get(head.name) ?? "");
    }
  }

  #drawSome(pen, isSeen) {
    const seen = [...this.#dirty].map((number) => this.#layout.tiles[number]).filter(isSeen);
    for (const tile of seen) eraseTile(pen, tile, this.#layout.gap);
    drawTiles(pen, this.#scene, seen);
    this.#drawRings(pen);
    return seen.length;
  }

  #drawRings(pen) {
    const { tiles, tileOf, gap } = this.#layout;
    const ring = (number, colour) => { if (tiles[number]) drawRing(pen, tiles[number], colour, gap); };
    ring(this.#hovered, this.#colours.muted);
    if (this.#pinned !== null) ring(tileOf.get(this.#pinned[0]), this.#colours.ink);
    if (document.activeElement === this.#scroll) ring(this.#cursor, this.#colours.accent);
  }

  #measure(tiles, milliseconds) {
    const { stats } = this;
    stats.frames += 1;
    stats.tiles += tiles;
    stats.milliseconds += milliseconds;
    stats.longest = Math.max(stats.longest, milliseconds);
    stats.firstAt ||= performance.now();
  }

  /** After the frame, which need not wait for words; and at most once a second while tiles change. */
  #textSoon() {
    this.#textTimer ||= setTimeout(() => this.#text(), Math.max(0, this.#textAt + SLOW - performance.now()));
  }

  /** What is text: the heads of pools, the sentence, the lens, the table. */
  #text() {
    this.#textTimer = 0;
    this.#textAt = performance.now();
    this.#reconsiderRows();
    if (this.#textAt >= this.#headWordsAt + SLOW) {
      this.#headWords = new Map(this.#layout.heads.map((head) => [head.name, this.#wordsOf(head)]));
      this.#headWordsAt = this.#textAt;
      this.#drawHeads(this.#pen());
    }
    this.#describe();
    this.#showLens();
    this.#showTable();
    if (this.#pinned !== null) this.#textSoon(); // its card counts seconds while nothing changes
  }

  #wordsOf(head) {
    const nodes = head.nodes.map((name) => this.#picture.nodes.get(name)).filter(Boolean);
    const row = nodes.length ? this.#scene.rowOf(nodes[0]) : 0;
    const { held, offered } = usage(this.#picture, nodes)[row] ?? { held: 0, offered: 0 };
    const full = offered > 0 ? ` · ${percent(held / offered)} of ${shortResource(this.#picture.resources[row])}` : "";
    return `${plural(nodes.length, "node")}${full}`;
  }

  #describe() {
    const { perTile, height, size } = this.#layout;
    const hides = perTile > 1 ? `A tile stands for ${perTile} nodes: larger tiles (+) show each node.`
      : size < 26 ? "Tiles show bands by priority; point at one, or make them larger (+), to see single pods." : "";
    const beyond = height > this.#scroll.clientHeight + 1 ? "Scroll to see all nodes." : "";
    const dims = this.#emphasis !== null && this.#emphasis.nodes.size < this.#picture.nodes.size;
    const words = this.#emphasis ? `${this.#emphasis.title}${dims ? " Other nodes are dimmed." : ""}` : [hides, beyond].filter(Boolean).join(" ");
    setText(this.#note, words);
    this.#note.title = words;
    const label = `${plural(this.#picture.nodes.size, "node")}, ${plural(this.#picture.pods.size, "pod")}; the table has the same as text`;
    if (this.#canvas.getAttribute("aria-label") !== label) this.#canvas.setAttribute("aria-label", label);
  }

  #showTable() {
    if (this.#picture === null || this.#layout === null) return;
    const { resources } = this.#picture;
    const names = this.#layout.heads.flatMap((head) => head.nodes);
    const columns = ["Node", "Pool", "Zone", "State", "Pods", "Leaving", "Nominated", ...resources.map((r) => `Free ${shortResource(r)}`)]
      .map((name, index) => ({ name, numeric: index > 3 }));
    const rows = (from, to) => names.slice(from, to).map((name) => this.#tableRow(name));
    this.#table.show({ caption: "Nodes and what is free on them", columns, count: names.length, rows, chooses: "choose-node" });
  }

  #tableRow(name) {
    const node = this.#picture.nodes.get(name);
    const pods = [...this.#picture.podsOn(name)];
    const state = [node.ready ? "ready" : "not ready", node.cordoned ? "cordoned" : ""].filter(Boolean).join(", ");
    const free = usage(this.#picture, [node]).map(({ held, offered }, row) => amount(this.#picture.resources[row], offered - held));
    return [name, node.pool, node.zone, state, pods.length, pods.filter(isLeaving).length, this.#picture.nominatedTo(name).size, ...free];
  }

  // --- pointer and keyboard ---

  #point(event) {
    const box = this.#scroll.getBoundingClientRect();
    return tileAt(this.#layout, event.clientX - box.left, event.clientY - box.top + this.#scroll.scrollTop);
  }

  #hover(event) {
    if (this.#layout !== null) this.#hoverTile(this.#point(event));
  }

  #hoverTile(tile) {
    if (tile === this.#hovered) return;
    this.#ring(() => { this.#hovered = tile; });
    this.#showLens();
  }

  #click(event) {
    const tile = this.#layout === null ? -1 : this.#point(event);
    if (tile < 0) {
      tell(this, "clear-emphasis");
      return this.unpin();
    }
    this.#ring(() => { this.#cursor = tile; });
    this.#pinTile(tile);
  }

  #pinTile(tile) {
    const { nodes } = this.#layout.tiles[tile];
    if (nodes.length === 1) return tell(this, "choose-node", nodes[0]);
    this.#pinned = nodes;
    this.#showLens();
    this.#lens.takeFocus();
  }

  #key(event) {
    if (this.#layout === null || event.target !== this.#scroll) return;
    if (ARROWS.includes(event.key)) {
      event.preventDefault();
      this.#moveTo(neighbour(this.#layout, this.#cursor, event.key));
    } else if (event.key === "Enter" && this.#cursor >= 0) {
      event.preventDefault();
      this.#pinTile(this.#cursor);
      this.#lens.takeFocus();
    }
  }

  #moveTo(tile) {
    if (this.#layout === null || !this.#layout.tiles[tile]) return;
    this.#ring(() => { this.#cursor = tile; });
    this.#bringIntoView(tile);
    this.#showLens();
    tell(this, "announce", this.#spoken(this.#layout.tiles[tile]));
  }

  #spoken(tile) {
    const nodes = tile.nodes.map((name) => this.#picture.nodes.get(name)).filter(Boolean);
    const row = this.#scene.rowOf(nodes[0]);
    const { held, offered } = usage(this.#picture, nodes)[row];
    const near = nodes.length === 1 ? this.#emphasis?.near?.nodes.get(nodes[0].name) : undefined;
    const pods = tile.nodes.flatMap((name) => [...this.#picture.podsOn(name)]);
    const leaving = pods.filter(isLeaving).length;
    const named = nodes.length === 1 ? nodes[0].name : `${nodes.length} nodes from ${nodes[0].name}`;
    return `${named}: ${plural(pods.length, "pod")}, ${amount(this.#picture.resources[row], offered - held)} free of ${number(offered)}`
      + `${leaving ? `, ${leaving} leaving` : ""}${near ? `; ${near.words}` : ""}`;
  }

  #bringIntoView(number) {
    const tile = this.#layout.tiles[number];
    const [top, height] = [this.#scroll.scrollTop, this.#scroll.clientHeight];
    if (tile.y < top + 30) this.#scroll.scrollTop = Math.max(0, tile.y - 40);
    else if (tile.y + tile.height > top + height) this.#scroll.scrollTop = tile.y + tile.height - height + 20;
  }

  /** Redraws the tiles whose rings change. */
  #ring(change = () => {}) {
    const ringed = () => [this.#hovered, this.#cursor, this.#pinned ? this.#layout?.tileOf.get(this.#pinned[0]) : -1];
    const mark = () => ringed().forEach((tile) => { if (tile >= 0) this.#dirty.add(tile); });
    mark();
    change();
    mark();
    this.#request();
  }

  #lensTile() {
    if (this.#pinned !== null) return this.#layout.tileOf.get(this.#pinned[0]) ?? -1;
    if (this.#hovered >= 0) return this.#hovered;
    return document.activeElement === this.#scroll ? this.#cursor : -1;
  }

  #showLens() {
    const number = this.#layout === null ? -1 : this.#lensTile();
    const tile = this.#layout?.tiles[number];
    if (tile === undefined) {
      this.#lens.hidden = true;
      return;
    }
    const names = this.#pinned ?? tile.nodes;
    this.#lens.show({ scene: this.#scene, names, pinned: this.#pinned !== null, now: this.#now() });
    this.#lensToTile(tile);
  }

  #lensToTile(tile = this.#layout?.tiles[this.#layout === null ? -1 : this.#lensTile()]) {
    if (tile === undefined || this.#lens.hidden) return;
    const seen = { ...tile, y: tile.y - this.#scroll.scrollTop };
    this.#lens.place(seen, this.#scroll.clientWidth, this.#scroll.clientHeight);
  }
}

customElements.define("rp-cluster", ClusterView);
