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
  let openKey = null;
  let origin = null;
  let ticket = 0;

  // Chips come and go while an answer is written: they are looked for when they are needed.
  const chips = () => [...root.querySelectorAll(".cite[data-cite]")];
  const linksTo = (key) => root.querySelectorAll(`[data-cite="${CSS.escape(key)}"]`);
  const linkFor = (key) => chips().find((chip) => chip.dataset.cite === key) ?? linksTo(key)[0];
  // Citations are numbered as they appear. A passage that is not cited has a key instead.
  const keys = () => {
    const cited = [...new Set(chips().map((chip) => chip.dataset.cite))];
    return cited.length ? cited : [...root.querySelectorAll(".source [data-cite]")].map((link) => link.dataset.cite);
  };

  // --- the reader beside the answer ------------------------------------------------------------

  const remember = (key) => {
    const address = new URL(window.location.href);
    if (key === null) address.searchParams.delete("cite");
    else address.searchParams.set("cite", key);
    window.history.replaceState(window.history.state, "", address);
  };

  const markOpen = (key) => {
    for (const link of root.querySelectorAll("[data-cite]")) link.removeAttribute("aria-current");
    for (const source of root.querySelectorAll(".source--open")) source.classList.remove("source--open");
    if (key === null) return;
    for (const link of linksTo(key)) {
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

  const open = (key, from) => {
    const link = from ?? linkFor(key);
    if (!link) return;
    card.hide();
    origin = link;
    openKey = key;
    root.classList.add("split--open");
    panel.hidden = false;
    const all = keys();
    const place = all.indexOf(key) + 1;
    const name = /^\d+$/.test(key) ? `Source ${key}` : "Passage";
    panelTitle.textContent = `${name}${place ? ` · ${place} of ${all.length}` : ""}`;
    markOpen(key);
    remember(key);
    panelTitle.focus({ preventScroll: true });
    load(link.href);
  };

  const close = () => {
    if (openKey === null) return;
    openKey = null;
    ticket += 1;
    panel.hidden = true;
    root.classList.remove("split--open");
    markOpen(null);
    remember(null);
    (origin?.isConnected ? origin : root.querySelector("h1, a"))?.focus();
  };

  const step = (by) => {
    const all = keys();
    if (all.length === 0) return;
    const at = openKey === null ? (by > 0 ? -1 : 0) : all.indexOf(openKey);
    const next = all[(at + by + all.length) % all.length];
    open(next, linkFor(next));
  };

  root.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-cite], a[data-panel-link]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    if (link.dataset.cite) open(link.dataset.cite, link);
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
    const asked = new URL(window.location.href).searchParams.get("cite");
    if (asked && openKey === null) open(asked);
  };
  document.addEventListener("answer:drawn", () => {
    if (openKey === null) openAsked();
    else markOpen(openKey);
  });
  openAsked();
}
