/** A hundred buyers want five items: one order for a buyer, no item sold twice, and at most ten transactions at the same time. */
import { RateLimiter, Semaphore } from '@mortise/locks';
import { Redis } from 'ioredis';
import Database from 'libsql';

const db = new Database(':memory:');
db.exec(`create table stock (item text primary key, count integer not null check (count >= 0));
  create table orders (buyer text primary key);
  insert into stock (item, count) values ('console', 5)`);

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const prefix = 'example-sale';
const transactions = new Semaphore(redis, 'transactions', { permits: 10, leaseMs: 5_000, prefix });
let isSoldOut = false; // stays true: those who come later don't reach the database

const clicksOf = (buyer: string): RateLimiter =>
  new RateLimiter(redis, `clicks:${buyer}`, { limit: 1, periodMs: 10_000, prefix });

async function buy(buyer: string): Promise<string> {
  if (isSoldOut) return 'sold out';
  if (!(await clicksOf(buyer).take()).isAllowed) return 'too fast';
  return transactions.using(async () => order(buyer), { waitMs: 10_000 });
}

/** The order and the item that it takes: both or none. The update is atomic, so it needs no lock. */
const order = db.transaction((buyer: string): string => {
  if (isSoldOut) return 'sold out';
  if (db.prepare('insert or ignore into orders (buyer) values (?)').run(buyer).changes === 0)
    return 'ordered';
  const take = db.prepare(`update stock set count = count - 1 where item = 'console' and count > 0`);
  if (take.run().changes === 1) return 'bought';
  db.prepare('delete from orders where buyer = ?').run(buyer);
  isSoldOut = true;
  return 'sold out';
});

const buyers = Array.from({ length: 100 }, (_, index) => `buyer ${index + 1}`);
await Promise.all(buyers.map(async (buyer) => clicksOf(buyer).reset())); // of an earlier run
const answers = await Promise.all([...buyers, 'buyer 1'].map(buy));
const count = (wanted: string): number => answers.filter((answer) => answer === wanted).length;
console.log('bought:', count('bought'), 'sold out:', count('sold out'), 'too fast:', count('too fast'));
console.log(db.prepare('select count, (select count(*) from orders) as orders from stock').all());
db.close();
await redis.quit();

// Output:
// bought: 5 sold out: 95 too fast: 1
// [ { count: 0, orders: 5 } ]
