import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { FileChannel, FileReceiver, FileSender } from '@mortise/messaging/files';
import type { MessagingModuleOptions, MessagingOptionsFactory } from '@mortise/messaging/nestjs';
import {
  Files,
  getChatsToken,
  getFilesToken,
  getMailboxesToken,
  InjectChats,
  InjectFiles,
  InjectMailboxes,
  MessagingModule,
} from '@mortise/messaging/nestjs';
import type { Telemetry } from '@mortise/redis';
import { connect, freshPrefix } from '@mortise/test-kit';
import type { INestApplicationContext, ModuleMetadata, Type } from '@nestjs/common';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Redis } from 'ioredis';

const redis = connect();
const REDIS = 'redis';

interface Mail {
  readonly subject: string;
}

async function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  @Module(metadata)
  class App {}
  return NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
}

/** What the application gives for the class that it consists of. */
async function run<Instance>(
  service: Type<Instance>,
  ...imports: NonNullable<ModuleMetadata['imports']>
): Promise<Instance> {
  return (await boot({ imports, providers: [service] })).get(service);
}

describe('MessagingModule.forRoot', () => {
  test('provides Mailboxes and Chats to the whole application, by type and by decorator', async () => {
    @Injectable()
    class Inner {
      constructor(
        readonly mailboxes: Mailboxes<Mail>,
        readonly chats: Chats,
        @InjectMailboxes() readonly sameMailboxes: Mailboxes,
        @InjectChats() readonly sameChats: Chats,
      ) {}
    }
    @Module({ providers: [Inner] })
    class InnerModule {}
    const app = await boot({ imports: [MessagingModule.forRoot({ redis }), InnerModule] });
    const inner = app.get(Inner, { strict: false });
    expect(inner.mailboxes).toBeInstanceOf(Mailboxes);
    expect(inner.chats).toBeInstanceOf(Chats);
    expect([inner.sameMailboxes, app.get(getMailboxesToken())]).toEqual([inner.mailboxes, inner.mailboxes]);
    expect(inner.sameMailboxes).toBe(inner.mailboxes);
    expect(inner.sameChats).toBe(inner.chats);
    expect(app.get(getChatsToken())).toBe(inner.chats);
  });

  test('gives each its options, and both the prefix', async () => {
    const prefix = freshPrefix();
    const app = await boot({
      imports: [
        MessagingModule.forRoot({
          redis,
          prefix,
          mailboxes: { maxPayloadBytes: 10, keepMs: undefined as never },
          chats: { maxPayloadBytes: 20 },
        }),
      ],
    });
    const [mailboxes, chats] = [app.get(Mailboxes), app.get(Chats)];
    await expect(mailboxes.send('jack', 'x'.repeat(9), { from: 'anna' })).rejects.toMatchObject({
      code: 'ERR_BODY_TOO_LARGE',
      maxBytes: 10,
    });
    await mailboxes.send('jack', 'hi', { from: 'anna' });
    const { chatId } = await chats.create({ sender: 'anna', members: ['jack'] });
    await expect(chats.post(chatId, 'anna', 'x'.repeat(19))).rejects.toMatchObject({ maxBytes: 20 });
    const entities = (await redis.keys(`${prefix}:messaging:*`)).map((key) => /\{(.*)\}/.exec(key)![1]);
    expect(new Set(entities)).toEqual(new Set(['jack', 'anna', chatId]));
  });

  test('provides what makes senders, receivers and channels of files, with its options', async () => {
    @Injectable()
    class Logs {
      constructor(
        readonly files: Files,
        @InjectFiles() readonly sameFiles: Files,
      ) {}
    }
    const prefix = freshPrefix();
    const counted: string[] = [];
    const telemetry = { count: ({ name }: { name: string }): unknown => counted.push(name) };
    const options = { leaseMs: 60_000, holder: 'http', telemetry: telemetry as Telemetry };
    const app = await boot({
      imports: [
        MessagingModule.forRoot({ redis, prefix, files: { ...options, keepMs: undefined as never } }),
      ],
      providers: [Logs],
    });
    const { files, sameFiles } = app.get(Logs);
    expect([app.get(getFilesToken()), app.get(Files)]).toEqual([files, files]);
    expect(sameFiles).toBe(files);
    const [sender, receiver, channel] = [
      files.sender('logs', { receivers: ['r1'] }),
      files.receiver('logs', 'r1', { leaseMs: 50_000 }),
      files.channel('logs'),
    ];
    expect([sender, receiver, channel]).toEqual([
      expect.any(FileSender),
      expect.any(FileReceiver),
      expect.any(FileChannel),
    ]);
    await sender.send(Readable.from(['one']), { name: 'a' });
    expect((await channel.list('r1')).files).toMatchObject([{ name: 'a', bytes: 3 }]);
    // The channel has the lease for a minute, so the process of this name waits.
    const waiting = files.channel('logs', { holder: 'other' }).list('r1');
    await expect(waiting).rejects.toMatchObject({ code: 'ERR_RECEIVER_BUSY' });
    expect(counted).toEqual(['mortise.messaging.file_chunks', 'mortise.messaging.file_bytes']);
    const entities = (await redis.keys(`${prefix}:messaging:*`)).map((key) => /\{(.*)\}/.exec(key)![1]);
    expect(new Set(entities)).toEqual(new Set(['logs', 'logs%%1']));
  });

  test('sends nothing at boot and leaves the client open at the end', async () => {
    const own = connect();
    const app = await boot({ imports: [MessagingModule.forRoot({ redis: own, prefix: freshPrefix() })] });
    const mailboxes = app.get(Mailboxes);
    await app.close();
    expect(await mailboxes.unread('jack')).toBe(0);
    expect(own.status).toBe('ready');
  });

  test.each([
    [{}, TypeError, 'MessagingModule: redis must be a Redis or Cluster instance of ioredis 5.4 or later'],
    [{ redis: 'redis://127.0.0.1' }, TypeError, 'MessagingModule: redis must be a Redis or Cluster instance'],
    [
      { redis, mailboxes: { maxMessages: 0 } },
      RangeError,
      'MessagingModule: maxMessages must be a whole number from 1 to 1000000, got 0',
    ],
    [{ redis, chats: { maxMembers: '7' } }, TypeError, 'MessagingModule: maxMembers must be a number'],
    [{ redis, files: { windowBytes: 1 } }, RangeError, 'MessagingModule: windowBytes must be a whole number'],
    [{ redis, files: { holder: 5 } }, TypeError, 'MessagingModule: holder must be a string'],
    [{ redis, prefix: '' }, RangeError, 'MessagingModule: prefix must have 1 to 1024 bytes, got 0'],
    [
      { redis, name: 'second', mailboxes: { dedupMs: 1 } },
      RangeError,
      'MessagingModule "second": dedupMs must be from',
    ],
  ])('lets the boot fail for what cannot be used: %#', async (options, Misuse, message) => {
    const booted = boot({
      imports: [MessagingModule.forRoot(options as unknown as MessagingModuleOptions)],
    });
    await expect(booted).rejects.toThrow(message);
    await expect(booted).rejects.toBeInstanceOf(Misuse);
  });
});

