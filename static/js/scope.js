// Filters of a question: what is chosen in the panel stands as chips in the box, each of which can
// be taken away. The fields of the panel are what is sent; the chips only show them.

for (const form of document.querySelectorAll("form[data-scope]")) start(form);

function start(form) {
  const chips = form.querySelector("[data-scope-chips]");
  const template = form.querySelector("template[data-scope-chip]");
  const face = form.querySelector("[data-scope-face]");

  const isSet = (field) => (field.type === "checkbox" ? field.checked : field.value !== "");
  const nameOf = (field) => field.dataset.label ?? readable(field);
  const chosen = () => [...form.querySelectorAll("[data-filter]")].filter(isSet);

  const draw = () => {
    const fields = chosen();
    chips.hidden = fields.length === 0;
    chips.replaceChildren(...fields.map(chipOf));
    if (fields.length === 0) face.textContent = "All documents";
    else if (fields.length === 1) face.textContent = nameOf(fields[0]);
    else face.textContent = `${fields.length} filters`;
  };

  const chipOf = (field) => {
    const chip = template.content.firstElementChild.cloneNode(true);
    chip.querySelector("[data-prefix]").textContent = field.dataset.filter;
    chip.querySelector("[data-name]").textContent = nameOf(field);
    const button = chip.querySelector("[data-remove]");
    button.setAttribute("aria-label", `Remove: ${field.dataset.filter} ${nameOf(field)}`);
    button.addEventListener("click", () => {
      if (field.type === "checkbox") field.checked = false;
      else field.value = "";
      draw();
      (chips.querySelector("[data-remove]") ?? form.querySelector("textarea, [type=search]"))?.focus();
    });
    return chip;
  };

  form.addEventListener("change", (event) => {
    if (!event.target.matches("[data-filter]")) return;
    const found = event.target.closest("[data-scope-found]");
    if (found && event.target.checked) keep(event.target, found);
    draw();
  });

  // What was found by typing moves to what is chosen, or the next search would replace it.
  const keep = (field, found) => {
    const place = form.querySelector(`[data-scope-chosen="${found.dataset.scopeFound}"]`);
    const known = [...place.querySelectorAll("[data-filter]")].find(
      (each) => each.value === field.value,
    );
    if (known) known.checked = true;
    else place.append(field.closest("label"));
    found.replaceChildren();
    const typed = form.querySelector(`[name="find_${found.dataset.scopeFound}"]`);
    typed.value = "";
    typed.focus();
  };

  // Enter in a field of the panel looks, it does not send the question.
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-scope-find]")) event.preventDefault();
  });

  draw();
}

function readable(field) {
  const date = field.valueAsDate;
  const form = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" };
  return date ? date.toLocaleDateString("en-GB", form) : field.value;
}
