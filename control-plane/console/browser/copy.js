// @ts-check
/**
 * Buttons that copy the text of an element: `data-copy` names it. Where the browser does not let a
 * page copy, the text is selected.
 */

/** A page without scripts does not show them; parts of a page are drawn again. */
function show() {
  for (const button of document.querySelectorAll("button[data-copy][hidden]"))
    button.removeAttribute("hidden");
}
show();
document.addEventListener("drawn", show);

document.addEventListener("click", ({ target }) => {
  const button = target instanceof Element ? target.closest("button[data-copy]") : null;
  const named = document.getElementById(button?.getAttribute("data-copy") ?? "");
  const said = button?.nextElementSibling;
  if (named && said) void copy(named, said);
});

/** @param {HTMLElement} named @param {Element} said */
async function copy(named, said) {
  // A long value is folded; all of it is copied.
  const source = named.querySelector("details pre") ?? named;
  try {
    getSelection()?.selectAllChildren(source);
    // Only pages of https and of this machine have a clipboard.
    await navigator.clipboard.writeText(source.textContent);
    said.textContent = "Copied.";
  } catch {
    source.closest("details")?.setAttribute("open", "");
    getSelection()?.selectAllChildren(source);
    said.textContent = "Selected: copy it with Ctrl+C or ⌘C.";
  }
}
