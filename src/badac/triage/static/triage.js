// The triage page: look, say, learn. One module, no dependencies; names and labels are only ever text (textContent).
// `mount(root, call)` draws into an element and asks `call(method, path, body)`: over HTTP on the page, over the notebook's
// channel in a widget (the default export is what anywidget takes).

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "down", "circle", "square"];
const KEYS = [
  ["1 - 9", "a known class"], ["n", "a new kind, named"], ["a", "an artefact"], ["i", "interesting"], ["d", "dull"],
  ["space", "unsure"], ["u", "undo"], ["← →", "back, and on without saying"], ["/", "find by name"], ["g", "grid of the next twelve"],
  ["f", "fold at the period"], ["+ − 0", "zoom in, out, all"], ["?", "this help"],
];

function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) made.append(child);
  return made;
}

function draw(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of children.flat(Infinity)) made.append(child);
  return made;
}

const short = (x, digits = 4) => (x === null || x === undefined || !Number.isFinite(x) ? "–"
  : Number(x.toPrecision(digits)).toString());
const percent = (p) => (p > 0.995 ? "> 99 %" : p < 0.005 ? "< 1 %" : `${Math.round(100 * p)} %`);

function ticks(low, high, count = 5) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw) || power;
  const out = [];
  for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step) out.push(Number(x.toPrecision(12)));
  return out;
}

function marker(shape, x, y, r = 4) {
  const by = { class: "mark" };
  if (shape === "square") return draw("rect", { ...by, x: x - r, y: y - r, width: 2 * r, height: 2 * r });
  const path = {
    triangle: `M${x} ${y - r - 1}L${x + r} ${y + r}L${x - r} ${y + r}Z`, down: `M${x} ${y + r + 1}L${x + r} ${y - r}L${x - r} ${y - r}Z`,
    diamond: `M${x} ${y - r - 1}L${x + r + 1} ${y}L${x} ${y + r + 1}L${x - r - 1} ${y}Z`,
    cross: `M${x - r} ${y - 1.5}H${x - 1.5}V${y - r}H${x + 1.5}V${y - 1.5}H${x + r}V${y + 1.5}H${x + 1.5}V${y + r}H${x - 1.5}V${y + 1.5}H${x - r}Z`,
  }[shape];
  return path ? draw("path", { ...by, d: path }) : draw("circle", { ...by, cx: x, cy: y, r });
}

function range(numbers, pad = 0.06) {
  let low = Infinity, high = -Infinity;
  for (const x of numbers) if (Number.isFinite(x)) { low = Math.min(low, x); high = Math.max(high, x); }
  if (!Number.isFinite(low)) return [0, 1];
  if (low === high) return [low - 0.5, high + 0.5];
  const more = pad * (high - low);
  return [low - more, high + more];
}

// -- pictures -------------------------------------------------------------------------------------------------------

// A catalogue's columns have units of their own: each is drawn around its prediction, in units of the larger uncertainty.
function standardised(object) {
  const points = [], expected = [];
  object.points.forEach((p, k) => {
    const e = object.expected[k], scale = Math.max(e[2] || 0, p[2] || 0) || Math.abs(e[1]) || 1;
    points.push([p[4], (p[1] - e[1]) / scale, p[2] === null ? null : p[2] / scale, 0, p[4]]);
    expected.push([p[4], 0, (e[2] || 0) / scale, 0, e[4]]);
  });
  return { points, expected };
}

// Columns are in units of their spread, all pictures on one scale around the middle of the known ones; curves fill theirs.
function small(points, caption, { upside_down: upsideDown = false, columns = false } = {}) {
  const [x0, x1] = range(points.map((p) => p[0])), [y0, y1] = columns ? [-5, 5] : range(points.map((p) => p[1]));
  const sx = (x) => 4 + (192 * (x - x0)) / (x1 - x0), sy = (y) => (upsideDown ? 4 : 96) + ((upsideDown ? 92 : -92) * (y - y0)) / (y1 - y0);
  const svg = draw("svg", { viewBox: "0 0 200 100", role: "img", "aria-label": caption });
  if (columns) svg.append(draw("line", { class: "zero", x1: 4, x2: 196, y1: sy(0), y2: sy(0) }));
  for (const full of points) {
    const p = [full[0], Math.max(y0, Math.min(y1, full[1])), ...full.slice(2)];
    const group = draw("g", { class: `b${p[3] % 8}` });
    if (p[2]) group.append(draw("line", { class: "bar", x1: sx(p[0]), x2: sx(p[0]), y1: sy(Math.max(y0, p[1] - p[2])), y2: sy(Math.min(y1, p[1] + p[2])) }));
    group.append(marker(SHAPES[p[3] % 8], sx(p[0]), sy(p[1]), columns ? 3 : 2));
    svg.append(group);
  }
  return svg;
}

