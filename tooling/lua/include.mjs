/**
 * Lua that several scripts share stands once, in `<class>.<what>.part.lua`. A script of more than 400 lines keeps sections in
 * `<class>.<what>.section.lua`. Each replaces this line:
 *
 *   -- include <class>.<what>.part.lua
 *
 * Lua in Redis has no `require`. A part names the locals that it expects at its top, and may include other parts; KEYS and
 * ARGV stay in the prologue of the script.
 */

const INCLUDE = /^-- include ([a-z][A-Za-z0-9.-]*\.(?:part|section)\.lua)$/gm;

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
