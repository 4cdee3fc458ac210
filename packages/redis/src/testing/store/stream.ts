/** A stream: entries in the order of their ids. */

export interface StreamId {
  readonly ms: bigint;
  readonly seq: bigint;
}

export interface StreamEntry extends StreamId {
  readonly fields: readonly string[];
}

export function compareIds(left: StreamId, right: StreamId): number {
  if (left.ms !== right.ms) return left.ms < right.ms ? -1 : 1;
  if (left.seq === right.seq) return 0;
  return left.seq < right.seq ? -1 : 1;
}

export const idText = ({ ms, seq }: StreamId): string => `${ms}-${seq}`;

export class Stream {
  entries: StreamEntry[] = [];
  last: StreamId = { ms: 0n, seq: 0n };
}