let pictures = 0;

class Picture {
  constructor(stage, object) {
    this.number = pictures += 1; // several may be on one page of a notebook
    this.stage = stage; this.object = object; this.folded = false; this.zoom = null;
    this.columns = object.kind === "catalogue" || (object.kind === "counts" && object.features.length > 0 && !object.axis);
    stage.addEventListener("wheel", (event) => { if (event.ctrlKey || event.shiftKey) { event.preventDefault(); this.scale(event.deltaY < 0 ? 0.8 : 1.25, this.at(event)); } }, { passive: false });
    stage.addEventListener("pointermove", (event) => this.hover(event));
    stage.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    stage.addEventListener("pointerdown", (event) => {
      this.from = event.pointerType === "mouse" ? this.at(event) : null;
      if (this.from === null) this.hover(event); // a finger does not move over a point first
    });
    stage.addEventListener("pointerup", (event) => {
      const to = this.from === null || this.from === undefined ? null : this.at(event);
      if (to !== null && Math.abs(to - this.from) > 0.03 * (this.x1 - this.x0)) { this.zoom = [Math.min(to, this.from), Math.max(to, this.from)]; this.render(); }
      this.from = null;
    });
    stage.addEventListener("dblclick", () => { this.zoom = null; this.render(); });
    this.tip = make("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.render();
  }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.width;
    return this.x0 + ((x - this.left) / (this.width - this.left - 12)) * (this.x1 - this.x0);
  }

  scale(factor, around) {
    const middle = around ?? (this.x0 + this.x1) / 2;
    this.zoom = [middle - (middle - this.x0) * factor, middle + (this.x1 - middle) * factor];
    this.render();
  }

