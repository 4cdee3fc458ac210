/**
 * The options of every public call. A call names its options itself: in the error for an option that it doesn't have. So no list
 * of options has to be kept.
 */
import { inspect } from 'node:util';
import type { CallTable } from './call-table.js';
import { isCoded, isPlain, tryCall } from './call-table.js';

/** No option takes these, but for those that a test names. */
const WRONG: readonly unknown[] = [Symbol('wrong'), 7n, Number.NaN, -1, { nothing: 1 }, [Symbol('wrong')]];

/** One option of one call, such as `Cache near.entries`. */
interface Option {
  readonly name: string;
  /** The call with a value of the option. */
  readonly call: (value: unknown) => unknown;
  /** The call without the option. */
  readonly omit: () => unknown;
}

/** All options of the table, with those of options that are objects. */
async function optionsOf(table: CallTable): Promise<Option[]> {
  const found: Option[] = [];
  const add = async (prefix: string, call: (value: unknown) => unknown, given: object): Promise<void> => {
    const { error } = await tryCall(() => call({ ...given, nothing: 1 }));
    const [, names] = /has no option "nothing"; there are (?!none$)([\w, ]+)$/.exec(textOf(error)) ?? [];
    for (const option of names?.split(', ') ?? []) {
      const { [option]: value, ...others } = given as Record<string, unknown>;
      const withOption = (wrong: unknown): unknown => call({ ...given, [option]: wrong });
      found.push({ name: prefix + option, call: withOption, omit: () => call(others) });
      await add(`${prefix}${option}.`, withOption, isPlain(value) ? value : {});
    }
  };
  for (const [name, [call, ...right]] of Object.entries(table)) {
    for (const [place, given] of right.entries()) {
      if (isPlain(given)) await add(`${name} `, (value) => call(...right.with(place, value)), given);
    }
  }
  if (found.length === 0) throw new Error('no call of the table has named its options');
  return found;
}

/** The options that may be absent and are refused if they are undefined. */
export async function refusedUndefined(table: CallTable): Promise<string[]> {
  const refused: string[] = [];
  for (const { name, call, omit } of await optionsOf(table)) {
    const { text } = await tryCall(() => call(undefined));
    if (isMisuse(text) && !isMisuse((await tryCall(omit)).text)) refused.push(`${name}: ${text}`);
  }
  return refused;
}

/** The options that take a value of a wrong type or a wrong number, or that refuse it without a code of misuse. */
export async function wrongOptionValues(
  table: CallTable,
  takes: (option: string, value: unknown) => boolean,
): Promise<string[]> {
  const taken: string[] = [];
  for (const { name, call } of await optionsOf(table)) {
    for (const value of WRONG) {
      if (takes(name, value)) continue;
      const { text } = await tryCall(() => call(value));
      if (!text.startsWith('ERR_INVALID_')) taken.push(`${name} = ${inspect(value)}: ${text}`);
    }
  }
  return taken;
}

function isMisuse(text: string): boolean {
  return text.startsWith('ERR_INVALID_') || !isCoded(text);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}
