/**
 * The members of this process that hold a lock, or are on the way to one beyond their place in a queue. A grant that comes
 * to nobody is given back, unless its member is among these: then it is a copy (during a failover a message may come from
 * the old and from the new master), or tells what a repeated command has told already.
 */
const counts = new Map<string, number>();

const forgotten = new FinalizationRegistry<string>(drop);

export function keep(member: string): void {
  counts.set(member, (counts.get(member) ?? 0) + 1);
}

/** For as long as `owner` is in use: whoever forgets to release a lease leaves nothing behind here. */
export function keepFor(owner: object, member: string): void {
  keep(member);
  forgotten.register(owner, member, owner);
}

export function drop(member: string): void {
  const count = counts.get(member) ?? 0;
  if (count > 1) counts.set(member, count - 1);
  else counts.delete(member);
}

/** Ends what `keepFor` began. */
export function dropFor(owner: object, member: string): void {
  if (forgotten.unregister(owner)) drop(member);
}

export function isAlive(member: string): boolean {
  return counts.has(member);
}
