/**
 * Pictures that an agent sends with its words. They are decoded from what it sent, and never
 * fetched from anywhere.
 * @module
 */
import { h } from "./dom.js";

/** No vector graphics: those can hold a script, and what they show may lie elsewhere. */
const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const MAX_CHARS = 11_000_000;
const MAX_PIXELS = 40_000_000;

/**
 * A picture, or why it is not shown.
 * @param {any} block as ACP has it: `type` is `image`, `data` is base64
 * @param {() => void} [changed] is called once it has its size
 */
export function picture(block, changed) {
  const place = h("div", { class: "picture" });
  const refuse = (/** @type {string} */ why) => place.replaceChildren(h("span", { class: "quiet" }, `(A picture that is not shown: ${why}.)`));
  const { data, mimeType } = block;
  if (typeof data !== "string" || !KINDS.includes(mimeType)) return refuse("it is of another kind than PNG, JPEG, GIF and WebP"), place;
  if (data.length > MAX_CHARS) return refuse("it has more than 8 MB"), place;
  let bytes;
  try {
    const raw = atob(data);
    bytes = new Uint8Array(raw.length);
    for (let place = 0; place < raw.length; place += 1) bytes[place] = raw.charCodeAt(place);
  } catch {
    return refuse("it is damaged"), place;
  }
  const url = URL.createObjectURL(new Blob([bytes], { type: mimeType }));
  const shown = h("img", { alt: "Picture from the agent", decoding: "async" });
  shown.onload = () => {
    if (shown.naturalWidth * shown.naturalHeight > MAX_PIXELS) refuse("it is too large");
    // It is only decoded once it is to be seen.
    else place.append(shown);
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    changed?.();
  };
  shown.onerror = () => {
    refuse("it is damaged");
    URL.revokeObjectURL(url);
  };
  shown.src = url;
  return place;
}
