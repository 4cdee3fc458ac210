import type { RedisClient } from '@mortise/redis';
import type { Cluster, Redis } from 'ioredis';

/** Where a process dies: before its n-th step reaches the server, or before the reply to it arrives. */
export interface Death {
  readonly step: number;
  readonly isExecuted: boolean;
}

export class DeathError extends Error {
  override readonly name = 'DeathError';
}

interface Pipeline {
  exec(): Promise<unknown>;
}

/**
 * A client that does something around each of its steps, counted from 1. A step is a command, with its arguments, or on a single node a pipeline.
 */
export function stepwise(
  redis: Redis | Cluster,
  around: (step: number, send: () => Promise<unknown>, args: readonly unknown[]) => Promise<unknown>,
): RedisClient {
  // Each client that wraps it has listeners of its own on it.
  redis.setMaxListeners(0);
  let steps = 0;
  const step = (send: () => Promise<unknown>, args: readonly unknown[] = []): Promise<unknown> => {
    steps += 1;
    return around(steps, send, args.flat());
  };
  return new Proxy(redis, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => unknown;
      if (name === 'call' || name === 'callBuffer') {
        return (...args: unknown[]) => step(() => method(...args) as Promise<unknown>, args);
      }
      if (name !== 'pipeline') return method;
      return () => {
        const pipeline = method() as Pipeline;
        const exec = pipeline.exec.bind(pipeline);
        pipeline.exec = () => step(exec);
        return pipeline;
      };
    },
  });
}

/** A client whose process dies at a step: from then on, nothing that it sends reaches the server. */
export function mortal(redis: Redis | Cluster, death: Death): RedisClient {
  return stepwise(redis, async (step, send) => {
    if (step < death.step) return send();
    if (step === death.step && death.isExecuted) await send();
    throw new DeathError(`died at step ${death.step}`);
  });
}

/** A client that sends so many steps at once, and what comes behind them when it is released. */
export function slowlyAfter(
  redis: Redis | Cluster,
  steps: number,
): { slow: RedisClient; release: () => void } {
  let release!: () => void;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = stepwise(redis, async (step, send) => {
    if (step > steps) await released;
    return send();
  });
  return { slow, release };
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
