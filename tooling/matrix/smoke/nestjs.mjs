/** The modules of all packages in one application, without the syntax of decorators, which no runtime has. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { AddressBook } from '@mortise/autocomplete';
import { AutocompleteModule, getAddressBookToken } from '@mortise/autocomplete/nestjs';
import { Cached, CachesModule, Evicts } from '@mortise/cache/nestjs';
import { Locked, LocksModule, getSemaphoreToken } from '@mortise/locks/nestjs';
import { Mailboxes } from '@mortise/messaging';
import { getMailboxesToken, MessagingModule } from '@mortise/messaging/nestjs';
import { InjectQueue, QueuesModule, TaskHandler } from '@mortise/queues/nestjs';
import * as layer from '@mortise/queues/nestjs/bullmq';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

/** Applies decorators to a method of a class. */
function decorate(owner, method, ...decorators) {
  for (const decorator of decorators) {
    const descriptor = Object.getOwnPropertyDescriptor(owner.prototype, method);
    Object.defineProperty(
      owner.prototype,
      method,
      decorator(owner.prototype, method, descriptor) ?? descriptor,
    );
  }
}

class Shop {
  queries = 0;

  constructor(mail) {
    this.mail = mail;
  }

  async sell(itemId) {
    const { id } = await this.mail.enqueue('sold', { itemId });
    return this.mail.result(id, { waitMs: 20_000 });
  }

  async pay(id) {
    return `paid ${id}`;
  }

  async title(id) {
    this.queries += 1;
    return `title of ${id}`;
  }

  async rename() {}
}
Injectable()(Shop);
InjectQueue('mail')(Shop, undefined, 0);
decorate(
  Shop,
  'pay',
  Locked((id) => `invoice:${String(id)}`),
);
decorate(Shop, 'title', Cached('pages', { key: (id) => id }));
decorate(Shop, 'rename', Evicts('pages', { keys: (id) => [id] }));

class Mails {
  async sold({ itemId }) {
    return `mailed ${itemId}`;
  }
}
Injectable()(Mails);
decorate(Mails, 'sold', TaskHandler('sold'));

class Songs extends layer.WorkerHost {
  async process({ data }) {
    return `played ${data.title}`;
  }
}
layer.Processor('songs')(Songs);

class SongEvents extends layer.QueueEventsHost {
  seen = [];

  onCompleted({ returnvalue }) {
    this.seen.push(returnvalue);
  }
}
layer.QueueEventsListener('songs')(SongEvents);
decorate(SongEvents, 'onCompleted', layer.OnQueueEvent('completed'));

export async function smoke({ connect, prefix, until }) {
  const redis = await connect();
  class AppModule {}
  Module({
    imports: [
      LocksModule.forRoot({ redis, prefix }),
      LocksModule.forFeature({ semaphores: { printers: { permits: 2 } } }),
      QueuesModule.forRoot({ redis, prefix, workers: { concurrency: 2 } }),
      QueuesModule.forFeature({ queues: { mail: { tasks: ['sold'] } } }),
      MessagingModule.forRoot({ redis, prefix }),
      AutocompleteModule.forRootAsync({ useFactory: () => ({ redis, prefix }) }),
      AutocompleteModule.forFeature({ books: { staff: {} } }),
      CachesModule.forRoot({ redis, prefix }),
      CachesModule.forFeature({ caches: { pages: { ttlMs: 60_000 } } }),
      layer.BullModule.registerQueue({ name: 'songs', connection: redis, prefix }),
    ],
    providers: [Shop, Mails, Songs, SongEvents],
  })(AppModule);

  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  const shop = app.get(Shop);
  assert.equal(await shop.sell('shield'), 'mailed shield');
  assert.equal(await shop.pay('42'), 'paid 42');
  assert.deepEqual(
    [await shop.title('a'), await shop.title('a'), shop.queries],
    ['title of a', 'title of a', 1],
  );
  await shop.rename('a');
  await shop.title('a');
  assert.equal(shop.queries, 2);
  const semaphore = app.get(getSemaphoreToken('printers'));
  assert.equal(await semaphore.using(() => semaphore.available()), 1);
  const mailboxes = app.get(getMailboxesToken());
  assert.ok(mailboxes instanceof Mailboxes);
  await mailboxes.send('jack', 'Hello', { from: 'jill' });
  assert.equal(await mailboxes.unread('jack'), 1);
  assert.ok(app.get(getAddressBookToken('staff')) instanceof AddressBook);
  const { queueEvents, seen } = app.get(SongEvents);
  await queueEvents.waitUntilReady();
  await app.get(layer.getQueueToken('songs')).add('song', { title: 'Hello' });
  await until(() => seen.length === 1);
  assert.deepEqual(seen, ['played Hello']);
  await app.close();
  // Modules have no verbs to count.
  return { count: 0, missing: () => [] };
}
