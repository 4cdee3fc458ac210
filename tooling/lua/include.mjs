/**
 * Lua that several scripts share stands once, in `<class>.<what>.part.lua`. A script of more than 400 lines keeps sections in
 * `<class>.<what>.section.lua`. Each replaces this line:
 *
 *   -- include <class>.<what>.part.lua
 *
 * Lua in Redis has no `require`. A part names the locals that it expects at its top, and may include other parts; KEYS and
 * ARGV stay in the prologue of the script. Parts of all packages lie in this folder, such as the time of the server.
 */

const INCLUDE = /^[ \t]*-- include ([a-z][A-Za-z0-9.-]*\.(?:part|section)\.lua)$/gm;

/**
 * The text in pieces: strings, and the parts that are to stand once among the scripts of a package.
 *
 * @param {string} text
 * @param {(part: string) => string} read the text of a part
 * @param {(part: string) => boolean} isShared
 * @returns {(string | { part: string })[]}
 */
export function piecesOf(text, read, isShared) {
  const pieces = [];
  let from = 0;
  for (const { 0: line, 1: part, index } of text.matchAll(INCLUDE)) {
    pieces.push(text.slice(from, index));
    pieces.push(...(isShared(part) ? [{ part }] : piecesOf(read(part).trimEnd(), read, isShared)));
    from = index + line.length;
  }
  return [...pieces, text.slice(from)];
}

/**
 * The parts that a script includes, also through others.
 *
 * @param {string} text
 * @param {(part: string) => string} read the text of a part
 * @param {Set<string>} found
 */
export function partsOf(text, read, found = new Set()) {
  for (const [, part] of text.matchAll(INCLUDE)) {
    found.add(part);
    partsOf(read(part), read, found);
  }
  return found;
}

/**
 * @param {string} name stands in refusals
 * @param {string} text
 * @param {(part: string) => string} read the text of a part
 */
export function includeParts(name, text, read) {
  return text.replaceAll(INCLUDE, (_, part) => {
    const body = read(part).trimEnd();
    if (/\b(?:KEYS|ARGV)\b/.test(body) || body.startsWith('#!')) {
      throw new Error(`${name}: ${part} is a part, which has no first line of its own, no KEYS and no ARGV`);
    }
    return includeParts(part, body, read);
  });
}
