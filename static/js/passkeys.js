// What the buttons for passkeys do, by allauth's own functions; a refusal is said on the page.

import { toast } from "./app.js";

const { loginForm, addForm, authenticateForm } = window.allauth.webauthn.forms;
const actions = { login: loginForm, add: addForm, confirm: authenticateForm };

for (const button of document.querySelectorAll("[data-passkey]")) {
  const { passkey, credential, passwordless } = button.dataset;
  const { id } = button;
  const ids = { login: id, add: id, authenticate: id, credential, passwordless, data: "js_data" };
  actions[passkey]({ ids });
}

document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  toast("The passkey was not used. Try again, or sign in another way.");
});
