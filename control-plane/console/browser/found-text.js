// @ts-check
/** Shows what a search found within a line, which may be many times as wide as the page. */

/**
 * Marks the first place of a text in a line, and brings it into view sideways. The mark goes when
 * the line is painted anew.
 * @param {HTMLElement} box the element that scrolls
 * @param {HTMLElement} line
 * @param {string} wanted in small letters
 */
export function showFound(box, line, wanted) {
  const begin = (line.textContent ?? "").toLowerCase().indexOf(wanted);
  if (begin < 0) return;
  const range = document.createRange();
  range.setStart(...placeIn(line, begin));
  range.setEnd(...placeIn(line, begin + wanted.length));
  CSS.highlights?.set("found", new Highlight(range));
  const { left, right } = range.getBoundingClientRect();
  const from =
    box.getBoundingClientRect().left + Number.parseFloat(getComputedStyle(line).paddingLeft);
  const to = box.getBoundingClientRect().left + box.clientWidth;
  if (left < from || right > to) box.scrollLeft += left - (from + to) / 2;
}

/**
 * The text node with a character of the line, and the character's place in it.
 * @param {HTMLElement} line @param {number} at @returns {[Node, number]}
 */
function placeIn(line, at) {
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  let rest = at;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const length = node.textContent?.length ?? 0;
    if (rest <= length) return [node, rest];
    rest -= length;
  }
  // Small letters can be more characters than the text has.
  return [line, line.childNodes.length];
}
