import { requireArray, requireName } from '@mortise/redis';

const HIDDEN = '[redacted]';
/** A deeper value is hidden: a payload of a caller may be nested deeper than the stack is high. */
const MAX_DEPTH = 64;

/** Hides members of payloads, results and progress by their names, at any depth. Case, `_` and `-` of names don't count. */
export class Redactor {
  readonly #names: ReadonlySet<string>;

  /** @param names Of the hidden members, such as `password`. Throws ERR_INVALID_ARG. */
  constructor(names: readonly string[]) {
    this.#names = new Set(requireArray('names', names).map((name) => plainName(requireName('names', name))));
  }

  /** Whether the path of members, joined by dots, leads into a hidden one. A search by its value would reveal it. */
  hides(field: string): boolean {
    return field.split('.').some((member) => this.#names.has(plainName(member)));
  }

  /** A copy with `[redacted]` in place of the values of hidden members. O(members). */
  redact(value: unknown): unknown {
    return this.#redact(value, 0);
  }

  #redact(value: unknown, depth: number): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if (depth > MAX_DEPTH) return HIDDEN;
    if (Array.isArray(value)) return value.map((item) => this.#redact(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        this.#names.has(plainName(name)) ? HIDDEN : this.#redact(member, depth + 1),
      ]),
    );
  }
}

function plainName(member: string): string {
  return member.toLowerCase().replaceAll(/[_-]/g, '');
}
