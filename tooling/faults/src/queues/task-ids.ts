/** Tasks of a run are numbered; the id says which one it is, whatever the queue. */
export function taskId(index: number): string {
  return `t${index}`;
}

/** Tasks of a schedule are numbered by the second of their instant. */
export const SCHEDULED_TASKS = 100_000;

export function taskIndex(id: string): number {
  if (id.startsWith('t@')) return Math.floor(Date.parse(id.slice(2)) / 1_000) % SCHEDULED_TASKS;
  const index = Number(id.slice(1));
  if (!Number.isInteger(index) || id[0] !== 't') throw new TypeError(`${id} is no id of this run`);
  return index;
}

/** A result says which execution it is of. */
export function resultOf(worker: number, execution: number): number {
  return worker * 2 ** 32 + execution;
}