  render() {
    this.tip.hidden = true; // what it pointed at may be elsewhere now
    // On a phone a unit is a pixel, so that letters keep their size.
    const object = this.object, narrow = this.stage.clientWidth < 600;
    const width = (this.width = narrow ? Math.max(300, this.stage.clientWidth) : 1300), tall = narrow ? 330 : 380, below = narrow ? 90 : 110;
    const left = (this.left = 58), foot = this.columns ? 96 : 34, height = tall + below + foot;
    const fold = (x) => (this.folded ? (((x / object.period) % 1) + 1) % 1 : x);
    const source = this.columns ? standardised(object) : { points: object.points, expected: object.expected };
    const points = source.points.map((p) => [fold(p[0]), ...p.slice(1)]);
    const expected = source.expected.map((e) => [fold(e[0]), ...e.slice(1)]);
    [this.x0, this.x1] = this.zoom || range(points.map((p) => p[0]), 0.02);
    const inside = (x) => x >= this.x0 && x <= this.x1;
    const seen = points.filter((p) => inside(p[0]));
    // Points with their error bars decide the range, but for bars longer than all of the points' own range.
    const [low, high] = range(seen.map((p) => p[1]), 0);
    const bars = seen.filter((p) => (p[2] || 0) <= high - low).flatMap((p) => [p[1] - (p[2] || 0), p[1] + (p[2] || 0)]);
    let [y0, y1] = range([...seen.map((p) => p[1]), ...bars, ...expected.filter((e) => inside(e[0])).flatMap((e) => [e[1] - e[2], e[1] + e[2]])]);
    if (object.upside_down) [y0, y1] = [y1, y0];
    const sx = (x) => left + ((width - left - 12) * (x - this.x0)) / (this.x1 - this.x0);
    const sy = (y) => 8 + ((tall - 16) * (y1 - y)) / (y1 - y0);
    const pulls = expected.filter((e) => inside(e[0]) && Number.isFinite(e[4])).map((e) => Math.abs(e[4]));
    const reach = Math.max(3.5, ...pulls) * 1.1;
    const sr = (r) => tall + 6 + ((below - 12) * (reach - Math.max(-reach, Math.min(reach, r)))) / (2 * reach);
    const words = `${object.id}: ${points.length} points with error bars, prediction of class ${object.label}, and residuals in sigma below`;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
    const clip = draw("clipPath", { id: `badac-inside-${this.number}` }, draw("rect", { x: left, y: 0, width: width - left - 12, height: tall + below }));
    const body = draw("g", { "clip-path": `url(#badac-inside-${this.number})` });
    svg.append(draw("defs", {}, clip));
    if (!this.folded && object.window.every(Number.isFinite)) {
      const [a, b] = this.columns ? [object.window[0] - 0.4, object.window[1] + 0.4] : object.window;
      body.append(draw("rect", { class: "window", x: sx(Math.min(a, b)), y: 0, width: Math.max(3, Math.abs(sx(b) - sx(a))), height: tall + below }));
    }
    const bands = [...new Set(points.map((p) => p[3]))].sort((a, b) => a - b);
    for (const band of bands) {
      const own = expected.filter((e) => e[3] === band && Number.isFinite(e[1])).sort((a, b) => a[0] - b[0]);
      const group = draw("g", { class: bands.length > 1 ? `banded b${band % 8}` : "" });
      if (this.columns) {
        for (const e of own) for (const k of [2, 1]) group.append(draw("rect", { class: "area", x: sx(e[0]) - 7, width: 14, y: Math.min(sy(e[1] + k * e[2]), sy(e[1] - k * e[2])), height: Math.abs(sy(e[1] + k * e[2]) - sy(e[1] - k * e[2])) }));
      } else if (own.length > 1) {
        for (const k of [2, 1]) {
          const up = own.map((e) => `${sx(e[0])},${sy(e[1] + k * e[2])}`), down = own.map((e) => `${sx(e[0])},${sy(e[1] - k * e[2])}`).reverse();
          group.append(draw("polygon", { class: "area", points: [...up, ...down].join(" ") }));
        }
        group.append(draw("polyline", { class: "model", points: own.map((e) => `${sx(e[0])},${sy(e[1])}`).join(" ") }));
      }
      body.append(group);
    }
    for (const y of ticks(Math.min(y0, y1), Math.max(y0, y1))) {
      svg.append(draw("line", { class: "axis", x1: left, x2: width - 12, y1: sy(y), y2: sy(y) }));
      const label = draw("text", { x: left - 6, y: sy(y) + 4, "text-anchor": "end" }); label.textContent = short(y); svg.append(label);
    }
    for (const r of [-3, 0, 3]) {
      body.append(draw("line", { class: r ? "axis" : "zero", x1: left, x2: width - 12, y1: sr(r), y2: sr(r) }));
      const label = draw("text", { x: left - 6, y: sr(r) + 4, "text-anchor": "end" }); label.textContent = r ? `${r > 0 ? "+" : "−"}3 σ` : "0"; svg.append(label);
    }
    svg.append(draw("line", { class: "axis", x1: left, x2: width - 12, y1: tall, y2: tall }), draw("line", { class: "axis", x1: left, x2: width - 12, y1: tall + below, y2: tall + below }));
    if (this.columns) {
      const every = Math.max(1, Math.ceil(seen.length / (narrow ? 16 : 45)));
      seen.forEach((p, k) => {
        if (k % every) return;
        const label = draw("text", { transform: `translate(${sx(p[0]) + 4} ${tall + below + 10}) rotate(-50)`, "text-anchor": "end" });
        label.textContent = (object.features[p[4]] || `${p[4]}`).slice(0, 16); svg.append(label);
      });
    } else {
      for (const x of ticks(this.x0, this.x1, narrow ? 4 : 8)) {
        const label = draw("text", { x: sx(x), y: tall + below + 16, "text-anchor": "middle" }); label.textContent = short(x, 7); svg.append(label);
      }
      const name = draw("text", { x: width - 12, y: tall + below + 31, "text-anchor": "end" });
      name.textContent = this.folded || (object.folded && object.period) ? `phase, period ${short(object.period, 6)}` : object.axis || "point"; svg.append(name);
    }
    const what = draw("text", { x: left + 4, y: 14 }); what.textContent = !this.columns ? object.quantity : narrow ? "deviation, in units of the uncertainty" : "deviation from the prediction, in units of the larger uncertainty"; svg.append(what);
    this.shown = [];
    points.forEach((p, k) => {
      if (!inside(p[0])) return;
      const group = draw("g", { class: `b${p[3] % 8}` }), x = sx(p[0]), y = sy(p[1]);
      if (p[2]) group.append(draw("line", { class: "bar", x1: x, x2: x, y1: sy(p[1] - p[2]), y2: sy(p[1] + p[2]) }));
      group.append(marker(SHAPES[p[3] % 8], x, y, points.length > 400 ? 2.5 : 4));
      const pull = expected[k][4];
      if (Number.isFinite(pull)) group.append(draw("line", { class: "bar", x1: x, x2: x, y1: sr(0), y2: sr(pull) }), marker(SHAPES[p[3] % 8], x, sr(pull), 2.5));
      body.append(group);
      this.shown.push({ x, y, k });
    });
    svg.append(body);
    this.svg = svg;
    this.stage.replaceChildren(svg, this.tip);
  }

