// What every page does by script: dialogs, copying, names that confirm, and the CSRF token of requests.

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

function prepare(root) {
  for (const button of root.querySelectorAll("[data-copies]")) button.hidden = false;
  for (const field of root.querySelectorAll("[data-must-equal]")) {
    const submit = field.form?.querySelector('[type="submit"]');
    const check = () => {
      if (submit) submit.disabled = field.value.trim() !== field.dataset.mustEqual.trim();
    };
    field.addEventListener("input", check);
    check();
  }
}

prepare(document);
document.addEventListener("htmx:afterSwap", (event) => prepare(event.target));

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
