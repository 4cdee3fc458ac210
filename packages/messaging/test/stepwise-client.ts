import type { RedisClient } from '@mortise/redis';
import { gate, interposed } from '@mortise/test-kit';
import type { Cluster, Redis } from 'ioredis';

export { interposed as stepwise };

/** Where a process dies: before its n-th step reaches the server, or before the reply to it arrives. */
export interface Death {
  readonly step: number;
  readonly isExecuted: boolean;
}

export class DeathError extends Error {
  override readonly name = 'DeathError';
}

/** A client whose process dies at a step: from then on, nothing that it sends reaches the server. */
export function mortal(redis: Redis | Cluster, death: Death): RedisClient {
  return interposed(redis, async (step, send) => {
    if (step < death.step) return send();
    if (step === death.step && death.isExecuted) await send();
    throw new DeathError(`died at step ${death.step}`);
  });
}

/** A client that sends a number of steps at once, and later ones when it is released. */
export function slowlyAfter(
  redis: Redis | Cluster,
  steps: number,
): { slow: RedisClient; release: () => void } {
  const released = gate();
  const slow = interposed(redis, async (step, send) => {
    if (step > steps) await released.passed;
    return send();
  });
  return { slow, release: () => released.open() };
}

/** Runs an action at each death that it can die, until it lives through; it learns whether it did. */
export async function dieEverywhere(live: (death: Death) => Promise<boolean>): Promise<number> {
  for (let step = 1; ; step += 1) {
    if (step > 50) throw new Error('the action has no end');
    let isAlive = false;
    for (const isExecuted of [false, true]) {
      isAlive = await live({ step, isExecuted });
    }
    if (isAlive) return step - 1;
  }
}
