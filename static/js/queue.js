// The keys of the queue. Each presses a button of the page, so what a key does a press does, too,
// and all of it works without this script. Keys mean nothing while somebody types or holds one down.

const BUTTONS = { m: "case-merge", n: "case-differ", s: "case-skip" };
const CHOICES = /^(radio|checkbox|button|submit)$/;

const types = (element) =>
  element.isContentEditable ||
  /^(TEXTAREA|SELECT)$/.test(element.tagName) ||
  (element.tagName === "INPUT" && !CHOICES.test(element.type));

const tell = (text) => {
  const status = document.getElementById("case-status");
  // The same words twice are only read out when they went away in between.
  status.textContent = "";
  window.setTimeout(() => (status.textContent = text), 50);
};

function press(id) {
  const button = document.getElementById(id);
  if (!button || button.disabled) return;
  button.focus({ preventScroll: true });
  button.click();
}

function keep(number) {
  const choice = document.querySelector(`#case-set [data-key="${number}"]`);
  if (!choice) return;
  choice.focus();
  if (!choice.checked) choice.click();
}

function drop(element) {
  const side = element.closest("[data-side]");
  const button = side?.querySelector("[data-drop]");
  if (button) button.click();
  else if (document.querySelector("#case-set [data-drop]")) {
    tell("Go with Tab to the one that does not belong here, then press x.");
  } else tell("Two are left. Press n if they are not the same, s to skip.");
}

function undo() {
  const toast = [...document.querySelectorAll("#toasts [data-toast-undo]")].at(-1);
  const button = toast ?? document.getElementById("case-undo");
  button?.form.requestSubmit();
}

function showKeys() {
  const keys = document.getElementById("case-keys");
  if (!keys) return;
  keys.open = !keys.open;
  keys.querySelector("summary").focus();
}

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.defaultPrevented || event.repeat || event.isComposing) return;
  if (event.ctrlKey || event.metaKey || event.altKey || types(target)) return;
  if (BUTTONS[key]) press(BUTTONS[key]);
  else if (/^[1-5]$/.test(key)) keep(key);
  else if (key === "x") drop(target);
  else if (key === "u") undo();
  else if (key === "?") showKeys();
  else return;
  event.preventDefault();
});

// A refused decision comes back as the page as it is now, with the reason.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (!event.detail.xhr.getResponseHeader("X-Form-Again")) return;
  event.detail.shouldSwap = true;
  event.detail.isError = false;
});

let before = document.getElementById("curation")?.dataset.case;

document.addEventListener("htmx:afterSettle", () => {
  const region = document.getElementById("curation");
  if (!region) return;
  const isNext = region.dataset.case !== before;
  before = region.dataset.case;
  if (document.activeElement === document.body) {
    document.getElementById("case-title")?.focus({ preventScroll: true });
  }
  if (isNext) tell(region.dataset.announce ?? "Nothing is left to decide.");
  else tell(region.dataset.preview ?? "");
});
