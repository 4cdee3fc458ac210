import { expect, test } from '@jest/globals';
import type { MessagingModuleOptions } from '@mortise/messaging/nestjs';
import { InjectChats, InjectMailboxes, MessagingModule } from '@mortise/messaging/nestjs';
import { connect } from '@mortise/test-kit';
import type { Cluster } from 'ioredis';

const redis = connect();

test('forRoot takes a client and options, forRootAsync a factory of them', () => {
  const options: MessagingModuleOptions = {
    redis,
    prefix: undefined,
    mailboxes: { maxMessages: 10 },
    chats: { keepAcked: 100 },
    files: { windowBytes: 65_536, holder: 'http' },
  };
  expect(MessagingModule.forRoot(options)).toMatchObject({ module: MessagingModule, global: true });
  expect(MessagingModule.forRoot({ redis, name: 'second' })).toHaveProperty('exports');
  const asynchronous = MessagingModule.forRootAsync({ inject: ['redis'], useFactory: async () => options });
  expect(asynchronous.providers).toHaveLength(4);
  const cluster = (client: Cluster): MessagingModuleOptions => ({ redis: client });
  expect(cluster).toHaveLength(1);

  // @ts-expect-error -- no client
  MessagingModule.forRoot({ prefix: 'app' });
  // @ts-expect-error -- chats have members, mailboxes don't
  MessagingModule.forRoot({ redis, mailboxes: { maxMembers: 5 } });
  // @ts-expect-error -- one prefix for both
  MessagingModule.forRoot({ redis, chats: { prefix: 'app' } });
  // @ts-expect-error -- the receivers differ by channel
  MessagingModule.forRoot({ redis, files: { receivers: ['r1'] } });
  // @ts-expect-error -- options without a client
  MessagingModule.forRootAsync({ useFactory: () => ({ prefix: 'app' }) });
});

test('decorators take the names of modules', () => {
  class Decorated {
    @InjectMailboxes() declare readonly mailboxes: unknown;

    // @ts-expect-error -- modules have names
    @InjectChats(7) declare readonly chats: unknown;
  }
  expect(Object.getOwnPropertyNames(Decorated.prototype)).toEqual(['constructor']);
});
