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

/** Milliseconds of the epoch. */
export const serverNow = () => Date.now() - (Number.isNaN(ahead) ? 0 : ahead);

/** @returns {Kind} */
const wanted = () => kinds.find((kind) => kind === localStorage.getItem(key)) ?? "ago";

const localTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
/** With the digits and the order of UTC's. */
const localClock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** Whose times a log shows: it has no room for how long ago each of its lines was. */
export const logZone = () => (wanted() === "local" ? "your zone" : "UTC");

/** The time of a line of a log, such as `10:15:02`. @param {number} second of the epoch */
export function logTime(second) {
  const moment = new Date(second * 1000);
  return wanted() === "local" ? localClock.format(moment) : moment.toISOString().slice(11, 19);
}

/** Writes the times of a page, or of a part of it. @param {ParentNode} root */
export function showTimes(root) {
  const kind = wanted();
  const now = serverNow();
  for (const time of root.querySelectorAll("time")) {
    const moment = new Date(time.dateTime);
    const utc = utcOf(time.dateTime);
    const local = localTime.format(moment);
    const text = { ago: age(moment.getTime() - now, utc), utc, local }[kind];
    const said = time.dataset["said"];
    time.title = `${said === undefined ? "" : `${said} `}${utc} · ${local}`;
    // Some times are shown as a duration, which stays one.
    if (!time.hasAttribute("data-duration") && time.textContent !== text) time.textContent = text;
  }
  for (const title of root.querySelectorAll("title[data-time]")) {
    const time = title.getAttribute("data-time") ?? "";
    const utc = utcOf(time);
    const [before] = title.textContent.split(utc);
    const text = `${before}${utc} · ${localTime.format(new Date(time))}`;
    if (title.textContent !== text) title.textContent = text;
  }
}

/** @param {string} time */
const utcOf = (time) => `${time.slice(0, 19).replace("T", " ")} UTC`;

const choice = document.querySelector("select[name=times]");
if (choice instanceof HTMLSelectElement) {
  choice.value = wanted();
  choice.closest("label")?.removeAttribute("hidden");
  choice.addEventListener("change", () => {
    localStorage.setItem(key, choice.value);
    showTimes(document);
    document.dispatchEvent(new Event("times"));
  });
}
showTimes(document);
setInterval(() => {
  if (!document.hidden) showTimes(document);
}, 10_000);
