/** The children of a task with their states, for pages. */
import type { Child } from '../flow/child.js';
import type { TaskAddress } from '../flow/child-list.js';
import type { Queue } from '../queue.js';
import type { TaskState } from '../task/task.js';

/** A child of a flow. Each has its queue and its id. */
export interface FlowChild extends TaskAddress, Partial<Omit<Child, 'state' | 'queue' | 'id'>> {
  /** Undefined: its queue doesn't have it yet, or no longer, or the page may not show it. */
  readonly state?: TaskState | 'removed';
}

export interface ChildrenOfTask {
  /** How many there are. */
  readonly count: number;
  /** In the order of the flow. Fewer than `count`: those that are missing have not ended, and their addresses are not known. */
  readonly items: readonly FlowChild[];
}

type Parent = Pick<Queue, 'children'>;
type Home = Pick<Queue, 'summary'>;

/**
 * The children of a task: those that have ended as their parent keeps them, the others as their queues have them. Null for a task without
 * children. The round trips of `Queue.children`, and one for all that have not ended; O(children · log n).
 *
 * @param open The queue of a child; undefined if there is none, or none to show.
 */
export async function childrenOf(
  queue: Parent,
  id: string,
  open: (name: string) => Promise<Home | undefined>,
): Promise<ChildrenOfTask | null> {
  const children = await queue.children(id);
  if (!children) return null;
  const { count, ended, all } = children;
  if (!all) return { count, items: ended };
  const ends = new Map(ended.map((child) => [placeOf(child), child]));
  const names = new Set(all.map((child) => child.queue));
  const homes = new Map(
    await Promise.all(Array.from(names, async (name) => [name, await open(name)] as const)),
  );
  const items = all.map(async (child) => ends.get(placeOf(child)) ?? seen(child, homes.get(child.queue)));
  return { count, items: await Promise.all(items) };
}

async function seen({ queue, id }: TaskAddress, home: Home | undefined): Promise<FlowChild> {
  const task = await home?.summary(id);
  if (!task) return { queue, id };
  const { name, state, finishedAt, error } = task;
  return { queue, id, name, state, ...(finishedAt !== undefined && { finishedAt }), ...(error && { error }) };
}

function placeOf({ queue, id }: TaskAddress): string {
  return JSON.stringify([queue, id]);
}
