// Sends questions. Runs before the page is read (a plain blocking script in <head>): somebody may
// type a question and press Enter before the modules have come.
(() => {
  "use strict";

  // Enter sends, Shift-Enter makes a new line. While an input method is composing (Chinese,
  // Japanese, Korean) Enter belongs to it: isComposing, and keyCode 229 for Safari, which ends
  // composition first.
  document.addEventListener("keydown", (event) => {
    const area = event.target;
    if (event.key !== "Enter" || event.shiftKey) return;
    if (event.isComposing || event.keyCode === 229) return;
    if (!(area instanceof Element) || !area.matches("textarea[data-submit-on-enter]")) return;
    event.preventDefault();
    if (area.value.trim()) area.form.requestSubmit();
  });

  // A sent question is seen to be sent: the button says so, and a second press does nothing.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-busy-text]")) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    form.setAttribute("aria-busy", "true");
    const status = form.querySelector("[data-busy]");
    if (status) status.textContent = form.dataset.busyText;
  });
})();
