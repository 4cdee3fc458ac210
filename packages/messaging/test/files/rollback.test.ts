/** Redis forgets the last moment, as in a failover: what is in it then is older, and consistent. */
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { Channel, first, lines, snapshot, textOf } from './fixture.js';

const redis = connect();

/** In chunks of 4 KiB; a window has four. */
const WINDOW_BYTES = 12_000;

test('a sender that waits for room fails after Redis has lost more than its window', async () => {
  const channel = new Channel(redis);
  const text = lines(3_000);
  let sent = 0;
  const send = async (): Promise<unknown> =>
    channel.sender().send(Readable.from([text]), {
      name: 'a',
      id: 'a',
      onProgress: ({ bytes }) => {
        sent = bytes;
      },
    });
  const sending = send();
  sending.catch(() => undefined);
  await until('a full window', () => sent > WINDOW_BYTES);
  const restore = await snapshot(redis, `${channel.prefix}:*`);
  const [file, leave] = await first(channel.receiver());
  const blocks = file.blocks();
  for (let read = 0; read < 8; read += 1) await blocks.next();
  await until('a full window behind what was read', () => sent > 3 * WINDOW_BYTES);
  await blocks.return(undefined);
  await leave();
  await restore();
  const reading = (async () => {
    const [again, leaveAgain] = await first(channel.receiver());
    const found = await textOf(again);
    await again.done();
    await leaveAgain();
    return found;
  })();
  // It is refused, and goes on when it is asked to; or has gone on by itself.
  await sending.catch(send);
  expect(await reading).toBe(text);
}, 20_000);
