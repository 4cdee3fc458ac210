import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeFrames } from '../../src/follow/frame.js';
import type { Frame } from '../../src/follow/frame.js';

/** As a script packs them. */
function encode(frames: readonly Frame[]): Buffer {
  return Buffer.concat(
    frames.flatMap(({ kind, text }) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(text));
      return [Buffer.from(kind), length, Buffer.from(text)];
    }),
  );
}

const frames = fc.array(
  fc.record({
    kind: fc.constantFrom('m', 'j', 'l', 't', 'p', 'x', '?'),
    text: fc.string({ unit: 'binary' }),
  }),
);

test('returns the packed frames', () => {
  fc.assert(
    fc.property(frames, (some) => {
      expect(decodeFrames(encode(some))).toEqual(some);
    }),
  );
});

test('leaves out a truncated frame, and reads any bytes', () => {
  fc.assert(
    fc.property(frames, fc.nat(), (some, at) => {
      const bytes = encode(some);
      const cut = decodeFrames(bytes.subarray(0, at % (bytes.length + 1)));
      expect(cut).toEqual(some.slice(0, cut.length));
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(Array.isArray(decodeFrames(Buffer.from(bytes)))).toBe(true);
    }),
  );
});
