/** One task, and how many there are, as one shard tells. */
import { queueCounts, queueGet } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import type { Counts, Task, TaskState } from '../task/task.js';
import { readTask } from '../task/task.js';

/** The states in the order in which queue.counts.lua tells of them. */
const STATES = [
  'scheduled',
  'ready',
  'active',
  'retrying',
  'succeeded',
  'dead',
  'cancelled',
  'waiting',
] as const satisfies readonly TaskState[];

/** The task, or null when this shard doesn't know it. */
export async function lookUp<Tasks>(shard: Shard, id: string, storedId: Buffer): Promise<Task<Tasks> | null> {
  const { keys, settings, redis } = shard;
  const reply = await settings.run(() =>
    queueGet.runBuffer(
      redis,
      { ...keys.of, priorityKeys: settings.priorityKeys },
      { expectedSettings: settings.text, id: storedId },
    ),
  );
  if (reply === null) return null;
  const [record, state, instant, last, progress, logs] = reply as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ];
  const stored = { record, state: state.toString() as TaskState, instant, last, progress, logs };
  return readTask<Tasks>(id, settings.values.priorities, stored);
}

/** How many tasks of each state there are in these shards together. */
export async function countAll(shards: readonly Shard[]): Promise<Counts> {
  const replies = await Promise.all(
    shards.map((shard) =>
      shard.call((keys, { expectedSettings }) => queueCounts.run(shard.redis, keys, { expectedSettings })),
    ),
  );
  const sums = STATES.map((state, index) => {
    const counts = (replies as number[][]).map((reply) => reply[index]!);
    return [state, counts.reduce((sum, count) => sum + count, 0)];
  });
  return Object.fromEntries(sums) as Counts;
}
