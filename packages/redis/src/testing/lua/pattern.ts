/** Patterns of Lua as regular expressions. Both go back in the same order, so they find the same text. */
import { LuaError } from './lua-error.js';

const CLASSES: Readonly<Record<string, string>> = {
  a: 'A-Za-z',
  c: '\\x00-\\x1f\\x7f',
  d: '0-9',
  l: 'a-z',
  p: '!-\\/:-@\\[-`{-~',
  s: ' \\t-\\r',
  u: 'A-Z',
  w: 'A-Za-z0-9',
  x: 'A-Fa-f0-9',
  z: '\\x00',
};

function escaped(char: string): string {
  return `\\x${char.codePointAt(0)!.toString(16).padStart(2, '0')}`;
}

class Translation {
  #at = 0;
  #groups: number[] = [];
  #open: number[] = [];

  constructor(readonly pattern: string) {}

  toSource(): string {
    let source = '';
    while (this.#at < this.pattern.length) source += this.#next();
    if (this.#open.length > 0) throw new LuaError('unfinished capture');
    return source;
  }

  #next(): string {
    const { pattern } = this;
    const char = pattern[this.#at]!;
    if (char === '(') {
      if (pattern[this.#at + 1] === ')') throw new LuaError('position captures are not emulated');
      this.#at += 1;
      this.#groups.push(this.#groups.length);
      this.#open.push(this.#groups.length);
      return '(';
    }
    if (char === ')') {
      if (this.#open.pop() === undefined) throw new LuaError('invalid pattern capture');
      this.#at += 1;
      return ')';
    }
    if (char === '$' && this.#at === pattern.length - 1) {
      this.#at += 1;
      return '$';
    }
    if (char === '%' && /\d/.test(pattern[this.#at + 1] ?? '')) {
      this.#at += 2;
      return `\\${pattern[this.#at - 1]!}`;
    }
    return this.#single() + this.#repetition();
  }

  #repetition(): string {
    const char = this.pattern[this.#at];
    if (char !== '*' && char !== '+' && char !== '?' && char !== '-') return '';
    this.#at += 1;
    return char === '-' ? '*?' : char;
  }

  /** One character: itself, a class or a set. */
  #single(): string {
    const char = this.pattern[this.#at]!;
    this.#at += 1;
    if (char === '.') return '[^]';
    if (char === '%') return this.#class((inside, isNot) => `[${isNot ? '^' : ''}${inside}]`);
    return char === '[' ? this.#set() : escaped(char);
  }

  #class(write: (inside: string, isNot: boolean) => string): string {
    const char = this.pattern[this.#at];
    this.#at += 1;
    if (char === undefined) throw new LuaError("malformed pattern (ends with '%')");
    if (char === 'b' || char === 'f') throw new LuaError(`the pattern %${char} is not emulated`);
    const inside = CLASSES[char.toLowerCase()];
    return inside === undefined ? write(escaped(char), false) : write(inside, char !== char.toLowerCase());
  }

  #set(): string {
    const { pattern } = this;
    const isNot = pattern[this.#at] === '^';
    if (isNot) this.#at += 1;
    let inside = '';
    const none: string[] = [];
    for (let isFirst = true; isFirst || pattern[this.#at] !== ']'; isFirst = false) {
      const char = pattern[this.#at];
      if (char === undefined) throw new LuaError("malformed pattern (missing ']')");
      this.#at += 1;
      if (char === '%') {
        inside += this.#class((plain, isOther) => {
          if (isOther) none.push(plain);
          return isOther ? '' : plain;
        });
      } else if (pattern[this.#at] === '-' && (pattern[this.#at + 1] ?? ']') !== ']') {
        inside += `${escaped(char)}-${escaped(pattern[this.#at + 1]!)}`;
        this.#at += 2;
      } else inside += escaped(char);
    }
    this.#at += 1;
    const parts = [...(inside === '' ? [] : [`[${inside}]`]), ...none.map((plain) => `[^${plain}]`)];
    const any = `(?:${parts.join('|')})`;
    return isNot ? `(?:(?!${any})[^])` : any;
  }
}

const known = new Map<string, RegExp>();

/** The regular expression of a pattern, sticky if it is anchored, else global. */
export function regExpOf(pattern: string, canAnchor = true): RegExp {
  const key = `${canAnchor ? '^' : ''}${pattern}`;
  let found = known.get(key);
  if (!found) {
    const isAnchored = canAnchor && pattern.startsWith('^');
    const source = new Translation(isAnchored ? pattern.slice(1) : pattern).toSource();
    found = new RegExp(source, isAnchored ? 'y' : 'g');
    known.set(key, found);
  }
  return found;
}
