// What every page needs: messages that stay until dismissed, shortcuts, and choices that send a form.

const typing = (element) =>
  element instanceof HTMLElement &&
  (element.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName));

export function toast(text) {
  const region = document.getElementById("toasts");
  const template = document.getElementById("toast-template");
  const known = [...region.querySelectorAll("[data-toast-text]")];
  if (known.some((paragraph) => paragraph.textContent === text)) return;
  const copy = template.content.cloneNode(true);
  copy.querySelector("[data-toast-text]").textContent = text;
  region.append(copy);
}

document.addEventListener("click", (event) => {
  const dismiss = event.target.closest("[data-dismiss]");
  if (dismiss) dismiss.closest(".notice, li").remove();
  for (const picker of document.querySelectorAll("details.picker[open]")) {
    if (!picker.contains(event.target)) picker.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const picker = event.target.closest?.("details.picker[open]");
    if (picker) {
      picker.open = false;
      picker.querySelector("summary").focus();
      event.stopPropagation();
    }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (event.key === "/") {
    const field = document.querySelector("[data-shortcut-focus]");
    if (!field) return;
    event.preventDefault();
    field.focus();
    // What is typed next replaces what was looked for before, but never a question half written.
    if (field.matches("input")) field.select();
  }
});

// What was typed, or put back by the browser, before htmx listened is looked for now.
document.addEventListener("DOMContentLoaded", () => {
  for (const field of document.querySelectorAll("[hx-trigger~='typed-early']")) {
    if (field.value !== field.defaultValue) field.dispatchEvent(new Event("typed-early"));
  }
});

// The page comes back from the browser's history as it was left: let the form be sent again.
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    form.removeAttribute("aria-busy");
    const status = form.querySelector("[data-busy]");
    if (status) status.textContent = "";
  }
});

// A choice in a picker is told on its closed face.
document.addEventListener("change", (event) => {
  const picker = event.target.closest?.("details.picker");
  const face = picker?.querySelector("[data-picker-face]");
  if (!face) return;
  const chosen = [...picker.querySelectorAll("input:checked")];
  if (chosen.length === 0) face.textContent = face.dataset.none ?? "";
  else if (chosen.length === 1) face.textContent = chosen[0].dataset.label;
  else face.textContent = `${chosen.length} ${face.dataset.many ?? "chosen"}`;
});

for (const select of document.querySelectorAll("select[data-submit-on-change]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

// Whoever was signed out meanwhile gets the sign-in page in answer: show it as a page of its own.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (new URL(event.detail.xhr.responseURL).pathname.startsWith("/accounts/")) {
    event.detail.shouldSwap = false;
    window.location.reload();
  }
});

document.addEventListener("htmx:sendError", () =>
  toast("The server did not answer. Work that was running goes on; this page tries again by itself."),
);

// What the server says of an error it knows: the paragraphs of its panel.
function sentenceOf(text) {
  const panel = new DOMParser().parseFromString(text, "text/html");
  const parts = panel.querySelectorAll("body > .notice--bad > .notice__body > p");
  return [...parts].map((part) => part.textContent.trim()).join(" ");
}

document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  const said = sentenceOf(event.detail.xhr.responseText);
  if (said) {
    toast(said);
  } else if (status === 401 || status === 403) {
    toast("You are signed out, or may not do this. Nothing was changed. Reload the page to sign in.");
  } else if (status === 429) {
    toast("Too many requests in a short time. Nothing was changed. Wait a moment, then try again.");
  } else {
    toast("That did not work, and nothing was changed. Try again; reload the page if it persists.");
  }
});
