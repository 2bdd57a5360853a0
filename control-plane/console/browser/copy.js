// @ts-check
/**
 * Buttons that copy the text of an element: `data-copy` names it. Where the browser does not let a
 * page copy, the text is selected.
 */

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.getAttribute("data-copy") ?? "");
  const said = button.nextElementSibling;
  if (!source || !said) continue;
  button.removeAttribute("hidden");
  button.addEventListener("click", () => {
    copy(source).then(
      () => (said.textContent = "Copied."),
      () => (said.textContent = "Selected: copy it with Ctrl+C or ⌘C."),
    );
  });
}

/** @param {HTMLElement} source */
async function copy(source) {
  getSelection()?.selectAllChildren(source);
  // Only pages of https and of this machine have a clipboard.
  await navigator.clipboard.writeText(source.textContent);
}
