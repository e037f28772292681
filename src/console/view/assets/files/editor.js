// A code editor in the place of each field for code. The field keeps the text: forms, htmx and the preview read it there.

function edit(field) {
  const label = field.form?.querySelector(`label[for="${CSS.escape(field.id)}"]`);
  const editor = CodeMirror((element) => field.after(element), {
    value: field.value,
    mode: field.dataset.code,
    theme: "console",
    lineNumbers: true,
    lineWrapping: true,
    // Screen readers know it as a text field, and it is inside of what scrolls.
    inputStyle: "contenteditable",
    viewportMargin: Infinity,
    screenReaderLabel: label?.textContent ?? field.name,
    readOnly: field.matches(":disabled"),
    // Tab leaves the editor, as it leaves every field.
    extraKeys: { Tab: false, "Shift-Tab": false },
  });
  field.hidden = true;
  for (const name of ["aria-describedby", "aria-invalid"]) {
    const value = field.getAttribute(name);
    if (value) editor.getInputField().setAttribute(name, value);
  }
  editor.on("change", () => {
    field.value = editor.getValue();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("change", () => {
    if (field.value !== editor.getValue()) editor.setValue(field.value);
  });
  label?.addEventListener("click", () => editor.focus());
  field.closest("details")?.addEventListener("toggle", () => editor.refresh());
}

// A link to a field leads into its editor.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  const field = link && document.getElementById(decodeURIComponent(link.hash.slice(1)));
  if (!field?.matches("textarea[data-code][hidden]")) return;
  event.preventDefault();
  field.nextElementSibling.CodeMirror.focus();
});

function prepare(root) {
  for (const field of root.querySelectorAll("textarea[data-code]:not([hidden])")) edit(field);
}

prepare(document);
document.addEventListener("htmx:afterSwap", () => prepare(document));
