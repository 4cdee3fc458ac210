/** Ms since 1970, with fractions: the same in all processes of this machine. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
