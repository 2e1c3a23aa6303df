"use strict";
/* The keyboard, and questions that appear when they are asked. Every page works without it. */

const RESERVED = new Set(["f", "c", "u", "g", "j", "k"]);
const KEYS_OFF = "contrafact-keys-off";

function keysOn() {
  try {
    return localStorage.getItem(KEYS_OFF) === null;
  } catch {
    return true; // storage may be forbidden
  }
}

function setKeys(on) {
  try {
    if (on) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "1");
  } catch {
    /* storage may be forbidden: the choice then lasts for this page */
  }
}

const DRAFT = "contrafact-draft:";
const DRAFT_LIFE = 30 * 24 * 3600 * 1000;

/* What somebody fills in is kept in the browser until the server says that it has taken it, so that
   neither the end of a session nor a server that does not answer costs what was typed. */
const drafts = {
  all() {
    try {
      return Object.keys(localStorage)
        .filter((key) => key.startsWith(DRAFT))
        .map((key) => ({ ...JSON.parse(localStorage.getItem(key)), id: key }))
        .sort((a, b) => a.at - b.at);
    } catch {
      return []; // storage may be forbidden, or hold what is not ours
    }
  },
  find(place) {
    return this.all().find((draft) => draft.id === DRAFT + place) || null;
  },
  keep(place, draft) {
    try {
      localStorage.setItem(DRAFT + place, JSON.stringify(draft));
    } catch {
      /* storage may be forbidden or full: then the page alone holds it */
    }
  },
  forget(id) {
    try {
      localStorage.removeItem(id);
    } catch {
      /* storage may be forbidden */
    }
  },
  /* Forget what was taken, and what is so old that nobody wants it back. */
  settle(taken) {
    for (const draft of this.all()) {
      if (draft.request === taken || Date.now() - draft.at > DRAFT_LIFE) this.forget(draft.id);
    }
  },
};

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/* Show what was typed for items that are not shown any more, and never taken. */
function showOrphans(main, account, place) {
  const review = document.querySelector("[data-review]").dataset.review;
  const left = drafts.all().filter((draft) => {
    const [who, where] = JSON.parse(draft.id.slice(DRAFT.length));
    const typed = draft.texts.some(([, text]) => text.trim() !== "");
    return who === account && where === review && draft.id !== DRAFT + place && typed;
  });
  if (!left.length) return;
  const box = element("section", "", { class: "card", "aria-labelledby": "kept-title" });
  box.append(element("h2", "What you wrote, which was not accepted", { id: "kept-title" }));
  for (const draft of left) {
    const [, , item] = JSON.parse(draft.id.slice(DRAFT.length));
    const part = element("div", "", { class: "field" });
    part.append(element("p", `About the item ${item}, which is not with you any more:`));
    for (const [label, text] of draft.texts.filter(([, written]) => written.trim() !== "")) {
      const area = element("textarea", text, { rows: "4", readonly: "", "aria-label": label });
      part.append(area);
    }
    const gone = element("button", "Discard", { type: "button", class: "quiet" });
    gone.addEventListener("click", () => {
      drafts.forget(draft.id);
      part.remove();
      if (!box.querySelector(".field")) box.remove();
    });
    part.append(gone);
    box.append(part);
  }
  main.append(box);
}

class Sheet {
  constructor(form) {
    this.form = form;
    this.questions = [...form.querySelectorAll("fieldset[data-question]")];
    this.flag = form.querySelector("#flag");
    this.comment = form.querySelector("#comment");
    this.correction = form.querySelector("[data-corrects]");
    this.active = null;
    this.sent = false;
    form.addEventListener("change", () => this.refresh());
    form.addEventListener("focusin", (event) => {
      const question = event.target.closest("fieldset[data-question]");
      if (question) this.mark(question);
    });
    form.addEventListener("submit", (event) => {
      if (this.sent) event.preventDefault();
      this.sent = !this.checks || event.submitter !== this.checks;
    });
    window.addEventListener("pageshow", () => {
      this.sent = false;
      this.refresh();
    });
    this.checks = form.querySelector("#check");
    if (this.checks) this.watch();
    this.place = form.dataset.draft || null;
    if (this.place) {
      this.restore();
      form.addEventListener("input", () => this.keep());
      form.addEventListener("change", () => this.keep());
    }
    this.refresh();
    this.mark(this.firstOpen() || this.visible()[0]);
  }

