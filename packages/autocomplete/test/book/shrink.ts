/** Scripts with other bounds, so that a few names are many. */
import { expect } from '@jest/globals';
import { Script } from '@mortise/redis';
import { bookApply } from '../../src/scripts.gen.js';

export function shrink(script: Script, from: string, to: string): void {
  const source = script.definition.source.replaceAll(from, to);
  expect(source).not.toBe(script.definition.source);
  Object.assign(script, new Script({ ...script.definition, source }));
}

/** Blocks and top sets of a few members. */
export function shrinkBlocks(): void {
  const blocks = 'MOST_BLOCK, LEAST_BLOCK, MERGED_BLOCK';
  shrink(bookApply, `${blocks} = 46, 8, 30`, `${blocks} = 4, 2, 3`);
  const tops = 'LEAST_TOP, MIDDLE_TOP, MOST_TOP';
  shrink(bookApply, `${tops} = 12, 20, 28`, `${tops} = 2, 4, 6`);
}
