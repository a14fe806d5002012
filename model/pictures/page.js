"use strict";

const STEPS = 1000; // a weight of 1
const HIDDEN = -1; // where the query may not look
const MEAN = -1; // the place of a head for the mean of all heads
const CELL = { smallest: 13, largest: 30 }; // pixels, as are the next two
const LOWEST_MAP = 384;
const AROUND_MAP = 208; // what stands above and below the enlarged map
const BEND = 0.7; // exponent: the small weights of long sentences get more of the colours
const TICKS = [0, 0.1, 0.2, 0.4, 0.6, 0.8, 1];
const FONT = "12px system-ui, sans-serif";
const LONGEST_LABEL = 14; // characters

// Matplotlib's magma: lightness rises evenly, so that an order is seen without the legend.
const MAGMA = ["#000004", "#140e36", "#3b0f70", "#641a80", "#8c2981", "#b73779", "#de4968",
  "#f7705c", "#fe9f6d", "#fecf92", "#fcfdbf"].map((hex) => parseInt(hex.slice(1), 16));

const kinds = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
// The last layer's cross-attention, which is nearest to an alignment, is shown at first.
const shown = { kind: kinds.length - 1, layer: kinds.at(-1).layers.length - 1, head: MEAN };
const thumbs = []; // {button, picture, kind, layer, head}
let cell = null; // {row, column} under the pointer or the keyboard's cursor
let palette = []; // [red, green, blue, alpha] of every weight, 0 to STEPS
let geometry = null; // {left, top, size, width, height} of the enlarged map, in pixels
const [map, reading] = [byId("map"), byId("reading")];
const scroller = byId("scroller");
const canvas = byId("cells").querySelector("canvas");
const frames = byId("cells").querySelectorAll("rect"); // of the row, of the column, of the cell
const choices = { kind: byId("kind"), layer: byId("layer"), head: byId("head") };

function byId(id) {
  return document.getElementById(id);
}

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function set(target, attributes) {
  for (const [key, value] of Object.entries(attributes)) target.setAttribute(key, value);
}

// Weights and colours

function weights({ kind, layer, head }) {
  const heads = kinds[kind].layers[layer];
  if (head !== MEAN) return heads[head];
  return heads[0].map((_, i) => heads.reduce((sum, one) => sum + one[i], 0) / heads.length);
}

function bent(weight) {
  return weight ** BEND;
}

function mix(place) {
  const along = place * (MAGMA.length - 1);
  const low = Math.min(MAGMA.length - 2, Math.floor(along));
  return [16, 8, 0].map((shift) => {
    const [from, to] = [MAGMA[low], MAGMA[low + 1]].map((rgb) => (rgb >> shift) & 255);
    return Math.round(from + (to - from) * (along - low));
  });
}

// Weight 0 has the colour that is nearest to the ground.
function makePalette() {
  palette = Array.from({ length: STEPS + 1 }, (_, value) => {
    const place = bent(value / STEPS);
    return [...mix(dark.matches ? place : 1 - place), 255];
  });
}

function paint(target, values, columns) {
  target.width = columns;
  target.height = values.length / columns;
  const context = target.getContext("2d");
  const image = context.createImageData(target.width, target.height);
  values.forEach((value, i) => {
    if (value !== HIDDEN) image.data.set(palette[Math.round(value)], 4 * i);
  });
  context.putImageData(image, 0, 0);
}

function paintLegend() {
  const values = Array.from({ length: 256 }, (_, i) => STEPS * (i / 255) ** (1 / BEND));
  paint(document.querySelector("#legend canvas"), values, values.length);
}

// The enlarged map

function shortened(label) {
  const characters = [...label];
  return characters.length > LONGEST_LABEL
    ? characters.slice(0, LONGEST_LABEL - 1).join("") + "\u2026" : label;
}

function widest(labels) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = "bold " + FONT;
  return Math.ceil(Math.max(...labels.map((label) => context.measureText(label).width)));
}

function layout() {
  const { rows, columns } = kinds[shown.kind];
  const left = widest(rows.map(shortened)) + 8;
  const top = widest(columns.map(shortened)) + 8;
  const highest = Math.max(LOWEST_MAP, innerHeight - AROUND_MAP);
  scroller.style.maxHeight = highest + "px";
  scroller.style.scrollPadding = `${top}px 0 0 ${left}px`; // the labels cover that much
  const room = Math.min(
    (scroller.clientWidth - left) / columns.length, (highest - top) / rows.length);
  const size = Math.max(CELL.smallest, Math.min(CELL.largest, Math.floor(room)));
  return { left, top, size, width: columns.length * size, height: rows.length * size };
}

function drawLabels(svg, labels, width, height, place) {
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.replaceChildren(...labels.map((label, i) => {
    const text = document.createElementNS(svg.namespaceURI, "text");
    set(text, { "dominant-baseline": "central", ...place((i + 0.5) * geometry.size) });
    text.textContent = shortened(label);
    return text;
  }));
}

function drawMap() {
  const { rows, columns } = kinds[shown.kind];
  geometry = layout();
  const { left, top, width, height } = geometry;
  paint(canvas, weights(shown), columns.length);
  canvas.style.cssText = `width:${width}px;height:${height}px`;
  drawLabels(byId("rows"), rows, left, height, (y) => ({ x: left - 5, y, "text-anchor": "end" }));
  drawLabels(byId("columns"), columns, width, top,
    (x) => ({ transform: `translate(${x} ${top - 5}) rotate(-90)` }));
  markCell();
}

