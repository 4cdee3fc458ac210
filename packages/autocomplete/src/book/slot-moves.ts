/**
 * A book while its slot moves to another node of a Cluster.
 *
 * Its scripts find blocks through the directory, and one that had moved already would look empty. That can't happen: they are also
 * given a key that never exists. While the slot moves, a node answers TRYAGAIN to a call of whose keys it lacks one, or ASK and the
 * other node TRYAGAIN, before anything runs. ioredis tries again for about a second; large books move longer.
 */
const RETRY_MS = 100;
const MOST_MS = 30_000;

/** Runs it until the slot has moved, for at most 30 s. What failed so was not run, so that it is no repetition. */
export async function whileSlotMoves<Reply>(run: () => Promise<Reply>): Promise<Reply> {
  const endsAt = performance.now() + MOST_MS;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!isMoving(error) || performance.now() > endsAt) throw error;
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  }
}

/** In the end ioredis tells of its redirections, and only the last of them: ASK, TRYAGAIN and MOVED take turns. */
function isMoving(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.message.startsWith('TRYAGAIN ') || error.message.startsWith('Too many Cluster redirections'))
  );
}
