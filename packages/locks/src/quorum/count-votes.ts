/** The replies of a quorum's nodes at the time when the outcome was certain. */
export interface VoteCount<Reply> {
  /** One for each node; undefined if there was none in time. */
  readonly replies: readonly (Reply | undefined)[];
  /** The errors of the nodes that failed, by the index of the node. */
  readonly causes: ReadonlyMap<number, unknown>;
  readonly yes: number;
  readonly no: number;
  readonly isWon: boolean;
  /** Whether the replies exclude a majority of yes, whatever the silent nodes reply. */
  readonly isLost: boolean;
}

/** More than half. */
export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1;
}

/**
 * Resolves as soon as the outcome is certain: a majority said yes, or can no longer do so. It waits for the slowest node
 * only if others failed, to tell a held lock from unreachable nodes. Each request has to end in bounded time.
 */
export function countVotes<Reply>(
  requests: readonly Promise<Reply>[],
  isYes: (reply: Reply) => boolean,
): Promise<VoteCount<Reply>> {
  const majority = majorityOf(requests.length);
  const replies: (Reply | undefined)[] = requests.map(() => undefined);
  const causes = new Map<number, unknown>();
  let [yes, no, isDecided] = [0, 0, false];
  return new Promise((resolve) => {
    const decide = (): void => {
      const isWon = yes >= majority;
      const isLost = requests.length - no < majority;
      isDecided = isWon || isLost || yes + no + causes.size === requests.length;
      if (isDecided) resolve({ replies, causes, yes, no, isWon, isLost });
    };
    const accept = (index: number, reply: Reply): void => {
      if (isDecided) return;
      replies[index] = reply;
      if (isYes(reply)) yes += 1;
      else no += 1;
      decide();
    };
    const fail = (index: number, cause: unknown): void => {
      if (isDecided) return;
      causes.set(index, cause);
      decide();
    };
    for (const [index, request] of requests.entries()) {
      request.then(
        (reply) => accept(index, reply),
        (error: unknown) => fail(index, error),
      );
    }
  });
}
