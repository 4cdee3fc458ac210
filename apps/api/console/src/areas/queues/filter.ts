/** The language of the filter: `state:dead name:mail.sold payload.item:42 id:…`, in any order. Values with blanks are quoted. */
import { isState, STATES } from './states.ts';
import type { TaskState } from './states.ts';

export interface Filter {
  readonly state: TaskState;
  readonly name?: string;
  /** A member of the payload, such as `user.id`. */
  readonly field?: string;
  readonly equals?: string;
  readonly id?: string;
  /** Words that are no part of the language, and terms that are there already. The list does without them. */
  readonly unknown: readonly string[];
}

const TERM = /(?<key>[A-Za-z_][\w.-]*):(?:"(?<quoted>[^"]*)"?|(?<plain>\S*))|(?<word>\S+)/g;
const PAYLOAD = 'payload.';
const KEYS = ['state:', 'name:', 'payload.', 'id:'];
const DEFAULT_STATE: TaskState = 'ready';

export function parseFilter(text: string): Filter {
  let filter: Filter = { state: DEFAULT_STATE, unknown: [] };
  const given = new Set<string>();
  for (const { groups } of text.matchAll(TERM)) {
    const { key = '', quoted, plain, word } = groups!;
    const value = quoted ?? plain ?? '';
    const term = termOf(key, value);
    const members = Object.keys(term ?? {});
    // A second one would take the place of the first, unseen.
    const isKnown = term !== undefined && !members.some((member) => given.has(member));
    for (const member of members) given.add(member);
    filter = isKnown
      ? { ...filter, ...term }
      : { ...filter, unknown: [...filter.unknown, word ?? `${key}:${value}`] };
  }
  return filter;
}

function termOf(key: string, value: string): Partial<Filter> | undefined {
  if (value === '') return {};
  if (key === 'state') return isState(value) ? { state: value } : undefined;
  if (key === 'name' || key === 'id') return { [key]: value };
  if (key.startsWith(PAYLOAD) && key.length > PAYLOAD.length)
    return { field: key.slice(PAYLOAD.length), equals: value };
  return undefined;
}

export function filterText({ state, name, field, equals }: Omit<Filter, 'unknown' | 'id'>): string {
  const terms = [`state:${state}`];
  if (name !== undefined) terms.push(`name:${quote(name)}`);
  if (field !== undefined) terms.push(`${PAYLOAD}${field}:${quote(equals ?? '')}`);
  return terms.join(' ');
}

function quote(value: string): string {
  return /[\s"]/.test(value) ? `"${value}"` : value;
}

/** Values that may stand at the end of the text. */
export interface Known {
  readonly names: readonly string[];
  /** Members of payloads that were seen. */
  readonly fields: readonly string[];
}

/** The texts that the last word may become. */
export function suggestions(text: string, { names, fields }: Known): string[] {
  const at = text.search(/\S*$/);
  const [before, last] = [text.slice(0, at), text.slice(at)];
  const options = [
    ...KEYS,
    ...STATES.map((state) => `state:${state}`),
    ...names.map((name) => `name:${quote(name)}`),
    ...fields.map((field) => `${PAYLOAD}${field}:`),
  ];
  // Keys first; the values of a key once it is there.
  const depth = (option: string): boolean =>
    last.includes(':') || last.includes('.') || KEYS.includes(option);
  return options
    .filter((option) => option.startsWith(last) && option !== last && depth(option))
    .map((option) => before + option);
}

/** The members of a payload, nested ones by dots. */
export function fieldsOf(payload: unknown, prefix = '', depth = 3): string[] {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload) || depth === 0) return [];
  return Object.entries(payload).flatMap(([name, value]) => {
    const field = prefix + name;
    const nested = fieldsOf(value, `${field}.`, depth - 1);
    return nested.length > 0 ? nested : [field];
  });
}
