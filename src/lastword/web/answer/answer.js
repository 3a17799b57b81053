/** Sends the code behind `#` on a click. It is in no request's address, so no server logs it. */
const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
const button = /** @type {HTMLButtonElement} */ (document.getElementById("answer"));
const outcome = /** @type {HTMLElement} */ (document.getElementById("outcome"));

/** @type {Record<string, string>} */
const LABELS = {
  allow_once: "Allow once",
  reject_once: "Reject",
  allow_always: "Always allow",
  reject_always: "Always reject",
};

/** Returns what the code answers, which its first part says; the gateway checks the second. */
function label() {
  try {
    const [content = ""] = code.split(".");
    return LABELS[JSON.parse(atob(content.replaceAll("-", "+").replaceAll("_", "/")))[5]] ?? "";
  } catch {
    return "";
  }
}

button.disabled = !code;
button.textContent = label() ? `Send the answer: ${label()}` : "Send the answer";
if (!code) outcome.textContent = "The code is missing. Open the link in the notification again.";
button.addEventListener("click", async () => {
  button.disabled = true;
  try {
    const headers = { "content-type": "text/plain" };
    const response = await fetch("/answer", { method: "POST", headers, body: code });
    const answer = await response.json();
    outcome.textContent = response.ok ? "The agent has your answer." : answer.error;
    button.disabled = ![429, 503].includes(response.status);
  } catch {
    outcome.textContent = "The gateway cannot be reached. Try again.";
    button.disabled = false;
  }
});
