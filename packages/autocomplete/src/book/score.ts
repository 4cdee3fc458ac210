/** The constants of `book.score.part.lua`. */
const UNITS = 1_000;
const OFFSET = 1_100;

/**
 * The score of a rank.
 *
 * @param halfLives The server's time in half-lives, from the same reply.
 */
export function scoreOf(rank: string, halfLifeMs: number, halfLives: string): number {
  const value = Number(rank);
  if (value === 0) return 0;
  if (halfLifeMs === 0) return -value;
  return Math.min(Number.MAX_VALUE, 2 ** (-value / UNITS - OFFSET - Number(halfLives)));
}
