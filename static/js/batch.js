// Documents chosen together: the button says how many they are and waits until there is one, and
// what was chosen stays so while the list refreshes itself. Without this script the form just works.

const boxes = () => [...document.querySelectorAll('input[type="checkbox"][form="batch"]')];
const chosen = new Set(boxes().flatMap((box) => (box.checked ? [box.value] : [])));

function tell() {
  const all = boxes();
  const there = new Set(all.map((box) => box.value));
  for (const value of chosen) if (!there.has(value)) chosen.delete(value);
  for (const box of all) box.checked = chosen.has(box.value);
  for (const button of document.querySelectorAll("[data-batch-button]")) {
    button.disabled = chosen.size === 0;
  }
  for (const count of document.querySelectorAll("[data-batch-count]")) {
    count.textContent = chosen.size ? ` (${chosen.size})` : "";
  }
  const whole = document.querySelector("[data-batch-all]");
  if (!whole) return;
  whole.hidden = false;
  const box = whole.querySelector("input");
  box.checked = all.length > 0 && chosen.size === all.length;
  box.indeterminate = chosen.size > 0 && chosen.size < all.length;
}

document.addEventListener("change", (event) => {
  const box = event.target;
  if (box.closest("[data-batch-all]")) {
    for (const each of boxes()) {
      if (box.checked) chosen.add(each.value);
      else chosen.delete(each.value);
    }
  } else if (box.matches('[form="batch"]')) {
    if (box.checked) chosen.add(box.value);
    else chosen.delete(box.value);
  } else return;
  tell();
});

document.addEventListener("htmx:afterSettle", tell);
// The browser brings boxes back as they were left.
window.addEventListener("pageshow", () => {
  for (const box of boxes()) if (box.checked) chosen.add(box.value);
  tell();
});
tell();
