// Drop many files anywhere on the page. Every file has its row at once; what the server refuses
// stays on the page with its reason until it is dismissed.

const PARALLEL = 2;
// What an estimate reads (documents/trial_reading.py); a request takes 200 files.
const MOST_READ = 32 * 1024 * 1024;
const MOST_FILES = 100;

const form = document.querySelector("form[data-upload]");
if (form) start(form);

function start(form) {
  const input = form.querySelector("input[type=file]");
  const list = document.getElementById("uploads");
  const template = document.getElementById("upload-row");
  const veil = document.getElementById("drop-veil");
  const estimate = document.getElementById("upload-estimate");
  const waiting = [];
  let chosen = [];
  let asked = 0;
  let running = 0;
  let depth = 0;

  input.addEventListener("change", () => {
    choose([...input.files]);
    input.value = "";
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("[data-without-script]")?.remove();

  const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
  window.addEventListener("dragenter", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    depth += 1;
    veil.hidden = false;
  });
  window.addEventListener("dragleave", (event) => {
    if (!holdsFiles(event)) return;
    depth = Math.max(0, depth - 1);
    veil.hidden = depth === 0;
  });
  window.addEventListener("dragover", (event) => {
    if (holdsFiles(event)) event.preventDefault();
  });
  window.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    choose([...event.dataTransfer.files]);
  });
  window.addEventListener("beforeunload", (event) => {
    if (running + waiting.length + chosen.length > 0) event.preventDefault();
  });
  estimate.addEventListener("click", (event) => {
    const isSent = event.target.closest("[data-send]");
    if (!isSent && !event.target.closest("[data-discard]")) return;
    const files = chosen;
    chosen = [];
    asked += 1;
    estimate.replaceChildren();
    if (isSent) add(files);
    form.querySelector("label").focus();
  });

  // Where a model reads what is added, its price is shown first. Files are sent for that as far as
  // the server reads them, and it keeps none; of others, names and sizes.
  function choose(files) {
    if (!form.dataset.estimate) {
      add(files);
    } else if (files.length > 0) {
      chosen = [...chosen, ...files];
      price();
    }
  }

  async function price() {
    asked += 1;
    const mine = asked;
    const body = new FormData();
    const others = [];
    let size = 0;
    chosen.forEach((file, number) => {
      size += file.size;
      if (size <= MOST_READ && number < MOST_FILES) body.append("file", file);
      else others.push([file.name, file.size]);
    });
    body.append("files", JSON.stringify(others));
    const answer = await fetch(form.dataset.estimate, {
      method: "POST",
      headers: { "HX-Request": "true", "X-CSRFToken": token() },
      body,
    }).catch(() => null);
    const html = answer?.ok && !answer.redirected ? await answer.text() : null;
    if (mine !== asked) return;
    const missing = document.getElementById("estimate-missing");
    estimate.replaceChildren(
      ...(html === null
        ? missing.content.cloneNode(true).children
        : parse(html).body.children),
    );
    estimate.querySelector("[data-send]")?.focus();
  }

  const token = () => form.querySelector("[name=csrfmiddlewaretoken]").value;

  function add(files) {
    for (const file of files) {
      const row = template.content.firstElementChild.cloneNode(true);
      row.querySelector("[data-name]").textContent = file.name;
      row.querySelector("[data-size]").textContent = readable(file.size);
      list.append(row);
      waiting.push({ file, row });
    }
    pump();
  }

  function pump() {
    while (running < PARALLEL && waiting.length > 0) {
      running += 1;
      send(waiting.shift());
    }
  }

  function send({ file, row }) {
    const limit = Number(form.dataset.maxBytes);
    if (limit && file.size > limit) {
      settle(row, `It is ${readable(file.size)}; the limit is ${readable(limit)}. Split it, or ask
        whoever runs this server to raise the limit.`);
      return;
    }
    const body = new FormData();
    body.append(input.name, file, file.name);
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("HX-Request", "true");
    request.setRequestHeader("X-CSRFToken", token());
    const bar = row.querySelector("progress");
    request.upload.addEventListener("progress", (event) => {
      if (!event.lengthComputable) return;
      bar.max = event.total;
      bar.value = event.loaded;
      if (event.loaded === event.total) row.querySelector("[data-state]").textContent = "Checking";
    });
    request.addEventListener("load", () => {
      const wait = Number(request.getResponseHeader("Retry-After"));
      if (request.status >= 200 && request.status < 300) finish(row, request.responseText);
      else if (request.status === 429 && wait) setTimeout(send, wait * 1000, { file, row });
      else settle(row, reason(request));
    });
    request.addEventListener("error", () =>
      settle(row, "The connection broke before the file had arrived. Drop it again."),
    );
    row.querySelector("[data-state]").textContent = "Uploading";
    request.send(body);
  }

  function finish(row, html) {
    const answer = parse(html);
    const notice = answer.querySelector("[data-upload-notice]");
    if (notice) {
      row.querySelector("[data-state]").textContent = "Already here";
      row.querySelector("[data-work]").replaceChildren(notice);
      row.querySelector("[data-close]").hidden = false;
    } else {
      row.remove();
    }
    done();
  }

  function settle(row, text) {
    const state = row.querySelector("[data-state]");
    state.textContent = "Not added";
    state.classList.replace("badge-soft--busy", "badge-soft--bad");
    const line = document.createElement("p");
    line.className = "field-error";
    line.textContent = text;
    line.setAttribute("role", "alert");
    row.querySelector("[data-work]").replaceChildren(line);
    row.querySelector("[data-close]").hidden = false;
    done();
  }

  function done() {
    running -= 1;
    if (running + waiting.length === 0 || waiting.length % 5 === 0) {
      window.htmx?.trigger("#documents", "refresh");
    }
    pump();
  }
}

function reason(request) {
  const panel = parse(request.responseText).querySelector(".notice__body");
  if (panel) return [...panel.querySelectorAll(":scope > p")].map((p) => p.textContent.trim()).join(" ");
  if (request.status === 413) return "It is larger than this server accepts.";
  if (request.status === 403) return "You are signed out, or may not add documents here.";
  return "The server could not take it. Drop it again.";
}

const parse = (html) => new DOMParser().parseFromString(html, "text/html");

function readable(bytes) {
  const units = ["bytes", "kB", "MB", "GB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
