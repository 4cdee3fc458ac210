/**
 * A transcript without re-checks and renewals, and what they call. They come with time: the first to whoever waits for a
 * second, the others to whoever holds a claim for half a second. On a busy machine some of that may fall into any test.
 */
export function withoutRechecks(lines: readonly string[]): string[] {
  let isLeftOut = false;
  return lines.filter((line) => {
    if (!line.startsWith(' ')) isLeftOut = /^evalsha \S*\b(?:recheck|renew) /.test(line);
    return !isLeftOut;
  });
}

/** The same, but for the first re-check: that follows a subscription. */
export function withoutLaterRechecks(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => line.startsWith('evalsha') && line.includes('recheck'));
  const next = lines.findIndex((line, index) => index > first && !line.startsWith(' '));
  return first < 0 || next < 0
    ? [...lines]
    : [...lines.slice(0, next), ...withoutRechecks(lines.slice(next))];
}

/**
 * How many extra commands `processes` may have sent in `tookMs`: a waiter re-checks after a second, and asks again for a grant
 * that was on its way for half a second.
 */
export function mostExtras(processes: number, tookMs: number): number {
  return 2 * processes * Math.floor(tookMs / 500);
}
