// What every page does by script: dialogs, copying, names that confirm, forms that are sent once, and the CSRF token of requests.

import { keep } from "asset:kept.js";

const csrf = document.querySelector('meta[name="csrf-token"]')?.content;

document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-CSRF-Token"] = csrf;
});

// The first connection that fails is shown; the page stays as it is.
document.addEventListener("htmx:sendError", () => toast("The server did not answer"));

export function toast(text) {
  const line = document.createElement("p");
  line.className = "toast";
  line.textContent = text;
  document.getElementById("toasts")?.replaceChildren(line);
  setTimeout(() => line.remove(), 6000);
}

// Names are compared as they look; `names.rs` has the same rule.
const INVISIBLE = new RegExp(
  "[\\u0000-\\u0008\\u000e-\\u001f\\u007f-\\u0084\\u0086-\\u009f\\u00ad\\u034f\\u061c\\u180e\\u200b-\\u200f" +
    "\\u202a-\\u202e\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff\\ufff9-\\ufffb]",
  "gu",
);
const folded = (text) => text.replace(INVISIBLE, "").normalize("NFC").replace(/[\s\u0085]+/gu, " ").trim();

function prepare(root) {
  for (const button of root.querySelectorAll("[data-copies]")) button.hidden = false;
  for (const field of root.querySelectorAll("[data-must-equal]")) {
    const submit = field.form?.querySelector('[type="submit"]');
    const name = folded(field.dataset.mustEqual);
    const check = () => {
      if (submit) submit.disabled = !name || folded(field.value) !== name;
    };
    field.addEventListener("input", check);
    check();
  }
}

prepare(document);
for (const swapped of ["htmx:afterSwap", "htmx:oobAfterSwap"]) {
  document.addEventListener(swapped, (event) => prepare(event.target));
}

document.addEventListener("click", async (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  const copier = event.target.closest("[data-copies]");
  if (copier) {
    const text = copier.parentElement.querySelector("code")?.textContent ?? "";
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied");
    } catch {
      toast("The browser does not allow copying: select the text instead");
    }
  }
});

// A form that changes something is sent once: its buttons wait for the answer, which is another page.
const ANSWER_MS = 20_000;
let waiting = [];

function release() {
  for (const button of waiting) button.disabled = false;
  waiting = [];
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  const isInFrame = (event.submitter?.getAttribute("formtarget") ?? form.getAttribute("target")) !== null;
  if (event.defaultPrevented || form.getAttribute("method") !== "post" || isInFrame) return;
  keep(form, true);
  // After the browser has read the fields, the pressed button among them.
  setTimeout(() => {
    const buttons = [...form.elements].filter((it) => it.type === "submit" && !it.disabled);
    for (const button of buttons) button.disabled = true;
    waiting.push(...buttons);
  });
  setTimeout(release, ANSWER_MS);
});

// A page that Back shows is as it was left, and what is sent from it now is another form.
addEventListener("pageshow", (event) => {
  release();
  if (!event.persisted) return;
  // A question is the one that the page answers.
  for (const form of document.querySelectorAll('form[method="get"]')) form.reset();
  for (const field of document.querySelectorAll('input[name="once"]')) {
    field.value = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }
});

// A form with a preview is sent into the frame of the preview once typing rests.
let typing;
document.addEventListener("input", (event) => {
  const form = event.target.form;
  const button = form?.querySelector("[data-follows-typing]");
  if (!button) return;
  form.querySelector("iframe.device").className = `device ${form.elements["preview.device"].value}`;
  clearTimeout(typing);
  typing = setTimeout(() => {
    if (button.isConnected && form.elements["preview.person"].value.trim()) form.requestSubmit(button);
  }, 400);
});

// A form that came back with faults is read from them.
const faulty = document.querySelector(".fault-summary") ?? document.querySelector('main [aria-invalid="true"]');
faulty?.focus();

const notice = document.querySelector("#toasts .toast");
if (notice) setTimeout(() => notice.remove(), 8000);
