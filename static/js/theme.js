// Runs before the first paint (a plain blocking script in <head>), so that no page ever flashes in
// the wrong theme. "auto" follows the system and keeps following it while the page is open.
(() => {
  "use strict";

  const KEY = "concordance.theme";
  const NAMES = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };
  const ORDER = ["auto", "light", "dark"];
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  const stored = () => {
    try {
      const value = window.localStorage.getItem(KEY);
      return ORDER.includes(value) ? value : "auto";
    } catch {
      return "auto"; // storage can be forbidden; the system's choice still works
    }
  };

  const apply = (choice) => {
    const dark = choice === "dark" || (choice === "auto" && system.matches);
    root.dataset.bsTheme = dark ? "dark" : "light";
    root.dataset.themeChoice = choice;
  };

  const store = (choice) => {
    try {
      window.localStorage.setItem(KEY, choice);
    } catch {
      // the choice then lasts for this page only
    }
  };

  apply(stored());
  system.addEventListener("change", () => apply(root.dataset.themeChoice));

  document.addEventListener("DOMContentLoaded", () => {
    const label = (button) => {
      button.setAttribute("aria-label", NAMES[root.dataset.themeChoice]);
      button.title = NAMES[root.dataset.themeChoice];
    };
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.hidden = false;
      label(button);
      button.addEventListener("click", () => {
        const next = ORDER[(ORDER.indexOf(root.dataset.themeChoice) + 1) % ORDER.length];
        store(next);
        apply(next);
        document.querySelectorAll("[data-theme-toggle]").forEach(label);
      });
    }
  });
})();