  hover(event) {
    const box = this.svg.getBoundingClientRect(), scale = this.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    let best = null, near = 30 ** 2;
    for (const s of this.shown) { const d = (s.x - x) ** 2 + ((s.y - y) / 3) ** 2; if (d < near) { near = d; best = s; } }
    this.tip.hidden = best === null;
    if (best === null) return;
    const object = this.object, p = object.points[best.k], e = object.expected[best.k];
    const place = this.columns ? object.features[p[4]] || `column ${p[4]}` : `${object.axis || "point"} ${short(p[0], 7)}`;
    const band = object.bands[p[3]] !== undefined ? `, band ${object.bands[p[3]]}` : "";
    this.tip.textContent = `${place}${band}: ${short(p[1], 5)}${p[2] === null ? "" : ` ± ${short(p[2], 2)}`}, expected ${short(e[1], 5)} ± ${short(e[2], 2)}, ${short(e[4], 3)} σ`;
    this.tip.style.left = `${Math.min(best.x / scale + 12, box.width - 200)}px`;
    this.tip.style.top = `${best.y / scale + 12}px`;
  }
}

// Phases are folded already.
const foldable = (object) => Boolean(object.period) && !object.folded;

function zoomButtons(picture) {
  const one = (sign, words, action) => make("button", { type: "button", class: "zoom", title: words, "aria-label": words, onclick: () => action(picture()) }, sign);
  return make("span", { class: "zooms" }, one("+", "zoom in", (p) => p.scale(0.7)), one("−", "zoom out", (p) => p.scale(1.4)),
    one("0", "show all", (p) => { p.zoom = null; p.render(); }));
}

function legendOf(object) {
  const bands = [...new Set(object.points.map((p) => p[3]))].sort((a, b) => a - b);
  return [
    ...(bands.length > 1 ? bands.map((b) => make("span", {}, draw("svg", { viewBox: "-7 -7 14 14", class: `b${b % 8}`, "aria-hidden": "true" }, marker(SHAPES[b % 8], 0, 0, 4)), ` ${object.bands[b] ?? `band ${b}`}`)) : []),
    make("span", {}, `line and shading: as class ${object.label}, ± 1 and 2 σ; yellow: strangest window; below: residuals in σ`),
  ];
}

// -- the page -------------------------------------------------------------------------------------------------------

