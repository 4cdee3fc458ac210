/** A table of Lua: the values of 1 to n in an array, all others in a map, which keeps the order of insertion for `pairs`. */
import { LuaError } from './lua-error.js';

/** nil is undefined; a string has one character for each byte. A JavaScript array is no value: it is several of them. */
export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction;
/** The result of a call: one value, or several in an array. */
export type LuaResult = LuaValue | LuaValue[];
export type LuaFunction = (...args: LuaValue[]) => LuaResult;

export class LuaTable {
  /** May have holes, but doesn't end with one. */
  readonly items: LuaValue[];
  #others: Map<LuaValue, LuaValue> | undefined;

  constructor(items: LuaValue[] = []) {
    this.items = items;
    this.#trim();
  }

  get(key: LuaValue): LuaValue {
    if (typeof key === 'number' && key >= 1 && key <= this.items.length) {
      const value = this.items[key - 1];
      if (value !== undefined) return value;
    }
    return this.#others?.get(key);
  }

  set(key: LuaValue, value: LuaValue): void {
    const { items } = this;
    if (typeof key === 'number') {
      if (key >= 1 && key <= items.length && Number.isInteger(key)) {
        items[key - 1] = value;
        if (value === undefined) this.#trim();
        return;
      }
      if (key === items.length + 1 && value !== undefined) {
        items.push(value);
        if (this.#others) this.#takeNext(this.#others);
        return;
      }
      if (Number.isNaN(key)) throw new LuaError('table index is NaN');
    } else if (key === undefined) throw new LuaError('table index is nil');
    if (value === undefined) this.#others?.delete(key);
    else (this.#others ??= new Map()).set(key, value);
  }

  /** As `#`. */
  get length(): number {
    return this.items.length;
  }

  *entries(): Generator<[LuaValue, LuaValue]> {
    for (let index = 0; index < this.items.length; index += 1) {
      const value = this.items[index];
      if (value !== undefined) yield [index + 1, value];
    }
    if (this.#others) yield* this.#others;
  }

  /** As `next`: the entry after this key, or nil. */
  next(key: LuaValue): LuaValue[] {
    let isFound = key === undefined;
    for (const entry of this.entries()) {
      if (isFound) return entry;
      isFound = entry[0] === key;
    }
    return [undefined];
  }

  #trim(): void {
    while (this.items.length > 0 && this.items.at(-1) === undefined) this.items.pop();
  }

  #takeNext(others: Map<LuaValue, LuaValue>): void {
    let value: LuaValue;
    while ((value = others.get(this.items.length + 1)) !== undefined) {
      others.delete(this.items.length + 1);
      this.items.push(value);
    }
  }
}