  /* Show what the project's check finds in the text while it is written. */
  watch() {
    const area = this.form.querySelector("#correction");
    const shown = this.form.querySelector("#findings");
    let waiting = null;
    let asked = null;
    const check = async () => {
      if (asked) asked.abort();
      const own = new AbortController();
      asked = own;
      shown.setAttribute("aria-busy", "true");
      try {
        const answer = await fetch(this.checks.getAttribute("formaction"), {
          method: "POST",
          body: new URLSearchParams(new FormData(this.form)),
          headers: { accept: "application/json" },
          signal: own.signal,
        });
        if (!answer.ok) throw new Error(String(answer.status));
        shown.innerHTML = (await answer.json()).html; // made and escaped by the server
      } catch {
        if (own.signal.aborted) return;
        shown.textContent = "Not checked: the server does not answer, or the item is not yours now.";
      }
      shown.removeAttribute("aria-busy");
    };
    const soon = () => {
      clearTimeout(waiting);
      waiting = setTimeout(check, 500);
    };
    area.addEventListener("input", soon);
    this.form.addEventListener("change", () => {
      if (!area.disabled && shown.textContent.trim() === "") soon();
    });
    this.checks.addEventListener("click", (event) => {
      event.preventDefault();
      clearTimeout(waiting);
      check();
    });
  }

  /* What is filled in: choices by name, texts by name with what they are called on the page. */
  filled() {
    const choices = [...this.form.querySelectorAll("input:checked")].map((i) => [i.name, i.value]);
    const areas = [...this.form.querySelectorAll("textarea[name]")].filter((a) => !a.disabled);
    const changed = areas.filter((area) => area.value !== area.defaultValue);
    const texts = changed.map((area) => [area.name, area.value]);
    return { choices, texts };
  }

  keep() {
    const filled = this.filled();
    const request = this.form.elements.request.value;
    if (filled.choices.length || filled.texts.length) {
      drafts.keep(this.place, { ...filled, request, at: Date.now() });
    } else drafts.forget(DRAFT + this.place);
  }

  restore() {
    const draft = drafts.find(this.place);
    if (!draft) return;
    const before = JSON.stringify(this.filled());
    for (const input of this.form.querySelectorAll("input[type=radio], input[type=checkbox]")) {
      if (draft.choices.some(([name, value]) => name === input.name && value === input.value)) {
        input.checked = true;
      }
    }
    for (const [name, text] of draft.texts) {
      const area = [...this.form.querySelectorAll("textarea")].find((a) => a.name === name);
      if (area) area.value = text;
    }
    this.keep(); // under the key of the form that is shown now
    if (JSON.stringify(this.filled()) === before) return; // the server has filled it in already
    const note = element("p", "What you had filled in is here again. ", { role: "status" });
    const clear = element("button", "Clear it", { type: "button", class: "quiet" });
    clear.addEventListener("click", () => {
      this.form.reset();
      drafts.forget(DRAFT + this.place);
      note.remove();
      this.refresh();
      this.mark(this.firstOpen() || this.visible()[0]);
    });
    note.append(clear);
    this.form.prepend(note);
  }

  answer(question) {
    const checked = question.querySelector("input[type=radio]:checked");
    if (checked) return checked.value;
    const text = question.querySelector("textarea");
    return text ? text.value.trim() : "";
  }

  visible() {
    return this.questions.filter((question) => !question.hidden);
  }

  firstOpen() {
    return this.visible().find((question) => this.answer(question) === "");
  }

  /* Show what is asked after the answers so far, as the server will see it. */
  refresh() {
    const given = {};
    for (const question of this.questions) {
      const when = question.dataset.when ? JSON.parse(question.dataset.when) : {};
      question.hidden = Object.entries(when).some(
        ([other, wanted]) => !wanted.includes(given[other] || ""),
      );
      if (!question.hidden) given[question.dataset.question] = this.answer(question);
    }
    for (const hint of this.form.querySelectorAll(".when")) hint.hidden = true;
    if (this.comment) {
      const asks = this.form.querySelector("fieldset:not([hidden]) input[data-comment]:checked");
      this.comment.required = Boolean(asks) || Boolean(this.flag && this.flag.checked);
    }
    if (this.correction && this.correction.dataset.corrects) {
      const wanted = given[this.correction.dataset.corrects] === this.correction.dataset.on;
      this.correction.hidden = !wanted;
      this.correction.querySelector("textarea").disabled = !wanted;
      if (this.checks) this.checks.hidden = !wanted;
    }
    if (this.active && this.active.hidden) this.mark(this.firstOpen() || this.visible()[0]);
  }

