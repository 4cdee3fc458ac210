/**
 * Calls of a book while its slot moves to another node of a Cluster.
 *
 * Its scripts find blocks through the directory. A block that has moved already would look empty. A key that never exists prevents
 * that: while a slot moves, a node that lacks one of a call's keys replies TRYAGAIN, or ASK and the other node TRYAGAIN, before
 * anything runs. ioredis repeats the call for about a second; large books take longer to move.
 */
const RETRY_MS = 100;
const MAX_WAIT_MS = 30_000;

/** Repeats a call until the slot has moved, for up to 30 s. A refused call changed nothing. */
export async function whileSlotMoves<Reply>(run: () => Promise<Reply>): Promise<Reply> {
  const endsAt = performance.now() + MAX_WAIT_MS;
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

/** ioredis fails with an error about its redirections, or with the last reply: ASK, TRYAGAIN and MOVED alternate. */
function isMoving(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.message.startsWith('TRYAGAIN ') || error.message.startsWith('Too many Cluster redirections'))
  );
}
