// A document's own page: bring the cited sentence to the middle of the window.

const mark = document.querySelector("main mark, main [data-scroll-here]");
if (mark && !window.location.hash) {
  const settle = () => mark.scrollIntoView({ block: "center", behavior: "instant" });
  settle();
  document.fonts?.ready.then(settle); // lines move when the reading face arrives
}
