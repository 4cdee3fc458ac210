import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { keySlot } from '@mortise/redis';
import { runCluster } from '@mortise/test-kit';
import { Channel, lines, pushed, readAll } from './fixture.js';

const { servers, cluster } = await runCluster({ replicasPerMaster: 0 });
await cluster.ping();

const keysOf = async ({ prefix }: Channel): Promise<string[]> => {
  const found = await Promise.all(cluster.nodes('master').map((node) => node.keys(`${prefix}:*`)));
  return found.flat();
};

test('the files of a channel lie in many slots, and reach all receivers', async () => {
  const channel = new Channel(cluster);
  const sender = channel.sender({ receivers: ['r1', 'r2'] });
  const names = Array.from({ length: 12 }, (_, index) => `file ${String(index).padStart(2, '0')}`);
  const slots = new Set<number>();
  const reading = ['r1', 'r2'].map((name) => readAll(channel.receiver(name)));
  for (const [index, name] of names.entries()) {
    const { number } = await sender.send(Readable.from([lines(400, index)]), { name });
    slots.add(keySlot(`${channel.prefix}:messaging:{${channel.name}%%${number}}:file`));
  }
  await sender.end();
  const expected = Object.fromEntries(names.map((name, index) => [name, lines(400, index)]));
  expect(await Promise.all(reading)).toEqual([expected, expected]);
  expect(slots.size).toBeGreaterThan(6);
  await sender.received();
  expect((await keysOf(channel)).map((key) => key.slice(key.indexOf('}:') + 2)).toSorted()).toEqual([
    'file-channel',
    'files',
  ]);
});

test('sending continues while the slots of a channel and of a file move', async () => {
  const channel = new Channel(cluster);
  const sender = channel.sender();
  const source = pushed(lines(300));
  const sending = sender.send(source, { name: 'a' });
  const reading = readAll(channel.receiver());
  for (const key of [`{${channel.name}%%1}:file`, `{${channel.name}}:file-channel`]) {
    const slot = keySlot(`${channel.prefix}:messaging:${key}`);
    const owner = await servers.ownerOf(slot);
    await servers.moveSlot(slot, await servers.ownerOf(owner === (await servers.ownerOf(0)) ? 16_383 : 0));
    source.push(lines(300));
  }
  source.push(null);
  await sending;
  await sender.end();
  expect(await reading).toEqual({ a: lines(300).repeat(3) });
});
