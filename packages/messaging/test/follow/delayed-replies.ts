/** A client whose replies a test delays: the server has executed a command, and the process doesn't know it yet. */
import type { RedisClient } from '@mortise/redis';
import { until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

interface Pipeline {
  call(...parts: unknown[]): unknown;
  exec(): Promise<unknown>;
}

export interface DelayedReplies {
  readonly client: RedisClient;
  /** Delays replies to commands with one of these parts, such as a key, from now on. */
  hold(...parts: string[]): void;
  /** Resolves at the next delayed reply to a function that delivers it. */
  next(): Promise<() => void>;
  /** Delivers all replies, also later ones. */
  letGo(): void;
}

export function delayReplies(redis: Redis): DelayedReplies {
  let wanted: readonly string[] = [];
  const held: (() => void)[] = [];
  const pass = async (parts: readonly unknown[], reply: Promise<unknown>): Promise<unknown> => {
    await reply.catch(() => undefined);
    if (wanted.some((part) => parts.includes(part))) {
      await new Promise<void>((resolve) => {
        held.push(resolve);
      });
    }
    return reply;
  };
  // Each client that wraps it has listeners of its own on it.
  redis.setMaxListeners(0);
  const client = new Proxy(redis, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => unknown;
      if (name === 'call' || name === 'callBuffer') {
        return (...args: unknown[]) => pass(args.flat(), method(...args) as Promise<unknown>);
      }
      if (name !== 'pipeline') return method;
      return () => {
        const pipeline = method() as Pipeline;
        const parts: unknown[] = [];
        const [call, exec] = [pipeline.call.bind(pipeline), pipeline.exec.bind(pipeline)];
        pipeline.call = (...args) => {
          parts.push(...args.flat());
          return call(...args);
        };
        pipeline.exec = () => pass(parts, exec());
        return pipeline;
      };
    },
  });
  return {
    client,
    hold: (...parts) => {
      wanted = parts;
    },
    next: async () => {
      await until('a reply that is held', () => held.length > 0);
      return held.shift()!;
    },
    letGo: () => {
      wanted = [];
      for (const release of held.splice(0)) release();
    },
  };
}
