/** Sends the code behind `#` on a click. It is in no request's address, so no server logs it. */
const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
const button = /** @type {HTMLButtonElement} */ (document.getElementById("answer"));
const outcome = /** @type {HTMLElement} */ (document.getElementById("outcome"));
button.disabled = !code;
button.addEventListener("click", async () => {
  button.disabled = true;
  try {
    const headers = { "content-type": "text/plain" };
    const response = await fetch("/answer", { method: "POST", headers, body: code });
    const answer = await response.json();
    outcome.textContent = response.ok ? "The agent has your answer." : answer.error;
    button.disabled = response.status !== 503;
  } catch {
    outcome.textContent = "The gateway cannot be reached. Try again.";
    button.disabled = false;
  }
});
