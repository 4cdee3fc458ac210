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

  /**
   * Whether a search would reveal the value of a hidden member. The path of members, joined by dots, may lead into a hidden
   * member. The searched value may also be the JSON of an object or array that has one. O(members).
   */
  hides(field: string, equals = ''): boolean {
    const isHidden = field.split('.').some((member) => this.#names.has(plainName(member)));
    return isHidden || this.redactLine(equals) !== equals;
  }

  /** A copy with `[redacted]` in place of the values of hidden members. O(members). */
  redact(value: unknown): unknown {
    return this.#redact(value, 0);
  }

  /** Redacts a line of a log that is JSON. Other texts stay as they are, and so does JSON without hidden members. O(length). */
  redactLine(line: string): string {
    if (!/^\s*[[{]/.test(line)) return line;
    try {
      const value = JSON.parse(line) as unknown;
      const shown = JSON.stringify(this.redact(value));
      return shown === JSON.stringify(value) ? line : shown;
    } catch {
      return line;
    }
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
