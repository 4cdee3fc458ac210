/**
 * The sends of a sender that are under way, by the id of the file. `abort` ends them at once, since they would keep
 * renewing their leases.
 */
interface RunningSend {
  readonly name: string;
  /** Aborted with the error of the file: its source failed, or `abort` was called. */
  readonly failure: AbortController;
  readonly ended: Promise<unknown>;
}

export class RunningSends {
  readonly #running = new Map<string, Set<RunningSend>>();

  async run<Result>(
    { id, name }: { readonly id: string; readonly name: string },
    failure: AbortController,
    send: () => Promise<Result>,
  ): Promise<Result> {
    const sending = send();
    const running = { name, failure, ended: sending.catch(() => undefined) };
    const all = this.#running.get(id) ?? new Set();
    this.#running.set(id, all.add(running));
    try {
      return await sending;
    } finally {
      all.delete(running);
      if (all.size === 0) this.#running.delete(id);
    }
  }

  /** Resolves when all sends of that id have ended. Returns whether there were any. */
  async abort(id: string, reasonOf: (name: string) => Error): Promise<boolean> {
    const all = [...(this.#running.get(id) ?? [])];
    for (const { failure, name } of all) failure.abort(reasonOf(name));
    await Promise.all(all.map(({ ended }) => ended));
    return all.length > 0;
  }
}
