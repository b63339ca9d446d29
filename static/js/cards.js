// The card of a citation: its passage on hover and focus, without leaving the sentence.

export function startCards(root) {
  const card = document.getElementById("cite-card");
  let timer = 0;
  let described = null;

  const showCard = (chip) => {
    const key = chip.dataset.cardKey ?? chip.dataset.cite;
    const content = root.querySelector(`template[data-card="${key}"]`);
    if (!content || !chip.isConnected) return;
    hideCard();
    card.replaceChildren(content.content.cloneNode(true));
    card.hidden = false;
    chip.setAttribute("aria-describedby", "cite-card");
    described = chip;
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
    described?.removeAttribute("aria-describedby");
    described = null;
  };

  const soon = (action, wait) => {
    window.clearTimeout(timer);
    timer = window.setTimeout(action, wait);
  };

  // Chips come and go while an answer is written: the page listens, not each chip.
  const chipOf = (event) => event.target.closest?.(".cite[data-cite]");
  root.addEventListener("pointerover", (event) => {
    const chip = chipOf(event);
    if (chip && event.pointerType === "mouse") soon(() => showCard(chip), 120);
  });
  root.addEventListener("pointerout", (event) => chipOf(event) && soon(hideCard, 180));
  root.addEventListener("focusin", (event) => {
    const chip = chipOf(event);
    if (chip?.matches(":focus-visible")) showCard(chip);
  });
  root.addEventListener("focusout", (event) => chipOf(event) && hideCard());
  // The card can be entered with the pointer, to read or select its words (WCAG 1.4.13).
  card.addEventListener("pointerenter", () => window.clearTimeout(timer));
  card.addEventListener("pointerleave", () => soon(hideCard, 180));

  return { hide: hideCard, isShown: () => !card.hidden };
}
