import { expect, test } from '@jest/globals';
import { commandOf, encodeCommand, RespFrames } from '../resp-frames.mjs';

const FRAMES = [
  '+OK\r\n',
  ':42\r\n',
  '$5\r\na\r\nb!\r\n',
  '$-1\r\n',
  '*-1\r\n',
  '*2\r\n$1\r\na\r\n*1\r\n:1\r\n',
  '%1\r\n+key\r\n*1\r\n_\r\n',
  '>2\r\n+message\r\n$2\r\nhi\r\n',
  '|1\r\n+ttl\r\n:9\r\n,1.5\r\n',
  '=6\r\ntxt:hi\r\n',
];

test('a stream of replies is cut into whole frames, wherever its chunks end', () => {
  const bytes = Buffer.from(FRAMES.join(''));
  const found = Array.from({ length: bytes.length + 1 }, (_, at) => {
    const frames = new RespFrames();
    const cut = [...frames.push(bytes.subarray(0, at)), ...frames.push(bytes.subarray(at))];
    return cut.map(String);
  });
  expect(found).toEqual(found.map(() => FRAMES));
});

test('a command is read as it was written', () => {
  const words = ['SET', 'key', Buffer.from([0, 13, 10, 255])];
  expect(commandOf(encodeCommand(words))).toEqual(words.map((word) => Buffer.from(word as string)));
});
