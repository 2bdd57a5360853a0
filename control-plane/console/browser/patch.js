// @ts-check
/**
 * Makes one piece of a page like another by changing only what differs: focus, selection and what
 * was opened stay.
 */

/** @param {Element} old @param {Element} fresh */
export function patch(old, fresh) {
  const wanted = [...fresh.childNodes];
  const present = [...old.childNodes];
  for (const [index, node] of wanted.entries()) {
    const was = present[index];
    if (was === undefined) old.append(node);
    else if (!isSameKind(was, node)) was.replaceWith(node);
    else if (was instanceof Element) {
      takeAttributes(was, /** @type {Element} */ (node));
      patch(was, /** @type {Element} */ (node));
    } else if (was.nodeValue !== node.nodeValue) was.nodeValue = node.nodeValue;
  }
  for (const node of present.slice(wanted.length)) node.remove();
}

/** @param {Node} one @param {Node} other */
const isSameKind = (one, other) =>
  one.nodeName === other.nodeName &&
  (!(one instanceof Element) || one.id === /** @type {Element} */ (other).id);

/** @param {Element} old @param {Element} fresh */
function takeAttributes(old, fresh) {
  for (const name of old.getAttributeNames())
    if (!fresh.hasAttribute(name) && !isReaders(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value && !isReaders(name)) old.setAttribute(name, value);
}

/** Whether something is open is the reader's to say. @param {string} name */
const isReaders = (name) => name === "open";
