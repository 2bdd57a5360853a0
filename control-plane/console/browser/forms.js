// @ts-check
/**
 * Keeps what was typed into a form if it cannot be sent: before it goes, asks whether the login
 * still works. Without this script, such a form ends at the sign-in, and its text is lost.
 *
 * And gives a page that answers a form the address of the page with the form: the browser would
 * refuse to come back to it, and its own address is none that can be opened.
 */
import { make } from "./dialog.js";

if (document.querySelector("main[data-answer]")) {
  const { origin, href } = URL.parse(document.referrer) ?? {};
  if (origin === location.origin) history.replaceState(null, "", href);
}

const typed = "input:not([type=hidden], [type=checkbox], [type=radio]), textarea";

/** Whether something on the page was typed and is not sent yet. */
export const hasTyped = () =>
  [...document.querySelectorAll(`main form :is(${typed})`)].some((field) => {
    const { value, defaultValue } = /** @type {HTMLInputElement} */ (field);
    return value !== defaultValue;
  });

/** The form that may go, because its login was just checked. @type {HTMLFormElement | null} */
let isChecked = null;
let isAsking = false;

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  if (!(form instanceof HTMLFormElement) || form.method !== "post") return;
  if (!form.querySelector(typed) || isChecked === form) return;
  event.preventDefault();
  if (!isAsking) void check(form, submitter);
});

/** @param {HTMLFormElement} form @param {HTMLElement | null} submitter */
async function check(form, submitter) {
  isAsking = true;
  const status = await fetch("/api/cli/logins?limit=1").then(
    (answer) => answer.status,
    () => 0,
  );
  isAsking = false;
  form.querySelector(".unsent")?.remove();
  if (status === 401) return say(form, submitter, signedOut);
  if (status === 0) return say(form, submitter, ["The server does not respond. Try again later."]);
  isChecked = form;
  form.requestSubmit(submitter);
  isChecked = null;
}

const signedOut = [
  "You are signed out. ",
  make("a", { href: "/login", target: "_blank" }, "Sign in in another tab"),
  ", then press the button once more.",
];

/** @param {HTMLFormElement} form @param {HTMLElement | null} submitter @param {(Node | string)[]} why */
function say(form, submitter, why) {
  const note = make(
    "p",
    { class: "error flow unsent", role: "alert" },
    "Nothing was sent. ",
    ...why,
  );
  const place = submitter?.closest("form > *");
  if (place) place.before(note);
  else form.append(note);
  note.scrollIntoView({ block: "nearest" });
}
