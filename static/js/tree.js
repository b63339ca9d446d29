// The tree of topics: branches fold and load when they open, arrow keys walk it, and the open topic
// is in view.

const tree = document.querySelector("[data-tree]");
if (tree) start(tree);

function start(tree) {
  const isOpen = (button) => button.getAttribute("aria-expanded") === "true";
  const fold = (button, expanded) => {
    button.setAttribute("aria-expanded", String(expanded));
    document.getElementById(button.getAttribute("aria-controls")).hidden = !expanded;
    // A branch that is not on the page yet is fetched the first time.
    if (expanded) button.dispatchEvent(new Event("open"));
  };

  const current = tree.querySelector("[aria-current=page]");
  // Only the tree scrolls, never the page: on a narrow screen the tree stands below the report.
  if (current) tree.scrollTop = current.offsetTop - tree.offsetTop - tree.clientHeight / 2;

  tree.addEventListener("click", (event) => {
    const button = event.target.closest(".tree__toggle");
    if (button) fold(button, !isOpen(button));
  });

  tree.addEventListener("keydown", (event) => {
    const row = event.target.closest(".tree__row");
    if (!row) return;
    const button = row.querySelector(".tree__toggle");
    if (event.key === "ArrowRight" && button) fold(button, true);
    else if (event.key === "ArrowLeft" && button) fold(button, false);
    else if (event.key === "ArrowDown") move(row, 1);
    else if (event.key === "ArrowUp") move(row, -1);
    else return;
    event.preventDefault();
  });

  const move = (row, by) => {
    const rows = [...tree.querySelectorAll(".tree__row")].filter((each) => each.offsetParent);
    rows[rows.indexOf(row) + by]?.querySelector("a").focus();
  };
}