function markCell() {
  for (const text of map.querySelectorAll(".met")) text.classList.remove("met");
  byId("cells").querySelector("svg").style.visibility = cell ? "visible" : "hidden";
  if (!cell) {
    reading.textContent = "Point at a cell, tap it or use the arrow keys.";
    return;
  }
  const { size, width, height } = geometry;
  const [x, y] = [cell.column * size, cell.row * size];
  set(frames[0], { x: 0, y, width, height: size });
  set(frames[1], { x, y: 0, width: size, height });
  set(frames[2], { x, y, width: size, height: size });
  byId("rows").children[cell.row].classList.add("met");
  byId("columns").children[cell.column].classList.add("met");
  read();
}

function read() {
  const { rows, columns } = kinds[shown.kind];
  const value = weights(shown)[cell.row * columns.length + cell.column];
  const weight = value === HIDDEN ? "may not look there" : (value / STEPS).toFixed(3);
  const [from, to] = [rows[cell.row], columns[cell.column]].map((label) => element("bdi", {}, label));
  reading.replaceChildren(from, " \u2192 ", to, ": " + weight);
}

function moveTo(row, column) {
  const { rows, columns } = kinds[shown.kind];
  const within = (value, length) => Math.max(0, Math.min(length - 1, value));
  cell = { row: within(row, rows.length), column: within(column, columns.length) };
  markCell();
}

function pointAt(event) {
  const { size } = geometry;
  moveTo(Math.floor(event.offsetY / size), Math.floor(event.offsetX / size));
}

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function walk(event) {
  const move = MOVES[event.key];
  if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  if (cell) moveTo(cell.row + move[0], cell.column + move[1]);
  else moveTo(0, 0);
  frames[2].scrollIntoView({ block: "nearest", inline: "nearest" });
}

// The overview

function headName(head) {
  return head === MEAN ? "mean" : String(head + 1);
}

function thumb(place) {
  const picture = element("canvas");
  const label = `${kinds[place.kind].title}, layer ${place.layer + 1}, head ${headName(place.head)}`;
  const button = element("button", { type: "button", className: "thumb", title: label }, picture);
  button.setAttribute("aria-label", label);
  button.addEventListener("click", () => {
    makeTabStop(place);
    show(place);
    byId("enlarged").scrollIntoView({ block: "nearest" });
  });
  button.addEventListener("keydown", (event) => walkThumbs(event, place));
  thumbs.push({ ...place, button, picture });
  return button;
}

function find({ kind, layer, head }) {
  return thumbs.find((t) => t.kind === kind && t.layer === layer && t.head === head);
}

// Each kind is one stop of the tab key; arrow keys move inside it.
function makeTabStop(place) {
  for (const each of thumbs) {
    if (each.kind === place.kind) each.button.tabIndex = each === find(place) ? 0 : -1;
  }
}

function walkThumbs(event, place) {
  const move = MOVES[event.key];
  if (!move) return;
  event.preventDefault();
  const next = find({ ...place, layer: place.layer + move[0], head: place.head + move[1] });
  if (!next) return;
  makeTabStop(next);
  next.button.focus();
}

function overview(kind) {
  const { title, note, layers } = kinds[kind];
  const heads = [MEAN, ...layers[0].keys()];
  const grid = element("div", { className: "grid" }, element("span", {}, "head"),
    ...heads.map((head) => element("span", {}, headName(head))));
  grid.style.gridTemplateColumns = `auto repeat(${heads.length}, minmax(2.2rem, 8rem))`;
  layers.forEach((_, layer) => {
    grid.append(element("span", {}, "layer " + (layer + 1)));
    grid.append(...heads.map((head) => thumb({ kind, layer, head })));
  });
  return element("section", {}, element("h2", {}, title), element("p", {}, note), grid);
}

function paintThumbs() {
  for (const each of thumbs) paint(each.picture, weights(each), kinds[each.kind].columns.length);
}

// Choosing

function options(select, names) {
  select.replaceChildren(...names.map(([value, name]) => element("option", { value }, name)));
}

function show(place) {
  const { layers } = kinds[place.kind];
  if (place.kind !== shown.kind) cell = null;
  shown.kind = place.kind;
  shown.layer = Math.min(place.layer, layers.length - 1);
  shown.head = place.head;
  options(choices.layer, layers.map((_, i) => [i, i + 1]));
  options(choices.head, [MEAN, ...layers[0].keys()].map((head) => [head, headName(head)]));
  for (const [key, select] of Object.entries(choices)) select.value = shown[key];
  for (const each of thumbs) each.button.setAttribute("aria-pressed", each === find(shown));
  byId("note").textContent = kinds[shown.kind].note;
  map.setAttribute("aria-label", find(shown).button.title);
  drawMap();
}

function choose() {
  const [kind, layer, head] = ["kind", "layer", "head"].map((key) => Number(choices[key].value));
  show({ kind, layer, head });
}

function paintAll() {
  makePalette();
  paintLegend();
  paintThumbs();
  drawMap();
}

function start() {
  options(choices.kind, kinds.map(({ title }, i) => [i, title]));
  byId("overview").append(...kinds.map((_, kind) => overview(kind)));
  byId("ticks").append(...TICKS.map((tick) => {
    const span = element("span", {}, String(tick));
    span.style.left = 100 * bent(tick) + "%";
    return span;
  }));
  kinds.forEach((_, kind) => makeTabStop({ kind, layer: 0, head: MEAN }));
  for (const select of Object.values(choices)) select.addEventListener("change", choose);
  canvas.addEventListener("pointermove", pointAt);
  canvas.addEventListener("pointerdown", pointAt);
  map.addEventListener("keydown", walk);
  dark.addEventListener("change", paintAll);
  addEventListener("resize", drawMap);
  paintAll();
  show(shown);
}

start();
