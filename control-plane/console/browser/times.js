// @ts-check
/**
 * Times as the reader wants them: how long ago, in UTC, or in the reader's own zone. The others are
 * in the tooltip. Without a script the page shows what the server wrote, mostly UTC.
 */

import { age } from "./age.js";

const key = "windlass.times";
const kinds = /** @type {const} */ (["ago", "utc", "local"]);
/** @typedef {typeof kinds[number]} Kind */

/** A reader's clock may be wrong: ages are counted by the server's. */
const ahead =
  Date.now() - Date.parse(document.querySelector("[data-now]")?.getAttribute("data-now") ?? "");

/** @returns {Kind} */
const wanted = () => kinds.find((kind) => kind === localStorage.getItem(key)) ?? "ago";

/** Writes the times of a page, or of a part of it. @param {ParentNode} root */
export function showTimes(root) {
  const kind = wanted();
  const now = Date.now() - (Number.isNaN(ahead) ? 0 : ahead);
  for (const time of root.querySelectorAll("time")) {
    const moment = new Date(time.dateTime);
    const utc = `${time.dateTime.slice(0, 19).replace("T", " ")} UTC`;
    const local = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
    const text = { ago: age(moment.getTime() - now, utc), utc, local }[kind];
    time.title = `${utc} · ${local}`;
    // Some times are shown as a duration, which stays one.
    if (!time.hasAttribute("data-duration") && time.textContent !== text) time.textContent = text;
  }
}

const choice = document.querySelector("select[name=times]");
if (choice instanceof HTMLSelectElement) {
  choice.value = wanted();
  choice.closest("label")?.removeAttribute("hidden");
  choice.addEventListener("change", () => {
    localStorage.setItem(key, choice.value);
    showTimes(document);
  });
}
showTimes(document);
setInterval(() => {
  if (!document.hidden) showTimes(document);
}, 10_000);
