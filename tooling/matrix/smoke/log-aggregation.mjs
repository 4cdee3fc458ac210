/** The log aggregation of messaging: files of a channel, and files from anywhere, counted by day and place. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { FileSender } from '@mortise/messaging/files';
import * as logs from '@mortise/messaging/log-aggregation';

const RANGES = '192.0.2.0,192.0.2.255,DE,Berlin,Berlin\n2001:db8::,2001:db8::ffff,FR,,Paris\n';

export async function aggregation(redis, prefix, until) {
  const table = await logs.parseRangeCsv(Readable.from([Buffer.from(RANGES)]));
  const day = new Date().toISOString().slice(0, 10);
  assert.equal(logs.isDay(day), true);
  const lines = (address, count) => `${address} ${day} 10:00:00 GET /\n`.repeat(count);

  const sender = new FileSender(redis, 'access', { prefix, receivers: ['r1'] });
  const reports = [];
  const onReport = (report) => reports.push(report);
  const collector = new logs.LogCollector(redis, 'access', 'r1', table, { prefix, onReport });
  collector.start();
  await sender.send(Readable.from([`${lines('192.0.2.7', 3)}not a line\n`]), { name: 'one.log' });
  await until(() => reports.length === 1, 'the first file');
  assert.deepEqual([reports[0].lines, reports[0].malformed], [3, 1]);
  await collector.stop();
  await collector[Symbol.asyncDispose]();
  await sender.send(Readable.from([lines('2001:db8::1', 2)]), { name: 'two.log' });
  await sender.end();
  await collector.collect();
  await sender.received();

  const aggregator = new logs.LogAggregator(redis, table, { prefix });
  assert.equal((await aggregator.count(fileOf('three', lines('192.0.2.8', 1)))).lines, 1);
  await aggregator.run(Readable.from([fileOf('four', lines('203.0.113.1', 1))]));
  await aggregator.stop();

  const { total, items } = await new logs.DailyAggregates(redis, { prefix }).top('country', day);
  assert.equal(total, 7);
  assert.deepEqual(
    new Map(items.map(({ country, count }) => [country, count])),
    new Map([
      ['DE', 4],
      ['FR', 2],
      ['ZZ', 1],
    ]),
  );
}

/** A file that no channel has. */
function fileOf(id, text) {
  return {
    id,
    offset: 0,
    blocks: async function* blocks() {
      yield Buffer.from(text);
    },
    ack: async () => undefined,
    done: async () => undefined,
    fail: async (error) => {
      throw error;
    },
  };
}
