/** Maximum nesting of a body; JSON parsers and wrappers accept more. */
export const MAX_DEPTH = 128;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether the JSON text is nested deeper: counts brackets outside strings. A text of `2 * depth` characters is never deeper. O(length). */
export function isDeeperThan(json: string, depth: number): boolean {
  if (json.length <= 2 * depth) return false;
  let open = 0;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code === QUOTE) {
      // Skips to the end of the string.
      for (index += 1; json.charCodeAt(index) !== QUOTE; index += 1) {
        if (json.charCodeAt(index) === BACKSLASH) index += 1;
      }
    } else if (code === 0x7b || code === 0x5b) {
      open += 1;
      if (open > depth) return true;
    } else if (code === 0x7d || code === 0x5d) open -= 1;
  }
  return false;
}

/** Whether `JSON.stringify` ran out of stack. */
export function isOutOfStack(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack');
}
