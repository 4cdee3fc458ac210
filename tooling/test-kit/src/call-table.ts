/**
 * Every public call of a package with arguments that it takes. From such a table come two tests: each call on a closed client
 * rejects with ERR_CLIENT_CLOSED, and each wrong argument is refused with a code.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';

/** By name, such as `queue.enqueue`: the call, and arguments that it takes. */
export type CallTable = Readonly<
  // oxlint-disable-next-line typescript/no-explicit-any -- the calls of a table have nothing in common
  Record<string, readonly [call: (...args: any[]) => unknown, ...args: unknown[]]>
>;

/** A call that has not ended by then waits for something; a misuse is refused before anything is awaited. */
const LIMIT_MS = 10_000;
const MISUSE_LIMIT_MS = 500;

/** The methods of a class and of those that it extends, as a table names them: `queue.enqueue`. */
export function methodsOf(name: string, { prototype }: { readonly prototype: object }): string[] {
  const methods: string[] = [];
  for (let of = prototype; of !== Object.prototype; of = Object.getPrototypeOf(of) as object) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(of))) {
      if (typeof value === 'function' && key !== 'constructor') methods.push(`${name}.${key}`);
    }
  }
  return methods;
}

/** The outcome of each call: its code, `done`, `pending`, or the text of an error without a code. */
export async function outcomesOf(table: CallTable): Promise<Record<string, string>> {
  const outcomes = Object.entries(table).map(
    async ([name, [call, ...args]]) => [name, await outcomeOf(() => call(...args), LIMIT_MS)] as const,
  );
  return Object.fromEntries(await Promise.all(outcomes));
}

const WRONG: readonly unknown[] = [
  undefined,
  null,
  7n,
  Symbol('wrong'),
  Number.NaN,
  -1,
  '',
  '\ud800',
  'nothing',
  {},
  { nothing: 1 },
  [],
  [null],
  () => 0,
  Object.create(null),
];

/** The wrong calls that end with an error without a code: `queue.get(7n): TypeError: …`. Each one has one wrong argument. */
export async function uncodedMisuses(table: CallTable): Promise<string[]> {
  const found: string[] = [];
  for (const [name, [call, ...right]] of Object.entries(table)) {
    const calls = right.flatMap((_, place) =>
      WRONG.map(async (wrong) => {
        const args = right.with(place, wrong);
        const outcome = await outcomeOf(() => call(...args), MISUSE_LIMIT_MS);
        if (isCoded(outcome)) return;
        found.push(`${name}, argument ${place}, ${inspect(wrong)}: ${outcome}`);
      }),
    );
    await Promise.all(calls);
  }
  return found;
}

/** The calls whose last argument is an object, and which take an option there that they don't have. */
export async function unknownOptions(table: CallTable): Promise<string[]> {
  const taken: string[] = [];
  for (const [name, [call, ...right]] of Object.entries(table)) {
    const place = right.length - 1;
    const options = right[place];
    if (!isPlain(options)) continue;
    const outcome = await outcomeOf(() => call(...right.with(place, { ...options, nothing: 1 })), LIMIT_MS);
    if (outcome !== 'ERR_INVALID_ARG') taken.push(`${name}: ${outcome}`);
  }
  return taken;
}

/** Whether a call has ended with a code, or has not been refused. */
export function isCoded(text: string): boolean {
  return /^([A-Z][A-Z_]+|done|pending)$/.test(text);
}

/** An object literal. */
export function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The code of a wrong call, `done`, `pending`, or the text of an error without a code; and the error. */
export async function tryCall(
  act: () => unknown,
  limitMs = MISUSE_LIMIT_MS,
): Promise<{ readonly text: string; readonly error?: unknown }> {
  try {
    const ended = await Promise.race([ending(act()), pause(limitMs, 'pending', { ref: false })]);
    return { text: ended === 'pending' ? 'pending' : 'done' };
  } catch (error) {
    return { text: (error as { code?: string }).code ?? String(error), error };
  }
}

async function outcomeOf(act: () => unknown, limitMs: number): Promise<string> {
  return (await tryCall(act, limitMs)).text;
}

/** The first element stands for a whole iteration. */
async function ending(value: unknown): Promise<unknown> {
  const result = (await value) as Partial<AsyncIterable<unknown>> | undefined | null;
  if (typeof result?.[Symbol.asyncIterator] !== 'function') return undefined;
  const iterator = (result as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  await iterator.next();
  await iterator.return?.();
  return undefined;
}
