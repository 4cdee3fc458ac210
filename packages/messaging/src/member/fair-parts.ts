/**
 * The largest part that each may have of the bytes, when those who want less leave theirs to the others: with it, all together
 * have exactly the bytes. `Infinity` when there is enough for everybody. O(n log n).
 */
export function largestPart(wanted: readonly number[], bytes: number): number {
  let left = bytes;
  let others = wanted.length;
  for (const want of wanted.toSorted((a, b) => a - b)) {
    if (want * others > left) return left / others;
    left -= want;
    others -= 1;
  }
  return Infinity;
}
