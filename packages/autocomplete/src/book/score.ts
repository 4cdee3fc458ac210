/** The score of a rank, as `book.score.part.lua` has it. */
const UNITS = 1_000;
const OFFSET = 1_100;

/** @param halfLives how many the server's clock counted when it answered */
export function scoreOf(rank: string, halfLifeMs: number, halfLives: string): number {
  const value = Number(rank);
  if (value === 0) return 0;
  if (halfLifeMs === 0) return -value;
  return Math.min(Number.MAX_VALUE, 2 ** (-value / UNITS - OFFSET - Number(halfLives)));
}