describe('MessagingModule.forRootAsync', () => {
  @Module({ providers: [{ provide: REDIS, useValue: redis }], exports: [REDIS] })
  class RedisModule {}

  @Injectable()
  class Factory implements MessagingOptionsFactory {
    createMessagingOptions(): MessagingModuleOptions {
      return { redis, mailboxes: { maxPayloadBytes: 4 } };
    }
  }
  @Module({ providers: [Factory], exports: [Factory] })
  class FactoryModule {}

  test.each([
    [
      'useFactory',
      MessagingModule.forRootAsync({
        imports: [RedisModule],
        inject: [REDIS],
        useFactory: async (client: Redis) => ({ redis: client, mailboxes: { maxPayloadBytes: 4 } }),
      }),
    ],
    ['useClass', MessagingModule.forRootAsync({ useClass: Factory })],
    ['useExisting', MessagingModule.forRootAsync({ imports: [FactoryModule], useExisting: Factory })],
  ])('takes its options from %s', async (_how, module) => {
    const app = await boot({ imports: [module] });
    const sending = app.get(Mailboxes).send('jack', 'hello', { from: 'anna' });
    await expect(sending).rejects.toMatchObject({ code: 'ERR_BODY_TOO_LARGE', maxBytes: 4 });
    expect(app.get(Chats)).toBeInstanceOf(Chats);
  });

  test('lets the boot fail when the factory gives no client, and with what it throws', async () => {
    const without = MessagingModule.forRootAsync({ useFactory: () => ({}) as MessagingModuleOptions });
    await expect(boot({ imports: [without] })).rejects.toThrow('MessagingModule: redis must be a Redis');
    const throwing = MessagingModule.forRootAsync({
      useFactory: () => {
        throw new Error('no configuration');
      },
    });
    await expect(boot({ imports: [throwing] })).rejects.toThrow('no configuration');
  });
});

describe('modules with names', () => {
  test('have their own clients, prefixes and options', async () => {
    const [first, second] = [freshPrefix(), freshPrefix()];
    @Injectable()
    class Both {
      constructor(
        readonly mailboxes: Mailboxes,
        readonly chats: Chats,
        @InjectMailboxes('audit') readonly auditMailboxes: Mailboxes,
        @InjectChats('audit') readonly auditChats: Chats,
      ) {}
    }
    const both = await run(
      Both,
      MessagingModule.forRoot({ redis, prefix: first }),
      MessagingModule.forRootAsync({
        name: 'audit',
        useFactory: () => ({ redis: connect(), prefix: second }),
      }),
    );
    expect(both.chats).not.toBe(both.auditChats);
    await both.mailboxes.send('jack', 1, { from: 'anna' });
    expect([await both.mailboxes.unread('jack'), await both.auditMailboxes.unread('jack')]).toEqual([1, 0]);
    expect(await new Mailboxes(redis, { prefix: first }).unread('jack')).toBe(1);
  });

  test('are not found by another name', async () => {
    @Injectable()
    class Lost {
      constructor(@InjectMailboxes('missing') readonly mailboxes: Mailboxes) {}
    }
    await expect(run(Lost, MessagingModule.forRoot({ redis }))).rejects.toThrow(
      String(getMailboxesToken('missing')),
    );
  });
});

test('the main entry imports nothing of NestJS', () => {
  const seen = new Set<string>();
  const foreign = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, target] of readFileSync(file, 'utf8').matchAll(/^.*(?:from |import ?\()'([^'\n]+)'/gm)) {
      if (target!.startsWith('.')) visit(join(dirname(file), target!.replace(/js$/, 'ts')));
      else foreign.add(target!);
    }
  };
  const source = join(import.meta.dirname, '../src');
  visit(join(source, 'index.ts'));
  expect([...foreign].filter((target) => !target.startsWith('node:')).toSorted()).toEqual([
    '@mortise/redis',
    'uuid',
  ]);
  expect(seen.size).toBeGreaterThan(20);
  visit(join(source, 'nestjs/index.ts'));
  expect(foreign).toContain('@nestjs/common');
});
