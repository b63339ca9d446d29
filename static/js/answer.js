// Follow an answer while it is made. The server draws it; here its events are heard, the drawing is
// fetched again when something was found or decided, and text is added as it comes. What was heard
// is kept by the server: after a reload, in a second tab, or when the line breaks, it goes on.

const KINDS = "state step plan passages text answer follow_ups done failed stopped".split(" ");
const MARKER = /\[(\d{1,3})\]/;
const SENTENCE = /^[\s\S]*?[.!?。！？](?=\s|$)/;
const PATIENCE = 4000; // an idle worker begins sooner
const RETRY = 3000;

const answer = () => document.getElementById("answer");
const part = (name) => answer()?.querySelector(`[data-${name}]`);
if (answer()?.dataset.events) follow();

// A conversation opens at its question; what was asked before stands above.
const earlier = document.querySelector(".thread");
const isBack = performance.getEntriesByType("navigation")[0]?.type !== "navigate";
if (earlier && !isBack && !window.location.hash) {
  earlier.nextElementSibling.scrollIntoView({ block: "start", behavior: "instant" });
}

// The answer with its sources, to paste elsewhere. Over plain HTTP a browser lends no clipboard: the
// button stays hidden.
const offerCopy = () => {
  const button = part("copy");
  if (button && navigator.clipboard) button.hidden = false;
};
offerCopy();
document.addEventListener("answer:drawn", offerCopy);
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const label = button.querySelector("[data-copy-label]");
  label.textContent = await navigator.clipboard.writeText(button.dataset.copy).then(
    () => "Copied",
    () => "The browser did not allow it",
  );
  announce(label.textContent);
  window.setTimeout(() => (label.textContent = "Copy"), PATIENCE);
});

function follow() {
  const pieces = new Map(); // text by the number of its event
  let heard = Number(answer().dataset.sequence);
  let source = null;
  let unsaid = "";
  let isDrawing = false;
  let isStale = false;
  let frame = 0;

  // --- drawing -----------------------------------------------------------------------------------

  const draw = async () => {
    if (isDrawing) {
      isStale = true;
      return;
    }
    const { fragment } = answer().dataset;
    if (!fragment) return;
    isDrawing = true;
    isStale = false;
    await window.htmx
      .ajax("GET", fragment, { target: "#answer", swap: "morph:outerHTML" })
      .catch(() => null);
    isDrawing = false;
    addText();
    document.dispatchEvent(new Event("answer:drawn"));
    if (!answer().dataset.events) end();
    else if (isStale) draw();
  };

  // What came after the drawing stands behind it.
  const addText = () => {
    const place = part("text");
    if (!place || !answer().dataset.events) return;
    const drawn = Number(answer().dataset.sequence);
    const later = [...pieces].filter(([at]) => at > drawn).map(([, text]) => text).join("");
    let tail = place.querySelector(":scope > [data-tail]");
    if (!tail) {
      tail = document.createElement("span");
      tail.dataset.tail = "";
      place.append(tail);
    }
    tail.replaceChildren(...withChips(later, place));
  };

  const addSoon = () => {
    window.cancelAnimationFrame(frame);
    frame = window.requestAnimationFrame(addText);
  };

  // --- hearing -----------------------------------------------------------------------------------

  const hear = (event) => {
    const at = Number(event.lastEventId);
    if (at <= heard) return;
    heard = at;
    const payload = JSON.parse(event.data || "{}");
    if (event.type === "text") {
      pieces.set(at, payload.text);
      addSoon();
      say(payload.text);
    } else {
      if (event.type === "answer") pieces.clear();
      if (event.type === "step") announce(payload.sentence);
      if (event.type === "done") announce("The answer is complete.");
      if (event.type === "failed") announce(payload.happened ?? "The answer could not be made.");
      if (event.type === "stopped") announce("The answer was stopped.");
      draw();
    }
  };

  const listen = () => {
    const address = new URL(answer().dataset.events, window.location.href);
    address.searchParams.set("after", heard);
    source = new EventSource(address);
    for (const kind of KINDS) source.addEventListener(kind, hear);
    source.addEventListener("open", () => show("connection", false));
    source.addEventListener("error", () => {
      if (!answer().dataset.events) return;
      show("connection", true);
      if (source.readyState !== EventSource.CLOSED) return; // the browser connects again itself
      source.close();
      draw();
      window.setTimeout(() => answer().dataset.events && listen(), RETRY);
    });
  };

  const end = () => {
    source?.close();
    window.clearInterval(waiting);
  };

  // The answer is gone with its workspace, or who reads it was removed: app.js shows what was said.
  document.addEventListener("htmx:responseError", ({ detail }) => {
    if (detail.xhr.status !== 404 || detail.target.id !== "answer") return;
    delete answer().dataset.events;
    show("connection", false);
    end();
  });

  // The words of a new sentence are told to who listens, not every token.
  const say = (text) => {
    unsaid += text;
    for (let found = SENTENCE.exec(unsaid); found; found = SENTENCE.exec(unsaid)) {
      unsaid = unsaid.slice(found[0].length);
      announce(found[0].replace(new RegExp(MARKER, "g"), "").trim());
    }
  };

  const waiting = window.setInterval(() => {
    const { state, events } = answer().dataset;
    if (!events) end();
    else show("waiting", state === "queued");
  }, PATIENCE);

  // The page is left: the server need not hold the line open. It may come back from the history.
  window.addEventListener("pagehide", () => source?.close());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted && answer().dataset.events) {
      draw();
      listen();
    }
  });
  listen();
}

function show(name, isShown) {
  const line = part(name);
  if (line) line.hidden = !isShown;
}

// A marker becomes the chip that the server drew for its passage, numbered in the order in which the
// text names them; one without a passage is left out.
function withChips(text, place) {
  const drawn = [...place.querySelectorAll(".cite[data-passage]")];
  const numbers = new Map(drawn.map((chip) => [chip.dataset.passage, chip.dataset.cite]));
  return text.split(MARKER).flatMap((words, at) => {
    if (at % 2 === 0) return [document.createTextNode(words)];
    const template = answer().querySelector(`template[data-chip="${words}"]`);
    if (!template) return [];
    if (!numbers.has(words)) numbers.set(words, String(numbers.size + 1));
    return [numbered(template.content.firstElementChild.cloneNode(true), numbers.get(words))];
  });
}

function numbered(chip, number) {
  chip.dataset.cite = number;
  chip.textContent = number;
  chip.setAttribute("aria-label", `Source ${number}: ${chip.dataset.title}`);
  return chip;
}

function announce(text) {
  const region = document.querySelector("[data-announce]");
  if (!region || !text) return;
  const line = document.createElement("p");
  line.textContent = text;
  region.append(line);
  while (region.childElementCount > 6) region.firstElementChild.remove();
}
