// From a claim to its source: a card on hover and focus, and a reader that opens beside the answer.
// ?cite=3 in the address opens the third source, so that the view can be sent to a colleague.

const root = document.querySelector("[data-citations]");
if (root) start(root);

function start(root) {
  const chips = [...root.querySelectorAll(".cite[data-cite]")];
  const panel = document.getElementById("reader-panel");
  const panelBody = panel.querySelector("[data-panel-body]");
  const panelTitle = panel.querySelector("[data-panel-title]");
  const fullPage = panel.querySelector("[data-panel-full]");
  const skeleton = document.getElementById("reader-skeleton");
  const card = document.getElementById("cite-card");
  const numbers = [...new Set(chips.map((chip) => Number(chip.dataset.cite)))].sort((a, b) => a - b);
  let openNumber = null;
  let origin = null;
  let timer = 0;
  let ticket = 0;

  const chipFor = (number) => chips.find((chip) => Number(chip.dataset.cite) === number);
  const linksTo = (number) => root.querySelectorAll(`[data-cite="${number}"]`);

  // --- the card --------------------------------------------------------------------------------

  const showCard = (chip) => {
    const content = root.querySelector(`template[data-card="${chip.dataset.cite}"]`);
    if (!content) return;
    card.replaceChildren(content.content.cloneNode(true));
    card.hidden = false;
    chip.setAttribute("aria-describedby", "cite-card");
    place(chip);
  };

  const place = (chip) => {
    const at = chip.getBoundingClientRect();
    const size = card.getBoundingClientRect();
    const left = Math.max(12, Math.min(at.left - 24, window.innerWidth - size.width - 12));
    const below = at.bottom + 8;
    const fits = below + size.height < window.innerHeight;
    const top = fits ? below : Math.max(8, at.top - size.height - 8);
    card.style.left = `${left + window.scrollX}px`;
    card.style.top = `${top + window.scrollY}px`;
  };

  const hideCard = () => {
    window.clearTimeout(timer);
    card.hidden = true;
    for (const chip of chips) chip.removeAttribute("aria-describedby");
  };

  const soon = (action, wait) => {
    window.clearTimeout(timer);
    timer = window.setTimeout(action, wait);
  };

  for (const chip of chips) {
    chip.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse") soon(() => showCard(chip), 120);
    });
    chip.addEventListener("pointerleave", () => soon(hideCard, 180));
    chip.addEventListener("focus", () => chip.matches(":focus-visible") && showCard(chip));
    chip.addEventListener("blur", hideCard);
  }
  // The card can be entered with the pointer, to read or select its words (WCAG 1.4.13).
  card.addEventListener("pointerenter", () => window.clearTimeout(timer));
  card.addEventListener("pointerleave", () => soon(hideCard, 180));

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
    const chip = chipFor(number);
    if (!chip) return;
    hideCard();
    origin = from ?? chip;
    openNumber = number;
    root.classList.add("split--open");
    panel.hidden = false;
    panelTitle.textContent = `Source ${number} of ${numbers.length}`;
    markOpen(number);
    remember(number);
    panelTitle.focus({ preventScroll: true });
    load(chip.href);
  };

  const close = () => {
    if (openNumber === null) return;
    openNumber = null;
    ticket += 1;
    panel.hidden = true;
    root.classList.remove("split--open");
    markOpen(null);
    remember(null);
    origin?.focus();
  };

  const step = (by) => {
    if (numbers.length === 0) return;
    const at = openNumber === null ? (by > 0 ? -1 : 0) : numbers.indexOf(openNumber);
    const next = numbers[(at + by + numbers.length) % numbers.length];
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
      if (!card.hidden) hideCard();
      else close();
      return;
    }
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "]") step(1);
    if (event.key === "[") step(-1);
  });

  const asked = Number(new URL(window.location.href).searchParams.get("cite"));
  if (asked) open(asked);
}
