/**
 * The addresses of the children of a task, as its record has them: in runs, since most children have ids that follow from
 * their parent. 1,000 of those take 6 bytes. Rejected: a field for each child beside its parent, deleted at its end, which
 * takes 90 bytes and a command for each child.
 */
import { createHash } from 'node:crypto';
import { decodeTaskId } from '../task/task-id.js';
import type { ChildRun } from '../task/record.js';

/** The place of a task of a flow. */
export interface TaskAddress {
  readonly queue: string;
  readonly id: string;
}

const UUID_BYTES = 16;
/** Together with headers, a list must fit into the extras of a record, 64 KiB. */
const MAX_LIST_BYTES = 16_384;

/** A UUID derived from parent and index, so equal for the same child of the same parent. */
export function childId({ queue, id }: TaskAddress, index: number): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([queue, id, index]))
    .digest()
    .subarray(0, UUID_BYTES);
  hash[6] = (hash[6]! & 0x0f) | 0x80;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  return decodeTaskId(hash);
}

/** Undefined without children, and for ids that take too many bytes. @param given Whether the caller gave the id. */
export function encodeChildren(
  parent: TaskAddress,
  children: readonly (TaskAddress & { readonly given: boolean })[],
): readonly ChildRun[] | undefined {
  const runs: { queue: string; what: number | string }[] = [];
  for (const { queue, id, given } of children) {
    const last = runs.at(-1);
    if (!given && typeof last?.what === 'number' && last.queue === queue) last.what += 1;
    else runs.push({ queue, what: given ? id : 1 });
  }
  if (runs.length === 0) return undefined;
  const list = runs.map(({ queue, what }) => (queue === parent.queue ? what : ([queue, what] as const)));
  return Buffer.byteLength(JSON.stringify(list)) > MAX_LIST_BYTES ? undefined : list;
}

export function decodeChildren(parent: TaskAddress, list: readonly ChildRun[]): TaskAddress[] {
  const children: TaskAddress[] = [];
  for (const run of list) {
    const [queue, what] = typeof run === 'object' ? run : [parent.queue, run];
    if (typeof what === 'string') children.push({ queue, id: what });
    else
      for (let left = what; left > 0; left -= 1)
        children.push({ queue, id: childId(parent, children.length) });
  }
  return children;
}
