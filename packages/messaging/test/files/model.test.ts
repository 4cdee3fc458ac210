/** Any sizes of chunks, pieces and lines, and receivers that stop anywhere: what is handled is what was sent. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { Channel } from './fixture.js';

const redis = connect();

const run = fc.record({
  // Lengths of lines; the bytes are made from them.
  lines: fc.array(fc.oneof(fc.nat(30), fc.nat(6_000)), { maxLength: 60 }),
  hasLastFeed: fc.boolean(),
  isCompressed: fc.boolean(),
  chunkBytes: fc.constantFrom(4_096, 8_192),
  pieces: fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 6 }),
  receivers: fc.array(
    // After how many lines each process of the receiver dies.
    fc.array(fc.nat(40), { maxLength: 4 }),
    { minLength: 1, maxLength: 3 },
  ),
  // After how many bytes the sender stops, to go on later.
  senderStops: fc.array(fc.nat(60_000), { maxLength: 2 }),
});

test('every line reaches every receiver in order, from its last ack on', async () => {
  await fc.assert(
    fc.asyncProperty(run, async (given) => {
      const texts = given.lines.map((length, index) => `${index}:${'é'.repeat(length / 2)}`);
      const text = texts.join('\n') + (given.hasLastFeed && texts.length > 0 ? '\n' : '');
      const bytes = given.isCompressed ? gzipSync(text) : Buffer.from(text);
      const expected = text === '' ? [] : text.replace(/\n$/, '').split('\n');
      const channel = new Channel(redis);
      const names = given.receivers.map((_, index) => `r${index}`);
      const windowBytes = given.isCompressed ? 1_048_576 : 6 * given.chunkBytes;
      const sender = channel.sender({
        receivers: names,
        chunkBytes: given.chunkBytes,
        windowBytes,
        budgetBytes: 2 * windowBytes,
      });

      const reading = given.receivers.map(async (deaths, index) => {
        const handled = new Map<number, string>();
        let isDone = false;
        for (const death of [...deaths, Infinity]) {
          const files = channel.receiver(names[index]).files();
          for await (const file of files) {
            let left = death;
            for await (const line of file.lines()) {
              handled.set(file.offset, line);
              left -= 1;
              if (left < 0) break;
            }
            if (left < 0) break;
            await file.done();
            isDone = true;
          }
          if (isDone) break;
        }
        return [...handled].toSorted(([a], [b]) => a - b).map(([, line]) => line);
      });

      let pieceIndex = 0;
      const pieces = function* (): Generator<Buffer> {
        for (let from = 0; from < bytes.length; pieceIndex += 1) {
          const size = given.pieces[pieceIndex % given.pieces.length]!;
          yield bytes.subarray(from, from + size);
          from += size;
        }
      };
      const name = given.isCompressed ? 'log.gz' : 'log';
      for (const stopAt of given.senderStops) {
        const stop = new AbortController();
        const stopped = await sender
          .send(Readable.from(pieces()), {
            name,
            id: 'the file',
            signal: stop.signal,
            onProgress: (progress) => progress.bytes > stopAt && stop.abort(),
          })
          .catch((error: Error) => error.name);
        expect(typeof stopped === 'object' ? 'AbortError' : stopped).toBe('AbortError');
      }
      const sent = await sender.send(Readable.from(pieces()), { name, id: 'the file' });
      await sender.end();
      const digest = createHash('sha256').update(bytes).digest('hex');
      expect(sent.isDuplicate ? digest : sent.sha256).toBe(digest);
      for (const lines of await Promise.all(reading)) expect(lines).toEqual(expected);
      await sender.received();
      expect(await redis.keys(`${channel.prefix}:*chunk*`)).toEqual([]);
      expect(await redis.keys(`${channel.prefix}:*}:file:*`)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});
