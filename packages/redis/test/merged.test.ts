import { expect, test } from '@jest/globals';

import { Merged } from '../src/merged.js';

test('a source is asked for its next value when the last one was taken', async () => {
  const asked: string[] = [];
  async function* source(name: string, count: number): AsyncGenerator<string, void> {
    for (let n = 0; n < count; n += 1) {
      asked.push(`${name}${n}`);
      yield `${name}${n}`;
    }
  }
  const merged = new Merged<string>();
  merged.add(source('a', 3));
  merged.add(source('b', 1));
  const values = merged[Symbol.asyncIterator]();
  const seen = [(await values.next()).value, (await values.next()).value];
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual(['a0', 'b0', 'a1']);
  seen.push((await values.next()).value, (await values.next()).value);
  expect([seen, (await values.next()).done]).toEqual([['a0', 'b0', 'a1', 'a2'], true]);
  async function* failing(): AsyncGenerator<string, void> {
    yield 'x';
    throw new Error('no');
  }
  const other = new Merged<string>();
  other.add(failing());
  await expect(collect(other)).rejects.toThrow('no');
});

async function collect(values: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const value of values) all.push(value);
  return all;
}
