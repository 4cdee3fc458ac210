import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { QueueEventsHost } from '@nestjs/bullmq';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AlbumEvents } from './album.events.js';
import { AppModule } from './app.module.js';
import { AudioEvents } from './audio.events.js';
import { AudioFailures } from './audio.failures.js';
import { AudioProcessor } from './audio.processor.js';
import { AudioService } from './audio.service.js';

const LISTENERS = [AlbumEvents, AudioEvents, AudioFailures];

let app: INestApplicationContext;
before(async () => {
  app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  for (const listener of LISTENERS) await app.get<QueueEventsHost>(listener).queueEvents.waitUntilReady();
});
after(() => app.close());

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

async function ends(count: number): Promise<string[]> {
  const { ended } = app.get(AudioProcessor);
  await until(() => ended.length >= count);
  return ended.splice(0).toSorted();
}

void test('files are transcoded, once more after a failure', { timeout: 30_000 }, async () => {
  const service = app.get(AudioService);
  await service.transcode('song.mp3');
  await service.transcode('flaky.mp3', true);
  await service.transcode('picture.png');
  assert.deepEqual(await ends(4), [
    'flaky.mp3 at attempt 2',
    'flaky.mp3: try again',
    'picture.png: no audio',
    'song.mp3 at attempt 1',
  ]);
  assert.equal(await service.queue.getFailedCount(), 1);
});

void test('an album ends after its files', { timeout: 30_000 }, async () => {
  await app.get(AudioService).album(['a.mp3', 'b.mp3']);
  assert.deepEqual(await ends(3), ['a.mp3 at attempt 1', 'album.mp3 at attempt 1', 'b.mp3 at attempt 1']);
});

void test('each listener gets the events of its queue', { timeout: 30_000 }, async () => {
  const service = app.get(AudioService);
  await service.transcode('event.mp3');
  await service.transcode('event.png');
  await service.albumQueue.add('cover', {});
  const { results } = app.get(AudioEvents);
  const { reasons } = app.get(AudioFailures);
  const { added } = app.get(AlbumEvents);
  await until(() => results.includes('event.mp3 at attempt 1') && reasons.includes('no audio'));
  assert.ok(reasons.includes('progress 100'));
  await until(() => added.length === 1);
  assert.deepEqual(added, ['cover']);
});
