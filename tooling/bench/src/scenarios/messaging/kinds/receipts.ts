import type { Audience } from '../kind.js';

/** How many messages each member has had. */
export class Receipts implements Audience {
  readonly #had: Map<string, number>;
  #awaited = 0;
  /** How many have fewer than that. */
  #missing = 0;
  #resolve: (() => void) | undefined;

  constructor(members: readonly string[]) {
    this.#had = new Map(members.map((member) => [member, 0]));
  }

  add(member: string, messages: number): void {
    const before = this.#had.get(member)!;
    this.#had.set(member, before + messages);
    if (before >= this.#awaited || before + messages < this.#awaited) return;
    this.#missing -= 1;
    if (this.#missing === 0) this.#resolve?.();
  }

  /** One wait at a time. */
  until(messages: number): Promise<void> {
    this.#awaited = messages;
    this.#missing = [...this.#had.values()].filter((had) => had < messages).length;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.#missing === 0) resolve();
    });
  }
}
