/** How deep a body may be nested: what JSON parsers and whatever wraps it survive, with room to spare. */
export const MAX_DEPTH = 128;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Counts brackets outside strings. A text of at most `2 * depth` characters cannot be that deep. O(length). */
export function isDeeperThan(json: string, depth: number): boolean {
  if (json.length <= 2 * depth) return false;
  let open = 0;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (code === QUOTE) {
      // To the end of the string.
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

/** Whether it is what `JSON.stringify` throws for a value in which it runs out of stack. */
export function isOutOfStack(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack');
}
