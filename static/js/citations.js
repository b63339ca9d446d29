// From a claim to its source: a card on hover and focus, and a reader that opens beside the answer.
// ?cite=3 in the address opens the third source, so that the view can be sent to a colleague.

import { startCards } from "./cards.js";

const root = document.querySelector("[data-citations]");
if (root) start(root);

function start(root) {
  const panel = document.getElementById("reader-panel");
  const panelBody = panel.querySelector("[data-panel-body]");
  const panelTitle = panel.querySelector("[data-panel-title]");
  const fullPage = panel.querySelector("[data-panel-full]");
  const skeleton = document.getElementById("reader-skeleton");
  const card = startCards(root);
  let openNumber = null;
  let origin = null;
  let ticket = 0;

  // Chips come and go while an answer is written: they are looked for when they are needed.
  const chips = () => [...root.querySelectorAll(".cite[data-cite]")];
  const linksTo = (number) => root.querySelectorAll(`[data-cite="${number}"]`);
  const chipFor = (number) =>
    chips().find((chip) => Number(chip.dataset.cite) === number) ?? linksTo(number)[0];
  const numbers = () =>
    [...new Set(chips().map((chip) => Number(chip.dataset.cite)))].sort((a, b) => a - b);

  // --- the reader beside the answer ------------------------------------------------------------

  const remember = (number) => {
    const address = new URL(window.location.href);
    if (number === null) address.searchParams.delete("cite");
    else address.searchParams.set("cite", number);
    window.history.replaceState(window.history.state, "", address);
  };

  const markOpen = (number) => {
    for (const link of root.querySelectorAll("[data-cite]")) link.removeAttribute("aria-current");
    for (const source of root.querySelectorAll(".source--open")) source.classList.remove("source--open");
    if (number === null) return;
    for (const link of linksTo(number)) {
      link.setAttribute("aria-current", "true");
      link.closest(".source")?.classList.add("source--open");
    }
  };

  const load = async (href) => {
    const mine = ++ticket;
    fullPage.href = href;
    panelBody.replaceChildren(skeleton.content.cloneNode(true));
    panelBody.setAttribute("aria-busy", "true");
    let page;
    try {
      const response = await fetch(href, { headers: { "HX-Request": "true" } });
      if (response.redirected) window.location.reload(); // signed out meanwhile
      page = new DOMParser().parseFromString(await response.text(), "text/html");
    } catch {
      page = null;
    }
    if (mine !== ticket) return; // another source was opened meanwhile
    panelBody.removeAttribute("aria-busy");
    if (page === null) {
      panelBody.textContent = "The server did not answer. The answer is kept; open the source again.";
      return;
    }
    panelBody.replaceChildren(...page.body.childNodes);
    settleScroll();
  };

  const settleScroll = () => {
    const mark = panelBody.querySelector("mark, [data-scroll-here]");
    if (!mark) {
      panelBody.scrollTop = 0;
      return;
    }
    const top = mark.getBoundingClientRect().top - panelBody.getBoundingClientRect().top;
    panelBody.scrollTop += top - panelBody.clientHeight / 3;
  };

  const open = (number, from) => {
    const link = from ?? chipFor(number);
    if (!link) return;
    card.hide();
    origin = link;
    openNumber = number;
    root.classList.add("split--open");
    panel.hidden = false;
    const all = numbers();
    const place = all.indexOf(number) + 1;
    panelTitle.textContent = `Source ${number}${place ? ` · ${place} of ${all.length}` : ""}`;
    markOpen(number);
    remember(number);
    panelTitle.focus({ preventScroll: true });
    load(link.href);
  };

  const close = () => {
    if (openNumber === null) return;
    openNumber = null;
    ticket += 1;
    panel.hidden = true;
    root.classList.remove("split--open");
    markOpen(null);
    remember(null);
    (origin?.isConnected ? origin : root.querySelector("h1, a"))?.focus();
  };

  const step = (by) => {
    const all = numbers();
    if (all.length === 0) return;
    const at = openNumber === null ? (by > 0 ? -1 : 0) : all.indexOf(openNumber);
    const next = all[(at + by + all.length) % all.length];
    open(next, chipFor(next));
  };

  root.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-cite], a[data-panel-link]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    if (link.dataset.cite) open(Number(link.dataset.cite), link);
    else load(link.href);
  });

  panel.querySelector("[data-panel-close]").addEventListener("click", close);
  panel.querySelector("[data-panel-prev]").addEventListener("click", () => step(-1));
  panel.querySelector("[data-panel-next]").addEventListener("click", () => step(1));

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (card.isShown()) card.hide();
      else close();
      return;
    }
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "]") step(1);
    if (event.key === "[") step(-1);
  });

  // A link to a source waits for an answer that is still being made.
  const openAsked = () => {
    const asked = Number(new URL(window.location.href).searchParams.get("cite"));
    if (asked && openNumber === null) open(asked);
  };
  document.addEventListener("answer:drawn", () => {
    if (openNumber === null) openAsked();
    else markOpen(openNumber);
  });
  openAsked();
}
