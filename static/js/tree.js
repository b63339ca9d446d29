// The tree of topics: branches fold, arrow keys walk it, and the open topic is in view.

const tree = document.querySelector("[data-tree]");
if (tree) start(tree);

function start(tree) {
  const fold = (button, expanded) => {
    button.setAttribute("aria-expanded", String(expanded));
    document.getElementById(button.getAttribute("aria-controls")).hidden = !expanded;
  };

  const current = tree.querySelector("[aria-current=page]");
  for (const button of tree.querySelectorAll(".tree__toggle")) {
    const branch = document.getElementById(button.getAttribute("aria-controls"));
    fold(button, branch.contains(current) || button.parentElement.contains(current));
    button.addEventListener("click", () =>
      fold(button, button.getAttribute("aria-expanded") !== "true"),
    );
  }
  // Only the tree scrolls, never the page: on a narrow screen the tree stands below the report.
  if (current) tree.scrollTop = current.offsetTop - tree.offsetTop - tree.clientHeight / 2;

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
