// The item explorer: unpacks the outputs that the page holds, filters, sorts and lists them, and shows
// two systems side by side. Every text is written as a text node, never as markup.
"use strict";
(() => {
  const ROW = 58; // height of a line of the list, in px; the style sheet has the same
  const AROUND = 6; // lines drawn above and below those in view
  const MOST_WORDS = 2000; // a longer changed middle is shown whole
  const WHY_LENGTH = 80; // letters of a reason in a menu
  const MOST_REASONS = 40; // the commonest are in the menu; the others are found by searching
  const HIDDEN =
    /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800]/gu;
  const SHORT = { "\0": "␀", "\t": "⇥", "\n": "↵", "\r": "␍" };
  const UNIT = /([\p{L}\p{N}_]+(?:['’.,\-][\p{L}\p{N}_]+)*|[^\p{L}\p{N}_\s])(\s*)/gu;
  const SCRIPTS = [
    ["Arab", /\p{Script=Arabic}/u], ["Hebr", /\p{Script=Hebrew}/u], ["Cyrl", /\p{Script=Cyrillic}/u],
    ["Grek", /\p{Script=Greek}/u], ["Deva", /\p{Script=Devanagari}/u], ["Hang", /\p{Script=Hangul}/u],
    ["Jpan", /[\p{Script=Hiragana}\p{Script=Katakana}]/u], ["Hani", /\p{Script=Han}/u],
    ["Thai", /\p{Script=Thai}/u],
  ];
  const LATIN = /\p{Script=Latin}/u;
  const STATES = ["an answer", "invalid", "no answer"];

  // ------------------------------------------------------------------ elements and texts

  function el(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
      if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
    made.append(...children.filter((one) => one !== null && one !== undefined));
    return made;
  }

  /** Nodes of a text whose hidden characters are shown by their code point. */
  function visible(text, keepLines) {
    const nodes = [];
    let from = 0;
    for (const match of text.matchAll(HIDDEN)) {
      const sign = match[0];
      if (keepLines && (sign === "\n" || sign === "\t")) continue;
      nodes.push(text.slice(from, match.index));
      const code = sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      nodes.push(el("span", { class: "hidden-char", title: `U+${code}` }, SHORT[sign] || `U+${code}`));
      from = match.index + sign.length;
    }
    nodes.push(text.slice(from));
    return nodes;
  }

  /** The script of a text that is not in Latin letters, as a language tag. */
  function langOf(text) {
    if (LATIN.test(text)) return null;
    const found = SCRIPTS.find(([, letters]) => letters.test(text));
    return found ? `und-${found[0]}` : null;
  }

  const shown = (text) => el("bdi", { lang: langOf(text) }, ...visible(text));

  // ------------------------------------------------------------------ packed data

  async function unpack(packed) {
    const letters = atob(packed.trim());
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  const valueOf = (column, row) => (column.codes[row] < 0 ? null : column.values[column.codes[row]]);

  // ------------------------------------------------------------------ marking an edit

  function units(text) {
    const lead = text.length - text.trimStart().length;
    const found = lead ? [["", text.slice(0, lead)]] : [];
    for (const match of text.slice(lead).matchAll(UNIT)) found.push([match[1], match[2]]);
    return found;
  }

  /** Matching stretches of two lists of words: the longest first, then left and right of it. */
  function blocks(a, b) {
    const where = new Map();
    b.forEach((word, j) => (where.get(word) || where.set(word, []).get(word)).push(j));
    const found = [];
    const open = [[0, a.length, 0, b.length]];
    while (open.length) {
      const [aFrom, aTo, bFrom, bTo] = open.pop();
      let [bestA, bestB, size] = [aFrom, bFrom, 0];
      let before = new Map();
      for (let i = aFrom; i < aTo; i++) {
        const now = new Map();
        for (const j of where.get(a[i]) || []) {
          if (j < bFrom) continue;
          if (j >= bTo) break;
          const k = (before.get(j - 1) || 0) + 1;
          now.set(j, k);
          if (k > size) [bestA, bestB, size] = [i - k + 1, j - k + 1, k];
        }
        before = now;
      }
      if (!size) continue;
      found.push([bestA, bestB, size]);
      if (aFrom < bestA && bFrom < bestB) open.push([aFrom, bestA, bFrom, bestB]);
      if (bestA + size < aTo && bestB + size < bTo) open.push([bestA + size, aTo, bestB + size, bTo]);
    }
    return found.sort((one, other) => one[0] - other[0]);
  }

  /** How to get from one text to another, word by word: pairs of a kind and a text. */
  function wordDiff(from, to) {
    const [before, after] = [units(from), units(to)];
    const same = (i, j) => before[i][0] === after[j][0];
    let head = 0;
    while (head < before.length && head < after.length && same(head, head)) head++;
    let [aEnd, bEnd] = [before.length, after.length];
    while (aEnd > head && bEnd > head && same(aEnd - 1, bEnd - 1)) [aEnd, bEnd] = [aEnd - 1, bEnd - 1];
    const words = (list, end) => list.slice(head, end).map((unit) => unit[0]);
    const middle = Math.max(aEnd, bEnd) - head > MOST_WORDS ? [] : blocks(words(before, aEnd), words(after, bEnd));
    const kept = [[0, 0, head], ...middle.map(([i, j, size]) => [i + head, j + head, size]),
      [aEnd, bEnd, before.length - aEnd]];
    const pieces = [];
    let [i, j] = [0, 0];
    for (const [a, b, size] of kept) {
      pieces.push(["removed", before.slice(i, a).map((unit) => unit.join("")).join("")]);
      pieces.push(["added", after.slice(j, b).map((unit) => unit.join("")).join("")]);
      for (let k = 0; k < size; k++) {
        const [word, space] = before[a + k];
        const other = after[b + k][1];
        if (space === other) pieces.push(["same", word + space]);
        else pieces.push(["same", word], ["removed", space], ["added", other]);
      }
      [i, j] = [a + size, b + size];
    }
    const parts = [];
    let open = { removed: "", added: "" };
    const close = () => {
      for (const kind of ["removed", "added"]) if (open[kind]) parts.push([kind, open[kind]]);
      open = { removed: "", added: "" };
    };
    for (const [kind, text] of pieces) {
      if (!text) continue;
      if (kind !== "same") open[kind] += text;
      else {
        close();
        const last = parts[parts.length - 1];
        if (last && last[0] === "same") last[1] += text;
        else parts.push(["same", text]);
      }
    }
    close();
    return parts;
  }

  /** Whether marks would leave scraps: little is shared, and that in many pieces. */
  function isScattered(parts, limits) {
    const words = { same: 0, removed: 0, added: 0 };
    let [changes, before] = [0, "same"];
    for (const [kind, text] of parts) {
      words[kind] += text.split(/\s+/).filter(Boolean).length;
      changes += kind !== "same" && before === "same" ? 1 : 0;
      before = kind;
    }
    const every = 2 * words.same + words.removed + words.added;
    return changes >= limits.changes && 2 * words.same < limits.shared * every;
  }

  function marked(from, to, limits) {
    const block = el("p", { class: "edit text" });
    const inside = el("bdi", { lang: langOf(to) });
    block.append(inside);
    const parts = from === null ? [["same", to]] : wordDiff(from, to);
    if (isScattered(parts, limits)) {
      inside.append(...visible(to));
      return [block, el("p", { class: "whole" }, "Shown whole: little is shared with the text before.")];
    }
    for (const [kind, text] of parts) {
      // Spaces around words stay outside, so that marks begin and end where words do.
      const inner = text.replace(/^ +| +$/g, "");
      if (text.startsWith(" ")) inside.append(" ");
      if (inner && kind === "same") inside.append(...visible(inner));
      else if (inner) inside.append(el(kind === "added" ? "ins" : "del", null, ...visible(inner)));
      if (text.endsWith(" ") && inner) inside.append(" ");
    }
    return [block];
  }

  // ------------------------------------------------------------------ one explorer

  class Explorer {
    constructor(root, index) {
      this.root = root;
      this.index = index;
      this.size = index.system.length;
      this.rows = [];
      this.active = 0;
      this.tests = [];
      this.chunks = new Map();
      this.prefix = root.dataset.explorer;
      this.partners = new Map();
      for (let row = 0; row < this.size; row++)
        this.partners.set(`${index.item[row]} ${index.system[row]}`, row);
      this.pairs = new Map();
      for (let row = 0; row < this.size; row++) {
        const pair = this.pairOf(row);
        if (pair !== null) this.pairs.set(pair, [...(this.pairs.get(pair) || []), row]);
      }
      this.paired = [...this.pairs.values()].some((rows) => rows.length > 1);
      this.build();
      this.apply();
    }

    /** What a row's system was asked for together: the members of a pair, the sides of a headline. */
    pairOf(row) {
      const { index } = this;
      return index.pair[row] < 0 ? null : `${index.pair[row]} ${index.system[row]} ${index.draw[row]}`;
    }

    select(label, choices, test) {
      const id = `${this.prefix}-${this.tests.length}`;
      const box = el("select", { id }, ...choices.map(([value, text]) => el("option", { value }, text)));
      box.addEventListener("change", () => this.apply());
      this.tests.push([box, test]);
      this.controls.append(el("div", { class: "control" }, el("label", { for: id }, label), box));
      return box;
    }

    build() {
      const { index } = this;
      this.controls = el("div", { class: "controls", role: "group", "aria-label": "Filters" });
      const any = ["", "any"];
      this.search = el("input", { type: "search", id: `${this.prefix}-search`, autocomplete: "off" });
      this.search.addEventListener("input", () => {
        cancelAnimationFrame(this.waiting);
        this.waiting = requestAnimationFrame(() => this.apply());
      });
      this.controls.append(el("div", { class: "control wide" },
        el("label", { for: this.search.id }, "Search texts, reasons and ids"), this.search));
      const coded = (label, choices, codes) =>
        this.select(label, [any, ...choices], (row, chosen) => codes[row] === Number(chosen));
      const named = (values) => values.map((value, code) => [String(code), value]);
      const byName = (values) => named(values).sort((a, b) => a[1].localeCompare(b[1], "en", { numeric: true }));
      if (index.systems.length > 1) coded("System", named(index.systems), index.system);
      for (const one of index.filters) coded(one.label, byName(one.values), one.codes);
      if (index.state.some((state) => state)) coded("Output", named(STATES), index.state);
      if (index.why.values.length) {
        const often = new Array(index.why.values.length).fill(0);
        for (const code of index.why.codes) if (code >= 0) often[code]++;
        const most = often.map((_, code) => code).sort((a, b) => often[b] - often[a]).slice(0, MOST_REASONS);
        coded("Reason", most.map((code) => [String(code),
          `${index.why.values[code].slice(0, WHY_LENGTH)} (${often[code]})`]), index.why.codes);
      }
      for (const flag of index.flags)
        this.select(flag.label,
          [any, ["1", flag.words[0]], ["0", flag.words[1]],
            ...(flag.codes.includes(2) ? [["2", "left open"]] : []),
            ...(flag.codes.includes(-1) ? [["-1", flag.words[2]]] : [])],
          (row, chosen) => flag.codes[row] === Number(chosen));
      if (index.classes.length) {
        const sets = index.classes.map((one) => new Set(one.rows));
        this.select("Error class", [any, ...index.classes.map((one, i) => [String(i), one.label])],
          (row, chosen) => sets[Number(chosen)].has(row));
      }
      const sorts = index.numbers.flatMap((one, i) =>
        [[`${i} 1`, `${one.label}, lowest first`], [`${i} -1`, `${one.label}, highest first`]]);
      this.sort = sorts.length ? this.select("Sort by", [["", "order of the run"], ...sorts], () => true) : null;
      if (index.systems.length > 1 || this.paired) {
        this.beside = this.select("Set beside",
          [["", "nothing"], ...(this.paired ? [["pair", "the rest of its pair"]] : []),
            ...(index.systems.length > 1 ? named(index.systems) : [])], () => true);
        this.beside.value = index.systems.length > 1 ? String(index.best) : "pair";
      }
      this.status = el("p", { class: "status", role: "status" });
      const clear = el("button", { type: "button" }, "Clear filters");
      clear.addEventListener("click", () => this.clear());
      this.spacer = el("div", { class: "spacer", role: "presentation" });
      this.list = el("div", { class: "list", role: "listbox", tabindex: "0",
        "aria-label": `${index.output[1]}` }, this.spacer);
      this.list.addEventListener("scroll", () => this.draw());
      this.list.addEventListener("keydown", (event) => this.key(event));
      this.list.addEventListener("click", (event) => {
        const row = event.target.closest("[role=option]");
        if (row) this.choose(Number(row.dataset.place));
      });
      this.detail = el("div", { class: "detail", role: "group", tabindex: "-1",
        "aria-label": `The chosen ${index.output[0]}` });
      this.detail.addEventListener("keydown", (event) => {
        if (event.key === "Escape") this.list.focus();
      });
      this.root.replaceChildren(this.controls, el("div", { class: "found" }, this.status, clear),
        el("div", { class: "panes" }, this.list, this.detail));
      new ResizeObserver(() => this.draw()).observe(this.list);
    }

    clear() {
      this.search.value = "";
      for (const [box] of this.tests) if (box !== this.beside) box.value = "";
      this.apply();
      this.search.focus();
    }

    /** What a row is searched by, in small letters; made when it is first asked for. */
    haystack() {
      const { index } = this;
      return (this.hay ||= index.system.map((_, row) =>
        ["id", "where", "before", "text", "answer", "note", "why", "said"]
          .map((name) => valueOf(index[name], row) || "").join("\n").toLowerCase()));
    }

    apply() {
      const started = performance.now();
      const tests = this.tests.filter(([box]) => box.value !== "" && box !== this.sort && box !== this.beside)
        .map(([box, test]) => [box.value, test]);
      const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const hay = words.length ? this.haystack() : null;
      const chosen = this.rows[this.active];
      const rows = [];
      for (let row = 0; row < this.size; row++)
        if (tests.every(([value, test]) => test(row, value)) && words.every((word) => hay[row].includes(word)))
          rows.push(row);
      if (this.sort && this.sort.value) {
        const [which, way] = this.sort.value.split(" ").map(Number);
        const values = this.index.numbers[which].values;
        const rank = (row) => (values[row] === null ? Infinity : way * values[row]);
        rows.sort((a, b) => (rank(a) === rank(b) ? a - b : rank(a) < rank(b) ? -1 : 1));
      }
      this.rows = rows;
      const place = rows.indexOf(chosen);
      this.spacer.style.height = `${rows.length * ROW}px`;
      if (place < 0) this.list.scrollTop = 0;
      this.choose(Math.max(place, 0), place >= 0);
      const count = (number) => number.toLocaleString("en");
      this.status.textContent = `${count(rows.length)} of ${count(this.size)} ` +
        `${this.size === 1 ? this.index.output[0] : this.index.output[1]}`;
      this.root.dataset.milliseconds = String(Math.round(performance.now() - started));
    }

    key(event) {
      const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
      const to = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Enter") this.detail.focus();
      else if (event.key in to) this.choose(Math.min(Math.max(this.active + to[event.key], 0), this.rows.length - 1));
      else return;
      event.preventDefault();
    }

    choose(place, stay) {
      this.active = Math.max(0, place);
      if (!stay) {
        const top = this.active * ROW;
        const room = this.list.clientHeight;
        if (top < this.list.scrollTop) this.list.scrollTop = top;
        else if (room && top + ROW > this.list.scrollTop + room) this.list.scrollTop = top + ROW - room;
      }
      this.draw();
      this.show();
    }

    draw() {
      const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - AROUND);
      const last = Math.min(this.rows.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / ROW) + AROUND);
      const lines = [];
      for (let place = first; place < last; place++) lines.push(this.line(place));
      this.spacer.replaceChildren(...lines);
      if (this.active >= first && this.active < last && this.rows.length)
        this.list.setAttribute("aria-activedescendant", `${this.prefix}-row-${this.active}`);
      else this.list.removeAttribute("aria-activedescendant");
    }

    line(place) {
      const { index } = this;
      const row = this.rows[place];
      const said = index.state[row] === 1 ? valueOf(index.why, row) : valueOf(index.answer, row);
      const open = index.flags.filter((flag) => flag.codes[row] === 2).map((flag) => flag.label);
      // Of the criteria that count as open: a panel may have decided what one of its judges left open.
      const [opened] = (valueOf(index.said, row) || "").split("\n")
        .map((line) => line.split(": left open, "))
        .filter(([who, why]) => why && open.some((label) => `${who}, `.includes(`${label}, `)))
        .map(([who, why]) => `${why.length > WHY_LENGTH ? `${why.slice(0, WHY_LENGTH)}…` : why} · ${who}`);
      const text = [said, opened, valueOf(index.text, row)].filter(Boolean).join(" · ");
      const several = index.systems.length > 1 ? ` · ${index.systems[index.system[row]]}` : "";
      const signs = index.flags.map((flag) => ({ 1: "✓", 0: "✗", 2: "?" })[flag.codes[row]] || "·").join("");
      const state = index.state[row];
      const made = el("div", {
        role: "option", id: `${this.prefix}-row-${place}`, class: "line", "data-place": place,
        "aria-selected": place === this.active ? "true" : "false",
        "aria-setsize": this.rows.length, "aria-posinset": place + 1,
      },
      el("span", { class: "of" }, el("span", { class: "name" }, shown(valueOf(index.where, row) + several)),
        el("span", { class: "signs", title: this.index.flags.map((flag) => flag.label).join(", ") },
          state ? STATES[state] : signs)),
      el("span", { class: "start" }, shown(text.slice(0, 160) || "–")));
      made.style.transform = `translateY(${place * ROW}px)`;
      return made;
    }

    /** What names a row: where it belongs, and what one filters it by. */
    named(row) {
      const where = valueOf(this.index.where, row);
      return [where, ...this.index.filters
        .filter((one) => valueOf(one, row) !== null && !where.includes(valueOf(one, row)))
        .map((one) => `${one.label}: ${valueOf(one, row)}`)];
    }

    show() {
      const { index } = this;
      const row = this.rows[this.active];
      if (row === undefined) {
        this.detail.replaceChildren(el("p", { class: "absent" }, "Nothing matches."));
        return;
      }
      const [before, text] = [valueOf(index.before, row), valueOf(index.text, row)];
      const answers = index.answer.values.length > 0;
      const head = el("div", { class: "head" }, el("p", { class: "where" }, shown(this.named(row).join(" · "))));
      if (answers && text !== null) head.append(...marked(before, text, index.diff));
      else if (before !== null) head.append(el("p", { class: "headline text" }, shown(before)));
      const facts = index.facts.filter((one) => valueOf(one, row) !== null);
      const list = el("dl", { class: "about" },
        ...facts.flatMap((one) => [el("dt", null, one.label), el("dd", null, shown(valueOf(one, row)))]));
      const rows = [row];
      if (this.beside && this.beside.value === "pair")
        rows.push(...(this.pairs.get(this.pairOf(row)) || []).filter((one) => one !== row));
      else if (this.beside && this.beside.value !== "") {
        let other = Number(this.beside.value);
        // Beside itself a system would say nothing: another stands there.
        if (other === index.system[row]) other = other ? 0 : 1;
        const found = this.partners.get(`${index.item[row]} ${other}`);
        if (found !== undefined) rows.push(found);
      }
      this.detail.replaceChildren(head, facts.length ? list : "",
        el("div", { class: "pair" }, ...rows.map((one) => this.card(one, before, answers, row))));
    }

    /** An output, with what tells it from the one whose head stands above: its side, its text. */
    card(row, before, answers, chosen) {
      const { index } = this;
      const text = answers ? valueOf(index.answer, row) : valueOf(index.text, row);
      const state = index.state[row];
      const chips = el("ul", { class: "chips" });
      const chip = (kind, ...inside) => chips.append(el("li", { class: kind }, ...inside));
      if (state === 2) chip("no", "✗ No answer: ", shown(valueOf(index.why, row)));
      for (const flag of index.flags) {
        const code = flag.codes[row];
        if (code === 1) chip("yes", `✓ ${flag.label}: ${flag.words[0]}`);
        if (code === 0) chip("no", `✗ ${flag.label}: ${flag.words[1]}`);
        if (code === 2) chip("unread", `? ${flag.label}: left open`);
      }
      for (const one of index.classes) if (one.rows.includes(row)) chip(null, one.label);
      for (const one of index.numbers)
        if (one.values[row] !== null)
          chip(null, `${one.label} ${one.values[row].toLocaleString("en", { maximumFractionDigits: 3 })}`);
      const made = el("article", { class: "side", "aria-label": index.systems[index.system[row]] },
        el("p", { class: "which" }, shown(index.systems[index.system[row]])));
      const other = this.named(row).filter((name) => !this.named(chosen).includes(name));
      if (other.length) made.append(el("p", { class: "reasons" }, shown(other.join(" · "))));
      if (answers && index.text.codes[row] !== index.text.codes[chosen])
        made.append(...marked(before, valueOf(index.text, row) || "", index.diff));
      if (text === null || state === 1)
        made.append(el("p", { class: "invalid" }, "Invalid: ", shown(valueOf(index.why, row) || "no reason kept")));
      else if (answers) made.append(el("p", { class: "edit text" }, shown(text)));
      else made.append(...marked(before, text, index.diff));
      if (chips.children.length) made.append(chips);
      for (const line of (valueOf(index.said, row) || "").split("\n").filter(Boolean))
        made.append(el("p", { class: "reasons" }, shown(line)));
      const note = valueOf(index.note, row);
      if (note) made.append(el("p", { class: "reasons" }, shown(note)));
      const details = index.details[row];
      if (details)
        made.append(el("dl", { class: "about" }, ...Object.entries(details).flatMap(([name, value]) =>
          [el("dt", null, shown(name)), el("dd", null, shown(value))])));
      const place = index.calls.length ? index.calls[row] : -1;
      if (place >= 0) made.append(this.calls(place));
      return made;
    }

    /** The prompt and the raw reply, unpacked when they are opened. */
    calls(place) {
      const box = el("details", { class: "calls" }, el("summary", null, "Prompt and raw reply"));
      box.addEventListener("toggle", async () => {
        if (!box.open || box.children.length > 1) return;
        const number = Math.floor(place / Number(this.root.dataset.chunk));
        if (!this.chunks.has(number)) {
          const held = document.getElementById(`${this.prefix}-calls-${number}`);
          this.chunks.set(number, unpack(held.textContent));
        }
        const chunk = await this.chunks.get(number);
        const calls = chunk[place % Number(this.root.dataset.chunk)];
        for (const [i, [prompt, reply]] of calls.entries()) {
          const which = calls.length > 1 ? ` ${i + 1} of ${calls.length}` : "";
          for (const [name, text] of [["Prompt", prompt], ["Reply", reply]])
            box.append(el("p", { class: "which" }, name + which),
              el("pre", { dir: "auto", tabindex: "0", "aria-label": name + which, role: "group" },
                ...(text ? visible(text, true) : ["(empty)"])));
        }
      });
      return box;
    }
  }

  for (const root of document.querySelectorAll("[data-explorer]")) {
    const held = document.getElementById(`${root.dataset.explorer}-index`);
    unpack(held.textContent).then(
      (index) => new Explorer(root, index),
      (error) => root.replaceChildren(el("p", { class: "invalid" },
        `This browser cannot unpack the outputs (${error.name}); read them in the run's items.parquet.`)),
    );
  }
})();
