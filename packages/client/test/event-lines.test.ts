import { expect, test } from '@jest/globals';
import { eventReader } from '../src/event-lines.js';

const STREAM = ': heartbeat\n\nid: 1\nevent: a\ndata: {"x":"ä"}\n\ndata: two\nid: 2\n\nid:3\n\ndata: cut';

test('events are the same however the stream is cut', () => {
  const expected = [
    { id: '', data: '' },
    { id: '1', data: '{"x":"ä"}' },
    { id: '2', data: 'two' },
    { id: '3', data: '' },
  ];
  for (let size = 1; size <= STREAM.length; size += 1) {
    const read = eventReader();
    const pieces = STREAM.match(new RegExp(`[^]{1,${size}}`, 'g'))!;
    expect(pieces.flatMap((piece) => read(piece))).toEqual(expected);
  }
});