  mark(question) {
    for (const other of this.questions) other.classList.toggle("active", other === question);
    this.active = question || null;
  }

  move(step) {
    const shown = this.visible();
    const at = shown.indexOf(this.active);
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + step))];
    if (!next) return;
    this.mark(next);
    const first = next.querySelector("input:checked") || next.querySelector("input, textarea");
    if (first) first.focus();
  }

  option(key) {
    if (!this.active) return null;
    const options = [...this.active.querySelectorAll("input[type=radio]")];
    if (/^[0-9]$/.test(key)) return options[(Number(key) + 9) % 10] || null;
    if (RESERVED.has(key)) return null;
    const fitting = options.filter((option) => option.value.toLowerCase().startsWith(key));
    return fitting.length === 1 ? fitting[0] : null;
  }

  choose(option) {
    option.checked = true;
    option.focus();
    this.refresh();
    const shown = this.visible();
    const open = shown.slice(shown.indexOf(this.active) + 1).find((q) => this.answer(q) === "");
    const next = open || this.firstOpen();
    if (next) this.mark(next);
  }

  toggleFlag() {
    if (!this.flag) return;
    this.flag.checked = !this.flag.checked;
    this.refresh();
    if (this.flag.checked) this.comment.focus();
  }
}

function help() {
  const dialog = document.getElementById("help");
  if (!dialog || dialog.open) return;
  dialog.showModal();
}

function onKey(event, sheet) {
  const target = event.target;
  const writing = target.matches("textarea, input:not([type=radio]):not([type=checkbox])");
  if (writing) {
    if (event.key === "Escape") target.blur();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && sheet) {
      event.preventDefault();
      sheet.form.requestSubmit();
    }
    return;
  }
  const dialog = document.querySelector("dialog[open]");
  if (dialog || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (event.key === "Enter") {
    if (!sheet || target.matches("button, a, summary")) return;
    event.preventDefault();
    sheet.form.requestSubmit();
    return;
  }
  if (event.key.length !== 1 || event.key === " " || !keysOn()) return;
  const key = event.key.toLowerCase();
  const option = sheet ? sheet.option(key) : null;
  const undo = document.querySelector("button[form=undo]");
  const guidelines = document.getElementById("guidelines");
  if (option) sheet.choose(option);
  else if (key === "?") help();
  else if (key === "u" && undo) undo.click();
  else if (key === "g" && guidelines) {
    guidelines.open = !guidelines.open;
    guidelines.querySelector("summary").focus();
  } else if (sheet && key === "f") sheet.toggleFlag();
  else if (sheet && key === "c" && sheet.comment) sheet.comment.focus();
  else if (sheet && key === "j") sheet.move(1);
  else if (sheet && key === "k") sheet.move(-1);
  else return;
  event.preventDefault();
}

document.addEventListener("DOMContentLoaded", () => {
  const address = new URL(location.href);
  drafts.settle(address.searchParams.get("taken"));
  if (address.searchParams.has("taken")) {
    address.searchParams.delete("taken");
    history.replaceState(null, "", address);
  }
  const form = document.getElementById("sheet");
  const sheet = form ? new Sheet(form) : null;
  const main = document.getElementById("main");
  if (document.querySelector("[data-review]")) {
    showOrphans(main, main.dataset.account, form ? form.dataset.draft : null);
  }
  if (document.body.dataset.page) {
    document.addEventListener("keydown", (event) => onKey(event, sheet));
  }
  const button = document.getElementById("help-button");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", help);
  }
  const choice = document.getElementById("keys-on");
  if (choice) {
    choice.checked = keysOn();
    choice.addEventListener("change", () => setKeys(choice.checked));
  }
  for (const asked of document.querySelectorAll("form[data-confirm], button[data-confirm]")) {
    const form = asked.form || asked;
    form.addEventListener("submit", (event) => {
      if (asked !== form && event.submitter !== asked) return;
      if (!window.confirm(asked.dataset.confirm)) event.preventDefault();
    });
  }
  for (const link of document.querySelectorAll("[data-copy]")) {
    const copy = element("button", "Copy", { type: "button", class: "quiet" });
    copy.setAttribute("aria-label", `Copy the link of ${link.dataset.copy}`);
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(link.textContent.trim());
      copy.textContent = "Copied";
    });
    link.after(copy);
  }
  const first = document.querySelector("[data-focus]");
  if (first) first.focus();
});
