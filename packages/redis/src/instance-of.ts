/**
 * `instanceof` for errors of another copy of this package. One process may have several: two versions, the ES module and the
 * CommonJS module, or an entry that contains what it shares with another one.
 */
interface NamedClass {
  readonly prototype: unknown;
  /** Stays when a bundler renames the class. */
  readonly className: string;
}

/** Whether the value is an instance of the class, or of the class of this name in another copy. */
export function isInstanceOf(type: NamedClass, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(type, value)) return true;
  // A class that a caller derives has no name of its own.
  if (typeof value !== 'object' || value === null || !Object.hasOwn(type, 'className')) return false;
  for (let prototype = parentOf(value); prototype; prototype = parentOf(prototype)) {
    const other = (prototype as { readonly constructor?: unknown }).constructor;
    if (typeof other === 'function' && Object.hasOwn(other, 'className')) {
      if ((other as unknown as NamedClass).className === type.className) return true;
    }
  }
  return false;
}

function parentOf(value: object): object | null {
  return Object.getPrototypeOf(value) as object | null;
}
