/**
 * Requests to the server that the page came from, and the card that says why one failed.
 * @module
 */
import { button, h } from "./dom.js";

/** A refusal, or no answer at all (`status` 0), in a sentence. */
export class RequestError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Return the JSON of an answer.
 * @param {string} path
 * @param {string} unreachable what to say if nothing answers
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
export async function request(path, unreachable, init = {}) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", ...init });
  } catch {
    throw new RequestError(0, unreachable);
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new RequestError(answer.status, String(body?.error ?? `The server answered HTTP ${answer.status}.`));
  // The server has ended before its answer had.
  if (body === null) throw new RequestError(0, unreachable);
  return body;
}

/**
 * An error as a card: what went wrong, and how to continue.
 * @param {unknown} error
 * @param {() => void} retry
 * @param {string} [title]
 * @param {Node} [help] what is shown instead of the error's own message
 */
export function problemCard(error, retry, title = "Something went wrong", help) {
  const message = error instanceof RequestError ? error.message : "This page has a bug. Reload it, and report the bug.";
  return h(
    "section",
    { class: "card failure", "aria-label": "Problem" },
    h("h2", {}, title),
    help ?? h("p", {}, message),
    h("p", { class: "buttons" }, button("Try again", retry)),
  );
}
