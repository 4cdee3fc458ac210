/** What the nodes of a quorum have answered when it was decided. */
export interface Ballot<Reply> {
  /** One for each node; undefined where there was none in time. */
  readonly replies: readonly (Reply | undefined)[];
  /** What kept the nodes from answering, by the index of the node. */
  readonly causes: ReadonlyMap<number, unknown>;
  readonly yes: number;
  readonly no: number;
  readonly isWon: boolean;
  /** The answers alone rule out a majority of yes, whatever the silent nodes would say. */
  readonly isLost: boolean;
}

/** More than half. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/**
 * Resolves as soon as the outcome is certain: a majority said yes, or so many said no that none can. The slowest node is
 * waited for only when others failed, because it then tells a lock that is held from nodes that are down. Each of the asks
 * has to end by itself in bounded time.
 */
export function count<Reply>(
  asks: readonly Promise<Reply>[],
  isYes: (reply: Reply) => boolean,
): Promise<Ballot<Reply>> {
  const majority = majorityOf(asks.length);
  const replies: (Reply | undefined)[] = asks.map(() => undefined);
  const causes = new Map<number, unknown>();
  let [yes, no, isOver] = [0, 0, false];
  return new Promise((resolve) => {
    const decide = (): void => {
      const isWon = yes >= majority;
      const isLost = asks.length - no < majority;
      isOver = isWon || isLost || yes + no + causes.size === asks.length;
      if (isOver) resolve({ replies, causes, yes, no, isWon, isLost });
    };
    const tally = (index: number, reply: Reply): void => {
      if (isOver) return;
      replies[index] = reply;
      if (isYes(reply)) yes += 1;
      else no += 1;
      decide();
    };
    const fail = (index: number, cause: unknown): void => {
      if (isOver) return;
      causes.set(index, cause);
      decide();
    };
    for (const [index, ask] of asks.entries()) {
      ask.then(
        (reply) => tally(index, reply),
        (error: unknown) => fail(index, error),
      );
    }
  });
}
