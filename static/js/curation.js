// Inline editing: Enter saves, Esc cancels, and focus returns to what was pressed. Refused forms
// come back as whole pages with what was typed. Everything works without this script, too.

let field = "";

document.addEventListener("submit", (event) => {
  field = event.target.dataset?.inline ?? field;
});

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("form[data-inline]");
  if (!form || event.isComposing || event.keyCode === 229) return;
  if (event.key === "Escape") {
    const cancel = form.querySelector("[data-cancel]");
    if (!cancel) return;
    event.preventDefault();
    field = form.dataset.inline;
    cancel.click();
  }
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit();
  }
});

document.addEventListener("click", (event) => {
  const cancel = event.target.closest?.("[data-cancel]");
  if (cancel) field = cancel.closest("form").dataset.inline;
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (xhr.getResponseHeader("X-Form-Again") || xhr.status === 410) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

// Where a field was closed, its own button has the focus again; the new page begins nowhere.
document.addEventListener("htmx:afterSettle", () => {
  if (document.activeElement !== document.body || !field) return;
  document.getElementById(`edit-${field}`)?.focus({ preventScroll: true });
  field = "";
});
