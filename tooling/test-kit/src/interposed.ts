/**
 * Clients with something between them and the server: a lost reply, a slow one, a process that dies. Only commands of the
 * packages pass here (`call`, `callBuffer`, and pipelines of them); connections that the packages duplicate are plain.
 */
import type { Cluster, Redis } from 'ioredis';

/** Sends a step, or doesn't, or sends it twice. Steps count from 1; a pipeline is one step, without `args`. */
export type Around = (
  step: number,
  send: () => Promise<unknown>,
  args: readonly unknown[],
) => Promise<unknown>;

type Method = (...args: unknown[]) => unknown;

/** A client that passes each of its steps to a function. */
export function interposed<Client extends Redis | Cluster>(redis: Client, around: Around): Client {
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
      const method = value.bind(target) as Method;
      if (name === 'call' || name === 'callBuffer') {
        return (...args: unknown[]) => {
          const send = (): Promise<unknown> => method(...args) as Promise<unknown>;
          // Asked in the background, once for each client.
          return args[0] === 'info' ? send() : step(send, args);
        };
      }
      return name === 'pipeline' ? () => recorded(() => method() as object, step) : method;
    },
  });
}

/** A pipeline that is made anew each time it is sent. */
function recorded(pipeline: () => object, step: (send: () => Promise<unknown>) => Promise<unknown>): object {
  const calls: { readonly name: string; readonly args: unknown[] }[] = [];
  const send = (): Promise<unknown> => {
    const target = pipeline() as Record<string, Method>;
    for (const { name, args } of calls) target[name]!(...args);
    return target['exec']!() as Promise<unknown>;
  };
  const recorder: object = new Proxy(
    { exec: () => step(send) },
    {
      get: (target, name) =>
        Reflect.get(target, name) ??
        ((...args: unknown[]) => {
          calls.push({ name: String(name), args });
          return recorder;
        }),
    },
  );
  return recorder;
}

/**
 * A client that executes each command twice and returns the second reply, as ioredis does when a connection is cut before
 * the reply: callers have to learn from it what the first reply said.
 */
export function resending<Client extends Redis | Cluster>(redis: Client): Client {
  return interposed(redis, async (_, send) => {
    await send();
    return send();
  });
}