export function mount(root, call, { keys = root, storage = null, ahead = false } = {}) {
  const page = { state: null, object: null, view: "one", picture: null, row: null, cards: [], busy: false, skipped: new Set(), asked: new Set() };
  const key = "badac-triage-unsent";
  const kept = () => { try { return JSON.parse(storage?.getItem(key) || "[]"); } catch { return []; } };
  const keep = (list) => { try { storage?.setItem(key, JSON.stringify(list)); } catch { /* a private window */ } };

  const live = make("div", { class: "hidden", "aria-live": "polite", role: "status" });
  const banner = make("div", { class: "banner", role: "alert", hidden: true });
  const notice = make("div", { class: "notice", hidden: true });
  const title = make("h1", { tabindex: "-1" }, "badac triage");
  const saidOf = make("span", { class: "said" });
  const figures = make("div", { class: "figures" });
  const who = make("input", { class: "who", "aria-label": "Your name, kept with what you say", placeholder: "your name", maxlength: 60 });
  try { who.value = storage?.getItem("badac-triage-who") || ""; } catch { /* as above */ }
  who.addEventListener("change", () => { try { storage?.setItem("badac-triage-who", who.value); } catch { /* as above */ } });
  const stage = make("div", { class: "stage", tabindex: "0", "aria-label": "Picture of the object; plus and minus zoom" });
  const legend = make("div", { class: "legend" });
  const panels = make("div", { class: "panels" });
  const cards = make("div", { class: "cards", role: "group", "aria-label": "The next twelve: choose those to say one thing of" });
  const bar = make("div", { class: "bar-of-buttons", role: "toolbar", "aria-label": "What to say of the object" });
  const main = make("main", {}, stage, legend, panels, cards);
  const dialog = make("dialog", {});
  root.replaceChildren(make("header", {}, title, saidOf, figures), banner, notice, main, bar, dialog, live);

  const announce = (words) => { live.textContent = words; };
  const name = () => who.value.trim() || null;

  async function ask(method, path, body) {
    try {
      const answer = await call(method, path, body);
      if (banner.dataset.lost) { banner.hidden = true; delete banner.dataset.lost; }
      return answer;
    } catch (problem) {
      banner.hidden = false;
      if (problem.status) banner.textContent = problem.message;
      else {
        banner.dataset.lost = "1";
        banner.textContent = `The server does not answer. Everything said so far is in ${page.state?.file || "the session's file"}; what you say now is kept here and sent when it is back.`;
      }
      throw problem;
    }
  }

  async function flush() {
    for (let list = kept(); list.length; list = kept()) {
      try { page.state = await ask("POST", "/api/say", list[0]); }
      catch (problem) { if (!problem.status) return false; }
      keep(list.slice(1));
    }
    return true;
  }

  async function start() {
    await flush();
    page.state = await ask("GET", "/api/state");
    if (page.state.notes.length) { notice.hidden = false; notice.textContent = page.state.notes.join(" "); }
    if (!who.value) who.placeholder = page.state.who;
    await advance();
  }

  const upcoming = () => page.state.next.filter((row) => !page.skipped.has(row));

  async function advance() {
    if (page.view === "grid") return grid();
    let [row] = upcoming();
    if (row === undefined && page.skipped.size) { page.skipped.clear(); [row] = upcoming(); }
    if (row === undefined) return finished();
    return show(row);
  }

  function finished() {
    page.row = null; page.object = null; page.cards = []; cards.replaceChildren(); main.removeAttribute("aria-busy");
    stage.hidden = false;
    title.textContent = "Everything has been looked at"; saidOf.textContent = "";
    stage.replaceChildren(make("p", { class: "done" }, `${page.state.figures.found} found among ${page.state.figures.looked}. The session is in ${page.state.file || "memory"}.`));
    legend.replaceChildren(); panels.replaceChildren(); tally(); buttons();
  }

  function tally() {
    const f = page.state.figures;
    const line = draw("svg", { viewBox: "0 0 120 28", role: "img", "aria-label": `Curve of discoveries: ${f.found} found in ${f.looked} looks`, width: 120, height: 28 });
    const last = Math.max(1, f.discoveries.length), top = Math.max(1, f.found);
    line.append(draw("polyline", { class: "model", points: [[0, 0], ...f.discoveries.map((y, k) => [k + 1, y])].map(([x, y]) => `${(118 * x) / last + 1},${26 - (24 * y) / top}`).join(" ") }));
    line.style.width = "120px";
    const part = (label, value) => make("span", {}, make("b", {}, value), ` ${label}`);
    figures.replaceChildren(part("looked at", `${f.looked}`), part("found", `${f.found}`), part("expected in the next 20", f.expected_next.toFixed(1)), line, who);
  }

  async function show(row) {
    // Until it is seen nothing can be said of it, and what was shown stays.
    page.view = "one"; page.row = row; page.object = null;
    main.setAttribute("aria-busy", "true");
    const object = await ask("GET", `/api/object/${row}`);
    if (page.row !== row) return;
    page.object = object; page.cards = [];
    main.removeAttribute("aria-busy");
    cards.replaceChildren(); notice.hidden = notice.textContent === "";
    title.textContent = object.id; root.dataset.object = object.id;
    saidOf.textContent = object.said ? `said: ${object.said.said}${object.said.name ? `, ${object.said.name}` : ""} (${object.said.who})` : "";
    stage.hidden = false; legend.hidden = false; panels.hidden = false;
    page.picture = new Picture(stage, object);
    legend.replaceChildren(
      ...legendOf(object),
      zoomButtons(() => page.picture),
      ...(foldable(object) ? [make("button", { type: "button", "aria-pressed": "false", id: "badac-fold", onclick: fold }, make("kbd", { "aria-hidden": "true" }, "f"), "fold")] : []),
    );
    const probabilities = make("ul", { class: "probs" }, object.probabilities.slice(0, 8).map((one) => {
      const share = make("span", { class: "share", "aria-hidden": "true" });
      share.style.width = `${Math.max(0, Math.min(1, one.p)) * 100}%`;
      const kind = { new: "new kind: ", artefact: "artefact: ", unknown: "none of these", dull: "dull: ", interesting: "interesting: ", class: "" }[one.said] ?? "";
      return make("li", {}, share, make("span", {}, `${kind}${one.name}`), make("span", { class: "p" }, percent(one.p)));
    }));
    const place = Object.entries(object.carried);
    panels.replaceChildren(
      make("section", { class: "panel", "aria-label": "What it may be" }, make("h2", {}, "What it may be, by now"), probabilities,
        make("p", { class: "note" }, "\u201cnone of these\u201d goes by the rank, and by what was found so far."),
        make("p", {}, `p-value ${object.pvalue === null || object.pvalue === undefined ? "not worked out" : short(object.pvalue, 2)}; expected value ${short(object.value, 3)}`)),
      make("section", { class: "panel", "aria-label": "Why it is strange" }, make("h2", {}, "Why it is strange"), object.why.map((words) => make("p", {}, words)),
        object.furthest.length ? make("ul", {}, object.furthest.slice(0, 5).map((words) => make("li", {}, words))) : null),
      make("section", { class: "panel", "aria-label": "Most alike in the training" }, make("h2", {}, "Most alike in the training"),
        make("div", { class: "small" }, object.alike.map((one) => make("figure", {}, small(one.small, `a training object of class ${one.label}`, object), make("figcaption", {}, one.label)))),
        object.links.length ? make("p", {}, "At this place: ", object.links.map((link, k) => [k ? ", " : "", make("a", { href: link.href, target: "_blank", rel: "noopener noreferrer" }, link.name)]).flat()) : null,
        place.length ? make("details", {}, make("summary", {}, "from the table"), make("ul", {}, place.map(([column, value]) => make("li", {}, `${column}: ${value}`)))) : null),
    );
    tally(); buttons();
    announce(`${object.id}. ${object.why[0] || ""}`);
    prepare();
  }

  // What may come next is worked out while somebody looks.
  async function prepare() {
    if (!ahead) return;
    for (const row of upcoming().filter((one) => one !== page.row).slice(0, 3)) {
      if (page.asked.has(row)) continue;
      page.asked.add(row);
      try { await call("GET", `/api/ahead/${row}`); } catch { page.asked.delete(row); return; }
    }
  }

  function fold() {
    if (!page.object || !foldable(page.object)) return;
    page.picture.folded = !page.picture.folded; page.picture.zoom = null; page.picture.render();
    root.querySelector("#badac-fold")?.setAttribute("aria-pressed", `${page.picture.folded}`);
  }

  function button(hint, label, action, kind = "") {
    return make("button", { type: "button", class: kind, onclick: action, title: label, "aria-keyshortcuts": hint === "space" ? "Space" : hint }, make("kbd", { "aria-hidden": "true" }, hint), label);
  }

  function buttons() {
    const classes = page.state.classes.slice(0, 9).map((label, k) => button(`${k + 1}`, label, () => say("class", label)));
    const many = page.view === "grid";
    bar.replaceChildren(
      ...classes, button("n", "new kind", () => askName("new"), "main"), button("a", "artefact", () => askName("artefact")),
      button("i", "interesting", () => say("interesting")), button("d", "dull", () => say("dull")), button("space", "unsure", () => say("unsure")),
      button("u", "undo", undo), button("g", many ? "one by one" : "grid", () => (many ? single() : grid())), button("/", "find", find), button("?", "help", help),
    );
  }

  const chosen = () => (page.view === "grid" ? page.cards.filter((card) => card.getAttribute("aria-pressed") === "true").map((card) => Number(card.dataset.row)) : page.object === null ? [] : [page.row]);

  async function say(what, label = null) {
    const rows = chosen();
    if (!rows.length || page.busy) { if (!page.busy) announce("Nothing is chosen."); return; }
    page.busy = true;
    const body = { rows, said: what, name: label, who: name() };
    try {
      try { page.state = await ask("POST", "/api/say", body); }
      catch (problem) { if (problem.status) return; keep([...kept(), body]); retry(); return; }
      announce(`Said ${what}${label ? `, ${label}` : ""}.`);
      await advance();
    } finally { page.busy = false; }
  }

  function retry() {
    if (page.waiting) return;
    page.waiting = setInterval(async () => {
      if (await flush()) { clearInterval(page.waiting); page.waiting = null; page.state = await ask("GET", "/api/state"); await advance(); }
    }, 1500);
  }

  async function undo() {
    const answer = await ask("POST", "/api/undo", { who: name() });
    page.state = answer;
    announce(answer.undone === null ? "Nothing to take back." : "Taken back.");
    if (answer.undone !== null && page.view === "one") await show(answer.undone); else await advance();
  }

  function opened(content, onclose) {
    dialog.replaceChildren(...content);
    dialog.onclose = () => { if (onclose) onclose(dialog.returnValue); stage.focus({ preventScroll: true }); };
    dialog.returnValue = ""; dialog.showModal();
  }

  // A new kind that has the name of a known class is that class.
  const named = (what, label) => say(what === "new" && page.state.classes.includes(label) ? "class" : what, label);

  function askName(what) {
    if (!chosen().length) { announce("Nothing is chosen."); return; }
    const known = what === "new" ? page.state.kinds : page.state.artefacts;
    const list = make("datalist", { id: "badac-names" }, [...known, ...(what === "new" ? page.state.classes : [])].map((one) => make("option", { value: one })));
    const input = make("input", { list: "badac-names", maxlength: 200, id: "badac-name", autocomplete: "off" });
    const form = make("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); dialog.close(); named(what, input.value.trim() || null); } },
      make("label", { for: "badac-name" }, what === "new" ? "Name of the new kind (empty: not named yet)" : "Name of the artefact (may be left empty)"), input, list,
      make("div", { class: "row" }, known.slice(0, 6).map((one) => make("button", { type: "button", onclick: () => { dialog.close(); say(what, one); } }, one)),
        make("button", { type: "button", onclick: () => dialog.close() }, "cancel"), make("button", { type: "submit", class: "main" }, "say so")));
    opened([form]); input.focus();
  }

  function find() {
    const input = make("input", { id: "badac-find", autocomplete: "off" });
    const wrong = make("p", { role: "alert" });
    const form = make("form", { method: "dialog", onsubmit: async (event) => {
      event.preventDefault();
      const answer = await ask("GET", `/api/find?name=${encodeURIComponent(input.value.trim())}`);
      if (answer.row === null) { wrong.textContent = "There is no object of that name."; return; }
      dialog.close(); show(answer.row);
    } }, make("label", { for: "badac-find" }, "Name of the object, or how it begins"), input, wrong,
    make("div", { class: "row" }, make("button", { type: "button", onclick: () => dialog.close() }, "cancel"), make("button", { type: "submit", class: "main" }, "find")));
    opened([form]); input.focus();
  }

  function help() {
    const close = make("button", { type: "button", class: "main", onclick: () => dialog.close() }, "close");
    opened([make("h2", {}, "Keys"), make("dl", {}, KEYS.map(([keyName, words]) => [make("dt", {}, make("kbd", {}, keyName)), make("dd", {}, words)])),
      make("p", {}, "Drag over the picture, or shift and the wheel, to zoom; twice for all of it. Classes beyond nine: give their name under \u201cnew kind\u201d."),
      make("p", {}, `The session is in ${page.state.file || "memory"}.`), make("div", { class: "row" }, close)]);
    close.focus();
  }

  async function grid() {
    page.view = "grid"; page.row = null; page.object = null;
    const rows = page.state.next.slice(0, 12);
    if (!rows.length) { page.view = "one"; return finished(); }
    const found = await ask("GET", `/api/brief?rows=${rows.join(",")}`);
    stage.hidden = true; legend.hidden = true; panels.hidden = true; saidOf.textContent = "";
    title.textContent = "The next twelve"; delete root.dataset.object;
    page.cards = found.map((one) => make("button", { type: "button", class: "card", "aria-pressed": "false", "data-row": one.row,
      onclick: (event) => toggle(event.currentTarget), ondblclick: () => show(one.row) }, small(one.small, `points of ${one.id}`, one), make("b", {}, one.id), make("small", {}, `${one.guess}; worth ${short(one.value, 2)}`)));
    cards.replaceChildren(...page.cards); tally(); buttons();
    page.cards[0]?.focus(); announce("Grid of the next twelve: enter chooses, then say one thing of all chosen.");
  }

  async function single() { page.view = "one"; await advance(); }
  const toggle = (card) => card.setAttribute("aria-pressed", card.getAttribute("aria-pressed") === "true" ? "false" : "true");

  async function back() {
    const history = page.state.history, place = history.indexOf(page.row);
    const row = place < 0 ? history[history.length - 1] : history[place - 1];
    if (row !== undefined) await show(row);
  }

  async function forward() {
    const history = page.state.history, place = history.indexOf(page.row);
    if (place >= 0 && place + 1 < history.length) return show(history[place + 1]);
    if (place < 0 && page.row !== null) page.skipped.add(page.row);
    return advance();
  }

  keys.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || typing || !page.state) return;
    const card = page.view === "grid" ? page.cards.indexOf(document.activeElement) : -1;
    const digit = /^[1-9]$/.test(event.key) ? page.state.classes[Number(event.key) - 1] : undefined;
    const across = page.cards.filter((one) => one.offsetTop === page.cards[0].offsetTop).length;
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across };
    if (page.view === "grid" && event.key in moves) { page.cards[Math.max(0, Math.min(page.cards.length - 1, card + moves[event.key]))]?.focus(); event.preventDefault(); return; }
    const actions = {
      n: () => askName("new"), a: () => askName("artefact"), i: () => say("interesting"), d: () => say("dull"), u: undo, f: fold,
      g: () => (page.view === "grid" ? single() : grid()), "/": find, "?": help, ArrowLeft: back, ArrowRight: forward,
      "+": () => page.picture?.scale(0.7), "-": () => page.picture?.scale(1.4), 0: () => { if (page.picture) { page.picture.zoom = null; page.picture.render(); } },
    };
    // A focused button or link keeps its own space.
    const own = document.activeElement instanceof Element && document.activeElement.closest("button, a, summary") && root.contains(document.activeElement);
    if (event.key === " " && !own) actions[" "] = () => say("unsure");
    if (digit !== undefined) actions[event.key] = () => say("class", digit);
    if (event.key === "Enter" && page.view === "one") return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault(); event.stopPropagation();
    Promise.resolve(action()).catch(() => {});
  });
  let wide = 0;
  new ResizeObserver(() => { const now = stage.clientWidth < 600; if (page.picture && page.view === "one" && now !== wide) { wide = now; page.picture.render(); } }).observe(stage);
  start().catch(() => {});
  return page;
}

