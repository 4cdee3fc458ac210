import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { AudioEvents } from './audio.events.js';
import { AudioProcessor } from './audio.processor.js';
import { AudioService } from './audio.service.js';

let app: INestApplicationContext;
before(async () => {
  app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  await app.get(AudioEvents).queueEvents.waitUntilReady();
});
after(() => app.close());

async function ends(count: number): Promise<string[]> {
  const { ended } = app.get(AudioProcessor);
  while (ended.length < count) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
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

void test('the ends of jobs are events of the queue', { timeout: 30_000 }, async () => {
  const { results } = app.get(AudioEvents);
  await app.get(AudioService).transcode('event.mp3');
  while (!results.includes('event.mp3 at attempt 1')) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
});
