import type { TaskContext } from '../work/attempt.js';

/** The context that a test gives to a handler, and what the handler did with it. */
export interface TestContext extends TaskContext {
  readonly progressed: readonly unknown[];
  readonly logged: readonly string[];
}

/**
 * A context for a direct call of a handler, without a queue: `await handlers['mail.send'](payload, testContext())`. The context
 * records progress and log lines, and renews no lease. It runs each step and keeps the cursor; `sleep` resolves at once.
 * `waitFor` rejects, unless you pass a function for it.
 */
export function testContext(given: Partial<TaskContext> = {}): TestContext {
  const progressed: unknown[] = [];
  const logged: string[] = [];
  let cursor: unknown;
  return {
    id: 'test',
    queue: 'test',
    name: 'test',
    attempt: 1,
    attempts: 1,
    headers: {},
    signal: new AbortController().signal,
    renew: async () => undefined,
    progress: async (value) => void progressed.push(value),
    log: async (text) => void logged.push(text),
    children: async () => [],
    step: async (_name, run) => run(),
    cursor: async () => cursor,
    setCursor: async (value) => void (cursor = value),
    sleep: async () => undefined,
    waitFor: async (event) => {
      throw new Error(`testContext: pass a waitFor that answers the event ${JSON.stringify(event)}`);
    },
    ...given,
    progressed,
    logged,
  };
}
