/** redlock 5 ships its types where its `exports` don't lead to. The used members. */
declare module 'redlock' {
  import type { Redis } from 'ioredis';

  export default class Redlock {
    constructor(clients: Iterable<Redis>);
    acquire(resources: string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
  }
}
