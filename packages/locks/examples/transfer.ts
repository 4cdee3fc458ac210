/** Two accounts change together: both locks are held or none, and two transfers in opposite directions don't block each other. */
import { MultiLock, Mutex } from '@mortise/locks';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const balances = new Map([
  ['alice', 100],
  ['bob', 100],
]);

async function transfer(from: string, to: string, amount: number): Promise<void> {
  const lock = new MultiLock(redis, [`account:${from}`, `account:${to}`], { prefix: 'example' });
  await lock.using(async (signal, lease) => {
    const [debit, credit] = [balances.get(from)! - amount, balances.get(to)! + amount];
    await redis.ping();
    signal.throwIfAborted();
    balances.set(from, debit).set(to, credit);
    console.log(`${from} pays ${amount} to ${to} under ${lease.fencingTokens.size} locks`);
  });
}

await Promise.all([transfer('alice', 'bob', 30), transfer('bob', 'alice', 20), transfer('alice', 'bob', 5)]);
console.log(Object.fromEntries(balances));

const audit = await new Mutex(redis, 'account:bob', { prefix: 'example' }).acquire();
const both = new MultiLock(redis, ['account:alice', 'account:bob'], { prefix: 'example' });
console.log('while the account of bob is looked at:', await both.tryAcquire());
console.log('released:', await audit.release());
await redis.quit();

// Output:
// alice pays 30 to bob under 2 locks
// bob pays 20 to alice under 2 locks
// alice pays 5 to bob under 2 locks
// { alice: 85, bob: 115 }
// while the account of bob is looked at: null
// released: true
