/**
 * The members of this process that hold a lock or are acquiring one. A grant without a recipient is given back, unless its
 * member is in this set: then the message is a copy. (During a failover both masters may send it, and a repeated command
 * may send it again.)
 */
const counts = new Map<string, number>();

const collected = /* @__PURE__ */ new FinalizationRegistry<string>(remove);

export function add(member: string): void {
  counts.set(member, (counts.get(member) ?? 0) + 1);
}

/** Adds the member until `owner` is garbage-collected, so that an unreleased lease leaves nothing behind. */
export function addFor(owner: object, member: string): void {
  add(member);
  collected.register(owner, member, owner);
}

export function remove(member: string): void {
  const count = counts.get(member) ?? 0;
  if (count > 1) counts.set(member, count - 1);
  else counts.delete(member);
}

/** Undoes `addFor`. */
export function removeFor(owner: object, member: string): void {
  if (collected.unregister(owner)) remove(member);
}

export function has(member: string): boolean {
  return counts.has(member);
}
