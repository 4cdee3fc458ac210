/**
 * The time of the fastest of several runs, ms; each run returns its own time. Other loads of the machine slow some runs, a
 * wait of the code slows all of them.
 */
export async function fastestOf(runs: number, run: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < runs; index += 1) times.push(await run());
  return Math.min(...times);
}
