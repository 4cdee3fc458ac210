/** A client of which a test holds replies back: what was asked is done at the server, and the process doesn't know it yet. */
import type { RedisClient } from '@mortise/redis';
import { until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

interface Pipeline {
  call(...parts: unknown[]): unknown;
  exec(): Promise<unknown>;
}

export interface HeldReplies {
  readonly client: RedisClient;
  /** Holds from now on what answers commands with one of these parts, such as a key. */
  hold(...parts: string[]): void;
  /** Waits for the next reply that is held, unless one is; returns what lets it through. */
  next(): Promise<() => void>;
  /** Holds nothing any more. */
  letGo(): void;
}

export function heldReplies(redis: Redis): HeldReplies {
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
