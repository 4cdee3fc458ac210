/**
 * How long the fastest of so many runs took, each of which gives its own time, ms: what other loads of the machine add
 * is not in all of them, but what is always waited for is.
 */
export async function fastestOf(runs: number, run: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < runs; index += 1) times.push(await run());
  return Math.min(...times);
}
