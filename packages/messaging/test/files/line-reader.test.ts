/** LineReader of blocks, however their bytes lie in blocks and whoever asks for them. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { LineReader } from '../../src/files/receive/line-reader.js';
import { wholeLines } from '../../src/files/receive/whole-lines.js';

const MAX_LINE = 2_000;

/** As with a file: called after each block, before its delivery. */
class Blocks {
  offset = 0;
  isClosed = false;
  taken = 0;

  constructor(readonly parts: readonly Buffer[]) {}

  async *all(failure?: Error): AsyncGenerator<Buffer> {
    try {
      for (const block of this.parts) {
        this.offset += block.length;
        this.taken += 1;
        yield block;
      }
      if (failure) throw failure;
    } finally {
      this.isClosed = true;
    }
  }
}

function linesOf(...texts: string[]): { readonly blocks: Blocks; readonly lines: LineReader } {
  const blocks = new Blocks(texts.map((text) => Buffer.from(text)));
  return { blocks, lines: new LineReader(blocks.all(), blocks) };
}

async function* each(parts: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield part;
}

test('are those of the text, with the offsets after them, whatever the blocks', async () => {
  const line = fc.oneof(
    fc.string({ maxLength: 30 }).map((text) => text.replaceAll('\n', '')),
    fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => text.replaceAll('\n', '')),
    fc.constantFrom('', '\r', 'é', '😀', '\0', 'x'.repeat(1_022), 'y'.repeat(1_023), 'z'.repeat(1_500)),
  );
  const property = fc.asyncProperty(
    fc.array(line, { maxLength: 12 }),
    fc.boolean(),
    fc.array(fc.nat(200), { maxLength: 6 }),
    async (given, isEnded, cuts) => {
      const text = given.join('\n') + (isEnded && given.length > 0 ? '\n' : '');
      const bytes = Buffer.from(text);
      const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].toSorted(
        (a, b) => a - b,
      );
      const parts = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
      const whole: Buffer[] = [];
      for await (const block of wholeLines(each(parts), 'log', MAX_LINE)) whole.push(block);
      const blocks = new Blocks(whole);
      const got: string[] = [];
      const offsets: number[] = [];
      for await (const one of new LineReader(blocks.all(), blocks)) {
        got.push(one);
        offsets.push(blocks.offset);
      }
      const wanted = text === '' ? [] : text.split('\n');
      if (text.endsWith('\n')) wanted.pop();
      expect(got).toEqual(wanted);
      let at = 0;
      expect(offsets).toEqual(
        wanted.map((one) => {
          at = Math.min(at + Buffer.byteLength(one) + 1, bytes.length);
          return at;
        }),
      );
      expect(blocks.isClosed).toBe(true);
    },
  );
  await fc.assert(property, { numRuns: 500 });
});

test('keep no more of a block than the KiB around them', async () => {
  const line = 'a line of so many characters that it is no copy';
  const parts = Array.from({ length: 200 }, () => Buffer.from(`${line}\n`.repeat(1_000)));
  const blocks = new Blocks(parts);
  const kept: string[] = [];
  const before = memory();
  let number = 0;
  for await (const one of new LineReader(blocks.all(), blocks)) {
    if (number % 1_000 === 500) kept.push(one);
    number += 1;
  }
  expect(kept).toHaveLength(200);
  // 200 blocks are 9.6 MB; 200 pieces of them 0.2.
  expect(memory() - before).toBeLessThan(4_000_000);
  expect(kept[199]).toBe(line);
});

/** The memory of this process after a garbage collection. */
function memory(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('calls side by side', () => {
  test('get lines in their order, over the ends of blocks', async () => {
    const { lines, blocks } = linesOf('a\nb\n', 'c\nd');
    const results = await Promise.all(Array.from({ length: 6 }, () => lines.next()));
    expect(results.map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd', undefined, undefined]);
    expect(results.map(({ done }) => done)).toEqual([false, false, false, false, true, true]);
    expect(blocks.offset).toBe(7);
  });

  test('a return after them ends the blocks, and no line follows', async () => {
    const { lines, blocks } = linesOf('a\nb\nc\n', 'd\n');
    const [first, second, end, behind] = await Promise.all([
      lines.next(),
      lines.next(),
      lines.return(),
      lines.next(),
    ]);
    expect([first.value, second.value, end, behind.value]).toEqual([
      'a',
      'b',
      { value: undefined, done: true },
      undefined,
    ]);
    expect(blocks).toMatchObject({ isClosed: true, taken: 1, offset: 4 });
  });
});

test('a loop that breaks off leaves the offset after its last line', async () => {
  const { lines, blocks } = linesOf('ab\ncd\nef\n', 'gh\n');
  for await (const line of lines) if (line === 'cd') break;
  expect(blocks).toMatchObject({ offset: 6, isClosed: true, taken: 1 });
  expect(await lines.next()).toEqual({ value: undefined, done: true });
});

test('a block is requested after the lines before it are delivered, not sooner', async () => {
  const { lines, blocks } = linesOf('a\nb\n', 'c\n');
  await lines.next();
  await lines.next();
  expect(blocks.taken).toBe(1);
  await lines.next();
  expect(blocks.taken).toBe(2);
});

test('an error of the blocks comes once, after the lines before it', async () => {
  const blocks = new Blocks([Buffer.from('a\n')]);
  const failure = new Error('the file was aborted');
  const lines = new LineReader(blocks.all(failure), blocks);
  const [line, failed, over] = await Promise.allSettled([lines.next(), lines.next(), lines.next()]);
  expect(line).toMatchObject({ value: { value: 'a' } });
  expect(failed).toMatchObject({ reason: failure });
  expect(over).toMatchObject({ value: { done: true } });
});

describe('universalNewlines', () => {
  async function read(isUniversal: boolean, ...parts: Buffer[]): Promise<string[]> {
    const blocks = new Blocks(parts);
    const lines: string[] = [];
    for await (const line of new LineReader(blocks.all(), blocks, isUniversal)) lines.push(line);
    return lines;
  }

  const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

  test.each([
    ['ASCII', 'a\r\nb\n\r\nc\rd\r\n', ['a', 'b', '', 'c\rd']],
    ['other texts', 'ä\r\nö\n\r\nü\rd', ['ä', 'ö', '', 'ü\rd']],
  ])('%s', async (_, text, lines) => {
    expect(await read(true, Buffer.from(text))).toEqual(lines);
    expect(await read(false, Buffer.from(text))).toEqual(text.replace(/\n$/, '').split('\n'));
  });

  test('a byte-order mark goes at the beginning of the file only', async () => {
    const marked = Buffer.concat([MARK, Buffer.from('a\r\n'), MARK, Buffer.from('b\n')]);
    expect(await read(true, marked, Buffer.concat([MARK, Buffer.from('c\n')]))).toEqual([
      'a',
      '\uFEFFb',
      '\uFEFFc',
    ]);
    const resumed = new Blocks([marked]);
    resumed.offset = 10;
    const lines = new LineReader(resumed.all(), resumed, true);
    expect((await lines.next()).value).toBe('\uFEFFa');
  });
});
