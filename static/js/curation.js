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

// Where a field was closed, its own button has the focus again; where an entity was put beside the
// others, the search for the next one has it. What was pressed is gone from the page by then.
document.addEventListener("htmx:afterSettle", (event) => {
  if (document.activeElement !== document.body) return;
  const next = field ? `edit-${field}` : event.target.id === "merge" ? "q" : "";
  document.getElementById(next)?.focus({ preventScroll: true });
  field = "";
});
