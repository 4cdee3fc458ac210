/** Scripts with other bounds, so that a few names are many. */
import { expect } from '@jest/globals';
import { Script } from '@mortise/redis';

export function shrink(script: Script, from: string, to: string): void {
  const source = script.definition.source.replaceAll(from, to);
  expect(source).not.toBe(script.definition.source);
  Object.assign(script, new Script({ ...script.definition, source }));
}
