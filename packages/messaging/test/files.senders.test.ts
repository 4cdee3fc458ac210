/** Two senders of the same file, one of which is held up at any of its steps while the other one sends it: nothing is left behind. */
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';
import { Channel, lines, readAll } from './files-fixture.js';
import { slowlyAfter } from './stepwise-client.js';

const redis = connect();
// Of its own, so that it is held up alone.
const other = connect();

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'a sender that is held up behind its step %i finds the file sent, and leaves nothing',
  async (steps) => {
    const channel = new Channel(redis);
    const text = lines(100);
    const { slow, release } = slowlyAfter(other, steps);
    const late = channel.sender({}, slow).send(Readable.from([text]), { name: 'a', id: 'a' });
    late.catch(() => undefined);
    const sender = channel.sender();
    const reading = readAll(channel.receiver());
    await sender.send(Readable.from([text]), { name: 'a', id: 'a' });
    await sender.end();
    expect(await reading).toEqual({ a: text });
    await sender.received();
    release();
    await late.catch(() => undefined);
    const left = await redis.keys(`${channel.prefix}:*`);
    expect(left.map((key) => key.slice(key.indexOf('}:') + 2)).toSorted()).toEqual([
      'file-channel',
      'files',
      'files-sent',
    ]);
  },
);
