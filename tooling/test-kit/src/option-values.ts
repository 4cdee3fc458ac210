/**
 * The options of every public call. A call names its options itself: in the error for an option that it doesn't have. So no list
 * of options has to be kept.
 */
import type { CallTable } from './call-table.js';
import { isCoded, isPlain, tryCall } from './call-table.js';

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
    const [, names] = /has no option "nothing"; there are ([\w, ]+)$/.exec(textOf(error)) ?? [];
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

function isMisuse(text: string): boolean {
  return text.startsWith('ERR_INVALID_') || !isCoded(text);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}
