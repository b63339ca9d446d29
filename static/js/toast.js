// A toast says what was done and offers Undo for some seconds, also by the key u. It waits while
// somebody points at it, has focus in it, or looks at another tab. Without this script it stays
// where the page shows it. The region is live, so what is put into it is read out politely.

const region = document.getElementById("toasts");
const clocks = new WeakMap();

const isHeld = (toast) =>
  toast.matches(":hover") || toast.contains(document.activeElement) || document.hidden;

function start(toast) {
  if (clocks.has(toast)) return;
  let left = Number(toast.dataset.toastSeconds) || 10;
  clocks.set(
    toast,
    window.setInterval(() => {
      if (!toast.isConnected) return window.clearInterval(clocks.get(toast));
      if (isHeld(toast)) return undefined;
      left -= 1;
      if (left > 0) return undefined;
      window.clearInterval(clocks.get(toast));
      return toast.remove();
    }, 1000),
  );
}

new MutationObserver(() => {
  for (const toast of region.querySelectorAll("[data-toast]")) start(toast);
}).observe(region, { childList: true, subtree: true });

const lift = () => {
  for (const toast of document.querySelectorAll("main [data-toast]")) region.append(toast);
};

// A moment later: a live region tells what is added to it, not what was there at first.
window.setTimeout(lift, 150);
document.addEventListener("htmx:afterSettle", lift);

document.addEventListener("keydown", (event) => {
  if (event.key !== "u" || event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
  const undo = [...region.querySelectorAll("[data-toast-undo]")].at(-1);
  if (!undo) return;
  event.preventDefault();
  undo.form.requestSubmit();
});
