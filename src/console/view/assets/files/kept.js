// What is typed into a form that takes work (`data-keep`) survives that its session has ended when it is sent: it is kept in
// this tab for an hour, for the person who typed it, and restored when the page of the form is shown again.

const KEPT = "millrace-kept";
const KEPT_MS = 3_600_000;
const OWN_FIELDS = ["csrf_token", "once"];

// None for those who came by a link that names no one: the next to come by such a link may be another.
const person = document.querySelector('meta[name="person"]')?.content;

// By the address of the form: its fields, when it was sent, and whether the next page may be the answer. What another person
// typed is not among it, and is dropped with the next change.
function read() {
  try {
    const all = Object.entries(JSON.parse(sessionStorage.getItem(KEPT)) ?? {});
    return Object.fromEntries(all.filter(([, it]) => it.person === person && Date.now() - it.at < KEPT_MS));
  } catch {
    return {};
  }
}

function write(all) {
  try {
    if (Object.keys(all).length) sessionStorage.setItem(KEPT, JSON.stringify(all));
    else sessionStorage.removeItem(KEPT);
  } catch {
    // Without room for it, it is not kept.
  }
}

const address = (form) => new URL(form.getAttribute("action"), location.href).pathname;

// Secrets, files and what belongs to the session are not kept.
function isKept(form, name, value) {
  const isSecret = (field) => field.name === name && ["password", "file"].includes(field.type);
  return typeof value === "string" && !OWN_FIELDS.includes(name) && ![...form.elements].some(isSecret);
}

export function keep(form, isSent) {
  if (!person || !("keep" in form.dataset)) return;
  const fields = [...new FormData(form)].filter(([name, value]) => isKept(form, name, value));
  write({ ...read(), [address(form)]: { person, at: Date.now(), isSent, fields } });
}

// The server makes the form anew from what was typed: which fields there are depends on it.
function askFor(form, fields) {
  const values = new FormData();
  for (const [name, value] of [...fields, ["do", "refresh"]]) values.append(name, value);
  const place = `#${form.dataset.keep}`;
  const ask = () => htmx.ajax("POST", form.getAttribute("action"),
    { source: document.body, target: place, select: place, swap: "outerHTML", values });
  if (document.readyState === "complete") ask();
  else addEventListener("load", ask);
}

function fill(form, fields) {
  for (const field of form.elements) {
    const values = fields.filter(([name]) => name === field.name).map(([, value]) => value);
    if (!field.name || OWN_FIELDS.includes(field.name)) continue;
    if (["checkbox", "radio"].includes(field.type)) field.checked = values.includes(field.value);
    else if (values.length && !["password", "file", "submit"].includes(field.type)) field.value = values[0];
  }
}

function restore(form, fields) {
  const note = document.createElement("p");
  note.className = "alert";
  note.setAttribute("role", "status");
  note.textContent = "Unsaved text was restored. ";
  const drop = document.createElement("button");
  drop.type = "button";
  drop.className = "button";
  drop.textContent = "Drop it";
  drop.addEventListener("click", () => {
    const { [address(form)]: dropped, ...others } = read();
    write(others);
    location.reload();
  });
  note.append(drop);
  form.before(note);
  if (form.dataset.keep === form.id) askFor(form, fields);
  else fill(form, fields);
}

// A page with a notice is the answer to a form that did what it was sent for.
const isDone = document.querySelector("#toasts .toast") !== null;
// Nor is there need of what was kept where the form is shown again with it.
const shown = new Set([...document.querySelectorAll("form[data-keep][data-typed]")].map(address));
const all = read();
for (const [key, it] of Object.entries(all)) {
  if (it.isSent && (isDone || shown.has(key))) delete all[key];
  else it.isSent = false;
}
write(all);
for (const form of document.querySelectorAll("form[data-keep]:not([data-typed])")) {
  if (address(form) in all) restore(form, all[address(form)].fields);
}

document.querySelector("form.sign-out")?.addEventListener("submit", () => sessionStorage.removeItem(KEPT));
// Where a part of a page finds the session ended, its page has a link to sign in.
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status !== 401) return;
  for (const form of document.querySelectorAll("form[data-keep]")) keep(form, false);
});
