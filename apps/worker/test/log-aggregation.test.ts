import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { expect, test } from '@jest/globals';
import { FileSender } from '@mortise/messaging/files';
import { DailyAggregates } from '@mortise/messaging/log-aggregation';
import { connect, until } from '@mortise/test-kit';

import { Game } from './fixture/game.js';

const redis = connect();
const TODAY = new Date().toISOString().slice(0, 10);

test('the worker app counts the files of the channel that it is given', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mortise-'));
  const ranges = join(directory, 'ranges.csv');
  writeFileSync(ranges, '8.8.8.0,8.8.8.255,US,California,Mountain View\n');
  const line = `8.8.8.8 ${TODAY} 19:50:46 GET /\n`;
  await using game = new Game();
  const { prefix } = game;
  const worker = await game.startWorker({ ACCESS_LOG_CHANNEL: 'logs', GEO_RANGES: ranges });
  rmSync(directory, { recursive: true });
  const sender = new FileSender(redis, 'logs', { receivers: ['worker'], prefix });
  await sender.send(Readable.from([Buffer.from(`${line.repeat(3)}none\n`)]), { name: 'a.log' });
  await sender.end();
  const said = await until('the report', async () =>
    worker.lines.find(({ msg }) => msg === 'access log counted'),
  );
  expect(said).toMatchObject({
    file: expect.stringMatching(/^[\w-]{12}:a\.log$/),
    lines: 3,
    malformed: 1,
    samples: [{ text: 'none' }],
  });
  const { items } = await new DailyAggregates(redis, { prefix }).top('country', TODAY);
  expect(items).toEqual([{ country: 'US', count: 3 }]);
  await worker.close();
});