// -- over HTTP, and over a notebook's channel -----------------------------------------------------------------------

function overHttp(token) {
  return async (method, path, body) => {
    const answer = await fetch(path.slice(1), {
      method, headers: { "X-Badac-Token": token, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : undefined, cache: "no-store",
    });
    const found = await answer.json().catch(() => ({}));
    if (!answer.ok) {
      const problem = new Error(typeof found.detail === "string" ? found.detail : `The server refused (${answer.status}).`);
      problem.status = answer.status;
      throw problem;
    }
    return found;
  };
}

function overModel(model) {
  let last = 0;
  const waiting = new Map();
  model.on("msg:custom", (message) => {
    const { resolve, reject } = waiting.get(message.id) || {};
    waiting.delete(message.id);
    if (message.error) reject?.(Object.assign(new Error(message.error), { status: 422 }));
    else resolve?.(message.answer);
  });
  return (method, path, body) => new Promise((resolve, reject) => {
    last += 1;
    waiting.set(last, { resolve, reject });
    model.send({ id: last, method, path, body: body ?? null });
  });
}

// One object alone: what explain(...) found, to zoom and to point at.
export function mountPicture(root, object) {
  const stage = make("div", { class: "stage", tabindex: "0", "aria-label": "Picture of the object; plus and minus zoom, 0 shows all" });
  root.append(stage);
  const picture = new Picture(stage, object);
  const fold = () => { picture.folded = !picture.folded; picture.zoom = null; picture.render(); toggle.setAttribute("aria-pressed", `${picture.folded}`); };
  const toggle = make("button", { type: "button", "aria-pressed": "false", onclick: fold }, make("kbd", { "aria-hidden": "true" }, "f"), "fold");
  root.append(make("div", { class: "legend" }, legendOf(object), zoomButtons(() => picture), foldable(object) ? toggle : null));
  stage.addEventListener("keydown", (event) => {
    const action = { "+": () => picture.scale(0.7), "-": () => picture.scale(1.4), 0: () => { picture.zoom = null; picture.render(); }, f: () => foldable(object) && fold() }[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault(); event.stopPropagation(); action();
  });
  let narrow = stage.clientWidth < 600;
  new ResizeObserver(() => { const now = stage.clientWidth < 600; if (now !== narrow) { narrow = now; picture.render(); } }).observe(stage);
  return picture;
}

export default {
  render: ({ model, el }) => {
    const root = document.createElement("div");
    root.className = "badac-triage widget"; root.tabIndex = 0;
    // Keys are the page's own here: none of them may insert or delete a cell (JupyterLab looks for this attribute).
    root.dataset.lmSuppressShortcuts = "true";
    el.append(root);
    const object = model.get("picture");
    if (object) mountPicture(root, object); else mount(root, overModel(model));
  },
};

const own = document.getElementById("badac-triage");
if (own) mount(own, overHttp(new URLSearchParams(location.search).get("token") || ""), { keys: document, storage: window.localStorage, ahead: true });
