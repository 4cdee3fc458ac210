import { expect, test } from '@jest/globals';
import type { Mutex } from '@mortise/locks';
import type { LocksFeature, LocksModuleOptions } from '@mortise/locks/nestjs';
import { InjectMutex, InjectSemaphore, Locked, Locks, LocksModule } from '@mortise/locks/nestjs';
import { connect } from '@mortise/test-kit';
import type { Cluster } from 'ioredis';

const redis = connect();

test('forRoot takes a client and the defaults of a Mutex, forRootAsync what makes them', () => {
  const options: LocksModuleOptions = { redis, leaseMs: 1_000, prefix: undefined };
  expect(LocksModule.forRoot(options)).toMatchObject({ module: LocksModule, global: true });
  expect(LocksModule.forRoot({ redis, name: 'second', fair: false })).toHaveProperty('exports');
  const asynchronous = LocksModule.forRootAsync({ inject: ['redis'], useFactory: async () => options });
  expect(asynchronous.providers).toHaveLength(2);
  const cluster = (client: Cluster): LocksModuleOptions => ({ redis: client });
  expect(cluster).toHaveLength(1);

  // @ts-expect-error -- no client
  LocksModule.forRoot({ prefix: 'app' });
  // @ts-expect-error -- permits are no default
  LocksModule.forRoot({ redis, permits: 5 });
  // @ts-expect-error -- options without a client
  LocksModule.forRootAsync({ useFactory: () => ({ prefix: 'app' }) });
});

test('forFeature takes the options of each kind', () => {
  const feature: LocksFeature = {
    mutexes: { index: {} },
    readWriteLocks: { scenes: { leaseMs: 1_000 } },
    semaphores: { gpus: { permits: 4 } },
    rateLimiters: { previews: { limit: 10, periodMs: 1_000 } },
    multiLocks: { disks: { names: ['a', 'b'] } },
    countDownLatches: { warm: { count: 3 } },
  };
  expect(LocksModule.forFeature(feature).providers).toHaveLength(6);
  // @ts-expect-error -- a semaphore needs permits
  LocksModule.forFeature({ semaphores: { gpus: {} } });
  // @ts-expect-error -- a multi-lock needs names
  LocksModule.forFeature({ multiLocks: { disks: {} } });
});

test('Locks make what they are asked for', () => {
  const locks = new Locks(redis);
  const mutex: Mutex = locks.mutex('lock', { leaseMs: undefined });
  expect(mutex.name).toBe('lock');
  // @ts-expect-error -- no limit
  expect(() => locks.rateLimiter('lock')).toThrow(TypeError);
  // @ts-expect-error -- a mutex has no permits
  expect(() => locks.mutex('lock', { permits: 1 })).toThrow('Mutex has no option "permits"');
});

test('decorators fit what they decorate', () => {
  class Decorated {
    @InjectMutex('index') declare readonly mutex: Mutex;

    // @ts-expect-error -- decorators of properties take a name
    @InjectSemaphore() declare readonly gpus: unknown;

    @Locked('report')
    async fixed(_day: string): Promise<number> {
      return 1;
    }

    @Locked((id: string) => id)
    async named(_id: string, _amount: number): Promise<void> {}

    // @ts-expect-error -- the name is made of a string, the method takes a number
    @Locked((id: string) => id)
    async misnamed(_id: number): Promise<void> {}

    // @ts-expect-error -- a method that returns no promise cannot wait
    @Locked('report')
    synchronous(): number {
      return 1;
    }
  }
  expect(Object.getOwnPropertyNames(Decorated.prototype)).toContain('misnamed');
});
